"""FILE.arrivals and FILE.launches.jsonl -> when each byte of FILE arrived, and when the processes were started that wrote it.

The files beside a log that `run` writes. Arrivals: one line for each read, `epoch<TAB>size of the log after it`; they are read along with
the log, never as a whole, because a server that runs for days has millions of lines. Launches: one object each, with `started` and the
`offset` at which its output begins.
"""

from __future__ import annotations

import calendar
import json
import math
import os
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator

    from logphase.timeline import Launched

_NEVER = 1 << 62
_LINE = 256
_NEAR = 4096
LAUNCHES = ".launches.jsonl"
_LONGEST = 1 << 22  # bytes of launches that are read: thousands of them


class Arrivals:
    """Arrival times for the bytes of one log, asked for with rising offsets. Without the file beside the log, every time is unknown."""

    def __init__(self, log: str, start: int = 0) -> None:
        self._file: BinaryIO | None = None
        self._at: float | None = None
        self._size = _NEVER
        self._launches = launches(log)
        try:
            self._file = Path(log + ".arrivals").open("rb")  # noqa: SIM115 (held while the log is read)
            if self._last_size() > Path(log).stat().st_size:  # the log was emptied since: these are another content's times
                self.close()
        except OSError:
            self.close()
        self._seek(start)
        self._advance()

    def cut(self, data: bytes, offset: int) -> Iterator[tuple[bytes, float | None, Launched | None]]:
        """Cut data that begins at `offset` of the log where one read ended and the next began, and where a launch's output begins.

        Give each piece its time and, where it is the first of a launch, when that was started.
        """
        done, end = 0, len(data)
        while done < end:
            while self._size <= offset + done:
                self._advance()
            until = min(end, self._size - offset, *(at - offset for at in self._launches if at > offset + done))
            yield data[done:until], self._at, self._launches.get(offset + done)
            done = until

    def close(self) -> None:
        """Close the file beside the log."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _advance(self) -> None:
        self._size, self._at = _NEVER, None
        while self._file is not None and (line := self._file.readline(_LINE)):
            if entry := _parse(line):
                self._at, self._size = entry
                return

    def _last_size(self) -> int:
        """Give the size in the last whole line."""
        assert self._file is not None
        self._file.seek(max(0, os.fstat(self._file.fileno()).st_size - 2 * _LINE))
        entries = list(filter(None, map(_parse, self._file.read().splitlines(keepends=True))))
        self._file.seek(0)
        return entries[-1][1] if entries else 0

    def _seek(self, start: int) -> None:
        """Go near the last line whose size is at most `start`, by bisection: the sizes rise."""
        if self._file is None or start <= 0:
            return
        low, high = 0, os.fstat(self._file.fileno()).st_size
        while high - low > _NEAR:
            middle = (low + high) // 2
            self._file.seek(middle)
            self._file.readline(_LINE)
            entry = _parse(self._file.readline(_LINE))
            if entry and entry[1] <= start:
                low = middle
            else:
                high = middle
        self._file.seek(low)
        if low:
            self._file.readline(_LINE)


def _parse(line: bytes) -> tuple[float, int] | None:
    at, tab, size = line.partition(b"\t")
    try:
        entry = float(at), int(size)
    except ValueError:
        return None
    return entry if tab and line.endswith(b"\n") and math.isfinite(entry[0]) else None


def launches(log: str) -> dict[int, Launched]:
    """Offset in the log -> the launch whose output begins there; none where the log holds less than they say."""
    found: dict[int, Launched] = {}
    try:
        with Path(log + LAUNCHES).open("rb") as file:
            lines = file.read(_LONGEST).splitlines()
        size = Path(log).stat().st_size
    except OSError:
        return found
    for line in lines:
        entry = _launch(line)
        if entry is not None:
            found[entry[0]] = entry[1]
    return found if max(found, default=0) <= size else {}


def _launch(line: bytes) -> tuple[int, Launched] | None:
    from logphase.timeline import Launched

    try:
        match json.loads(line):
            case {"offset": int(offset), "started": str(started)} if offset >= 0:
                moment = datetime.fromisoformat(started)
                local = calendar.timegm(moment.timetuple()) + moment.microsecond / 1e6
                return offset, Launched(moment.timestamp(), local)
    except (ValueError, OverflowError, OSError, RecursionError):
        pass
    return None
