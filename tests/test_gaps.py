"""Intervals to what is explained and what is not: each second counts once."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logphase.gaps import gaps
from logphase.timeline import Gap

TIMES = st.floats(-50, 200, allow_nan=False)
NAMED = st.lists(st.tuples(TIMES, TIMES, st.sampled_from(["launch", "weights", "http"])), max_size=30)


@given(named=NAMED, total=st.floats(0.01, 150))
@settings(max_examples=300, deadline=None)
def test_adds_up(named: list[tuple[float, float, str]], total: float) -> None:
    """Explained time and gaps are the whole, no gap is negative or overlaps another one, none is covered."""
    found, share = gaps(named, total)

    assert share is not None
    assert 0.0 <= share <= 1.0
    assert total == pytest.approx(share * total + sum(gap.duration_s for gap in found), abs=0.01)
    reached = 0.0
    for gap in found:
        assert gap.duration_s > 0
        assert gap.start_s >= reached - 1e-9
        reached = gap.start_s + gap.duration_s
        assert not any(max(start, gap.start_s) + 1e-9 < min(end, reached) for start, end, _ in named)
    assert reached <= total + 1e-9


@given(number=st.integers(1, 400), hole=st.floats(0, 0.00099))
@settings(max_examples=50, deadline=None)
def test_many_small_holes(number: int, hole: float) -> None:
    """Holes too small to tell do not add up to something that is neither."""
    named = [(index * (1 + hole), index * (1 + hole) + 1, "weights") for index in range(number)]
    total = named[-1][1]
    found, share = gaps(named, total)

    assert share is not None
    assert total == pytest.approx(share * total + sum(gap.duration_s for gap in found), abs=0.01)


def test_names_what_is_around() -> None:
    """A gap says which phase was before and which comes after."""
    found, share = gaps([(2.0, 4.0, "weights"), (1.0, 3.0, "launch"), (6.0, 8.0, "http")], 10.0)

    assert (Gap(None, "launch", 0.0, 1.0), Gap("weights", "http", 4.0, 2.0), Gap("http", None, 8.0, 2.0)) == found
    assert 0.5 == share


def test_outside_does_not_count() -> None:
    """What lies before the start or after the end is cut off."""
    found, share = gaps([(-5.0, 1.0, "launch"), (9.0, 20.0, "http"), (30.0, 40.0, "serving")], 10.0)

    assert (Gap("launch", "http", 1.0, 8.0),) == found
    assert 0.2 == share


def test_nothing() -> None:
    """Without time there is no share; without phases all is a gap."""
    assert ((), None) == gaps([], 0.0)
    assert ((Gap(None, None, 0.0, 5.0),), 0.0) == gaps([], 5.0)
