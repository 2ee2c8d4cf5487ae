"""What a source yields: bytes, when they arrived, and what happened to the file they came from.

Law of this file: plain frozen values, no I/O.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logphase.timeline import Launched

CHUNK_SIZE = 1 << 20


class Change(StrEnum):
    """What happened to a source. `starts_over`: the next bytes are the first of a file, so line numbers begin at 1 again.

    A file that starts over need not hold a new startup: a log that is rotated while the model loads goes on with the same one.
    """

    WAITING = "waiting"  # there is no such file yet; said once
    APPEARED = "appeared"  # the file that was waited for is there
    TRUNCATED = "truncated"  # the same file became shorter than what was read of it
    REWRITTEN = "rewritten"  # the same file holds other bytes than those that were read, and is not shorter
    ROTATED = "rotated"  # the path names another file now; the old one still exists and was read to its end
    RECREATED = "recreated"  # the file was deleted and created again; the old one was read to its end
    REMOVED = "removed"  # the path is gone; the file that is open is read on; said once
    UNREADABLE = "unreadable"  # the path cannot be opened at present; said once
    POLLING = "polling"  # no file events to be had: the file is looked at every poll instead; said once
    DAMAGED = "damaged"  # the rest of a compressed file cannot be read
    ENDED = "ended"  # the other end of a pipe was closed

    @property
    def starts_over(self) -> bool:
        """Say whether what follows is the beginning of a file."""
        return self in _STARTS_OVER


_STARTS_OVER = frozenset({Change.APPEARED, Change.TRUNCATED, Change.REWRITTEN, Change.ROTATED, Change.RECREATED})


@dataclass(frozen=True, slots=True)
class Chunk:
    """Bytes as they arrived. A chunk has data, or a change with its reason, or neither: then it is a tick, and only time has passed.

    `at`: wall clock (epoch seconds) of the arrival; None where nobody saw it: a finished file, or what a followed file held before.
    `launched`: a process was started whose output begins with this data; None where nobody noted one. `live`: the bytes arrived while
    the source was followed. `offset`: where in the file the data begins. A tick has no source ("").
    """

    data: bytes
    at: float | None
    source: str
    change: Change | None = None
    reason: str = ""
    offset: int = 0
    live: bool = False
    launched: Launched | None = None

    @property
    def is_tick(self) -> bool:
        """Say whether this chunk only tells that time has passed."""
        return not self.data and self.change is None
