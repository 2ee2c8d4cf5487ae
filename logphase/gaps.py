"""Intervals -> what of a startup's time is explained, and the gaps between.

Each second counts once; nothing is carried forward to the next phase's begin. explained x T + gaps = T.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from logphase.timeline import Gap

if TYPE_CHECKING:
    from collections.abc import Iterable

LEAST_S = 0.001


def gaps(named: Iterable[tuple[float, float, str]], total: float) -> tuple[tuple[Gap, ...], float | None]:
    """The gaps in [0, total] that no named interval (start, end, phase; seconds) covers, and the explained share."""
    found: list[Gap] = []
    reached = 0.0
    after: str | None = None
    covered = 0.0
    for start, end, phase in sorted(named):
        begin, stop = max(0.0, start), min(end, total)
        if stop <= begin:
            continue
        if begin - reached > LEAST_S:
            found.append(Gap(after, phase, reached, begin - reached))
        else:
            begin = min(begin, reached)  # a hole too small to tell would else be neither
        if stop > reached:
            covered += stop - max(begin, reached)
            reached = stop
            after = phase
    if total - reached > LEAST_S:
        found.append(Gap(after, None, reached, total - reached))
    return tuple(found), (min(1.0, covered / total) if total > 0 else None)
