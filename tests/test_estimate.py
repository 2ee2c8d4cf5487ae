"""Time left: the bar's recent rate, history's medians, and silence where neither can tell."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logphase.estimate import Past, estimate
from logphase.timeline import Moment, Phase, Progress, Startup
from tests.views.conftest import BEGAN, phase, startup

if TYPE_CHECKING:
    from collections.abc import Sequence

PAST = {
    "spawn": Past((20.0, 15.0, 40.0, 20.0, 21.0), (365.0, 360.0, 380.0, 370.0, 365.0)),
    "weights": Past((300.0, 280.0, 400.0, 300.0, 310.0), (65.0, 60.0, 70.0, 66.0, 65.0)),
    "target-graph": Past((60.0, 50.0, 90.0), (5.0, 4.0, 8.0)),
    "warmup": Past((5.0, 4.0, 8.0, 5.0, 5.0), (0.0, 0.0, 0.0, 0.0, 0.0)),
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
    """The bar for the phase that runs, history for what comes after it; the number of startups is told."""
    found = estimate(starting([(10.0 * done, done) for done in range(25)], 64), 0.0, PAST)

    assert found is not None
    assert 465.0 == pytest.approx(found.left_s, abs=1.0)
    assert found.low_s < 465.0 < found.high_s
    assert ("ready", "the bar and history, 5 startups") == (found.scope, found.source)


def test_history_knows_how_a_bar_goes_on() -> None:
    """The first of 36 captures takes nine tenths of the time, now as before: what is left is short."""
    curve = [(0.0, 0), (54.0, 1), *((54.0 + step / 6, 1 + step) for step in range(1, 5))]
    before = Past((60.0, 60.0, 60.0), (5.0, 5.0, 5.0), curves=(((0.0, 0.0), (1 / 36, 0.9), (1.0, 1.0)),) * 3)
    found = estimate(starting(curve, 36, current="target-graph"), 0.0, {"target-graph": before})

    assert found is not None
    assert 10.3 == pytest.approx(found.left_s, abs=0.5)


def test_history_alone_tells_until_it_is_overrun() -> None:
    """A phase without a bar lasts as long as it did before; far longer than ever, nobody knows."""
    running = replace(phase("warmup", 400.0, None), status="open", end_s=None)
    now = startup((phase("spawn", 0.0, 20.0), running), current="warmup", last_line=Moment(BEGAN + 402, 9, "log", 402.0))
    found = estimate(now, 0.0, PAST)

    assert found is not None
    assert 3.0 == pytest.approx(found.left_s, abs=1.0)
    assert "history, 5 startups" == found.source
    assert estimate(now, 600.0, PAST) is None


def test_time_in_a_phase_is_taken_off() -> None:
    """Ten seconds later ten seconds less are left, as long as the phase runs as before."""
    running = replace(phase("weights", 20.0, None), status="open", end_s=None, progress=None)
    now = startup((phase("spawn", 0.0, 20.0), running), current="weights", last_line=Moment(BEGAN + 50, 9, "log", 50.0))
    first, later = estimate(now, 0.0, PAST), estimate(now, 10.0, PAST)

    assert first is not None
    assert later is not None
    assert 10.0 == pytest.approx(first.left_s - later.left_s, abs=0.5)


@pytest.mark.parametrize("seconds", [0.0, 5.0])
def test_between_two_phases_history_tells_what_comes(seconds: float) -> None:
    """A phase is over and the next one has not begun: what came after it before is what is left."""
    now = startup((phase("spawn", 0.0, 20.0),), current="spawn", last_line=Moment(BEGAN + 20, 9, "log", 20.0))
    found = estimate(now, seconds, PAST)

    assert found is not None
    assert 365.0 - seconds == pytest.approx(found.left_s, abs=1.0)


def test_a_phase_that_history_does_not_know_is_measured_from_the_last_one_that_it_knows() -> None:
    """A download came between: what came after the phase before it is what is left, at least."""
    running = replace(phase("download", 20.0, None), status="open", end_s=None)
    now = startup((phase("spawn", 0.0, 20.0), running), current="download", last_line=Moment(BEGAN + 30, 9, "log", 30.0))
    found = estimate(now, 0.0, PAST)

    assert found is not None
    assert 355.0 == pytest.approx(found.left_s, abs=1.0)


@settings(max_examples=60)
@given(st.permutations([20.0, 21.0, 19.0, 40.0, 22.0]), st.floats(0, 30))
def test_the_order_of_earlier_startups_does_not_matter(took: list[float], spent: float) -> None:
    """History is a set: whichever startup came first, the estimate is the same."""
    running = replace(phase("spawn", 0.0, None), status="open", end_s=None)
    now = startup((running,), current="spawn", last_line=Moment(BEGAN + spent, 9, "log", spent))
    after = [100.0 - value for value in took]

    assert estimate(now, 0.0, {"spawn": Past((20.0, 21.0, 19.0, 40.0, 22.0), (80.0, 79.0, 81.0, 60.0, 78.0))}) == estimate(
        now, 0.0, {"spawn": Past(tuple(took), tuple(after))}
    )


def test_few_startups_make_a_wide_range() -> None:
    """One earlier startup says little of the spread, ten say more, and one that is not quite alike says least."""
    now = startup((replace(phase("spawn", 0.0, None), status="open", end_s=None),), current="spawn", last_line=Moment(BEGAN, 9, "log", 0.0))
    one, ten = Past((20.0,), (100.0,)), Past((20.0,) * 10, (100.0,) * 10)
    widths = []
    for past in (ten, one, replace(one, wide=2.0), replace(one, wide=2.0, unsure=0.65)):
        found = estimate(now, 0.0, {"spawn": past})
        assert found is not None
        widths.append(found.high_s - found.low_s)

    assert sorted(widths) == widths
    assert len(set(widths)) == len(widths)


def test_another_version_may_have_another_order() -> None:
    """Of startups that are not quite alike: what has not come yet is still to come, and what has come is not waited for again."""
    past = {
        "spawn": Past((20.0,), (40.0,), wide=2.0),
        "prefill-graph": Past((10.0,), (30.0,), wide=2.0),
        "target-graph": Past((5.0,), (25.0,), wide=2.0),
        "draft-graph": Past((20.0,), (5.0,), wide=2.0),
    }
    phases = (phase("spawn", 0.0, 20.0), phase("draft-graph", 20.0, 20.0), phase("target-graph", 40.0, 5.0))
    found = estimate(startup(phases, current="target-graph", last_line=Moment(BEGAN + 45, 9, "log", 45.0)), 0.0, past)

    assert found is not None
    assert 25.0 + 10.0 - 20.0 == pytest.approx(found.left_s, abs=0.5)


def test_what_is_over_has_no_time_left() -> None:
    """Ready: nothing to wait for."""
    done = starting([(10.0 * done, done) for done in range(25)], 64)

    assert estimate(replace(done, ready=Moment(BEGAN, 1, "log", 0.0)), 0.0, PAST) is None
