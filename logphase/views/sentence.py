"""Verdict -> the one sentence that `check` prints and the table leads with.

Law of this file: it starts with the state's own word and a colon, so that a script may cut there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from logphase.verdict import State
from logphase.views.words import count, lines, quote

if TYPE_CHECKING:
    from logphase.timeline import Startup, Timeline
    from logphase.verdict import Verdict


def sentence(startup: Startup, verdict: Verdict, *, hide: bool = True) -> str:
    """`ready: after 16 min 07 s (line 812)`."""
    text = said(verdict, hide=hide)
    line = deciding_line(startup, verdict)
    if line is None or f"line {line}" in text:
        return f"{verdict.state}: {text}"
    return f"{verdict.state}: {text} ({lines(line, line)})"


def said(verdict: Verdict, *, hide: bool = True) -> str:
    """The verdict's summary without its state's word in front, which the view writes itself."""
    text = quote(verdict.summary, hide=hide)
    head = verdict.state.value
    if text.casefold().replace("never started", "never-started").startswith(head) and not text[len(head) : len(head) + 1].isalnum():
        text = text[len(head) :].lstrip(" ,:;")
    return text.rstrip(".") or "no more is known"


def deciding_line(startup: Startup, verdict: Verdict) -> int | None:
    """The line that the verdict rests on most: the ready line, the cause, else the newest evidence; none where a witness decided."""
    if verdict.state is State.READY and startup.ready is not None:
        return startup.ready.line
    if verdict.cause is not None:
        return verdict.cause.line
    if any(evidence.witness for evidence in verdict.evidence):
        return None
    return max((evidence.line for evidence in verdict.evidence if evidence.line > 0), default=None)


def unseen(timeline: Timeline) -> tuple[str, str]:
    """What to say where no startup was seen: a sentence and a hint."""
    if not timeline.lines:
        waits = "A launch may write nothing for minutes: `logphase watch LOG` waits for its first line."
        return "nothing was read: the input is empty", waits
    text = f"no startup evidence in {count(timeline.lines, 'line')}"
    if timeline.traffic:
        ask = "ask the server itself with `logphase check LOG --health URL --canary`."
        return (
            f"{text}, only requests that it served",
            f"`--log-level warning` hides a startup's lines, and log rotation cuts them off: {ask}",
        )
    return text, "`logphase rules try LOG` shows which lines the rules know; `--log-level warning` hides a startup's lines."
