"""One incarnation of a log: an open descriptor, how far it was read, and the proof that it still holds what was read.

A path is not a file, and a file is not its content: a restart with `> log` empties the same inode and may have written more than before
by the time anyone looks. So the first KiB and the KiB before the read position are kept and compared after every read (after, so that
bytes read before a rewrite count, and bytes read behind it are found out). Two contents that agree in both cannot be told apart.
"""

from __future__ import annotations

import errno
import os
import stat
import zlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from logphase.sources.chunk import Change
from logphase.sources.compressed import kind_of
from logphase.sources.files import open_log

if TYPE_CHECKING:
    from collections.abc import Mapping

_PROOF = 1024  # bytes at the start, and before the position, by which a content is known again
_HOLE = b"\0\0"  # a log that a writer without O_APPEND goes on with after someone emptied it begins with a hole (UTF-16 with one NUL)


@dataclass(frozen=True, slots=True)
class Position:
    """How far a log was read, in a form that outlives the process: `as_dict` gives what JSON can hold, `parse` takes it back."""

    path: str
    device: int
    inode: int
    offset: int
    fingerprint: str

    def as_dict(self) -> dict[str, str | int]:
        """Give the position as a dictionary of strings and integers."""
        return asdict(self)

    @staticmethod
    def parse(value: Mapping[str, object]) -> Position | None:
        """Take a position back; None if the value is not one."""
        match value:
            case {
                "path": str(path),
                "device": int(device),
                "inode": int(inode),
                "offset": int(offset),
                "fingerprint": str(fingerprint),
            } if offset >= 0:
                return Position(path, device, inode, offset, fingerprint)
        return None


def resume(position: Position) -> int:
    """Return the offset to go on from: the position's own if its path is the same file with the same beginning, else 0."""
    try:
        file = Incarnation(position.path, position.offset)
    except OSError:
        return 0
    try:
        return position.offset if file.position() == position else 0
    finally:
        file.close()


class Incarnation:
    """A regular file, opened once and read until the path stops naming it. `offset` None: begin at its present end."""

    def __init__(self, path: str, offset: int | None = 0) -> None:
        self.path = path
        self._descriptor = open_log(path)
        try:
            status = _regular(self._descriptor, path)
            self.identity = status.st_dev, status.st_ino
            self.size_at_open = status.st_size
            self.offset = status.st_size if offset is None else offset if offset <= status.st_size else 0
            self._head = os.pread(self._descriptor, min(_PROOF, self.offset), 0)
            self._before = os.pread(self._descriptor, _PROOF, max(0, self.offset - _PROOF))[: min(_PROOF, self.offset)]
            self._blank = self.offset == 0
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        """Close the descriptor; a deleted file is gone then."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def advance(self, limit: int) -> tuple[Change | None, bytes]:
        """Read on, at most `limit` bytes. A change says that the content was replaced, and the bytes are the first of the new one."""
        data = self._read(limit)
        if self._intact():
            self._keep(data)
            return None, data
        change = Change.TRUNCATED if self.size() < self.offset else Change.REWRITTEN
        self.offset, self._head, self._before, self._blank = 0, b"", b"", True
        data = self._read(limit)
        self._keep(data)
        return change, data

    def is_compressed(self) -> bool:
        """Say whether the file begins like gzip or zstd; of what cannot be read here, the reading tells."""
        try:
            return kind_of(os.pread(self._descriptor, 4, 0)) is not None
        except OSError:
            return False

    def size(self) -> int:
        """Give the present size."""
        return os.fstat(self._descriptor).st_size

    def is_deleted(self) -> bool:
        """Say whether no name is left for this file."""
        return os.fstat(self._descriptor).st_nlink == 0

    def position(self) -> Position:
        """Give the position, with the fingerprint of what was read."""
        fingerprint = f"{zlib.crc32(self._head):08x}{zlib.crc32(self._before):08x}"
        return Position(self.path, *self.identity, self.offset, fingerprint)

    def _read(self, limit: int) -> bytes:
        limit = min(limit, max(self.size() - self.offset, _PROOF))  # a buffer for what is there: most reads of a live log are small
        data = os.pread(self._descriptor, limit, self.offset)
        if not self._blank or not data.startswith(_HOLE[: 1 if self.offset else 2]):
            return data
        try:
            self.offset = max(self.offset, os.lseek(self._descriptor, self.offset, os.SEEK_DATA))
        except OSError:  # nothing but a hole
            self.offset = max(self.offset, self.size())
        data = os.pread(self._descriptor, limit, self.offset)
        text = data.lstrip(b"\0")
        self._skip(len(data) - len(text))
        return text

    def _skip(self, count: int) -> None:
        self.offset += count
        self._head = b"\0" * min(_PROOF, self.offset)
        self._before = self._head

    def _keep(self, data: bytes) -> None:
        if not data:
            return
        self._blank = False
        self.offset += len(data)
        if len(self._head) < _PROOF:
            self._head += data[: _PROOF - len(self._head)]
        self._before = data[-_PROOF:] if len(data) >= _PROOF else (self._before + data)[-_PROOF:]

    def _intact(self) -> bool:
        if not self.offset:
            return True
        head = os.pread(self._descriptor, len(self._head), 0)
        before = os.pread(self._descriptor, len(self._before), self.offset - len(self._before))
        return head == self._head and before == self._before


def _regular(descriptor: int, path: str) -> os.stat_result:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", path)
    return status
