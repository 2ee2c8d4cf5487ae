"""A line of a log -> Explanation: how it was read, which rules were tried, which fired, and what that changed.

The log is read up to the line and once more with it; what differs is what the line did. Law of this file: nothing is told that was not
done: every step is asked of the module that takes it in earnest.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import TYPE_CHECKING

from logphase import patterns
from logphase.events import Matcher
from logphase.lines import LineSplitter
from logphase.records import RecordParser
from logphase.walk import Walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from logphase.lines import Line
    from logphase.records import Record
    from logphase.rules import Rule, RuleSet
    from logphase.timeline import Startup, Timeline


NEAR = 1 << 20  # bytes before a line that are read in full, so that it has its time and owner


@dataclass(frozen=True, slots=True)
class Trial:
    """A rule whose text stands in a message: whether it was armed, and whether it fits or the column at which it stopped."""

    rule: Rule
    text: str
    fits: bool
    stopped: int | None
    fired: bool


@dataclass(frozen=True, slots=True)
class Piece:
    """A record of the line, and the rules that were tried on it. `at`: its moment on the log's clock."""

    record: Record
    trials: tuple[Trial, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """A line as it was read. `segments`: what line ends within it cut it into; `changes`: what it did to the timeline, as sentences."""

    engine: str
    line: int
    text: str
    segments: tuple[str, ...]
    pieces: tuple[Piece, ...]
    changes: tuple[str, ...]
    skipped: bool = False


def explain(rules: RuleSet, data: bytes, number: int) -> Explanation | None:
    """Explain a line of a log, counted from 1; None when the log has no such line."""
    if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        data = data.decode("utf-16", "replace").encode()
    bounds = _bounds(data, number)
    if bounds is None:
        return None
    start, end = bounds
    serving = _serving(rules, data[:start])
    segments, pieces, headed = _read(rules, data[:end], number)
    matcher = Matcher(rules)
    matcher.serving = serving
    shown = tuple(Piece(record, tuple(_trials(matcher, record, anywhere=not headed))) for record in pieces)
    return Explanation(
        rules.engine,
        number,
        data[start:end].decode("utf-8", "replace").rstrip("\r\n"),
        segments,
        shown,
        tuple(_changes(_timeline(rules, data[:start]), _timeline(rules, data[:end]))),
        serving and not any(trial.fired for piece in shown for trial in piece.trials),
    )


def _bounds(data: bytes, number: int) -> tuple[int, int] | None:
    start = 0
    for _ in range(number - 1):
        start = data.find(b"\n", start) + 1
        if start == 0:
            return None
    end = data.find(b"\n", start) + 1 or len(data)
    return (start, end) if number > 0 and start < len(data) else None


def _walk(rules: RuleSet, data: bytes) -> Walk:
    walk = Walk(rules)
    walk.claimed = True
    walk.feed(data, None)
    return walk


def _timeline(rules: RuleSet, data: bytes) -> Timeline:
    walk = _walk(rules, data)
    walk.close()
    return walk.timeline()


def _serving(rules: RuleSet, data: bytes) -> bool:
    """Whether the rules of a startup were disarmed: the server was up, or gone."""
    return bool(data) and _walk(rules, data).launches.settled


def _read(rules: RuleSet, data: bytes, number: int) -> tuple[tuple[str, ...], tuple[Record, ...], bool]:
    """The segments and records of the last line, read with what stands before it; and whether the log's prefix is known."""
    splitter, parser = LineSplitter(), RecordParser(rules)
    start = data.find(b"\n", len(data) - NEAR) + 1 if len(data) > NEAR else 0
    splitter.renumber(data.count(b"\n", 0, start) + 1)
    splitter.feed(data[start:])
    segments: list[str] = []
    found: list[Record] = []

    def take(line: Line) -> None:
        if line.number == number:
            segments.append(line.text)
        found.extend(record for record in parser.feed(line) if record.line == number)

    while (line := splitter.pop()) is not None:
        take(line)
    last = splitter.close()
    if last is not None:
        take(last)
    found.extend(record for record in parser.close() if record.line == number)
    return tuple(segments), tuple(found), bool(parser.headed)


def _trials(matcher: Matcher, record: Record, *, anywhere: bool) -> Iterator[Trial]:
    loose = anywhere and record.header is None and not record.bar
    text = record.text if loose else record.message
    done = False
    for rule in matcher.candidates(text):
        armed = matcher.armed(rule)
        fits = armed and bool(rule.match(text) or (loose and rule.search(text)))
        stopped = patterns.stops_at(rule.pattern, text) if armed and not fits else None
        yield Trial(rule, next(each for each in rule.contains if each in text), fits, stopped, fits and not done)
        done = done or fits


def _changes(before: Timeline, after: Timeline) -> Iterator[str]:
    if len(after.startups) > len(before.startups):
        yield f"startup {len(after.startups)} begins"
    for index, startup in enumerate(after.startups):
        old = before.startups[index] if index < len(before.startups) else None
        yield from _startup(old, startup)
    if after.traffic and not before.traffic:
        yield "the server answers requests"


def _startup(old: Startup | None, new: Startup) -> Iterator[str]:
    name = f"startup {new.index}: "
    if new.arguments and not (old and old.arguments):
        yield f"{name}{len(new.arguments)} arguments are known"
    fresh = sorted(set(new.ranks) - set(old.ranks if old else ()))
    if fresh:
        yield f"{name}rank {', '.join(fresh)} appears"
    before = {phase.id: phase for phase in (old.phases if old else ())}
    for phase in new.phases:
        was = before.get(phase.id)
        if was is None:
            yield f"{name}phase {phase.id} is {phase.status}"
        elif was.status != phase.status:
            yield f"{name}phase {phase.id} was {was.status} and is {phase.status}"
        elif was.progress != phase.progress and phase.progress is not None:
            yield f"{name}phase {phase.id} is at {phase.progress.done} of {phase.progress.total} {phase.progress.unit}"
        else:
            changed = sorted(rank for rank, span in phase.ranks.items() if rank not in was.ranks or was.ranks[rank].status != span.status)
            if changed:
                yield f"{name}phase {phase.id}: {', '.join(f'{rank} {phase.ranks[rank].status}' for rank in changed)}"
        values = {key: value for key, value in phase.values.items() if was is None or was.values.get(key) != value}
        if values:
            yield f"{name}phase {phase.id}: {', '.join(f'{key} = {value}' for key, value in values.items())}"
    yield from _ends(old, new, name)


def _ends(old: Startup | None, new: Startup, name: str) -> Iterator[str]:
    if new.ready and not (old and old.ready):
        yield f"{name}it is ready"
    if new.cause and (old is None or old.cause != new.cause):
        yield (
            f"{name}the cause of its failure is this line"
            if old is None or old.cause is None
            else f"{name}its failure has another cause: line {new.cause.line}"
        )
    if old and old.cause and not new.cause:
        yield f"{name}it goes on, so the failure before was none"
    if new.stopped and not (old and old.stopped):
        yield f"{name}it was stopped"
    fresh: Sequence[str] = [warning for warning in new.warnings if old is None or warning not in old.warnings]
    for warning in fresh:
        yield f"{name}a warning: {warning}"
