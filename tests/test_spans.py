"""Begins, ends and bars to spans: the engine's own figures, and never a negative time."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logphase.rules import PhaseRule
from logphase.spans import OpenSpan, Track
from logphase.timeline import Phase, Progress

ZERO = 1_800_000_000.0
WEIGHTS = PhaseRule("weights", "Load weights")
LAUNCHER = PhaseRule("launch", "Launch", process="launcher", ranks="launcher")


def whole(track: Track, ranks: tuple[str, ...] = (), past: dict[str, int] | None = None) -> Phase:
    return track.phase(ZERO, ranks, past or {})


@given(begin=st.integers(0, 10**6), length=st.integers(0, 200_000))
@settings(max_examples=300, deadline=None)
def test_elapsed_with_stamps_of_whole_seconds(begin: int, length: int) -> None:
    """A printed duration fixes both ends to hundredths: each stays within the second of its stamp."""
    true_begin, true_end = ZERO + begin / 1000, ZERO + (begin + length) / 1000
    printed = round(length / 1000, 2)
    span = OpenSpan(1, math.floor(true_begin), explicit=True)
    span.close(math.floor(true_end), 2, printed)

    assert span.duration == printed
    assert span.start is not None
    assert span.end is not None
    assert span.end - span.start == pytest.approx(printed, abs=1e-6)
    assert math.floor(true_begin) <= span.start <= math.floor(true_begin) + 1 + 0.006
    assert math.floor(true_end) <= span.end <= math.floor(true_end) + 1 + 0.006


@given(begin=st.integers(0, 10**6), length=st.integers(0, 200_000))
@settings(max_examples=100, deadline=None)
def test_elapsed_with_milliseconds(begin: int, length: int) -> None:
    """With milliseconds the figure changes little."""
    true_begin, true_end = ZERO + begin / 1000, ZERO + (begin + length) / 1000
    span = OpenSpan(1, true_begin, explicit=True)
    span.close(true_end, 2, round(length / 1000, 2))

    assert span.start == pytest.approx(true_begin, abs=0.011)
    assert span.end == pytest.approx(true_end, abs=0.011)


def test_elapsed_without_a_begin() -> None:
    """An end with a figure tells the begin."""
    track = Track(WEIGHTS)
    track.end("TP0", ZERO + 10, 5, 4.25, None)
    phase = whole(track)

    assert (5.75, 10.0, 4.25, "elapsed") == (phase.start_s, phase.end_s, phase.duration_s, phase.duration_from)


def test_elapsed_that_does_not_fit() -> None:
    """The engine's figure beats the clock, whatever the stamps say."""
    span = OpenSpan(1, ZERO + 9, explicit=True)
    span.close(ZERO + 10, 2, 5.0)

    assert (ZERO + 5, ZERO + 10, 5.0) == (span.start, span.end, span.duration)


def test_an_end_before_its_begin() -> None:
    """A clock that runs back makes no negative span."""
    track = Track(WEIGHTS)
    track.begin("TP0", ZERO + 5, 1)
    track.end("TP0", ZERO + 3, 2, None, None)

    assert 0.0 == whole(track).duration_s


def test_without_a_clock() -> None:
    """Without stamps a printed duration is known and nothing else."""
    track = Track(WEIGHTS)
    track.begin(None, None, 1)
    track.end(None, None, 2, 3.5, None)
    phase = track.phase(None, (), {})

    assert ("done", None, None, 3.5) == (phase.status, phase.start_s, phase.end_s, phase.duration_s)


def test_ranks() -> None:
    """First begin to last end; slowest and spread are of the ranks' own durations."""
    track = Track(WEIGHTS)
    for number in range(4):
        track.begin(f"TP{number}", ZERO + number, number + 1)
    for number in range(4):
        track.end(f"TP{number}", ZERO + 10 + 2 * number, number + 5, None, None)
    phase = whole(track, ("TP0", "TP1", "TP2", "TP3"))

    assert (0.0, 16.0, 16.0, "clock") == (phase.start_s, phase.end_s, phase.duration_s, phase.duration_from)
    assert ("TP3", 3.0, (), ()) == (phase.slowest, phase.spread_s, phase.missing, phase.spans)


def test_missing() -> None:
    """A rank is missing where another has ended: one that has begun, or has said nothing since; not one that is past it."""
    track = Track(WEIGHTS)
    for rank in ("TP0", "TP1"):
        track.begin(rank, ZERO, 10)
    assert () == whole(track, ("TP0", "TP1", "TP2")).missing
    track.end("TP0", ZERO + 5, 12, None, None)
    phase = whole(track, ("TP0", "TP1", "TP2", "TP3"), {"TP3": 15, "TP2": 3})

    assert ("TP1", "TP2") == phase.missing
    assert "open" == phase.status
    assert phase.duration_s is None


