"""Fatal lines -> the first cause.

Several lines tell of one failure, and the loudest is rarely the one that explains it. Each candidate has a strength from its rule
(3: names the cause, 2: an exception or a peer's report, 1: only says that something failed). Of those that belong together the
strongest is the cause, the earliest among equals. A provisional one is taken back when the startup goes on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logphase.events import Event

TOGETHER_S = 120.0  # what follows later is an echo of the end
TOGETHER_LINES = 2000


@dataclass(frozen=True, slots=True)
class Candidate:
    """A fatal line: whose it is, the phase that it names itself, the traceback that it stands in, and what ran at that moment."""

    event: Event
    rank: str | None
    phase: str | None
    trace: int
    during: str | None

    @property
    def line(self) -> int:
        """Its line number."""
        return self.event.record.line


class Failures:
    """Feed candidates; `cause` is the one to show."""

    def __init__(self) -> None:
        self._candidates: list[Candidate] = []
        self._certain: Candidate | None = None

    def feed(self, candidate: Candidate) -> None:
        """Take a fatal line."""
        if self._certain is None and not candidate.event.rule.provisional:
            self._certain = candidate
        if len(self._candidates) < TOGETHER_LINES or candidate is self._certain:
            self._candidates.append(candidate)

    def move(self, by: float) -> None:
        """Put them on another clock: `by` seconds earlier."""
        moved = {id(one): replace(one, event=one.event.moved(by)) for one in (*self._candidates, self._certain) if one is not None}
        self._candidates = [moved[id(one)] for one in self._candidates]
        self._certain = moved[id(self._certain)] if self._certain is not None else None

    def forget(self) -> None:
        """The startup goes on: nothing provisional was the end."""
        if self._certain is None:
            self._candidates.clear()

    def named(self, trace: int) -> str | None:
        """The phase that another line of the same traceback names."""
        return next((candidate.phase for candidate in self._candidates if candidate.trace == trace and candidate.phase), None)

    def holds(self, line: int) -> bool:
        """Whether a line is one of them."""
        return any(candidate.line == line for candidate in self._candidates)

    @property
    def certain(self) -> bool:
        """Whether one of them leaves no doubt."""
        return self._certain is not None

    @property
    def cause(self) -> Candidate | None:
        """The first cause, or None when nothing failed."""
        if not self._candidates:
            return None
        first = self._certain or self._candidates[0]
        near = [candidate for candidate in self._candidates if _together(first, candidate)]
        return max(near, key=lambda candidate: (candidate.event.rule.strength, -candidate.line))


def _together(first: Candidate, other: Candidate) -> bool:
    if other.line - first.line > TOGETHER_LINES:
        return False
    begin, end = first.event.record.time, other.event.record.time
    return begin is None or end is None or end - begin <= TOGETHER_S
