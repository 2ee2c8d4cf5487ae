"""Path -> what is new, one step at a time: the follower without its clockwork.

Law of this file: a step never sleeps and trusts no event. It asks the open file and the path what is true now, reads what there is
(at most one block) and returns. docs/following.md says what is kept and what cannot be.
"""

from __future__ import annotations

import errno
import os
import select
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from logphase.errors import SourceError
from logphase.sources.arrivals import Arrivals
from logphase.sources.chunk import CHUNK_SIZE, Change, Chunk
from logphase.sources.files import open_log, source_error
from logphase.sources.incarnation import Incarnation, Position

if TYPE_CHECKING:
    from collections.abc import Callable

_SUCCESSORS = 8
_ABSENT = {errno.ENOENT, errno.ENOTDIR}


class Tail(Protocol):
    """A source that can be asked, again and again, for what is new."""

    source: str
    behind: bool  # there is more to read at once
    ended: bool  # nothing will ever come

    def step(self) -> list[Chunk]:
        """Return what is new."""

    def fileno(self) -> int | None:
        """Give the descriptor that becomes readable when there is something new; None if only a look can tell."""

    def close(self) -> None:
        """Let go of the source."""


def open_tail(path: str, offset: int | None = 0, clock: Callable[[], float] = time.time) -> Tail:
    """Choose how to follow a path: standard input (`-`), FIFOs and terminals are streams, everything else is a file."""
    if path == "-":
        return StreamTail(path, 0, clock)
    try:
        mode = Path(path).stat().st_mode
        if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
            return StreamTail(path, open_log(path), clock)
    except OSError as error:
        if error.errno not in _ABSENT:
            raise source_error(path, error) from error
    return FileTail(path, offset, clock)


