"""Line -> Record: the engine's header (time, rank, level) is read, and lines without one are given to what they continue.

Records glued behind an unfinished bar, and bar states written one behind the other, are cut here. Where two clocks stand on a line
the engine's own wins; the other one is kept, and used, shifted, for lines that the engine does not stamp.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from logphase.clock import Clock
from logphase.rules import compiled
from logphase.wrappers import Unwrapper

if TYPE_CHECKING:
    from collections.abc import Iterator

    from logphase.lines import Line
    from logphase.rules import Header, RuleSet
    from logphase.wrappers import Piece

BAR = re.compile(r"(?<!\d)\d{1,12}/\d{1,12} \[\d[\d:]*<[\d:?]+[^\]\r\n]{0,80}\]")
_STAMP = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
_ANY_STAMP = re.compile(r"(?<!\d)(\d{4})[-/](\d\d)[-/](\d\d)[ T](\d\d:\d\d:\d\d(?:[.,]\d+)?)")
STAMP_WITHIN = 80  # characters from a line's start in which an unknown prefix has its stamp
_DIGITS = 9  # of a rank's number
_QUARTER_S = 900.0  # time zones differ by quarters of an hour


@dataclass(frozen=True, slots=True)
class Record:
    """One thing that was said. `time`: seconds on the log's clock, None before the first stamp.

    `time_from`: log (its own stamp) | outer (a wrapper's) | arrival | near (of the line before). `owner`: the headed record that this
    one continues; `rank` of a line without header is None, the owner's rank stands in `owner`.
    """

    line: int
    text: str
    message: str
    time: float | None = None
    time_from: str = "near"
    rank: str | None = None
    alias: int | None = None
    level: str | None = None
    source: str | None = None
    header: str | None = None
    owner: Record | None = None
    outer: str | None = None
    at: float | None = None
    bar: bool = False
    wrappers: tuple[str, ...] = ()

    def moved(self, by: float) -> Record:
        """It as another clock has it: `by` seconds earlier."""
        return replace(self, time=None if self.time is None else self.time - by)


class RecordParser:
    """Feed lines, get records. `headed` counts the lines whose header was known: 0 means that the log's prefix is not."""

    def __init__(self, rules: RuleSet, reference: float | None = None) -> None:
        self._headers = [(header, compiled(header.pattern, header.trusted)) for header in rules.headers]
        self._unwrapper = Unwrapper(rules.wrappers, lambda text: self._header(text) is not None)
        self._owners: dict[str | None, Record] = {}
        self._source: str | None = None
        self._near: float | None = None
        self._outer_shift: float | None = None
        self._arrival_shift: float | None = None
        self.clock = Clock(reference)
        self.outer_clock = Clock(reference)
        self.headed = 0

    def feed(self, line: Line) -> Iterator[Record]:
        """Yield the records of a line."""
        for piece in self._unwrapper.feed(line):
            yield from self._records(piece)

    def close(self) -> Iterator[Record]:
        """Yield what waited for more."""
        piece = self._unwrapper.close()
        if piece is not None:
            yield from self._records(piece)

    def bars(self, line: Line | None) -> Iterator[Record]:
        """Bar states in an unfinished line: they can be said again without harm, so they may be looked at early."""
        for piece in self._unwrapper.look(line):
            if not has_bar(piece.text) or self._header(piece.text):
                continue
            source = piece.source if piece.source is not None else self._source
            time, came_from = self._moment(piece)
            outer = self.outer_clock.peek(piece.outer) if piece.outer else None
            if outer is not None:
                time, came_from = outer - (self._outer_shift or 0.0), "outer"
            for part in _states(piece.text):
                if has_bar(part):
                    yield Record(
                        piece.line, part, part.strip(), time, came_from, piece.rank, source=source, outer=piece.outer, at=piece.at, bar=True
                    )

    def peel(self, line: Line) -> Piece:
        """A line without its wrappers, for the command that explains a line."""
        from logphase.wrappers import Piece

        return self._unwrapper.peel(Piece(line.number, line.text, raw=line.text))

    def stamped(self, text: str) -> bool:
        """Whether a line begins with a stamp of its own, behind its wrappers."""
        from logphase.wrappers import Piece

        piece = self._unwrapper.peel(Piece(0, text))
        found = self._header(piece.text)
        return bool(piece.outer or (found and found[1].groupdict().get("time")))

    def restart(self, record: Record) -> float:
        """A record began a new launch: its clock is its own. Tells by how much that record was moved for the old one's sake."""
        return self.clock.reset(stamped=record.time_from == "log")

    @property
    def dated(self) -> bool:
        """Whether a stamp has told the full date, the engine's or a wrapper's."""
        return self.clock.dated or self.outer_clock.dated

    @property
    def arrival_shift(self) -> float | None:
        """How far arrival times are from the log's clock; None while no stamp has told."""
        return self._arrival_shift

    @property
    def outer_shift(self) -> float | None:
        """How far a wrapper's stamps are from the log's clock; None while no line has told."""
        return self._outer_shift

    def _header(self, text: str) -> tuple[Header, re.Match[str]] | None:
        for header, pattern in self._headers:
            found = pattern.match(text)
            if found and found.end():
                return header, found
        return None

    def _records(self, piece: Piece) -> Iterator[Record]:
        states = _states(piece.text)
        if len(states) > 1 and (states[0].startswith("{") or self._header(piece.text)):
            states = [piece.text]  # a record that quotes bars
        for index, part in enumerate(states):
            own = replace(piece, text=part) if len(states) > 1 else piece
            own = self._unwrapper.peel(own) if index else own
            self._source = own.source if own.source is not None else self._source
            bar = has_bar(own.text) and self._header(own.text) is None
            for text in (own.text,) if bar else self._cut(own.text):
                if text and not text.isspace():
                    yield self._record(text, own, bar=bar)

    def _cut(self, text: str) -> Iterator[str]:
        """A stamp in the middle of a text without header begins a record: something was left without a newline before it."""
        found = None
        if "[2" in text and text[0] not in "{[" and self._header(text) is None:
            found = _STAMP.search(text, 1)
        if found and "'" not in text[: found.start()] and '"' not in text[: found.start()]:
            yield text[: found.start()]
            yield text[found.start() :]
        else:
            yield text

    def _record(self, text: str, piece: Piece, *, bar: bool) -> Record:
        source = self._source
        found = None if bar else self._header(text)
        if found is None:
            time, came_from = self._time(None, piece)
            return Record(
                piece.line, text, text.strip(), time, came_from, piece.rank,
                source=source, owner=self._owners.get(source), outer=piece.outer, at=piece.at, bar=bar, wrappers=piece.wrappers,
            )  # fmt: skip
        header, match = found
        part = match.groupdict()
        self.headed += header.id != "torch"
        time, came_from = self._time(part.get("time"), piece)
        rank = (part.get("rank") or "").strip() or piece.rank
        alias = int(part["alias"][:_DIGITS]) if part.get("alias") else None
        record = Record(
            piece.line, text, text[match.end() :], time, came_from, rank, alias, part.get("level"),
            source, header.id, outer=piece.outer, at=piece.at, bar=bar, wrappers=piece.wrappers,
        )  # fmt: skip
        self._owners[source] = record
        return record

    def _time(self, stamp: str | None, piece: Piece) -> tuple[float | None, str]:
        """The record's time: its own stamp, else the wrapper's, else its arrival, else the line before."""
        outer = self.outer_clock.read(piece.outer) if piece.outer else None
        moved = self.clock.moved
        time = self.clock.read(stamp) if stamp else None
        if self.clock.moved != moved:
            self._redate(self.clock.moved - moved)
        came_from = "log"
        if time is not None:
            if outer is not None:
                self._outer_shift = _shift(outer, time) if self._outer_shift is None else self._outer_shift
                time = _refined(time, outer - self._outer_shift)
            if piece.at is not None:
                lag = piece.at - time
                self._arrival_shift = lag if self._arrival_shift is None else min(lag, self._arrival_shift)
        elif outer is not None:
            time, came_from = outer - (self._outer_shift or 0.0), "outer"
        elif not self.headed and (found := _ANY_STAMP.search(piece.text, 0, STAMP_WITHIN)):  # a prefix that no header knows
            time, came_from = self.clock.read(f"{found[1]}-{found[2]}-{found[3]} {found[4]}"), "log"
        if time is None:
            time, came_from = self._moment(piece)
        if came_from != "near":
            self._near = time
        return time, came_from

    def _redate(self, by: float) -> None:
        """The log's clock was wrong by so much until now."""
        self._outer_shift = None if self._outer_shift is None else self._outer_shift - by
        self._arrival_shift = None if self._arrival_shift is None else self._arrival_shift - by
        self._near = None if self._near is None else self._near + by

    def _moment(self, piece: Piece) -> tuple[float | None, str]:
        """When a piece without any stamp was written: when it arrived, else at the time of the line before."""
        if piece.at is None or (self._arrival_shift is None and self.headed):
            return self._near, "near"
        time = piece.at - (self._arrival_shift or 0.0)
        return time if self._near is None else max(time, self._near), "arrival"


def _refined(time: float, finer: float) -> float:
    """A stamp of whole seconds, with the fraction that a finer clock gives it where the two agree on the second."""
    return finer if time.is_integer() and 0.0 <= finer - time < 1.0 else time


def _shift(outer: float, time: float) -> float:
    """How far a wrapper's clock is from the engine's: a time zone, if it looks like one."""
    shift = outer - time
    zone = round(shift / _QUARTER_S) * _QUARTER_S
    return zone if abs(shift - zone) < 5 else shift  # noqa: PLR2004 - seconds that a line may wait


def has_bar(text: str) -> bool:
    """Whether a bar's state stands in a text."""
    return "<" in text and "/" in text and BAR.search(text) is not None


def _states(text: str) -> list[str]:
    """Cut behind each bar state: what follows was written by somebody else, or is the next state."""
    if not has_bar(text):
        return [text]
    parts: list[str] = []
    start = 0
    for found in BAR.finditer(text):
        if text[start] == "[" and _STAMP.match(text, start):
            break  # a record that quotes a bar
        parts.append(text[start : found.end()])
        start = found.end()
        if start == len(text):
            break
    if start < len(text):
        parts.append(text[start:])
    return parts
