"""Report -> OpenTelemetry spans as OTLP JSON: a trace for each startup, in it a span for each phase, in that one for each rank.

Law of this file: the shape is OTLP's own (ids in hex, 64-bit numbers as text); ids follow from the startup, so that the same log gives
the same trace again. The log's naive times are taken as UTC, and the resource says so.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from logphase.tables import rows
from logphase.verdict import State
from logphase.views import measures
from logphase.views.words import quote, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from logphase.timeline import Phase, Startup
    from logphase.verdict import Verdict
    from logphase.views import Report

Json = dict[str, object]
NANOS = 1_000_000_000
INTERNAL = 1  # SPAN_KIND_INTERNAL
OK, ERROR = 1, 2  # status codes
_BAD = frozenset({State.CRASHED, State.NEVER_STARTED, State.STALLED})


@dataclass(frozen=True, slots=True)
class _Trace:
    """What all spans of a startup share."""

    id: str
    zero: int  # nanoseconds since 1970

    def span(self, key: str, parent: str, name: str, start_s: float, end_s: float, attributes: Mapping[str, object], status: Json) -> Json:
        begin = self.zero + round(start_s * NANOS)
        return {
            "traceId": self.id,
            "spanId": _id(f"{self.id}/{key}", 16),
            **({"parentSpanId": parent} if parent else {}),
            "name": name,
            "kind": INTERNAL,
            "startTimeUnixNano": str(begin),
            "endTimeUnixNano": str(max(self.zero + round(end_s * NANOS), begin)),
            "attributes": _attributes(attributes),
            "status": status,
        }


def render(report: Report) -> str:
    """One export request as JSON: what an OTLP receiver takes at /v1/traces."""
    resources = [_resource(report, *shown) for shown in report.shown()]
    return json.dumps({"resourceSpans": resources}, ensure_ascii=True, allow_nan=False, separators=(",", ":")) + "\n"


def _resource(report: Report, startup: Startup, verdict: Verdict, origin: str) -> Json:
    model = startup.arguments.get("model_path") or startup.arguments.get("model")
    attributes: Json = {
        "service.name": startup.engine,
        "logphase.file": visible(origin),
        "logphase.startup": startup.index,
        "logphase.source": visible(startup.source) if startup.source else None,
        "logphase.model": quote(model, hide=report.redact) if isinstance(model, str) else None,
        "logphase.clock": "log, read as UTC" if startup.started.time is not None else "unknown, 1970 is the start",
    }
    scope = {"name": "logphase", "version": report.tool.partition(" ")[2]}
    spans = list(_spans(report, startup, verdict, origin))
    return {"resource": {"attributes": _attributes(attributes)}, "scopeSpans": [{"scope": scope, "spans": spans}]}


def _spans(report: Report, startup: Startup, verdict: Verdict, origin: str) -> Iterator[Json]:
    zero = startup.started.time or 0.0
    trace = _Trace(_id(f"{origin}/{startup.source}/{startup.index}/{zero}/{startup.lines[0]}", 32), round(zero * 1000) * 1_000_000)
    bad = verdict.state in _BAD
    status: Json = {"code": ERROR, "message": quote(verdict.summary, hide=report.redact)} if bad else {"code": OK}
    facts = {
        "logphase.state": verdict.state.value,
        "logphase.phase": verdict.phase,
        "logphase.ready_s": startup.ready.after_s if startup.ready else None,
        "logphase.explained": startup.explained,
    }
    root = trace.span("", "", f"{startup.engine} startup", 0.0, measures.total(startup), facts, status)
    root["events"] = list(_events(report, startup, verdict, trace))
    yield root
    of_phases = {phase.id: phase for phase in startup.phases if phase.id not in measures.AFTER and phase.start_s is not None}
    for phase in of_phases.values():
        yield from _phase(startup, phase, trace, str(root["spanId"]))
    for row in rows([(startup, verdict, origin)], hide=report.redact):
        parent = of_phases.get(row.phase)
        end = row.end_s if row.end_s is not None else startup.last_line.after_s if row.status != "done" else None
        if parent is None or row.start_s is None or end is None or (row.rank is None and not parent.spans):
            continue
        facts = {"logphase.phase": row.phase, "logphase.rank": row.rank and visible(row.rank), "logphase.status": row.status}
        facts |= {"logphase.duration_s": row.duration_s, "logphase.duration_from": row.duration_from}
        facts |= {"logphase.first_line": row.first_line, "logphase.last_line": row.last_line}
        name = visible(f"{row.phase} {row.rank}" if row.rank else f"{row.phase} part {row.part}")
        key = f"{row.phase}/{row.rank}/{row.part}"
        yield trace.span(key, _id(f"{trace.id}/{row.phase}", 16), name, row.start_s, end, facts, _status(row.status))


def _phase(startup: Startup, phase: Phase, trace: _Trace, parent: str) -> Iterator[Json]:
    end = measures.end_of(startup, phase)
    if phase.start_s is None or end is None:
        return
    facts = {
        "logphase.phase": visible(phase.id),
        "logphase.status": phase.status,
        "logphase.duration_s": None if phase.duration_s is None else round(phase.duration_s, 3),
        "logphase.duration_from": phase.duration_from,
        "logphase.slowest": phase.slowest and visible(phase.slowest),
        "logphase.first_line": phase.lines[0],
        "logphase.last_line": phase.lines[1],
    }
    yield trace.span(phase.id, parent, visible(phase.id), phase.start_s, end, facts, _status(phase.status))


def _status(status: str) -> Json:
    return {"code": ERROR if status == "failed" else OK} if status in ("done", "failed") else {}


def _events(report: Report, startup: Startup, verdict: Verdict, trace: _Trace) -> Iterator[Json]:
    """The moments that decide: ready, the first cause, the stop; each with its line."""
    moments = (("ready", startup.ready), ("failed", startup.ended), ("stopped", startup.stopped))
    for name, at in moments:
        if at is None or at.after_s is None:
            continue
        facts: Json = {"logphase.line": at.line}
        if name == "failed" and verdict.cause is not None:
            facts |= {"exception.message": quote(verdict.cause.text, hide=report.redact), "logphase.rule": verdict.cause.rule}
        yield {"timeUnixNano": str(trace.zero + round(at.after_s * NANOS)), "name": name, "attributes": _attributes(facts)}


def _attributes(values: Mapping[str, object]) -> list[Json]:
    return [{"key": key, "value": _value(value)} for key, value in values.items() if value is not None]


def _value(value: object) -> Json:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    return {"stringValue": str(value)}


def _id(text: str, digits: int) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:digits]
