"""Report -> trace events for Perfetto (ui.perfetto.dev) and chrome://tracing: a process for each startup, a track for each rank.

Law of this file: on one track spans nest or lie apart, as the format demands; a span that would cross another gets a second track of
the same name. Times are whole microseconds since the earliest start in the report.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from logphase.tables import rows
from logphase.views import measures
from logphase.views.words import moment, quote, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from logphase.tables import Row
    from logphase.timeline import Startup
    from logphase.verdict import Verdict
    from logphase.views import Report

Event = dict[str, object]
MICROS = 1e6
_SERVER = "server"  # the track of what no rank printed
_WHOLE = "startup"
_GAPS = "gaps"


@dataclass(frozen=True, slots=True)
class Slice:
    """A span as it is drawn: whole microseconds since the earliest start."""

    name: str
    begin: int
    end: int
    category: str
    details: Event


def render(report: Report) -> str:
    """The trace as JSON: an object with `traceEvents`."""
    times = [startup.started.time for startup, _, _ in report.shown() if startup.started.time is not None]
    zero = min(times, default=0.0)
    events: list[Event] = []
    for number, (startup, verdict, origin) in enumerate(report.shown(), 1):
        shift = (startup.started.time - zero) if startup.started.time is not None else 0.0
        events += _process(report, number, startup, verdict, origin, shift)
    other = {"tool": report.tool, "zero": moment(zero) if times else None, "clock": "the log's own"}
    trace = {"displayTimeUnit": "ms", "otherData": other, "traceEvents": events}
    return json.dumps(trace, ensure_ascii=True, allow_nan=False, separators=(",", ":")) + "\n"


def _process(report: Report, number: int, startup: Startup, verdict: Verdict, origin: str, shift: float) -> Iterator[Event]:
    name = f"{startup.engine} {origin} startup {startup.index}: {verdict.state.value}"
    yield {"ph": "M", "pid": number, "tid": 0, "name": "process_name", "args": {"name": visible(name)}}
    yield {"ph": "M", "pid": number, "tid": 0, "name": "process_sort_index", "args": {"sort_index": number}}
    tracks: dict[str, list[Slice]] = {_WHOLE: list(_whole(report, startup, verdict, shift))}
    for row in rows([(startup, verdict, origin)], hide=report.redact):
        found = _slice(startup, row, shift)
        if found is not None:
            tracks.setdefault(row.rank or _SERVER, []).append(found)
    tracks[_GAPS] = [
        Slice(f"after {gap.after or 'the start'}", _micros(gap.start_s, shift), _micros(gap.start_s + gap.duration_s, shift), "gap", {})
        for gap in startup.gaps
    ]
    thread = 0
    for rank in dict.fromkeys((_WHOLE, _SERVER, *startup.ranks, *(name for name in tracks if name != _GAPS), _GAPS)):
        for layer in nested(tracks.get(rank, ())):
            thread += 1
            yield {"ph": "M", "pid": number, "tid": thread, "name": "thread_name", "args": {"name": visible(rank)}}
            yield {"ph": "M", "pid": number, "tid": thread, "name": "thread_sort_index", "args": {"sort_index": thread}}
            for part in layer:
                yield _complete(number, thread, part)
    yield from _counters(number, startup, shift)


def _whole(report: Report, startup: Startup, verdict: Verdict, shift: float) -> Iterator[Slice]:
    total = measures.total(startup)
    if total > 0:
        summary = quote(verdict.summary, hide=report.redact)
        details: Event = {"state": verdict.state.value, "summary": summary, "explained": startup.explained}
        yield Slice(f"start: {verdict.state.value}", _micros(0.0, shift), _micros(total, shift), "startup", details)


def _slice(startup: Startup, row: Row, shift: float) -> Slice | None:
    """A row as a slice; what has not ended reaches to the last line, and says so."""
    end = row.end_s
    if end is None and row.status != "done":
        end = startup.last_line.after_s
    if row.start_s is None or end is None or row.phase in measures.AFTER:
        return None
    details: Event = {"status": row.status, "duration_s": row.duration_s, "from": row.duration_from}
    details |= {"first_line": row.first_line, "last_line": row.last_line}
    return Slice(visible(row.phase), _micros(row.start_s, shift), _micros(max(end, row.start_s), shift), "phase", details)


def nested(parts: Iterable[Slice]) -> list[list[Slice]]:
    """Slices in as few layers as it takes for those of each to nest or lie apart."""
    layers: list[tuple[list[Slice], list[Slice]]] = []  # (its slices, those that are open)
    for part in sorted(parts, key=lambda part: (part.begin, -part.end)):
        for layer, open_ in layers:
            while open_ and open_[-1].end <= part.begin:
                open_.pop()
            if not open_ or part.end <= open_[-1].end:
                layer.append(part)
                open_.append(part)
                break
        else:
            layers.append(([part], [part]))
    return [layer for layer, _ in layers]


def _complete(process: int, thread: int, part: Slice) -> Event:
    return {
        "ph": "X",
        "pid": process,
        "tid": thread,
        "name": part.name,
        "cat": part.category,
        "ts": part.begin,
        "dur": part.end - part.begin,
        "args": part.details,
    }


def _counters(process: int, startup: Startup, shift: float) -> Iterator[Event]:
    for point in startup.memory:
        name = f"free memory {visible(point.rank)}" if point.rank else "free memory"
        at = _micros(point.at_s, shift)
        yield {"ph": "C", "pid": process, "tid": 0, "name": name, "ts": at, "args": {"GB": round(point.avail_gb, 3)}}


def _micros(seconds: float, shift: float) -> int:
    return round((seconds + shift) * MICROS)
