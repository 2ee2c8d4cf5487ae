"""Report -> one JSON document, for scripts.

Law of this file: the shape is the contract's "format 1"; a field may be added, none renamed or dropped. Unknown is null.

    format 1   the first
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING

from logphase.redact import redact as without_secrets
from logphase.redact import redact_arguments
from logphase.views.advice import advice
from logphase.views.sentence import unseen
from logphase.views.words import moment, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from logphase.hints import Hint
    from logphase.timeline import Cause, Evidence, Gap, Moment, Node, Phase, Progress, Span, Startup, Timeline
    from logphase.verdict import Stall, Verdict
    from logphase.views import Report

FORMAT = 1
_TEXT_LIMIT = 1000
_ACTIVE = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]")  # a terminal may obey these


def render(report: Report) -> str:
    """The document as text: UTF-8 safe, one field a line."""
    result = document(
        report.timeline,
        report.verdicts,
        report.sources,
        tool=report.tool,
        chosen=report.chosen,
        origins=report.origins,
        redact=report.redact,
    )
    return written(result)


def written(result: object) -> str:
    """A document as text in which no terminal finds anything to obey."""
    text = json.dumps(clean(result), ensure_ascii=False, indent=2, allow_nan=False)
    return _ACTIVE.sub(lambda char: f"\\u{ord(char[0]):04x}", text) + "\n"


def document(
    timeline: Timeline,
    verdicts: Sequence[Verdict],
    sources: Sequence[str],
    *,
    tool: str,
    chosen: Sequence[int] | None = None,
    origins: Sequence[str] = (),
    redact: bool = True,
) -> dict[str, object]:
    """The contract's format 1 as plain values. `chosen`: positions of the startups to hold, all by default."""
    positions = range(len(timeline.startups)) if chosen is None else chosen
    startups = []
    for at in positions:
        entry = startup_entry(timeline.startups[at], verdicts[at], redact=redact)
        if len(sources) > 1 and origins:
            entry["file"] = origins[at]
        startups.append(entry)
    hint = None
    if not timeline.startups:
        said, advice = unseen(timeline)
        hint = {"looked_for": list(timeline.looked_for), "hint": f"{said[:1].upper()}{said[1:]}. {advice}"}
    result = {"format": FORMAT, "tool": tool, "sources": list(sources), "unseen": hint, "startups": startups}
    if timeline.dropped:
        result["warnings"] = [f"{timeline.dropped} more startups are not kept"]
    cleaned = clean(result)
    return cleaned if isinstance(cleaned, dict) else result


def startup_entry(startup: Startup, verdict: Verdict, *, redact: bool) -> dict[str, object]:
    """One startup as the document has it."""
    arguments = redact_arguments(startup.arguments) if redact else dict(startup.arguments)
    ready = startup.ready
    entry: dict[str, object] = {
        "index": startup.index,
        "engine": startup.engine,
        "lines": list(startup.lines),
        "started": {"time": _time(startup.started), "from": startup.started.source, "line": startup.started.line},
        "ready": ready and {"after_s": ready.after_s, "time": _time(ready), "line": ready.line},
        "verdict": _verdict(verdict, redact=redact),
        "arguments": arguments,
        "ranks": list(startup.ranks),
        "phases": [_phase(phase, redact=redact) for phase in startup.phases],
        "gaps": [_gap(gap) for gap in startup.gaps],
        "explained": startup.explained,
        "warnings": [_text(text, redact=redact) for text in dict.fromkeys((*startup.warnings, *verdict.warnings))],
    }
    entry["hints"] = [_hint(hint, redact=redact) for hint in advice(startup)]
    if startup.nodes:
        entry["nodes"] = [_node(node) for node in startup.nodes]
    if startup.source is not None:
        entry["source"] = startup.source
    return entry


