"""Likeness -> what earlier startups like it took, phase by phase: the store and the likeness put together.

Law of this file: of startups that differ it is told in what, and the less alike they are, the less sure is what they tell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from logphase.estimate import EARLY, Past
from logphase.history import READY
from logphase.likeness import nearest
from logphase.warmth import COLD, WARM

if TYPE_CHECKING:
    from collections.abc import Sequence

    from logphase.history import Entry
    from logphase.likeness import Likeness
    from logphase.store import Store

TOTAL = "total"  # started to ready, among phases
MOST = 100  # of the newest startups that are asked
FAR = 1.5  # how much less sure a startup is that is not quite alike …
FAR_MORE = 0.25  # … and how much more so for each step of distance
WARM_BY_COLD = 0.57  # of the time of a cold start a warm one takes: median of five published and measured pairs (docs/history.md)
UNSURE = 0.65  # how much that varies between them, as a standard deviation of the logarithm
DEVIATIONS = 3.0  # median absolute deviations over the median that a phase may be silent
ENOUGH = 3  # startups, for a patience


@dataclass(frozen=True, slots=True)
class Recalled:
    """Earlier startups that are comparable, oldest first, and in which parts they differ (none: all alike)."""

    entries: tuple[Entry, ...] = ()
    differs: tuple[tuple[str, str], ...] = ()
    distance: float = 0.0
    warmth: str | None = None  # of the startup that is asked for, as far as it is known

    @property
    def source(self) -> str:
        """Where a figure is from, for a person."""
        if not self.differs:
            return "history"
        return f"history of the nearest ({', '.join(f'{part}: {how}' for part, how in self.differs)})"


def recall(store: Store, wanted: Likeness, most: int = MOST) -> Recalled:
    """The comparable startups in a store: those that are alike, else the nearest of the same model.

    Raises:
        HistoryError: when the store cannot be used.
    """
    known = store.alike(wanted, most)
    found = nearest(wanted, known)
    if not found.numbers or found.differs:
        held = {number for _, number in known}
        known += [pair for pair in store.same_model(wanted, most) if pair[1] not in held]
        found = nearest(wanted, known)
    return Recalled(tuple(store.entries(found.numbers)), found.differs, found.distance, wanted.warmth)


def pasts(recalled: Recalled) -> dict[str, Past]:
    """What each phase took and what came after it, by its usual order."""
    unlike = [part for part, _ in recalled.differs if part != "cold/warm"]
    wide = FAR + FAR_MORE * recalled.distance if unlike else 1.0
    entries, factor, unsure = _caches(recalled)
    rows: dict[str, list[tuple[float, float, float, tuple[tuple[float, float], ...]]]] = {}
    for entry in entries:
        for phase in entry.phases:
            if phase.start_s is None or phase.end_s is None or entry.total_s is None or phase.status != "done":
                continue
            took = max(0.0, phase.end_s - phase.start_s)
            points = tuple((done / phase.total, elapsed / took) for elapsed, done in phase.curve) if phase.total and took > 0 else ()
            rows.setdefault(phase.id, []).append((phase.start_s, took, max(0.0, entry.total_s - phase.end_s), points))
    order = sorted(rows, key=lambda name: sorted(row[0] for row in rows[name])[len(rows[name]) // 2])
    return {
        name: Past(
            took=tuple(row[1] * (1.0 if name in EARLY else factor) for row in rows[name]),
            after=tuple(row[2] * factor for row in rows[name]),
            curves=tuple(row[3] for row in rows[name] if row[3]),
            source=recalled.source,
            wide=wide,
            unsure=unsure,
        )
        for name in order
    }


def _caches(recalled: Recalled) -> tuple[Sequence[Entry], float, float]:
    """Which entries to go by as caches are, what their times are multiplied with, and how unsure that makes (a logarithm).

    As long as a log does not tell cold from warm, a startup after another one is taken for warm: the caches are filled. If the only
    one before was cold, either may come; if all were, this machine keeps no caches.
    """
    cold = [entry for entry in recalled.entries if entry.likeness.warmth == COLD]
    warm = [entry for entry in recalled.entries if entry.likeness.warmth != COLD]
    if recalled.warmth is None:
        if warm or len(cold) != 1:
            return warm or cold, 1.0, 0.0
        return cold, math.sqrt(WARM_BY_COLD), UNSURE
    if recalled.warmth == COLD and not cold:
        return warm, 1 / WARM_BY_COLD, UNSURE
    if recalled.warmth == WARM and not warm:
        return cold, WARM_BY_COLD, UNSURE
    return (cold if recalled.warmth == COLD else warm), 1.0, 0.0


def spreads(recalled: Recalled) -> dict[str, tuple[float, float, int]]:
    """Median, median absolute deviation and number of each phase's duration, and of the total of those that got ready, under TOTAL.

    Whatever the order of startups; {} where none is alike.
    """
    took: dict[str, list[float]] = {}
    for entry in () if recalled.differs else _caches(recalled)[0]:
        if entry.state == READY and entry.total_s is not None:
            took.setdefault(TOTAL, []).append(entry.total_s)
        for phase in entry.phases:
            if phase.duration_s is not None and phase.status == "done":
                took.setdefault(phase.id, []).append(phase.duration_s)
    return {name: _spread(values) for name, values in took.items()}


def _spread(values: Sequence[float]) -> tuple[float, float, int]:
    from statistics import median

    middle = median(values)
    return middle, median(abs(value - middle) for value in values), len(values)


def patience(recalled: Recalled, phase: str) -> float | None:
    """How long a phase may be silent by history: its median and DEVIATIONS more; None where too few startups tell."""
    middle, deviation, number = spreads(recalled).get(phase, (0.0, 0.0, 0))
    return middle + DEVIATIONS * deviation if number >= ENOUGH else None
