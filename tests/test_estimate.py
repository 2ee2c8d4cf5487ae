"""Time left: the bar's recent rate, history's medians, and silence where neither can tell."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from logphase.estimate import Estimate, estimate
from logphase.timeline import Moment, Phase, Progress, Startup
from tests.views.conftest import BEGAN, phase, startup

if TYPE_CHECKING:
    from collections.abc import Sequence

PAST = {
    "spawn": (20.0, 15.0, 40.0, 5, "history"),
    "weights": (300.0, 280.0, 400.0, 5, "history"),
    "target-graph": (60.0, 50.0, 90.0, 3, "history"),
    "warmup": (5.0, 4.0, 8.0, 5, "history"),
    "serving": (0.0, 0.0, 0.0, 5, "history"),
}


def starting(
    curve: Sequence[tuple[float, int]], total: int, *, current: str = "weights", begun: float = 40.0, silent: float = 0.0
) -> Startup:
    """A startup in a phase whose bar moved as the curve says."""
    elapsed, done = curve[-1]
    at = begun + elapsed
    running: Phase = replace(
        phase(current, begun, None), status="open", end_s=None, progress=Progress(done, total, "shards", elapsed), curve=tuple(curve)
    )
    return startup(
        (phase("spawn", 0.0, 20.0), running),
        current=current,
        last_progress=Moment(BEGAN + at, 50, "log", at),
        last_line=Moment(BEGAN + at + silent, 51, "log", at + silent),
    )


def test_a_steady_bar_tells_what_is_left() -> None:
    """Ten seconds a shard, 40 to go."""
    found = estimate(starting([(10.0 * done, done) for done in range(25)], 64), 0.0)

    assert found is not None
    assert (400.0, "phase", "the bar's recent rate") == (found.left_s, found.scope, found.source)
    assert found.low_s < found.left_s < found.high_s


def test_the_first_step_does_not_count() -> None:
    """The first capture compiles for 30 minutes; the others take a second each."""
    curve = [(0.0, 0), (1800.0, 1), *((1800.0 + step, 1 + step) for step in range(1, 10))]
    found = estimate(starting(curve, 36, current="target-graph"), 0.0)

    assert found is not None
    assert 26.0 == pytest.approx(found.left_s)
    assert found.high_s < 60


def test_captures_that_get_faster_are_told_by_the_recent_ones() -> None:
    """From the largest size to the smallest: the mean would say too much."""
    times = [0.0]
    for step in range(30):
        times.append(times[-1] + 10.0 * 0.85**step)
    found = estimate(starting([(at, done) for done, at in enumerate(times)][:21], 31, current="target-graph"), 0.0)
    rest = times[30] - times[20]

    assert found is not None
    assert rest < found.left_s < times[20] / 20 * 10 / 4
    assert found.low_s < 2 * rest


@pytest.mark.parametrize(
    "curve",
    [[(0.0, 0)], [(0.0, 0), (9.0, 1)], [(0.0, 0), (9.0, 1), (10.0, 2)], [(5.0, 20)], [(0.0, 64)]],
    ids=["nothing", "one", "two", "attached in the middle", "done"],
)
def test_no_estimate_is_better_than_a_wrong_one(curve: list[tuple[float, int]]) -> None:
    """Too few steps, one look at a running bar, or a bar that is full: nothing is said."""
    assert estimate(starting(curve, 64), 0.0) is None


def test_a_bar_that_stands_still_says_nothing_any_more() -> None:
    """Silence of many steps: the rate that it had is no promise."""
    moving = starting([(2.0 * done, done) for done in range(25)], 64)

    assert estimate(moving, 4.0) is not None
    assert estimate(moving, 60.0) is None


def test_the_step_that_runs_is_taken_off() -> None:
    """Five of ten seconds of the next step have passed."""
    moving = starting([(10.0 * done, done) for done in range(25)], 64)
    now, later = estimate(moving, 0.0), estimate(moving, 5.0)

    assert (now, later) != (None, None)
    assert now is not None
    assert later is not None
    assert 5.0 == pytest.approx(now.left_s - later.left_s)


def test_history_tells_what_comes_after_the_bar() -> None:
    """The bar for the phase that runs, medians for those to come; the range adds up, the smallest number of startups is told."""
    found = estimate(starting([(10.0 * done, done) for done in range(25)], 64), 0.0, PAST)

    assert found is not None
    assert (465.0, "ready") == (found.left_s, found.scope)
    assert "the bar's recent rate and history, 3 startups" == found.source


def test_history_alone_tells_until_it_is_overrun() -> None:
    """A phase without a bar lasts as long as it did before; longer than ever, nobody knows."""
    running = replace(phase("warmup", 400.0, None), status="open", end_s=None)
    now = startup((phase("spawn", 0.0, 20.0), running), current="warmup", last_line=Moment(BEGAN + 402, 9, "log", 402.0))

    assert Estimate(3.0, 2.0, 6.0, "ready", "history, 5 startups") == estimate(now, 0.0, PAST)
    assert estimate(now, 60.0, PAST) is None


def test_what_is_over_has_no_time_left() -> None:
    """Ready: nothing to wait for."""
    done = starting([(10.0 * done, done) for done in range(25)], 64)

    assert estimate(replace(done, ready=Moment(BEGAN, 1, "log", 0.0)), 0.0, PAST) is None
