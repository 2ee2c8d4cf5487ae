"""A log -> its timeline, from what is new alone: the next call of `check` goes on where the last one ended.

A log of gigabytes is almost all traffic, which the walk passes over. What is kept (`kept`) is not the walk's state but where it passed over
what: the next call reads again the few parts that were read (a startup is less than a MB), jumps over the rest, and goes on. So the same
bytes go through the same code, and a verdict cannot depend on whether there was a state. The first call jumps, too: once everything is
ready or over, `skim` looks for the next news on two threads.
"""

from __future__ import annotations

import os
import zlib
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from logphase.analyzer import Analyzer
from logphase.kept import UNCOUNTED, Jump, State, Told, load, position_at, same_file
from logphase.lines import HISTORY, VAST, LineSplitter
from logphase.skim import line_start, positions
from logphase.sources import count_lines, read, resume

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from logphase.sources import Chunk, Position
    from logphase.timeline import Timeline
    from logphase.walk import Walk

MOST_READ = 1 << 22  # bytes of the parts that are read again
MOST_JUMPS = 2000
AROUND = HISTORY + 4096  # bytes before the end of a jump that are fed, so that a line's context is known
STEP = 1 << 20
SKIM = 1 << 26  # bytes from which on it pays to look ahead …
LEAP = 1 << 23  # … and to jump
MARGIN = 1 << 12  # a text may have begun so far before the end that was known


class Journal(LineSplitter):
    """A splitter that writes down what was passed over, and can jump over it another time."""

    def __init__(self) -> None:
        super().__init__()
        self.jumps: list[Jump] = []
        self._counted = 0  # bytes whose newlines were counted

    @property
    def plain(self) -> bool:
        """Whether offsets are those of the file: not in UTF-16."""
        return self._decoder is None

    def skip(self, size: int) -> None:
        """Pass over lines, and remember."""
        number = self.number
        super().skip(size)
        self._note(size, self.number - number)

    def jump(self, size: int, newlines: int) -> None:
        """Go on behind whole lines that were not fed, or not to the end: what is pending of them is dropped."""
        self._buffer.clear()
        self._start = self._scanned = 0
        self._number += max(newlines, 0)
        self.offset += size
        self._note(size, newlines)

    def _note(self, size: int, newlines: int) -> None:
        begin, last = self.offset - size, self.jumps[-1] if self.jumps else None
        if not size:
            return
        if last is not None and last.end == begin:
            whole = UNCOUNTED if UNCOUNTED in (last.newlines, newlines) else last.newlines + newlines
            self.jumps[-1] = Jump(last.offset, last.size + size, whole)
        else:
            self.jumps.append(Jump(begin, size, newlines))

    def _newlines(self, size: int) -> int:
        """As the splitter does, but what was jumped over is no reason to load numpy."""
        self._counted += size
        return self._buffer.count(b"\n", self._start, self._start + size) if self._counted < VAST else super()._newlines(size)


class Recorder(Analyzer):
    """An analyzer whose walk keeps a journal."""

    def _new(self, engine: str) -> Walk:
        walk = super()._new(engine)
        walk.lines = Journal()
        return walk

    @property
    def journal(self) -> Journal:
        """What was passed over so far."""
        lines = self.walk.lines
        assert isinstance(lines, Journal)
        return lines


