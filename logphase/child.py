"""A command -> a process of its own session, its output in a log, when each byte arrived, and how it ended.

The process writes into the log itself, so nothing is lost or held up when logphase is slow, killed or done (`--detach`). Arrival times
come from following the log. Law of this file: only what was started here is ever signalled.
"""

from __future__ import annotations

import calendar
import contextlib
import errno
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from logphase.errors import LogphaseError
from logphase.timeline import Launched

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import TracebackType
    from typing import BinaryIO

KILLED_S = 1.0  # a killed process is gone within
PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


@dataclass(frozen=True, slots=True)
class Ended:
    """How the command ended: `code` is negative for a signal. `at`: wall clock at which that was noticed."""

    at: float
    code: int

    def __str__(self) -> str:
        if self.code >= 0:
            return f"ended with exit code {self.code}"
        try:
            return f"was killed by {signal.Signals(-self.code).name}"
        except ValueError:
            return f"was killed by signal {-self.code}"


class Child:
    """A command that was started, with its log."""

    def __init__(self, command: Sequence[str], log: str, environment: Mapping[str, str] | None = None) -> None:
        new = not os.path.lexists(log)
        if os.path.exists(log) and not os.path.isfile(log):  # noqa: PTH110, PTH113 - a plain path is all there is
            raise LogphaseError(f"{log} is no file that can be read again", "Name a file with --log FILE.")
        try:
            descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise LogphaseError(f"{log}: {error.strerror}", "Name a file that can be written with --log FILE.") from error
        try:
            self.offset = os.fstat(descriptor).st_size
            self.started = time.time()
            self._process = subprocess.Popen(  # noqa: S603 - the user's own command
                list(command), stdin=subprocess.DEVNULL, stdout=descriptor, stderr=descriptor, start_new_session=True, env=environment
            )
        except OSError as error:
            if new:
                Path(log).unlink(missing_ok=True)
            told = "Type the command after -- as in a shell; a pipe or && needs sh -c '…'."
            raise LogphaseError(f"{command[0]}: {_why(error)}", told) from error
        finally:
            os.close(descriptor)
        self.pid = self._process.pid
        self._ended: Ended | None = None

    @property
    def launched(self) -> Launched:
        """When it was started, for the timeline of what it writes."""
        local = time.localtime(self.started)
        return Launched(self.started, calendar.timegm(local) + self.started % 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """When its watching fails it is not left alone."""
        if error is not None:
            self.stop(KILLED_S)

    def ended(self) -> Ended | None:
        """How it ended, once it has; asking collects it."""
        if self._ended is None and (code := self._process.poll()) is not None:
            self._ended = Ended(time.time(), code)
        return self._ended

    def rest(self) -> list[int]:
        """The processes of its session that still live: what it left behind when it ended, or went on as when it detached."""
        import psutil

        found = []
        for pid in psutil.pids():
            with contextlib.suppress(OSError, psutil.Error):
                if os.getsid(pid) == self.pid and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                    found.append(pid)
        return found

    def pass_on(self, number: int) -> None:
        """Give it a signal: Ctrl-C goes to the whole group, as a terminal would send it; the others to the command itself."""
        with contextlib.suppress(ProcessLookupError):
            if number == signal.SIGINT:
                os.killpg(self.pid, number)
            elif self.ended() is None:
                os.kill(self.pid, number)

    def stop(self, grace_s: float) -> None:
        """End it and all of its session: asked first, killed when it does not go."""
        if self.ended() is None:
            self.pass_on(signal.SIGTERM)
        else:
            _signal(self.rest(), signal.SIGTERM)
        self._wait(grace_s)
        _signal(self.rest(), signal.SIGKILL)
        self._wait(KILLED_S)

    def _wait(self, limit_s: float) -> None:
        deadline = time.monotonic() + limit_s
        while (self.ended() is None or self.rest()) and time.monotonic() < deadline:
            time.sleep(0.02)


def _signal(pids: Sequence[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _why(error: OSError) -> str:
    return "no such command" if error.errno == errno.ENOENT else error.strerror or str(error)


class ArrivalsFile:
    """FILE.arrivals in the making: one line for each read, `epoch<TAB>size of the log after it`; the first is the start itself.

    A log that already holds bytes whose arrival nobody saw gets none: each line speaks for all bytes since the one before.
    """

    def __init__(self, log: str, offset: int, started: float) -> None:
        self._path = path = Path(log + ".arrivals")
        self._file: BinaryIO | None = None
        self.trouble = ""
        if offset == 0 or _last_size(path) == offset:
            try:
                self._file = path.open("ab" if offset else "wb")
            except OSError as error:
                self.trouble = f"{path}: {error.strerror}"
        self.add(started, offset)

    def add(self, at: float, size: int) -> None:
        """One read."""
        if self._file is not None:
            with self._no_worse():
                self._file.write(b"%.6f\t%d\n" % (at, size))

    def flush(self) -> None:
        """Let others see it."""
        if self._file is not None:
            with self._no_worse():
                self._file.flush()

    def close(self) -> None:
        """No more is known; what is written stays."""
        if self._file is not None:
            with self._no_worse():
                self._file.close()
            self._file = None

    @contextlib.contextmanager
    def _no_worse(self) -> Iterator[None]:
        """A full disk costs the times from here on, never the server."""
        try:
            yield
        except OSError as error:
            self.trouble = f"{self._path}: {error.strerror or error}"
            file, self._file = self._file, None
            if file is not None:
                with contextlib.suppress(OSError):
                    file.close()


def _last_size(path: Path) -> int | None:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 128))
            return int(file.read().splitlines()[-1].partition(b"\t")[2])
    except (OSError, ValueError, IndexError):
        return None
