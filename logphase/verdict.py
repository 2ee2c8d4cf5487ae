"""Startup -> Verdict: what to say about it at a given moment, with the lines that it rests on.

Law of this file: time comes in as an argument; nothing here reads a clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logphase.timeline import Cause, Evidence, Phase, Startup


class State(StrEnum):
    """The states of the contract."""

    UNSEEN = "unseen"
    NEVER_STARTED = "never-started"
    STARTING = "starting"
    STALLED = "stalled"
    CRASHED = "crashed"
    READY = "ready"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Stall:
    """Silence beyond what a phase is allowed: seconds, budget in seconds, where the budget is from, ranks not heard of."""

    phase: str
    silence_s: float
    budget_s: float
    budget_from: str
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """State, phase at the end of what was read, one sentence for a person, and the evidence."""

    state: State
    phase: str | None
    summary: str
    cause: Cause | None
    evidence: tuple[Evidence, ...]
    stall: Stall | None = None
    warnings: tuple[str, ...] = ()


QUOTE = 160  # characters of a line in a sentence
NOTHING_MORE = frozenset({"launch", "download"})


def judge(startup: Startup, now: float | None = None, *, live: bool = False) -> Verdict:
    """The verdict at the moment `now` (seconds on the log's own clock; None: at its last line).

    `live` tells that the log may still grow: then a startup is waited for, and the sentence says so.
    """
    if startup.cause is not None and not (startup.stopped is not None and startup.stopped.line < startup.cause.line):
        return _failed(startup)
    if startup.stopped is not None:
        return _stopped(startup)
    if startup.ready is not None:
        return _ready(startup)
    return _running(startup, now, live=live)


def _failed(startup: Startup) -> Verdict:
    cause = startup.cause
    assert cause is not None
    never = not startup.reached and (startup.failed_in or "launch") in NOTHING_MORE and startup.ready is None
    where = _title(startup, startup.failed_in)
    rank = f" on {cause.rank}" if cause.rank else ""
    if startup.ready is not None:
        summary = f"Was ready after {duration(startup.ready.after_s)}, then crashed{rank}: {quote(cause.text)} (line {cause.line})."
    elif never:
        summary = f"Never started: {quote(cause.text)} (line {cause.line})."
    else:
        ended = any(phase.id == startup.failed_in and phase.status == "done" for phase in startup.phases)
        during = f" {'after' if ended else 'in'} {where}" if where else ""
        summary = f"Crashed{during}{rank}: {quote(cause.text)} (line {cause.line})."
    phase = startup.failed_in or ("launch" if never else None)
    if startup.ready is not None:
        phase = "serving" if phase is None or phase not in ("serving", "shutdown") else phase
    from logphase.timeline import Evidence

    evidence = (Evidence(cause.rule, cause.line, cause.rank, cause.text), *startup.ready_evidence)
    return Verdict(State.NEVER_STARTED if never else State.CRASHED, phase, summary, cause, evidence)


def _stopped(startup: Startup) -> Verdict:
    stop = startup.stop_evidence[0] if startup.stop_evidence else None
    line = f" ({quote(stop.text)}, line {stop.line})" if stop else ""
    before = "its startup is not in this log, "
    if startup.ready:
        before = f"was ready after {duration(startup.ready.after_s)}, then "
    elif len(startup.phases) > 1:
        running = [phase for phase in startup.phases if phase.status == "open" and phase.id != "shutdown"]
        where = f"in {max(running, key=lambda phase: phase.lines[0]).title}, " if running else ""
        before = f"before it was ready, {where}"
    summary = f"Stopped on request: {before}terminated{line}."
    return Verdict(State.STOPPED, "shutdown", summary, None, (*startup.stop_evidence, *startup.ready_evidence))


def _ready(startup: Startup) -> Verdict:
    ready = startup.ready
    assert ready is not None
    after = f" after {duration(ready.after_s)}" if ready.after_s is not None else ""
    how = "inference worked" if startup.worked else "the engine said so"
    if startup.worker:
        how = "this node's ranks are up; the head node serves"
    return Verdict(State.READY, "serving", f"Ready{after}: {how} (line {ready.line}).", None, startup.ready_evidence)


def _running(startup: Startup, now: float | None, *, live: bool) -> Verdict:
    phase = next((phase for phase in startup.phases if phase.id == startup.current), None)
    moment = now if now is not None else startup.last_line.time
    since = startup.last_progress.time
    silence = 0.0 if moment is None else max(0.0, moment - (since or 0.0))
    title = _title(startup, startup.current)
    what = f"in {title}" if title else "no phase is known yet"
    bar = (
        f", {phase.progress.done}/{phase.progress.total} {phase.progress.unit}"
        if phase and phase.progress and phase.status == "open"
        else ""
    )
    missing = phase.missing if phase else ()
    waiting = f"; {', '.join(missing[:8])} {'has' if len(missing) == 1 else 'have'} not ended it" if missing else ""
    evidence = startup.progress_evidence
    if startup.waiting_for == "inference":
        summary = "HTTP is up and the warm-up was skipped (skip_server_warmup): no inference was seen yet, so nothing proves that it works."
        return Verdict(State.STARTING, startup.current, summary, None, evidence)
    if silence > startup.budget_s:
        stall = Stall(startup.current or "", silence, startup.budget_s, startup.budget_from, missing)
        allowed = f"{duration(startup.budget_s)} are allowed ({startup.budget_from})"
        summary = f"Stalled {what}{bar}: no progress for {duration(silence)}, {allowed}{waiting}."
        return Verdict(State.STALLED, startup.current, summary, None, evidence, stall)
    done = phase is not None and phase.status == "done"
    last = f"after {title}" if done else what
    ending = f", {duration(silence)} since the last progress" if silence >= 1 else ""
    verb = "Starting" if live else "Still starting where the log ends"
    return Verdict(State.STARTING, startup.current, f"{verb}: {last}{bar}{waiting}{ending}.", None, evidence)


def _title(startup: Startup, phase_id: str | None) -> str:
    found: Phase | None = next((phase for phase in startup.phases if phase.id == phase_id), None)
    return found.title if found else phase_id or ""


def quote(text: str) -> str:
    """A line short enough for a sentence; the reason stands at its end, the stamp at its start, so the middle goes."""
    text = " ".join(text.split())
    if len(text) <= QUOTE:
        return text
    head, tail = text[: QUOTE - 40], text[-37:]
    return f"{head.rpartition(' ')[0] or head} … {tail.partition(' ')[2] or tail}"


def duration(seconds: float | None) -> str:
    """Seconds for a person: 0.25 s, 12.4 s, 6 min 44 s, 2 h 3 min."""
    if seconds is None:
        return "an unknown time"
    if seconds < 100:  # noqa: PLR2004 - below it decimals help
        return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s"  # noqa: PLR2004
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
