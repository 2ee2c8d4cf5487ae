"""What may be said of two handfuls of durations."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logphase.samples import Sample, Spread, Verdict, change, mann_whitney

OPPOSITE = {Verdict.SLOWER: Verdict.FASTER, Verdict.FASTER: Verdict.SLOWER, Verdict.GONE: Verdict.NEW, Verdict.NEW: Verdict.GONE}
DURATIONS = st.lists(st.floats(0, 500).map(lambda value: round(value, 1)), max_size=5)


def verdict(base: list[float], other: list[float], **asked: object) -> Verdict | None:
    """The verdict for two lists of durations."""
    made = change(Sample.of(base), Sample.of(other), **{"resolution_s": 0.02, **asked})  # type: ignore[arg-type]
    return made and made.verdict


@settings(max_examples=60, deadline=None)
@given(DURATIONS, DURATIONS)
def test_swapping_the_sides_swaps_the_signs(base: list[float], other: list[float]) -> None:
    """The other way round it is as much the other way."""
    one = change(Sample.of(base), Sample.of(other), resolution_s=1.0)
    two = change(Sample.of(other), Sample.of(base), resolution_s=1.0)
    if one is None or two is None or one.delta_s is None or two.delta_s is None:
        assert one == two
        return

    assert one.delta_s == pytest.approx(-two.delta_s)
    assert OPPOSITE.get(one.verdict, one.verdict) == two.verdict
    assert (one.basis, one.noise_s) == (two.basis, two.noise_s)
    assert one.p == pytest.approx(two.p)


@settings(max_examples=40, deadline=None)
@given(DURATIONS)
def test_a_side_does_not_differ_from_itself(values: list[float]) -> None:
    """The same durations are the same."""
    assert verdict(values, values) == (Verdict.SAME if values else None)


@settings(max_examples=40, deadline=None)
@given(st.permutations([1.0, 2.0, 2.5, 9.0, 3.0]))
def test_the_order_within_a_side_means_nothing(values: list[float]) -> None:
    """A sample is the same in any order."""
    assert Sample.of([1.0, 2.0, 2.5, 3.0, 9.0]) == Sample.of(values)


@pytest.mark.parametrize(
    ("base", "other", "expected"),
    [
        ([10.0], [11.0], Verdict.UNCLEAR),
        ([10.0], [22.0], Verdict.SLOWER),
        ([22.0], [10.0], Verdict.FASTER),
        ([1.0], [2.5], Verdict.UNCLEAR),
        ([10.0, 10.5], [10.2, 10.6], Verdict.SAME),
        ([10.0, 10.5, 10.2], [12.0, 12.2, 12.4], Verdict.SLOWER),
        ([10.0, 12.0, 11.0], [12.5, 14.0, 13.0], Verdict.UNCLEAR),
        ([10.0, 10.1, 10.2, 10.3], [11.0, 11.1, 11.2, 11.3], Verdict.SLOWER),
        ([10.0, 12.0, 14.0, 16.0], [11.0, 13.0, 15.0, 17.0], Verdict.SAME),
        ([], [3.0], Verdict.NEW),
        ([3.0, 4.0], [], Verdict.GONE),
    ],
)
def test_verdicts(base: list[float], other: list[float], expected: Verdict) -> None:
    """Each number of startups says what it can bear."""
    assert expected == verdict(base, other)


def test_whole_seconds_are_not_told_apart_by_one_startup() -> None:
    """Two stamps of whole seconds a side leave two seconds open."""
    assert Verdict.SAME == verdict([1.0], [3.0], resolution_s=2.0)


def test_history_tells_what_one_startup_cannot() -> None:
    """With the spread of earlier startups one against one is judged by it; three of them are no spread."""
    calm, wild, few = Spread(10.0, 0.2, 12), Spread(10.0, 4.0, 12), Spread(10.0, 0.2, 3)

    assert Verdict.SLOWER == verdict([10.0], [12.0], spread=calm)
    assert Verdict.SAME == verdict([10.0], [12.0], spread=wild)
    assert Verdict.UNCLEAR == verdict([10.0], [12.0], spread=few)


def test_the_test_is_exact() -> None:
    """The smallest p of four against four is 2 in 70, with ties too; equal sides have p = 1."""
    assert mann_whitney(Sample.of([1.0, 2.0, 3.0, 4.0]), Sample.of([5.0, 6.0, 7.0, 8.0])) == pytest.approx(2 / 70)
    assert mann_whitney(Sample.of([1.0, 1.0, 2.0, 2.0]), Sample.of([3.0, 3.0, 3.0, 4.0])) == pytest.approx(2 / 70)
    assert 1.0 == mann_whitney(Sample.of([1.0] * 4), Sample.of([1.0] * 4))