def _hint(hint: Hint, *, redact: bool) -> dict[str, object]:
    return {
        "id": hint.id,
        "title": _text(hint.title, redact=redact),
        "reason": _text(hint.reason, redact=redact),
        "action": _text(hint.action, redact=redact),
        "lines": list(dict.fromkeys(hint.lines)),
    }


def _node(node: Node) -> dict[str, object]:
    return {
        "rank": node.rank,
        "file": node.source,
        "ranks": list(node.ranks),
        "lines": list(node.lines),
        "ahead_s": node.ahead_s,
        "ahead_from": list(node.ahead_from),
    }


def _verdict(verdict: Verdict, *, redact: bool) -> dict[str, object]:
    entry: dict[str, object] = {
        "state": verdict.state.value,
        "phase": verdict.phase,
        "summary": _text(verdict.summary, redact=redact),
        "cause": verdict.cause and _cause(verdict.cause, redact=redact),
        "evidence": [_evidence(evidence, redact=redact) for evidence in verdict.evidence],
    }
    if verdict.stall is not None:
        entry["stall"] = _stall(verdict.stall)
    return entry


def _cause(cause: Cause, *, redact: bool) -> dict[str, object]:
    return {
        "rule": cause.rule,
        "line": cause.line,
        "rank": cause.rank,
        "text": _text(cause.text, redact=redact),
        "remedy": cause.remedy,
    }


def _evidence(evidence: Evidence, *, redact: bool) -> dict[str, object]:
    """A line of the log, or what a witness beside it has seen."""
    if evidence.witness:
        return {"witness": evidence.witness, "text": _text(evidence.text, redact=redact)}
    return {"rule": evidence.rule, "line": evidence.line, "rank": evidence.rank, "text": _text(evidence.text, redact=redact)}


def _stall(stall: Stall) -> dict[str, object]:
    return {
        "phase": stall.phase,
        "silence_s": stall.silence_s,
        "budget_s": stall.budget_s,
        "budget_from": stall.budget_from,
        "missing": list(stall.missing),
    }


def _phase(phase: Phase, *, redact: bool) -> dict[str, object]:
    return {
        "id": phase.id,
        "title": phase.title,
        "status": phase.status,
        "start_s": phase.start_s,
        "end_s": phase.end_s,
        "duration_s": phase.duration_s,
        "duration_from": phase.duration_from,
        "ranks": {tag: {"status": span.status, **_stretch(span)} for tag, span in phase.ranks.items()},
        "spans": [{"rank": span.rank, **_stretch(span)} for span in phase.spans],
        "slowest": phase.slowest,
        "spread_s": phase.spread_s,
        "missing": list(phase.missing),
        "progress": phase.progress and _progress(phase.progress),
        "values": redact_arguments(phase.values) if redact else dict(phase.values),
        "lines": list(phase.lines),
    }


def _stretch(span: Span) -> dict[str, object]:
    return {"start_s": span.start_s, "end_s": span.end_s, "duration_s": span.duration_s}


def _progress(progress: Progress) -> dict[str, object]:
    return {"done": progress.done, "total": progress.total, "unit": progress.unit}


def _gap(gap: Gap) -> dict[str, object]:
    return {"after": gap.after, "before": gap.before, "start_s": gap.start_s, "duration_s": gap.duration_s}


def _time(at: Moment) -> str | None:
    return None if at.time is None or not math.isfinite(at.time) else moment(at.time)


def _text(text: str, *, redact: bool) -> str:
    return one_line(without_secrets(text) if redact else text, limit=_TEXT_LIMIT)


def clean(value: object) -> object:
    """What JSON can hold: finite numbers to 3 decimals, text that is valid UTF-8, names that are text."""
    if isinstance(value, float):
        return round(value, 3) if math.isfinite(value) else None
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, list | tuple):
        return [clean(inner) for inner in value]
    if isinstance(value, dict):
        return {str(clean(str(key))): clean(inner) for key, inner in value.items()}
    return value if value is None or isinstance(value, int) else clean(str(value))