class FileTail:
    """Follows a path through rotation, truncation, deletion and moved links. `offset` counts for the file that is there at first only.

    `offset` None: begin at that file's present end.
    """

    def __init__(self, path: str, offset: int | None = 0, clock: Callable[[], float] = time.time, chunk_size: int = CHUNK_SIZE) -> None:
        self.source = path
        self.behind = False
        self.ended = False
        self._path = Path(path)
        self._clock = clock
        self._chunk_size = chunk_size
        self._said: Change | None = None
        self._attached = False  # was there ever a file
        self._file: Incarnation | None = None
        self._successors: list[Incarnation] = []  # what the path has named since, oldest first; all still empty
        self._old_until = 0  # below this offset the file holds what it held when it was first seen
        self._arrivals: Arrivals | None = None
        self._attach(offset)

    def step(self) -> list[Chunk]:
        """Read what is new, at most one block; once there is nothing more, see whether the path still names this file."""
        if self._file is None:
            return self._wait()
        try:
            chunks = self._read(self._file)
            return chunks if self.behind else chunks + self._look(self._file)
        except OSError as error:  # a network file system lost the file: begin anew with what the path names
            self.close()
            return self._say(Change.UNREADABLE, source_error(self.source, error).message)

    def fileno(self) -> int | None:
        """Give nothing to wait on: a regular file is always readable."""
        return None

    def position(self) -> Position | None:
        """Give how far the path was read; None while there is no file."""
        return self._file.position() if self._file else None

    def close(self) -> None:
        """Close the files; a step after that begins anew."""
        for file in (self._file, *self._successors):
            if file is not None:
                file.close()
        self._file, self._successors = None, []
        self._forget_arrivals()

    def _attach(self, offset: int | None) -> None:
        try:
            self._file = Incarnation(self.source, offset)
        except OSError as error:
            if error.errno not in _ABSENT:
                raise source_error(self.source, error) from error
            return
        if self._file.is_compressed():
            self.close()
            raise SourceError(f"{self.source}: a compressed log is finished, there is nothing to follow", "Use `logphase report`.")
        self._attached = True
        self._old_until = self._file.size_at_open
        if self._file.offset < self._old_until:
            self._arrivals = Arrivals(self.source, self._file.offset)

    def _wait(self) -> list[Chunk]:
        try:
            self._file = Incarnation(self.source)
        except OSError as error:
            if error.errno in _ABSENT:
                return self._say(Change.WAITING, "no such file yet")
            if not self._attached:
                raise source_error(self.source, error) from error
            return self._say(Change.UNREADABLE, source_error(self.source, error).message)
        self._attached = True
        appeared = [Chunk(b"", self._clock(), self.source, Change.APPEARED, live=True)] if self._said else []
        self._said = None
        return appeared + self._read(self._file)

    def _read(self, file: Incarnation) -> list[Chunk]:
        """Read one block, or only up to where the file ended when it was first seen: what is older has no arrival time of ours."""
        start, old = file.offset, file.offset < self._old_until
        limit = min(self._chunk_size, self._old_until - start) if old else self._chunk_size
        change, data = file.advance(limit)
        self.behind = file.offset - (0 if change else start) >= limit
        if change is None and old:
            if not data:
                self._old_until = 0
            return self._old(data, file.offset - len(data))
        chunks = []
        if change is not None:
            self._old_until = 0
            chunks.append(Chunk(b"", self._clock(), self.source, change, live=True))
        if data:
            chunks.append(Chunk(data, self._clock(), self.source, offset=file.offset - len(data), live=True))
        return chunks

    def _old(self, data: bytes, offset: int) -> list[Chunk]:
        if self._arrivals is None:
            return [Chunk(data, None, self.source, offset=offset)] if data else []
        chunks = []
        for piece, at, launched in self._arrivals.cut(data, offset):
            chunks.append(Chunk(piece, at, self.source, offset=offset, launched=launched))
            offset += len(piece)
        if offset >= self._old_until:
            self._forget_arrivals()
        return chunks

    def _look(self, file: Incarnation) -> list[Chunk]:
        """Ask what the path names now. Another file takes over when it holds something: until then the old one may still grow."""
        chunks: list[Chunk] = []
        try:
            there = self._path.stat()
            self._meet((there.st_dev, there.st_ino), file)
            self._said = None
        except OSError as error:
            if error.errno in _ABSENT:
                chunks = self._say(Change.REMOVED, "the file was moved or deleted; waiting for a new one")
            else:
                chunks = self._say(Change.UNREADABLE, source_error(self.source, error).message)
        for successor in self._successors:
            if successor.size():
                return chunks + self._take_over(file, successor)
        return chunks

    def _meet(self, identity: tuple[int, int], file: Incarnation) -> None:
        """Open what the path names now, if it is not known: it may be renamed again before it holds anything."""
        if any(identity == known.identity for known in (file, *self._successors)):
            return
        self._successors.append(Incarnation(self.source))
        if len(self._successors) > _SUCCESSORS:
            self._successors.pop(0).close()

    def _take_over(self, file: Incarnation, successor: Incarnation) -> list[Chunk]:
        chunks = self._read(file)  # what was written between the last read and the rotation
        if self.behind:
            return chunks
        change = Change.RECREATED if file.is_deleted() else Change.ROTATED
        file.close()
        while self._successors and (passed := self._successors.pop(0)) is not successor:
            passed.close()
        self._file, self._old_until = successor, 0
        self._forget_arrivals()
        chunks += [Chunk(b"", self._clock(), self.source, change, live=True), *self._read(successor)]
        self.behind = True  # the next successor may hold something already
        return chunks

    def _say(self, change: Change, reason: str) -> list[Chunk]:
        """Report a state once, not at every look."""
        if self._said is change:
            return []
        self._said = change
        return [Chunk(b"", self._clock(), self.source, change, reason, live=True)]

    def _forget_arrivals(self) -> None:
        if self._arrivals is not None:
            self._arrivals.close()
            self._arrivals = None


class StreamTail:
    """Follows standard input, a FIFO or a terminal. The descriptor's flags are left alone: others share them."""

    def __init__(self, source: str, descriptor: int, clock: Callable[[], float] = time.time, chunk_size: int = CHUNK_SIZE) -> None:
        self.source = source
        self.behind = False
        self.ended = False
        self._descriptor = descriptor
        self._clock = clock
        self._chunk_size = chunk_size
        self._offset = 0
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)

    def step(self) -> list[Chunk]:
        """Read what is there, without waiting. The end comes when the last writer has closed, not while the first is awaited."""
        self.behind = False
        if self.ended or not self._poll.poll(0):
            return []
        try:
            data = os.read(self._descriptor, self._chunk_size)
        except BlockingIOError:
            return []
        except OSError as error:
            return self._end(error.strerror or str(error))
        if not data:
            return self._end("the writer closed it")
        self.behind = True
        self._offset += len(data)
        return [Chunk(data, self._clock(), self.source, offset=self._offset - len(data), live=True)]

    def fileno(self) -> int | None:
        """Give the descriptor to wait on."""
        return None if self.ended else self._descriptor

    def close(self) -> None:
        """Close a FIFO; standard input stays open."""
        if self.source != "-" and self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor, self.ended = -1, True

    def _end(self, reason: str) -> list[Chunk]:
        self.ended = True
        return [Chunk(b"", self._clock(), self.source, Change.ENDED, reason, self._offset, live=True)]
