r"""bytes -> Line: cut what arrives at `\n`, `\r\n` and lone `\r`, in any chunking with equal results.

A lone `\r` matters: a progress bar rewrites itself, and its newest state has no newline for minutes. The numbers of lines count
newlines only, as an editor does. Of a line without end only the head is kept, so that memory stays flat.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

HEAD = 1 << 16  # bytes of a line that are kept
HISTORY = 1 << 16  # bytes of popped lines that can be looked at again
VAST = 1 << 27  # bytes of a log from which on newlines are counted in vectors …
LARGE = 3 << 18  # … where so many bytes are passed over at once: a live log comes in small pieces
NEWLINE = 0x0A
RETURN = 0x0D
_ENDS = re.compile(rb"[\r\n]")
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # OSC: titles, links
    r"|\x1b[PX^_][^\x1b]*\x1b\\"  # DCS and its kin
    r"|\x1b[ -/]*[0-~]"
)
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\ufeff]")


@dataclass(frozen=True, slots=True)
class Line:
    r"""A segment of a line. `head`: it starts the physical line; `end`: it is the last one (a `\n` followed, or the input ended)."""

    number: int
    text: str
    head: bool = True
    end: bool = True
    at: float | None = None


def clean(data: bytes | bytearray) -> str:
    """Decode as UTF-8, with a mark for what is not; terminal escapes and control characters are taken out (a tab stays)."""
    return plain(data.decode("utf-8", "replace"))


def plain(text: str) -> str:
    """A text without terminal escapes and control characters, for what came through another format."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    return text if text.isprintable() else _CONTROLS.sub("", text)


class LineSplitter:
    """Feed bytes, pop lines. `tail` is what has no end yet; `skip` passes over whole lines without looking at them."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._start = 0  # of what is not popped yet
        self._scanned = 0  # no line end before here
        self._number = 1
        self._head = True
        self._lost = False  # inside a line that is longer than HEAD
        self._kept = b""
        self._decoder: codecs.IncrementalDecoder | None = None
        self._begun = False
        self._at: float | None = None
        self.offset = 0  # of the next line, in decoded bytes

    def feed(self, data: bytes, at: float | None = None) -> None:
        """Take bytes that arrived at the moment `at` (seconds since the epoch, None when unknown)."""
        if not self._begun or self._decoder is not None:
            data = self._decoded(data)
        spare = self._start - HISTORY
        if spare > 0:
            del self._buffer[:spare]
            self._scanned -= spare
            self._start = HISTORY
        self._buffer += data
        self._at = at

    def _decoded(self, data: bytes) -> bytes:
        """UTF-16 with a byte order mark becomes UTF-8; a UTF-8 mark is dropped later, as a control character."""
        if self._decoder is not None:
            return str(self._decoder.decode(data)).encode("utf-8", "replace")
        data = bytes(self._buffer) + data
        self._buffer.clear()
        self._scanned = 0
        if len(data) < 2:  # noqa: PLR2004 - the mark has two bytes
            self._buffer += data
            return b""
        self._begun = True
        if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            self._decoder = codecs.getincrementaldecoder("utf-16")("replace")
            return str(self._decoder.decode(data)).encode("utf-8", "replace")
        return data

    @property
    def pending(self) -> memoryview:
        """What has been fed and not popped."""
        return memoryview(self._buffer)[self._start :]

    @property
    def at_line_start(self) -> bool:
        """Whether the next byte begins a physical line."""
        return self._head and not self._lost

    @property
    def number(self) -> int:
        """Number of the line that comes next."""
        return self._number

    def renumber(self, line: int) -> None:
        """The next line has this number."""
        self._number = line

    @property
    def history(self) -> bytes:
        """The bytes just before what is pending."""
        return bytes(self._buffer[max(0, self._start - HISTORY) : self._start])

    def line_start(self, position: int) -> int:
        """Where the line begins that holds the pending byte at `position`; position and result count from the pending bytes."""
        return max(0, self._buffer.rfind(b"\n", self._start, self._start + position) + 1 - self._start)

    def skip(self, size: int) -> None:
        """Pass over `size` pending bytes, which end with a newline."""
        self._number += self._newlines(size)
        self._start += size
        self._scanned = max(self._scanned, self._start)
        self.offset += size

    def _newlines(self, size: int) -> int:
        """Newlines in the next `size` bytes; from a size on where its import has paid, numpy counts them."""
        if self.offset < VAST or size < LARGE:
            return self._buffer.count(b"\n", self._start, self._start + size)
        import numpy as np

        return int(np.count_nonzero(np.frombuffer(self._buffer, np.uint8, size, self._start) == NEWLINE)) if size else 0

    def pop(self) -> Line | None:
        """The next line that is complete, or None. An end at the very end of the buffer waits: it may be half of a CRLF."""
        buffer = self._buffer
        if self._head and not self._lost and self._start < len(buffer) and buffer[self._start] == 0:
            self._skip_nulls()
        found = _ENDS.search(buffer, max(self._scanned, self._start))
        if found is None:
            self._scanned = len(buffer)
            self._shorten()
            return None
        end = found.start()
        stop = end + 1
        newline = buffer[end] == NEWLINE
        if not newline:
            if stop == len(buffer):
                self._scanned = end
                return None
            if buffer[stop] == NEWLINE:
                stop += 1
                newline = True
        return self._cut(end, stop, newline=newline)

    def close(self) -> Line | None:
        """The last line, when the input ends without a newline. Call it after pop() has returned None."""
        if self._start >= len(self._buffer) and not self._kept:
            return None
        end = len(self._buffer)
        stop = end
        if end > self._start and self._buffer[end - 1] == RETURN:
            end -= 1
        return self._cut(end, stop, newline=True)

    def tail(self) -> Line | None:
        """The unfinished line, to look at; it will come again when it is complete."""
        data = (self._kept or bytes(self._buffer[self._start :])).rstrip(b"\r\n")
        return Line(self._number, clean(data[:HEAD]), self._head, end=False, at=self._at) if data else None

    def _cut(self, end: int, stop: int, *, newline: bool) -> Line:
        data = self._kept if self._lost else self._buffer[self._start : min(end, self._start + HEAD)]
        line = Line(self._number, clean(data), self._head, end=newline, at=self._at)
        self.offset += stop - self._start
        self._start = self._scanned = stop
        self._head = newline
        self._lost = False
        self._kept = b""
        self._number += newline
        return line

    def _shorten(self) -> None:
        """Keep the head of an endless line and forget the rest."""
        if self._lost or len(self._buffer) - self._start > HEAD:
            if not self._lost:
                self._kept = bytes(self._buffer[self._start : self._start + HEAD])
                self._lost = True
            self.offset += len(self._buffer) - self._start
            self._start = self._scanned = len(self._buffer)

    def _skip_nulls(self) -> None:
        """A log that was truncated under its writer begins with a hole of NULs, as long as the old file was."""
        while self._start < len(self._buffer) and self._buffer[self._start] == 0:
            step = len(self._buffer) - self._start
            block = self._buffer[self._start :]
            used = step - len(block.lstrip(b"\0"))
            self._start += used
            self.offset += used
        self._scanned = max(self._scanned, self._start)
