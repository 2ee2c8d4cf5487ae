"""Figures as plotly takes them, and the measures that they are drawn from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from logphase.timeline import Memory
from logphase.views import figures, measures
from logphase.views.palette import PHASES, colours

if TYPE_CHECKING:
    from collections.abc import Callable

    from logphase.views import Report

    Made = dict[str, Callable[..., Report]]


@pytest.mark.parametrize("name", ["ready", "crashed", "stalled", "starting", "wide", "hostile"])
def test_plotly_accepts_the_lanes(made: Made, name: str) -> None:
    """The check of plotly finds no wrong name or value in the figure."""
    from plotly.graph_objects import Figure

    figure = figures.gantt(made[name]().shown()[0][0])

    assert figure is not None
    assert len(Figure(figure).data)


def test_plotly_accepts_memory_and_curves(made: Made) -> None:
    """The same for memory and progress."""
    from plotly.graph_objects import Figure

    startup = made["ready"]().shown()[0][0]
    memory = figures.memory(replace(startup, memory=tuple(Memory(f"TP{at % 3}", at, 80 - at, "weights", at) for at in range(12))))
    phase = replace(startup.phases[3], curve=((0.0, 0), (5.0, 2), (9.0, 3), (9.0, 4)))
    pace = measures.pace(phase)

    assert memory is not None
    assert pace is not None
    assert 3 == len(Figure(memory).data)
    assert 2 == len(Figure(figures.curve(phase, pace, "#123456")).data)


def test_without_a_time_there_is_no_figure(made: Made) -> None:
    """A log without a clock has nothing to draw."""
    assert figures.gantt(made["stopped"]().shown()[0][0]) is None


def test_very_many_ranks_are_drawn_in_part(made: Made) -> None:
    """Of a thousand ranks those are drawn that were slowest or missing, then others up to the limit."""
    startup = made["wide"]().shown()[0][0]
    tags = tuple(f"TP{at}" for at in range(1000))
    shown = figures.lanes(replace(startup, ranks=tags, phases=(replace(startup.phases[1], slowest="TP999", missing=("TP500",)),)))

    assert figures.MOST_LANES == len(shown)
    assert {"TP500", "TP999"} <= set(shown)


def test_text_in_a_figure_is_no_markup() -> None:
    """Tags, entities and templates mean something to plotly; a log must not write any."""
    assert "&lt;b&gt; &amp;lt; % {x} \\u202e" == figures.words("<b> &lt; %{x} \u202e")


def test_phases_never_share_a_colour() -> None:
    """All phases of the rules, and fifty that nobody knows, are told apart."""
    names = [*PHASES, *(f"other-{at}" for at in range(50))]

    assert len(names) == len(set(colours(names).values()))


def test_the_chain_covers_the_whole_time(made: Made) -> None:
    """Links follow one another without overlap from the begin to readiness."""
    startup = made["ready"]().shown()[0][0]
    links = measures.chain(startup)
    ends = [link.start_s + link.waited_s for link in links]

    assert 0.0 == links[0].start_s
    assert [link.start_s for link in links[1:]] == pytest.approx(ends[:-1], abs=0.02)
    assert startup.duration_s == pytest.approx(ends[-1])
    assert "warmup" == links[-1].phase.id if links[-1].phase else None


def test_the_chain_names_the_rank_that_was_waited_for(made: Made) -> None:
    """Of the ranks of a phase the one that ended last is named."""
    links = {link.phase.id: link for link in measures.chain(made["ready"]().shown()[0][0]) if link.phase}

    assert "TP0" == links["weights"].rank


def test_a_phase_within_another_is_preferred(made: Made) -> None:
    """Where two phases end together, the chain follows the one that began later."""
    startup = made["ready"]().shown()[0][0]
    weights = startup.phases[3]
    inner = replace(weights, id="inner", start_s=300.0)
    links = [link.phase.id for link in measures.chain(replace(startup, phases=(weights, inner), duration_s=weights.end_s)) if link.phase]

    assert ["weights", "inner"] == links


def test_pace_tells_the_longest_wait(made: Made) -> None:
    """Of a bar with a hole the wait and the step that ended it are named."""
    phase = replace(made["ready"]().shown()[0][0].phases[3], curve=((0.0, 0), (1.0, 5), (41.0, 6), (42.0, 10)))
    pace = measures.pace(phase)

    assert pace is not None
    assert (1.0, 41.0, 6) == pace.longest
    assert 10 / 42 == pytest.approx(pace.mean)


def test_a_bar_without_seconds_has_no_pace(made: Made) -> None:
    """A bar that was over within a second has no rate."""
    assert measures.pace(replace(made["ready"]().shown()[0][0].phases[3], curve=((0.0, 0), (0.0, 5), (0.0, 9)))) is None