class Reading:
    """One call's reading of a log: `timeline`, then `tell` what was answered."""

    def __init__(
        self, path: str, keep: Path, *, engine: str | None = None, rules: str | None = None, reference: float | None = None
    ) -> None:
        self._path, self._keep = os.path.realpath(path), keep
        self._engine, self._rules, self._reference = engine, rules, reference
        self._state: State | None = None
        self._line = 0  # where the line begins that was not complete
        self._news: list[str] | None = None  # what could change the answer, if only that can
        self._ahead: list[int] | None = None  # where news stands, up to `_known`
        self._known = 0
        self._blind = False  # it cannot be looked ahead

    def timeline(self, warn: Callable[[str], None]) -> Timeline:
        """Read on from where the last call ended, or from the start, and keep how far that was."""
        before = position_at(self._path, 0)
        recorder, offset = self._begin()
        offset = self._read(recorder, offset, warn, skim=before is not None)
        if self._grown(recorder, offset):
            recorder = self._new(self._engine)
            offset = self._read(recorder, 0, warn, skim=False)
        self._state = self._kept(recorder, position_at(self._path, offset), before)
        self._line, self._news = recorder.journal.offset, recorder.walk.news
        if self._state is not None:
            self._state.write(self._keep)
        else:
            with suppress(OSError):
                self._keep.unlink(missing_ok=True)
        recorder.close()
        return recorder.timeline()

    def tell(self, state: str, text: str, asked: str) -> None:
        """Keep the answer, too, if nothing but news can change it."""
        if self._state is not None and self._news:
            replace(self._state, told=Told(state, text, asked, self._line, tuple(self._news))).write(self._keep)

    def _new(self, engine: str | None) -> Recorder:
        return Recorder(rules=self._rules, engine=engine, reference=self._reference, afterwards=0)

    def _begin(self) -> tuple[Recorder, int]:
        """An analyzer that knows what the last call knew, and where to read on; a new one from the start if there was none."""
        state = load(self._keep)
        if state is None or (self._engine is not None and self._engine != state.engine) or state.position.path != self._path:
            return self._new(self._engine), 0
        if not state.position.offset or resume(state.position) != state.position.offset:
            return self._new(self._engine), 0
        known = self._new(state.engine)
        if _rules_of(known) != state.rules or not _again(known, self._path, state):
            return self._new(self._engine), 0
        return known, state.position.offset

    def _read(self, recorder: Recorder, offset: int, warn: Callable[[str], None], *, skim: bool) -> int:
        """Feed the log from an offset; returns how far it was read."""
        again: int | None = offset
        while again is not None:
            begin, again = again, None
            for chunk in read(self._path, start=begin):
                if chunk.reason:
                    warn(chunk.reason)
                recorder.feed(chunk.data, chunk.at, chunk.launched)
                offset = chunk.offset + len(chunk.data)
                again = self._skim(recorder, offset) if skim else None
                if again is not None:
                    break
        return offset

    def _skim(self, recorder: Recorder, offset: int) -> int | None:
        """Jump to shortly before the next news; None where it is near, or anything may be news."""
        journal, texts = recorder.journal, recorder.walk.news
        if texts is None or not recorder.walk.claimed or not journal.plain or self._blind:
            return None
        start = journal.offset
        if self._ahead is None:
            self._known = os.path.getsize(self._path)  # noqa: PTH202 - a plain path is all there is
            if self._known - offset < SKIM:
                return None
            self._ahead = positions(self._path, start, self._known, texts)
            self._blind = self._ahead is None
        news = next((at for at in self._ahead or () if at >= start), None)
        near = (self._known if news is None else news) - AROUND
        target = line_start(self._path, near, start) if near - start >= LEAP and not self._blind else start
        if target == start:
            return None
        journal.jump(target - start, UNCOUNTED if news is None else count_lines(self._path, target) - count_lines(self._path, start))
        return target

    def _grown(self, recorder: Recorder, offset: int) -> bool:
        """Whether news came behind lines that nobody counted, while they were read: then its line number is not known."""
        if not any(jump.newlines == UNCOUNTED for jump in recorder.journal.jumps):
            return False
        texts = recorder.walk.news
        return texts is None or bool(positions(self._path, max(0, self._known - MARGIN), offset, texts))

    def _kept(self, recorder: Recorder, position: Position | None, before: Position | None) -> State | None:
        """What to keep, if that pays."""
        journal = recorder.journal
        if position is None or before is None or not same_file(position, before) or not recorder.walk.claimed or not journal.plain:
            return None
        read_again = position.offset - sum(jump.size for jump in journal.jumps)
        if len(journal.jumps) > MOST_JUMPS or read_again > MOST_READ:
            return None
        return State(position, recorder.walk.rules.engine, _rules_of(recorder), tuple(journal.jumps))


def _again(recorder: Recorder, path: str, state: State) -> bool:
    """Feed what was read the last time, and jump over what was passed over; False if the file cannot be what it was."""
    at = 0
    for jump in state.jumps:
        if not _feed(recorder, path, at, jump.offset):
            return False
        lines = recorder.journal
        if len(lines.pending) or lines.offset != jump.offset or not lines.at_line_start:
            return False
        whole = jump.newlines if jump.newlines != UNCOUNTED else count_lines(path, jump.end) - count_lines(path, jump.offset)
        around = _context(path, jump)
        if around is not None:
            at, newlines = around
            lines.jump(at - jump.offset, whole - newlines)
        else:
            at = jump.offset
        if not _feed(recorder, path, at, jump.end):
            return False
        at = jump.end
    return _feed(recorder, path, at, state.position.offset)


def _context(path: str, jump: Jump) -> tuple[int, int] | None:
    """Where the last lines of a jump begin that may tell the time of the next one, and how many they are; None: it is all of it."""
    if jump.size <= 2 * AROUND:
        return None
    data = b"".join(chunk.data for chunk in _range(path, jump.end - 2 * AROUND, jump.end))
    begin = data.rfind(b"\n", 0, len(data) - AROUND) + 1
    if begin <= 0:
        return None
    return jump.end - len(data) + begin, data.count(b"\n", begin)


def _feed(recorder: Recorder, path: str, begin: int, end: int) -> bool:
    """Feed a part of the log with its arrival times."""
    fed = 0
    for chunk in _range(path, begin, end):
        recorder.feed(chunk.data, chunk.at, chunk.launched)
        fed += len(chunk.data)
    return fed == end - begin


def _range(path: str, begin: int, end: int) -> Iterator[Chunk]:
    if end <= begin:
        return
    for chunk in read(path, min(STEP, end - begin), start=begin):
        if chunk.offset >= end:
            return
        yield replace(chunk, data=chunk.data[: end - chunk.offset])
        if chunk.offset + len(chunk.data) >= end:
            return


def _rules_of(recorder: Recorder) -> int:
    """A fingerprint of the rules: with others, other lines would have been passed over."""
    return zlib.crc32(repr(recorder.walk.rules).encode())