def test_again() -> None:
    """A phase that comes twice has its parts in `spans` and their sum as duration."""
    track = Track(WEIGHTS)
    for begin in (0, 10):
        track.begin("TP0", ZERO + begin, 1 + begin)
        track.end("TP0", ZERO + begin + 2, 2 + begin, None, None)
    phase = whole(track)

    assert (0.0, 12.0, 4.0, 2) == (phase.start_s, phase.end_s, phase.duration_s, len(phase.spans))


def test_a_bar_gives_the_end() -> None:
    """A span that only a bar shows lasts as long as the bar says."""
    track = Track(WEIGHTS)
    track.begin(None, ZERO + 1, 1, explicit=False)
    assert track.bar(Progress(1, 2, "shards", 1.0, line=1), ZERO + 1, 1)
    assert track.bar(Progress(2, 2, "shards", 4.0, line=2), ZERO + 1, 2)
    assert not track.bar(Progress(2, 2, "shards", 4.0, line=2), ZERO + 1, 2)
    track.settle(ZERO + 9)
    phase = whole(track)

    assert (1.0, 5.0, 4.0, "bar") == (phase.start_s, phase.end_s, phase.duration_s, phase.duration_from)
    assert ((1.0, 1), (4.0, 2)) == phase.curve


def test_what_a_bar_opened_goes_to_the_rank() -> None:
    """The tagged rank that speaks next takes over what an untagged bar had opened."""
    track = Track(WEIGHTS)
    track.begin(None, ZERO + 1, 1, explicit=False)
    track.begin("TP0", ZERO + 3, 2)
    track.end("TP0", ZERO + 5, 3, None, None)
    phase = whole(track, ("TP0",))

    assert ("done", 1.0, 5.0) == (phase.status, phase.start_s, phase.end_s)
    assert ["TP0"] == list(phase.ranks)


def test_before_the_log() -> None:
    """A begin within the first stamp's second is the start; one long before it is not known."""
    near, far = Track(WEIGHTS), Track(WEIGHTS)
    near.end(None, ZERO + 1, 1, 1.6, None)
    far.end(None, ZERO + 1, 1, 90.0, None)

    assert (0.0, 1.6) == (whole(near).start_s, whole(near).duration_s)
    assert (None, 90.0) == (whole(far).start_s, whole(far).duration_s)


def test_a_launchers_begin_again() -> None:
    """The launcher's phase that is announced twice begins at the second word."""
    track = Track(LAUNCHER)
    track.begin(None, ZERO + 1, 1)
    track.begin(None, ZERO + 3, 2)
    track.end(None, ZERO + 5, 3, None, None)

    assert 2.0 == whole(track).duration_s


def test_curve_stays_small() -> None:
    """A long bar's curve is thinned; its first and newest points stay."""
    track = Track(WEIGHTS)
    for done in range(5000):
        track.bar(Progress(done, 5000, "shards", float(done)), ZERO + done, done + 1)

    assert len(track.curve) <= 201
    assert (0.0, 0) == track.curve[0]
    assert (4999.0, 4999) == track.curve[-1]


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["begin", "loose", "end", "elapsed", "settle", "every", "bar", "seen"]),
        st.sampled_from([None, "TP0", "TP1"]),
        st.floats(-2, 60),
        st.floats(0, 300),
    ),
    max_size=25,
)


@given(actions=ACTIONS, unstamped=st.integers(0, 5), launcher=st.booleans())
@settings(max_examples=300, deadline=None)
def test_never_negative(actions: list[tuple[str, str | None, float, float]], unstamped: int, launcher: bool) -> None:  # noqa: FBT001
    """Whatever comes in which order: no negative time, and no end before its begin."""
    moment = 0.0
    track = Track(LAUNCHER if launcher else WEIGHTS)
    for line, (action, name, step, figure) in enumerate(actions, 1):
        rank = None if launcher else name
        time = None if line <= unstamped else ZERO + max(0.0, moment + step)
        moment = max(moment, moment + step)
        if action in ("begin", "loose"):
            track.begin(rank, time, line, explicit=action == "begin")
        elif action in ("end", "elapsed"):
            track.end(rank, time, line, figure if action == "elapsed" else None, None)
        elif action in ("settle", "every"):
            track.settle(time, rank, every=action == "every")
        elif action == "bar":
            track.bar(Progress(int(figure), 300, "shards", figure), time, line)
        else:
            track.seen(rank, time, line)
        phase = whole(track, ("TP0", "TP1"))
        for span in (phase, *phase.ranks.values(), *phase.spans):
            assert span.start_s is None or span.start_s >= 0
            assert span.duration_s is None or span.duration_s >= 0
            assert span.end_s is None or span.end_s >= (span.start_s or 0)
        assert all(end >= begin for begin, end in track.intervals())
        assert phase.spread_s is None or phase.spread_s >= 0
        assert 0 <= phase.lines[0] <= phase.lines[1] <= line
