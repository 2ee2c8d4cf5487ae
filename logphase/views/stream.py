"""Frames -> events for scripts, one JSON object a line: state, progress, notice, end.

Law of this file: `feed` gives what is new; a field that is not known is null. Fields are added, never renamed.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from logphase.views.doing import current, spent
from logphase.views.sentence import said
from logphase.views.words import quote

if TYPE_CHECKING:
    from logphase.live import Frame
    from logphase.timeline import Evidence

PROGRESS_S = 1.0  # at most one progress event a second
HEARTBEAT_S = 30.0


class Events:
    """Feed frames, get what is new in them as lines of JSON."""

    def __init__(self, *, hide: bool = True) -> None:
        self._hide = hide
        self._notices = 0
        self._state: tuple[object, ...] = ()
        self._bar: tuple[object, ...] = ()
        self._at = 0.0
        self._over = False

    def feed(self, frame: Frame) -> list[str]:
        """The events that this frame adds."""
        new = frame.notices[self._notices :]
        events: list[dict[str, object]] = [{"event": "notice", "text": quote(notice, hide=self._hide)} for notice in new]
        self._notices = len(frame.notices)
        state = (frame.verdict.state, frame.verdict.phase, frame.earlier)
        phase = current(frame)
        bar = (phase.id, phase.progress.done) if phase is not None and phase.progress is not None else ()
        since = frame.wall - self._at
        if state != self._state:
            events.append({"event": "state", **self._told(frame)})
        elif since >= HEARTBEAT_S or (bar != self._bar and since >= PROGRESS_S):
            events.append({"event": "progress", **self._told(frame)})
        if any(event["event"] != "notice" for event in events):
            self._state, self._bar, self._at = state, bar, frame.wall
        if frame.final is not None and not self._over:
            self._over = True
            events.append({"event": "end", "ending": frame.final.value, **self._told(frame), **self._whole(frame)})
        return [json.dumps({"at": round(frame.wall, 3), **event}, ensure_ascii=False) for event in events]

    def _told(self, frame: Frame) -> dict[str, object]:
        phase = current(frame)
        bar = phase.progress if phase is not None else None
        took = spent(frame, phase) if phase is not None else None
        guess, stall, cause = frame.estimate, frame.verdict.stall, frame.verdict.cause
        return {
            "state": frame.verdict.state.value,
            "phase": frame.verdict.phase,
            "elapsed_s": _rounded(frame.elapsed_s),
            "phase_s": _rounded(took),
            "silence_s": _rounded(frame.silence_s),
            "progress": None if bar is None else {"done": bar.done, "total": bar.total, "unit": bar.unit},
            "left": None
            if guess is None
            else {
                "s": _rounded(guess.left_s),
                "range_s": [_rounded(guess.low_s), _rounded(guess.high_s)],
                "until": guess.scope,
                "source": guess.source,
            },
            "summary": said(frame.verdict, hide=self._hide),
            "cause": None
            if cause is None
            else {"rule": cause.rule, "line": cause.line, "rank": cause.rank, "text": self._quoted(cause.text), "remedy": cause.remedy},
            "stall": None
            if stall is None
            else {
                "phase": stall.phase,
                "silence_s": _rounded(stall.silence_s),
                "budget_s": _rounded(stall.budget_s),
                "budget_from": stall.budget_from,
                "missing": list(stall.missing),
            },
            "evidence": [self._evidence(one) for one in frame.verdict.evidence],
        }

    def _whole(self, frame: Frame) -> dict[str, object]:
        """How many lines were read, and the startup as a report of them has it."""
        from logphase.views.document import clean, startup_entry

        whole = None if frame.startup is None else clean(startup_entry(frame.startup, frame.verdict, redact=self._hide))
        return {"lines": frame.timeline.lines, "startup": whole}

    def _evidence(self, one: Evidence) -> dict[str, object]:
        """A line of the log, or what a witness beside it has seen."""
        if one.witness:
            return {"witness": one.witness, "text": self._quoted(one.text)}
        return {"rule": one.rule, "line": one.line, "rank": one.rank, "text": self._quoted(one.text)}

    def _quoted(self, text: str) -> str:
        return quote(text, hide=self._hide)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
