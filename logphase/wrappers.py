"""Line -> Piece: what docker, Kubernetes, Ray, srun and others put in front of a line is peeled off and kept beside it.

A wrapper stands at the head of a physical line only; the segments behind a carriage return inherit it. A record that a runtime
has cut in parts (CRI's `P`) is put together again.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from logphase.lines import plain
from logphase.rules import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from logphase.lines import Line
    from logphase.rules import Wrapper

DEPTH = 4  # wrappers in wrappers
PARTIAL = 1 << 16  # characters of a record in parts that are kept
_ENDS = re.compile("\r\n|[\r\n]")
_SECOND = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)?\] \[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")  # a stamp before the engine's own


@dataclass(frozen=True, slots=True)
class Piece:
    """A line without its wrappers. `outer` is the stamp of the outermost wrapper that has one, as text."""

    line: int
    text: str
    outer: str | None = None
    source: str | None = None
    rank: str | None = None
    at: float | None = None
    raw: str = ""
    partial: bool = False
    wrappers: tuple[str, ...] = ()


class Unwrapper:
    """Feed lines, get pieces. `is_record` tells whether a text starts with the engine's own header: then peeling ends."""

    def __init__(self, wrappers: Sequence[Wrapper], is_record: Callable[[str], bool]) -> None:
        self._wrappers = wrappers
        self._is_record = is_record
        self._held: Piece | None = None
        self._inherited = Piece(0, "")

    def feed(self, line: Line) -> Iterator[Piece]:
        """Yield the pieces of a segment: none while a partial record waits, several where a JSON line holds several."""
        if line.head:
            piece = self.peel(Piece(line.number, line.text, at=line.at, raw=line.text))
            self._inherited = piece
        else:
            piece = replace(self._inherited, line=line.number, text=line.text, at=line.at, raw=line.text, partial=self._inherited.partial)
        held, self._held = self._held, None
        first = piece if held is None else _joined(held, piece)
        if not first.partial and "\n" not in first.text and "\r" not in first.text:  # nearly every line
            if first.text or first.source is not None:
                yield first
            return
        texts = _ENDS.split(first.text) if "\n" in first.text or "\r" in first.text else [first.text]
        for index, text in enumerate(texts, 1):
            own = replace(first if index == 1 else piece, text=text)  # what stands behind a return was said when the rest came
            if index == len(texts) and piece.partial and line.end:
                self._held = own
            elif text or (index == len(texts) and piece.source is not None):  # a prefix alone says whose the next line is
                yield own

    def close(self) -> Piece | None:
        """The record whose last part never came."""
        held, self._held = self._held, None
        return held

    def look(self, line: Line | None) -> Iterator[Piece]:
        """What has been said of a record that is not complete: its parts so far, and the unfinished line."""
        if self._held is not None:
            yield self._held
        if line is not None:
            piece = Piece(line.number, line.text, at=line.at, raw=line.text)
            yield self.peel(piece) if line.head else replace(self._inherited, line=line.number, text=line.text, at=line.at, raw=line.text)

    def peel(self, piece: Piece) -> Piece:
        """Take off wrappers until the engine's header stands at the start, or none fits any more."""
        for _ in range(DEPTH):
            text = piece.text
            if not text or (self._is_record(text) and not _SECOND.match(text)):
                break
            peeled = self._once(piece)
            if peeled is None:
                break
            piece = peeled
        return piece

    def _once(self, piece: Piece) -> Piece | None:
        for wrapper in self._wrappers:
            if wrapper.contains and wrapper.contains not in piece.text:
                continue
            peeled = _from_json(piece, wrapper) if wrapper.format == "json" else _from_pattern(piece, wrapper)
            if peeled is not None:
                return peeled
        return None


def _joined(held: Piece, piece: Piece) -> Piece:
    """A record's first part with its next one: where and when it began is the first one's."""
    return replace(
        piece, line=held.line, outer=held.outer, at=held.at, text=(held.text + piece.text)[:PARTIAL], raw=(held.raw + piece.text)[:PARTIAL]
    )


def _from_pattern(piece: Piece, wrapper: Wrapper) -> Piece | None:
    found = compiled(wrapper.pattern, wrapper.trusted).match(piece.text)
    if not found or not found.end():
        return None
    part = found.groupdict()
    return replace(
        piece,
        text=piece.text[found.end() :],
        outer=piece.outer or part.get("time"),
        source=part.get("source") or piece.source,
        rank=part.get("rank") or piece.rank,
        partial=piece.partial or part.get("partial") == "P",
        wrappers=(*piece.wrappers, wrapper.id),
    )


def _from_json(piece: Piece, wrapper: Wrapper) -> Piece | None:
    try:
        table = json.loads(piece.text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(table, dict):
        return None
    message = _first(table, wrapper.keys.get("message", ()))
    if message is None:
        return None
    text = message.removesuffix("\n")
    return replace(
        piece,
        text="\r".join(plain(part) for part in text.split("\r")),  # JSON had escaped what the line's own cleaning looks for
        outer=piece.outer or _first(table, wrapper.keys.get("time", ())),
        source=_first(table, wrapper.keys.get("source", ())) or piece.source,
        partial=piece.partial or (wrapper.newline and not message.endswith("\n")),
        wrappers=(*piece.wrappers, wrapper.id),
    )


def _first(table: dict[str, object], keys: Sequence[str]) -> str | None:
    return next((value for key in keys if isinstance(value := table.get(key), str)), None)
