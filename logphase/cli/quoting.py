"""Timeline + its log -> the lines that a report quotes, in one more pass that ends at the last of them.

Law of this file: of each wanted line only the head is kept, so that memory stays flat whatever the log holds.
"""

from __future__ import annotations

import codecs
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

from logphase.errors import SourceError
from logphase.lines import HEAD, clean
from logphase.sources import read
from logphase.views.excerpts import CONTEXT, wanted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

    from logphase.views import Report

_BLOCK = 1 << 20
_STATES = 3  # of a bar that fit on one line of a report


def quotes(path: str, keys: Iterable[int], copy: BinaryIO | None = None) -> dict[int, str]:
    """Number of a line -> its text, for the lines `keys` and their neighbours. `copy`: what standard input held."""
    near_keys = sorted({near for key in keys for near in range(key - CONTEXT, key + CONTEXT + 1) if near > 0})
    try:
        return dict(_pick(_as_utf8(_blocks(path, copy)), near_keys)) if near_keys else {}
    except SourceError:
        return {}  # the log went away after it was read: its evidence stands in the timeline


def _blocks(path: str, copy: BinaryIO | None) -> Iterator[bytes]:
    if copy is not None:
        copy.seek(0)
        while data := copy.read(_BLOCK):
            yield data
    elif path != "-":
        for chunk in read(path):
            yield chunk.data


def _as_utf8(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """UTF-16 with a byte order mark becomes UTF-8, as the lines that were counted."""
    decoder: codecs.IncrementalDecoder | None = None
    for at, data in enumerate(blocks):
        if not at and data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            decoder = codecs.getincrementaldecoder("utf-16")("replace")
        yield data if decoder is None else str(decoder.decode(data)).encode("utf-8", "replace")


def _pick(blocks: Iterable[bytes], numbers: list[int]) -> Iterator[tuple[int, str]]:
    """The wanted lines of a log; blocks that hold none of them are only counted."""
    left = deque(numbers)
    number, head = 1, b""
    for block in blocks:
        newlines = block.count(b"\n")
        if number + newlines < left[0]:
            number += newlines
            continue
        pieces = block.split(b"\n")
        for at, piece in enumerate(pieces):
            if number == left[0]:
                head += piece[: HEAD - len(head)]
            if at == len(pieces) - 1:
                break
            if number == left[0]:
                yield number, _text(head)
                head = b""
                left.popleft()
                if not left:
                    return
            number += 1
    if head:
        yield number, _text(head)


def _text(data: bytes) -> str:
    """A line as text; of a bar that rewrote itself the first and the last state."""
    states = [state for part in data.split(b"\r") if (state := clean(part).rstrip())]
    if len(states) <= _STATES:
        return " ⏎ ".join(states)
    return f"{states[0]} ⏎ … {len(states) - 2} more states … ⏎ {states[-1]}"


def with_quotes(report: Report, copy: BinaryIO | None = None) -> Report:
    """The report with the lines that its page quotes. `copy`: what standard input held."""
    keys: dict[str, set[int]] = {}
    for startup, verdict, origin in report.shown():
        keys.setdefault(origin, set()).update(wanted(startup, verdict))
    return replace(report, quotes={path: quotes(path, lines, copy if path == "-" else None) for path, lines in keys.items()})
