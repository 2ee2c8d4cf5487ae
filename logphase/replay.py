"""A recorded log -> its pieces, each with the moment at which it was written: so that it can be written again at its own pace.

The moments are those of FILE.arrivals, else of the lines' own stamps, and inside a bar of its elapsed time. Law of this file: the pieces
joined are the log, byte for byte; the moments never go back; nothing here sleeps.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from logphase.analyzer import Analyzer
from logphase.lines import LineSplitter
from logphase.records import RecordParser
from logphase.sources import read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from logphase.sources import Chunk

_BAR = re.compile(r"\d/\d{1,12} \[(\d[\d:]*)<")
_LONGEST_BAR_S = 86400.0


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes, and how many seconds after the first ones they were written."""

    data: bytes
    at_s: float


def pieces(path: str, *, rules: str | None = None, engine: str | None = None) -> Iterator[Piece]:
    """The log in the order of its bytes."""
    chunks = read(path)
    first = next(chunks, None)
    if first is None:
        return
    if first.at is not None:
        yield from _arrived(first, chunks)
    else:
        yield from _Stamped(rules or None, engine).pieces(first, chunks)


def _arrived(first: Chunk, chunks: Iterator[Chunk]) -> Iterator[Piece]:
    begun = now = first.at or 0.0
    yield Piece(first.data, 0.0)
    for chunk in chunks:
        now = max(now, chunk.at if chunk.at is not None else now)
        yield Piece(chunk.data, now - begun)


class _Stamped:
    """Pieces by the stamps. A line without one comes with the line before it; a bar's state when its own clock says."""

    def __init__(self, rules: str | None, engine: str | None) -> None:
        self._analyzer = Analyzer(rules=rules, engine=engine)
        self._lines = LineSplitter()
        self._parser: RecordParser | None = None
        self._held = bytearray()  # fed and not given out
        self._given = 0  # offset of what is held
        self._begun: float | None = None
        self._now = 0.0
        self._bar: float | None = None  # when the bar began that is being written

    def pieces(self, first: Chunk, chunks: Iterator[Chunk]) -> Iterator[Piece]:
        self._analyzer.feed(first.data)  # which engine's stamps these are
        self._parser = RecordParser(self._analyzer.walk.rules)
        yield from self._feed(first.data)
        for chunk in chunks:
            yield from self._feed(chunk.data)
        if self._held:
            yield Piece(bytes(self._held), self._now)

    def _feed(self, data: bytes) -> Iterator[Piece]:
        parser = self._parser
        assert parser is not None
        self._held += data
        self._lines.feed(data)
        ready = bytearray()
        moment = self._now
        while (line := self._lines.pop()) is not None:
            bars = _BAR.findall(line.text)
            for record in parser.feed(line):
                if record.time is not None and record.time_from in ("log", "outer"):
                    self._begun = record.time if self._begun is None else self._begun
                    self._now = max(self._now, record.time - self._begun)
                    self._bar = None if not bars else self._bar
            if bars:
                self._tick(_seconds(bars[-1]))
            if self._now > moment and ready:
                yield Piece(bytes(ready), moment)
                ready.clear()
            moment = self._now
            size = min(self._lines.offset - self._given, len(self._held))
            ready += self._held[:size]
            del self._held[:size]
            self._given += size
        if ready:
            yield Piece(bytes(ready), moment)

    def _tick(self, elapsed: float) -> None:
        if self._bar is None or elapsed == 0.0:
            self._bar = self._now - elapsed if elapsed < self._now else self._now
        if elapsed < _LONGEST_BAR_S:
            self._now = max(self._now, self._bar + elapsed)


def _seconds(text: str) -> float:
    """`01:23`, `1:02:03`."""
    whole = 0.0
    for part in text.split(":"):
        whole = whole * 60 + float(part or 0)
    return whole
