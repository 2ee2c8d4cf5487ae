"""A huge part of a log -> where it may hold news, as fast as the file can be read.

Each text that would be news has pieces of four bytes; a few of them that the log's traffic does not hold stand for all texts. They are
looked for on two threads (the automaton and `pread` let go of the interpreter), and only where one stands the texts themselves are.
Law of this file: a text is never missed; the file is read, never mapped.
"""

from __future__ import annotations

import os
from threading import Thread
from typing import TYPE_CHECKING

from logphase.literals import scanner

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    _Scan: TypeAlias = Callable[[memoryview], list[int]]

BLOCK = 1 << 20
PIECE = 4
HEAD = 3
SAMPLE = 1 << 15
SMALL = 1 << 22  # bytes in which the texts themselves are looked for
THREADS = 2
MOST = 10_000  # positions


def positions(path: str, begin: int, end: int, texts: Sequence[str]) -> list[int] | None:
    """Where in a part of the file one of the texts stands, in order; None if that is not to be had: there are too many, or it shrank."""
    descriptor, whole = os.open(path, os.O_RDONLY | os.O_CLOEXEC), scanner(texts)
    try:
        pick = scanner([piece.decode() for piece in pieces(texts, os.pread(descriptor, SAMPLE, begin))]) if end - begin > SMALL else whole
        return _Looking(descriptor, begin, end, pick, whole, max((len(text.encode()) for text in texts), default=1)).found()
    finally:
        os.close(descriptor)


def pieces(texts: Sequence[str], sample: bytes) -> list[bytes]:
    """Few pieces of the texts, so that each text holds one; none of them stands in the sample where that can be had.

    The automaton first looks at the first bytes of each: pieces that begin as nothing in the sample does let it run.
    """
    left = {text.encode() for text in texts}
    holders: dict[bytes, set[bytes]] = {}
    for text in sorted(left):
        for at in range(len(text) - PIECE + 1):
            holders.setdefault(text[at : at + PIECE], set()).add(text)
    fitting = {piece: those for piece, those in holders.items() if piece.isascii() and piece not in sample}
    costs = {piece: 1 + sample.count(piece[:HEAD]) / 100 for piece in fitting}
    found: list[bytes] = []
    while fitting:
        best = max(fitting, key=lambda piece: (len(fitting[piece]) / costs[piece], piece))
        found.append(best)
        left -= fitting[best]
        fitting = {piece: rest for piece, those in fitting.items() if (rest := those & left)}
    return [*found, *sorted(left)]


def line_start(path: str, before: int, least: int) -> int:
    """Where the last line begins that begins at most at `before`; `least` if that is further back than 1 MiB."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        low = max(least, before - (1 << 20))
        found = os.pread(descriptor, before - low, low).rfind(b"\n")
        return low + found + 1 if found >= 0 else least
    finally:
        os.close(descriptor)


class _Looking:
    """Threads that look through every other block each, with a text's length of what follows it."""

    def __init__(self, descriptor: int, begin: int, end: int, pick: _Scan, whole: _Scan, overlap: int) -> None:
        self._descriptor, self._begin, self._end = descriptor, begin, end
        self._pick, self._whole, self._overlap = pick, whole, overlap
        self._hits: set[int] = set()
        self._failed = False

    def found(self) -> list[int] | None:
        """All positions."""
        threads = [Thread(target=self._look, args=(number,)) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return None if self._failed else sorted(self._hits)

    def _look(self, number: int) -> None:
        view = memoryview(bytearray(BLOCK + self._overlap))
        for at in range(self._begin + number * BLOCK, self._end, THREADS * BLOCK):
            part = view[: min(len(view), self._end - at)]
            if os.preadv(self._descriptor, [part], at) < len(part) or len(self._hits) > MOST:
                self._failed = True
            if self._failed:
                return
            if self._pick(part):
                self._hits.update(at + hit for hit in self._whole(part))
