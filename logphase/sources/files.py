"""path -> Chunks of a finished log, up to its present end; and where in a huge file the last startup begins.

Never mmap: a log that is truncated while it is mapped kills the reader. Reading 1 MiB at a time costs 1.2 times `wc -l`, in flat memory.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import ExitStack, closing
from io import BufferedReader, FileIO
from typing import TYPE_CHECKING

from logphase.errors import SourceError
from logphase.sources.arrivals import Arrivals
from logphase.sources.chunk import CHUNK_SIZE, Change, Chunk
from logphase.sources.compressed import Damaged, expand, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from logphase.timeline import Launched

_HUGE = 1 << 28
_HINTS = {
    errno.ENOENT: "Check the path. `logphase watch` waits for a file that does not exist yet.",
    errno.EISDIR: "Name the log file inside it, or a quoted glob.",
    errno.EACCES: "Ask for read permission, or run logphase as the user who owns the log.",
}


def source_error(path: str, error: OSError) -> SourceError:
    """Say which file cannot be read, why, and what to do."""
    reason = (error.strerror or str(error)).lower()
    return SourceError(f"{path}: {reason}", _HINTS.get(error.errno or 0, ""))


def open_log(path: str, *, wait: bool = False) -> int:
    """Open a file for reading and return its descriptor; a directory is refused. `wait`: for the writer of a FIFO."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | (0 if wait else os.O_NONBLOCK))
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    return descriptor


def read(path: str | os.PathLike[str], chunk_size: int = CHUNK_SIZE, *, start: int = 0) -> Iterator[Chunk]:
    """Read a log from `start` to its present end; `-` is standard input, a compressed file is expanded.

    With FILE.arrivals beside it, chunks are cut where the writer's reads ended, and carry that time.
    """
    source = os.fspath(path)
    try:
        descriptor = 0 if source == "-" else open_log(source, wait=True)
        status = os.fstat(descriptor)
        reader = BufferedReader(FileIO(descriptor, closefd=source != "-"), 1 << 16)
        magic = b"" if start else reader.peek(4)[:4]
    except OSError as error:
        raise source_error(source, error) from error
    kind = kind_of(magic)
    if kind is not None:
        return _read_compressed(source, reader, kind, chunk_size)
    end = status.st_size if stat.S_ISREG(status.st_mode) and source != "-" else None
    return _read_plain(source, reader, chunk_size, start, end)


def _read_plain(source: str, reader: BufferedReader[FileIO], size: int, start: int, end: int | None) -> Iterator[Chunk]:
    with ExitStack() as held:
        held.enter_context(reader)
        try:
            if start:
                reader.seek(start)
            cut = held.enter_context(closing(Arrivals(source, start))).cut if end is not None else _uncut
            offset = start
            while data := reader.read1(size if end is None else min(size, max(0, end - offset))):
                for piece, at, launched in cut(data, offset):
                    yield Chunk(piece, at, source, offset=offset, launched=launched)
                    offset += len(piece)
        except OSError as error:
            raise source_error(source, error) from error


def _uncut(data: bytes, _offset: int) -> Iterator[tuple[bytes, float | None, Launched | None]]:
    yield data, None, None


def _read_compressed(source: str, reader: BufferedReader[FileIO], kind: str, size: int) -> Iterator[Chunk]:
    """Expand a compressed log. Damage in its first bytes is an error; later damage costs only what follows it."""
    offset = 0
    with reader:
        try:
            for data in expand(source, reader, kind, size):
                yield Chunk(data, None, source, offset=offset)
                offset += len(data)
        except Damaged as error:
            if not offset:
                raise SourceError(f"{source}: {error}", "Copy the file again, or name the log before it was compressed.") from error
            yield Chunk(b"", None, source, Change.DAMAGED, str(error), offset)
        except OSError as error:
            raise source_error(source, error) from error


def find_last_launch(path: str | os.PathLike[str], markers: Sequence[bytes], before: int | None = None) -> int:
    """Return the offset of the last line (that begins before `before`) which holds one of the markers; 0 if none does.

    The file is searched backwards, so that the answer comes at once when the last startup is near the end of a huge file.
    """
    if not markers:
        return 0
    source, overlap = os.fspath(path), max(map(len, markers)) - 1
    last = _last_match(markers)
    with _opened(source) as file:
        high = file.seek(0, os.SEEK_END)
        high = high if before is None else min(high, before)
        while high > 0:
            low = max(0, high - CHUNK_SIZE)
            found = last(_block(file, low, high + overlap), high - low)
            if found >= 0:
                return _line_start(file, low + found)
            high = low
    return 0


def count_lines(path: str | os.PathLike[str], until: int) -> int:
    """Count the newlines in the first `until` bytes of a file."""
    lines, count = 0, _newlines if until < _HUGE else _fast_newlines()
    with _opened(os.fspath(path)) as file:
        for low in range(0, until, CHUNK_SIZE):
            lines += count(_block(file, low, min(until, low + CHUNK_SIZE)))
    return lines


def _newlines(block: bytes) -> int:
    return block.count(b"\n")


def _fast_newlines() -> Callable[[bytes], int]:
    """Count with numpy, three times as fast where its import (80 ms) pays."""
    try:
        import numpy as np
    except ImportError:
        return _newlines
    return lambda block: int(np.count_nonzero(np.frombuffer(block, np.uint8) == ord("\n")))


def _opened(source: str) -> FileIO:
    try:
        return FileIO(open_log(source))
    except OSError as error:
        raise source_error(source, error) from error


def _block(file: FileIO, low: int, high: int) -> bytes:
    return os.pread(file.fileno(), high - low, low)


def _line_start(file: FileIO, offset: int) -> int:
    while offset > 0:
        low = max(0, offset - (1 << 16))
        newline = _block(file, low, offset).rfind(b"\n")
        if newline >= 0:
            return low + newline + 1
        offset = low
    return 0


def _last_match(markers: Sequence[bytes]) -> Callable[[bytes, int], int]:
    """Build a search for the last place in a block, before a limit, where one of the markers begins; -1 if there is none."""

    def find(block: bytes, limit: int) -> int:
        return max(block.rfind(marker, 0, limit + len(marker) - 1) for marker in markers)

    try:
        from ahocorasick_rs import BytesAhoCorasick, Implementation
    except ImportError:
        return find
    automaton = BytesAhoCorasick(list(markers), implementation=Implementation.NoncontiguousNFA)

    def search(block: bytes, limit: int) -> int:
        return find(block, limit) if automaton.find_matches_as_indexes(block) else -1

    return search
