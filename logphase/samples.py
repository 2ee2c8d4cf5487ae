"""Two handfuls of durations -> what may be said of their difference, and on what grounds.

Law of this file: no statement that the number of startups cannot bear. Median, range and n always; from 4 a side an exact test; with less
the ranges, or the spread that earlier startups showed; with one against one a rule of thumb that calls a small difference unclear.
Swapping the sides swaps slower and faster, the order within a side means nothing. All in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

TESTED = 4  # startups a side from which on an exact test can say anything (2 in 70 by chance)
LEVEL = 0.05
EXACT = 5_000  # orders of two sides with ties that are all tried: up to 7 against 7
SMALL = 50  # startups a side up to which the exact distribution is counted out
RANGED = 4  # startups on both sides together, for which ranges say something
SPREADS = 4  # earlier startups from which on their spread counts
TOLERANCE_MAD = 3 * 1.4826  # of a normal spread: 3 standard deviations
THUMB_S = 2.0  # of one against one: less is no difference that one startup can show
THUMB_PHASE, THUMB_TOTAL = 0.5, 0.2  # nor is less than this share of the smaller


class Verdict(StrEnum):
    """What became of a duration."""

    SAME = "same"
    SLOWER = "slower"
    FASTER = "faster"
    GONE = "gone"
    NEW = "new"
    UNCLEAR = "unclear"


class Spread(NamedTuple):
    """How a duration varied before: median and median absolute deviation of n startups."""

    median: float
    mad: float
    n: int


@dataclass(frozen=True, slots=True)
class Sample:
    """Durations of one side, in order of size. Equal whatever order they came in."""

    values: tuple[float, ...] = ()

    @classmethod
    def of(cls, values: Iterable[float]) -> Sample:
        """The durations, sorted."""
        return cls(tuple(sorted(values)))

    @property
    def n(self) -> int:
        """How many."""
        return len(self.values)

    @property
    def median(self) -> float | None:
        """The middle one, or the mean of the two in the middle; None without any."""
        if not self.values:
            return None
        half = self.n // 2
        return self.values[half] if self.n % 2 else (self.values[half - 1] + self.values[half]) / 2

    @property
    def range(self) -> tuple[float, float] | None:
        """The smallest and the largest."""
        return (self.values[0], self.values[-1]) if self.values else None


@dataclass(frozen=True, slots=True)
class Change:
    """What the other side is against the baseline.

    `basis`: mann-whitney | ranges | history | single (one startup shows no spread) | presence; `p` belongs to the first,
    `noise_s` is what the ranges or history allow without a reason.
    """

    verdict: Verdict
    delta_s: float | None
    basis: str
    p: float | None = None
    noise_s: float | None = None

    @property
    def grounds(self) -> str:
        """On what the verdict rests, in words."""
        noise = f"{self.noise_s:.1f} s" if self.noise_s is not None else ""
        return {
            "mann-whitney": f"p = {self.p:.2g} (Mann-Whitney)" if self.p is not None else "",
            "ranges": f"ranges up to {noise} wide",
            "history": f"earlier startups varied by ±{noise}",
            "single": "spread unknown",
            "presence": "on one side only",
        }[self.basis]


def change(base: Sample, other: Sample, *, resolution_s: float, spread: Spread | None = None, thumb: float = THUMB_PHASE) -> Change | None:
    """Judge a difference of durations; None where neither side has any.

    `resolution_s`: what the stamps cannot tell apart; `spread`: of earlier startups of the same kind; `thumb`: with one against one the
    share of the smaller that a difference must have.
    """
    first, second = base.median, other.median
    if first is None and second is None:
        return None
    if first is None or second is None:
        return Change(Verdict.GONE if second is None else Verdict.NEW, (second or 0.0) - (first or 0.0), "presence")
    delta = second - first
    if min(base.n, other.n) >= TESTED:
        return _tested(base, other, delta, resolution_s)
    if spread is not None and spread.n >= SPREADS:
        noise = max(TOLERANCE_MAD * spread.mad, resolution_s)
        return Change(_direction(delta) if abs(delta) > noise else Verdict.SAME, delta, "history", noise_s=noise)
    if base.n + other.n >= RANGED:
        return _ranged(base, other, delta, resolution_s)
    telling = abs(delta) >= max(THUMB_S, thumb * min(first, second))
    verdict = Verdict.SAME if abs(delta) <= resolution_s else _direction(delta) if telling else Verdict.UNCLEAR
    return Change(verdict, delta, "single")


def _direction(delta: float) -> Verdict:
    return Verdict.SLOWER if delta > 0 else Verdict.FASTER


def _tested(base: Sample, other: Sample, delta: float, resolution_s: float) -> Change:
    p = mann_whitney(base, other)
    if abs(delta) <= resolution_s / 4:  # what one stamp cannot tell, four can
        verdict = Verdict.SAME
    elif p < LEVEL:
        verdict = _direction(delta)
    else:
        verdict = Verdict.SAME if _within(base, other) and _within(other, base) else Verdict.UNCLEAR
    return Change(verdict, delta, "mann-whitney", p)


def _within(one: Sample, other: Sample) -> bool:
    """Whether the median of one lies in the range of the other."""
    return one.median is not None and other.range is not None and other.range[0] <= one.median <= other.range[1]


def _ranged(base: Sample, other: Sample, delta: float, resolution_s: float) -> Change:
    """Ranges that lie apart by more than the wider of them is wide."""
    low, high, least, most = base.values[0], base.values[-1], other.values[0], other.values[-1]
    noise = max(high - low, most - least, resolution_s)
    apart = max(least - high, low - most)
    if apart > noise:
        return Change(_direction(delta), delta, "ranges", noise_s=noise)
    return Change(Verdict.SAME if abs(delta) <= noise and apart <= 0 else Verdict.UNCLEAR, delta, "ranges", noise_s=noise)


def mann_whitney(base: Sample, other: Sample) -> float:
    """Two-sided p of the rank sum test: exact; with ties exact up to 7 against 7, beyond that by the normal approximation."""
    from math import comb

    from scipy.stats import PermutationMethod, mannwhitneyu

    different = len({*base.values, *other.values})
    if different == 1:
        return 1.0
    if different == base.n + other.n:
        method = "exact" if max(base.n, other.n) <= SMALL else "asymptotic"
    else:
        few = comb(base.n + other.n, base.n) <= EXACT
        method = PermutationMethod(n_resamples=EXACT) if few else "asymptotic"
    return float(mannwhitneyu(base.values, other.values, method=method).pvalue)
