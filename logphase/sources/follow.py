"""Paths -> Chunks as they are written, for as long as it takes. Built from steps (tail) and from waiting between them (wakeup)."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Self, TypeAlias

from logphase.sources.chunk import Change, Chunk
from logphase.sources.tail import FileTail, Tail, open_tail
from logphase.sources.wakeup import Waiter, Wakeup

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
    from types import TracebackType

    from logphase.sources.incarnation import Position

POLL_S = 0.25

LogPath: TypeAlias = "str | os.PathLike[str]"


class Follower:
    """Iterates over what arrives in one or more sources. Close it, or use it as a context manager: it holds files and a thread."""

    def __init__(
        self, tails: Sequence[Tail], waiter: Waiter, stop: threading.Event | None, clock: Callable[[], float], poll_s: float
    ) -> None:
        self._tails = tails
        self._waiter = waiter
        self._stop = stop
        self._clock = clock
        self._poll_s = poll_s
        self._chunks = self._until_closed()

    def __iter__(self) -> Iterator[Chunk]:
        return self

    def __next__(self) -> Chunk:
        return next(self._chunks)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Stop following; the iteration ends."""
        self._chunks.close()
        self._waiter.close()
        for tail in self._tails:
            tail.close()

    def positions(self) -> dict[str, Position]:
        """Give how far each file was read. A step can yield several chunks: take them all before this is kept for another day."""
        files = (tail for tail in self._tails if isinstance(tail, FileTail))
        return {tail.source: position for tail in files if (position := tail.position())}

    def _until_closed(self) -> Generator[Chunk, None, None]:
        try:
            yield from self._follow()
        finally:
            self._waiter.close()

    def _follow(self) -> Iterator[Chunk]:
        self._waiter.arm(tail.source for tail in self._tails)
        said, yielded_at = False, time.monotonic()
        while True:
            stopping, arrived = self._stop is not None and self._stop.is_set(), 0
            for chunk in self._step():
                arrived += len(chunk.data)
                yield chunk
                yielded_at = time.monotonic()
            if any(tail.behind for tail in self._tails):
                continue
            if stopping or all(tail.ended for tail in self._tails):
                return
            if self._waiter.trouble and not said:
                said = True
                yield Chunk(b"", self._clock(), "", Change.POLLING, self._waiter.trouble, live=True)
            if time.monotonic() - yielded_at >= self._poll_s:
                yield Chunk(b"", self._clock(), "")
                yielded_at = time.monotonic()
            self._waiter.wait([file for tail in self._tails if (file := tail.fileno()) is not None], arrived)

    def _step(self) -> Iterator[Chunk]:
        moved = False
        for tail in self._tails:
            for chunk in tail.step():
                moved = moved or (chunk.change is not None and chunk.change.starts_over)
                yield chunk
        if moved:
            self._waiter.arm(tail.source for tail in self._tails)


def follow(
    paths: LogPath | Sequence[LogPath],
    *,
    poll_s: float = POLL_S,
    stop: threading.Event | None = None,
    from_start: bool = True,
    offsets: Mapping[str, int] | None = None,
    clock: Callable[[], float] = time.time,
) -> Follower:
    """Follow logs as they are written; `-` is standard input.

    What a file already holds comes first (not `live`), from its start, from `offsets[path]`, or not at all. A tick comes at least every
    `poll_s`. When `stop` is set, what has been written until then is still read. Raises SourceError for what can never be followed.
    """
    sources = [os.fspath(path) for path in ([paths] if isinstance(paths, (str, os.PathLike)) else paths)]
    first = 0 if from_start else None
    tails: list[Tail] = []
    with ExitStack() as opened:
        for source in sources:
            tails.append(open_tail(source, (offsets or {}).get(source, first), clock))
            opened.callback(tails[-1].close)
        opened.pop_all()
    return Follower(tails, Wakeup(poll_s), stop, clock, poll_s)
