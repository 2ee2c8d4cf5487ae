"""Frames -> lines for a pipe: one for each change, and one at least every half minute, so that nobody waits in silence.

Law of this file: `feed` gives the lines that are new; it never prints. The state's word comes first where the state changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from logphase.live import Ending
from logphase.verdict import State
from logphase.views.doing import bar, current, doing, left, spent, stall, still
from logphase.views.sentence import said, sentence
from logphase.views.words import quote, spoken

if TYPE_CHECKING:
    from logphase.live import Frame

HEARTBEAT_S = 30.0
DECIDED = frozenset({Ending.READY, Ending.FAILED, Ending.STALLED})  # by what was told already


class PlainLines:
    """Feed frames, get what is new in them as lines."""

    def __init__(self, *, hide: bool = True) -> None:
        self._hide = hide
        self._notices = 0
        self._known: tuple[object, ...] = ()
        self._at = 0.0
        self._phase: str | None = None
        self._said: list[str] = []  # at the last change

    def feed(self, frame: Frame) -> list[str]:
        """The lines that this frame adds."""
        lines = [f"note: {quote(notice, hide=self._hide)}" for notice in frame.notices[self._notices :]]
        self._notices = len(frame.notices)
        known = (frame.verdict.state, frame.verdict.phase, frame.earlier, frame.final)
        if known != self._known:
            said = self._change(frame)
            lines += said if frame.final not in DECIDED or said != self._said else []
            self._said = said
        elif frame.wall - self._at >= HEARTBEAT_S:
            lines.append(still(frame))
        else:
            return lines
        self._known, self._at = known, frame.wall
        return lines

    def _change(self, frame: Frame) -> list[str]:
        state, phase = frame.verdict.state, current(frame)
        lines = self._ended(frame)
        if state is State.STARTING and phase is not None and frame.final is None:
            parts = [doing(phase) if phase.status == "open" else f"after {phase.title}", bar(phase) if phase.status == "open" else ""]
            parts += [left(frame.estimate)] if frame.estimate is not None else []
            since = f" ({spoken(frame.elapsed_s)} since the start)" if frame.elapsed_s is not None else ""
            told = frame.verdict.summary if frame.startup is not None and frame.startup.waiting_for else ", ".join(filter(None, parts))
            return [*lines, f"{state}: {quote(told, hide=self._hide)}{since}"]
        if frame.startup is not None:
            lines.append(sentence(frame.startup, frame.verdict, hide=self._hide))
        else:
            lines.append(f"{state}: {said(frame.verdict, hide=self._hide)}")
        if frame.verdict.cause is not None and frame.verdict.cause.remedy:
            lines.append(f"  {quote(frame.verdict.cause.remedy, hide=self._hide)}")
        return [*lines, *(f"  {part}" for part in stall(frame))]

    def _ended(self, frame: Frame) -> list[str]:
        """The phase that was current before, with its time."""
        before, self._phase = self._phase, frame.startup.current if frame.startup is not None else None
        if before is None or before == self._phase or frame.startup is None:
            return []
        phase = next((phase for phase in frame.startup.phases if phase.id == before), None)
        time = spent(frame, phase) if phase is not None and phase.status == "done" else None
        return [f"done: {phase.title}, {spoken(time)}"] if phase is not None and time is not None else []
