"""Startup -> the figures that several views show: how long so far, which share, what readiness waited for.

Law of this file: numbers in, numbers out; what is not known is None.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logphase.timeline import Gap, Memory, Phase, Span, Startup

AFTER = frozenset({"serving", "shutdown"})
"""Phases that are not part of the startup: no share, no bar."""

SHORTEST_GAP = 0.5  # seconds: less is rounding
_NEAR = 0.005  # seconds


@dataclass(frozen=True, slots=True)
class Link:
    """A part of the critical chain: a phase, or a stretch without a line (`phase` None), its begin and how long it was waited for."""

    phase: Phase | None
    start_s: float
    waited_s: float
    rank: str | None = None


def total(startup: Startup) -> float:
    """The scale of shares and bars: started to ready, or to the end of what is known."""
    if startup.duration_s:
        return startup.duration_s
    return max((phase.end_s or 0.0 for phase in startup.phases if phase.id not in AFTER), default=0.0)


def so_far(startup: Startup, phase: Phase) -> float | None:
    """How long a phase took, or has taken until the last line."""
    if phase.duration_s is not None or phase.status == "done" or phase.start_s is None:
        return phase.duration_s
    until = phase.end_s if phase.end_s is not None else startup.last_line.after_s
    return None if until is None else max(until - phase.start_s, 0.0)


def end_of(startup: Startup, part: Phase | Span) -> float | None:
    """Where a phase or span ends; where one that has not ended is cut: at the last line."""
    if part.end_s is not None or part.start_s is None or part.status == "done":
        return part.end_s
    return None if startup.last_line.after_s is None else max(startup.last_line.after_s, part.start_s)


def share(startup: Startup, phase: Phase) -> float | None:
    """Share of the total, 0 to 1; None where the log begins in the middle of the phase."""
    passed, whole = so_far(startup, phase), total(startup)
    if passed is None or phase.id in AFTER or whole <= 0 or passed > whole * 1.01:
        return None
    return passed / whole


def blame(startup: Startup) -> list[Phase]:
    """Phases of the startup by duration, the longest first."""
    known = [phase for phase in startup.phases if phase.id not in AFTER and so_far(startup, phase) is not None]
    return sorted(known, key=lambda phase: -(so_far(startup, phase) or 0.0))


def memory_by_phase(startup: Startup) -> dict[str, list[Memory]]:
    """Of each phase the values of the rank that had least free memory, as they came."""
    found: dict[str, list[Memory]] = {}
    for value in startup.memory:
        if value.phase not in AFTER:
            found.setdefault(value.phase, []).append(value)
    tags = {name: min(values, key=lambda value: (value.avail_gb, -value.line)).rank for name, values in found.items()}
    return {name: [value for value in values if value.rank == tags[name]] for name, values in found.items()}


def telling_gaps(startup: Startup) -> list[Gap]:
    """Gaps that are more than rounding, or a hundredth of the whole."""
    whole = total(startup)
    return [gap for gap in startup.gaps if gap.duration_s >= SHORTEST_GAP or (whole > 0 and gap.duration_s >= whole / 100)]


def chain(startup: Startup) -> list[Link]:
    """What readiness (or the end) waited for, from the begin on: walked backwards, at each moment the phase that ended last.

    Where phases overlap, the one that began later is what was waited for. Time in which no phase ran is a link without a phase.
    """
    parts = [
        (phase, phase.start_s, end)
        for phase in startup.phases
        if phase.id not in AFTER and phase.start_s is not None and (end := end_of(startup, phase)) is not None
    ]
    at = total(startup)
    links: list[Link] = []
    while at > _NEAR:
        earlier = [part for part in parts if part[1] < at - _NEAR]
        if not earlier:
            links.append(Link(None, 0.0, at))
            break
        phase, start, end = max(earlier, key=lambda part: (min(part[2], at), part[1]))
        if at - end > _NEAR:
            links.append(Link(None, end, at - end))
        links.append(Link(phase, start, min(end, at) - start, _last_rank(phase)))
        at = start
    return links[::-1]


def _last_rank(phase: Phase) -> str | None:
    """The rank that ended last, where there was a choice."""
    ended = {tag: span.end_s for tag, span in phase.ranks.items() if span.end_s is not None}
    if len(ended) < 2 or max(ended.values()) - min(ended.values()) < 0.01:
        return None
    return max(ended, key=lambda tag: ended[tag])


@dataclass(frozen=True, slots=True)
class Pace:
    """How a bar went: moments (elapsed s, done), rates (from s, to s, steps a second), and the longest wait for one step."""

    points: tuple[tuple[float, int], ...]
    rates: tuple[tuple[float, float, float], ...]
    longest: tuple[float, float, int]  # (from s, to s, the step it waited for)

    @property
    def mean(self) -> float:
        """Steps a second over the whole bar."""
        (first, begun), (last, done) = self.points[0], self.points[-1]
        return (done - begun) / (last - first)


def pace(phase: Phase) -> Pace | None:
    """The pace of a phase's bar; None where it has too few moments to draw.

    A bar counts whole seconds, so that of several states of one second only the newest counts.
    """
    newest: dict[float, int] = {}
    for elapsed, done in phase.curve:
        newest[elapsed] = max(done, newest.get(elapsed, 0))
    points = tuple(sorted(newest.items()))
    if len(points) < 3:
        return None
    steps = [(a[0], b[0], b[1] - a[1], a[1]) for a, b in pairwise(points)]
    rates = tuple((start, end, max(count, 0) / (end - start)) for start, end, count, _ in steps)
    longest = max(steps, key=lambda step: (step[1] - step[0]) / max(step[2], 1))
    return Pace(points, rates, (longest[0], longest[1], longest[3] + 1))
