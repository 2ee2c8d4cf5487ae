"""File events -> when to look next. An event is only a reason to look early; the poll looks in any case.

While a log is quiet, watchdog's observer on its directory wakes the follower within a millisecond. Each event costs far more than a look
(16 % of a core at 10,000 lines/s), so when the log gets busy the watch is dropped and the follower looks on a short tick: a very short one
at first, because a startup writes in bursts and every line matters, a longer one when it goes on or is a flood: that is serving traffic.
"""

from __future__ import annotations

import errno
import os
import select
import time
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from watchdog.events import FileSystemEvent
    from watchdog.observers.api import BaseObserver

BURST = 16  # events within BURST_S make a log busy
BURST_S = 0.2
QUIET_S = 1.0  # without new bytes: the watch is set again
FAST_TICK_S = 0.004  # while busy, for FAST_S and below FLOOD
FAST_S = 60.0
FLOOD = 256 * 1024  # bytes a second; above a thousand lines a second
SLOW_TICK_S = 0.05  # otherwise; also after new bytes when there are no events

_REASONS = {
    errno.ENOSPC: "the limit of inotify watches is reached (sysctl fs.inotify.max_user_watches)",
    errno.EMFILE: "the limit of inotify instances or open files is reached (sysctl fs.inotify.max_user_instances, ulimit -n)",
    errno.ENOSYS: "this system has no inotify",
}


class Waiter(Protocol):
    """Decides when the follower looks again."""

    trouble: str  # why there are no events; empty while there are

    def arm(self, paths: Iterable[str]) -> None:
        """Watch where these paths are now."""

    def wait(self, descriptors: Iterable[int], arrived: int) -> None:
        """Return when it is time to look. `arrived`: how many new bytes the last look found."""

    def close(self) -> None:
        """Stop."""


def new_observer() -> BaseObserver:
    """Create watchdog's observer for this platform. What it has to say of itself is not for the user's terminal."""
    import logging

    from watchdog.observers import Observer

    logging.getLogger("watchdog").addHandler(logging.NullHandler())
    return Observer()


class Wakeup:
    """Watchdog as a bell; the poll as its safety. See the module's docstring."""

    def __init__(self, poll_s: float, observer: Callable[[], BaseObserver] = new_observer) -> None:
        self.trouble = ""
        self._poll_s = poll_s
        self._new_observer = observer
        self._observer: BaseObserver | None = None
        self._paths: list[str] = []
        self._names: set[str] = set()
        self._watched: frozenset[tuple[str, int, int]] = frozenset()
        self._bell, self._rope = os.pipe()
        os.set_blocking(self._rope, False)
        self._rung = False
        self._events = 0  # since _counted_from; written by the observer's thread
        self._bytes = 0  # since _counted_from
        self._counted_from = 0.0
        self._flood = False
        self._busy_since: float | None = None
        self._active_at = 0.0

    def arm(self, paths: Iterable[str]) -> None:
        """Watch the directories of these paths, and of the files that links among them name."""
        self._paths = [path for path in paths if path != "-"]
        if self._busy_since is None and not self.trouble:
            self._watch()

    def wait(self, descriptors: Iterable[int], arrived: int) -> None:
        """Return at an event, at new data on a descriptor, or when the tick or the poll is over."""
        now = time.monotonic()
        if arrived:
            self._active_at = now
        if self._busy_since is None and not self.trouble and self._events > BURST:
            self._rest(now)
        self._count(now, arrived)
        if self._busy_since is not None and now - self._active_at > QUIET_S:
            self._resume()
            return  # what came while nobody watched is found by a look, not by an event
        self._sleep(self._timeout(now), descriptors)

    def close(self) -> None:
        """End the observer's thread and close the bell."""
        self._unwatch()
        if self._bell >= 0:
            os.close(self._bell)
            os.close(self._rope)
            self._bell = self._rope = -1

    def ring(self, event: FileSystemEvent) -> None:
        """Take an event, in the observer's thread."""
        self._events += 1
        names = {Path(os.fsdecode(path)).name for path in (event.src_path, event.dest_path)}
        if not self._rung and names & self._names:
            self._rung = True
            os.write(self._rope, b"!")

    def _timeout(self, now: float) -> float:
        if self._busy_since is not None:
            return SLOW_TICK_S if self._flood or now - self._busy_since > FAST_S else FAST_TICK_S
        if self.trouble and now - self._active_at < QUIET_S:
            return min(SLOW_TICK_S, self._poll_s)
        return self._poll_s

    def _sleep(self, timeout: float, descriptors: Iterable[int]) -> None:
        poll = select.poll()
        for descriptor in (self._bell, *descriptors):
            poll.register(descriptor, select.POLLIN)
        if any(descriptor == self._bell for descriptor, _ in poll.poll(timeout * 1000)):
            os.read(self._bell, 64)
            self._rung = False

    def _count(self, now: float, arrived: int) -> None:
        self._bytes += arrived
        past = now - self._counted_from
        if past > BURST_S:
            self._flood = self._bytes / past > FLOOD
            self._events, self._bytes, self._counted_from = 0, 0, now

    def _rest(self, now: float) -> None:
        self._unwatch()
        self._busy_since = self._active_at = now

    def _resume(self) -> None:
        self._busy_since = None
        self._events = 0
        self._watch()

    def _watch(self) -> None:
        """Start an observer on the directories, unless it already watches these very ones."""
        places = {place for path in map(Path, self._paths) for place in (path.absolute(), Path(os.path.realpath(path)))}
        self._names = {place.name for place in places}
        directories = frozenset(filter(None, map(_identify, {place.parent for place in places})))
        if directories == self._watched and self._observer is not None:
            return
        self._unwatch()
        if not directories:
            return
        try:
            observer = self._observer = self._new_observer()  # which may ask for its inotify instance at once
            for directory, _, _ in directories:
                _schedule(observer, directory, self.ring)
            observer.start()
            self._watched = directories
        except OSError as error:
            self._unwatch()
            self.trouble = _REASONS.get(error.errno or 0, str(error))

    def _unwatch(self) -> None:
        observer, self._observer, self._watched = self._observer, None, frozenset()
        if observer is None:
            return
        observer.unschedule_all()
        observer.stop()
        if observer.is_alive():
            observer.join()


def _schedule(observer: BaseObserver, directory: str, ring: Callable[[FileSystemEvent], None]) -> None:
    """Let an observer ring for what changes a file or a name: opening and reading do not."""
    from watchdog import events

    class Bell(events.FileSystemEventHandler):
        def dispatch(self, event: FileSystemEvent) -> None:
            ring(event)

    kinds = [events.FileModifiedEvent, events.FileCreatedEvent, events.FileMovedEvent, events.FileDeletedEvent]
    observer.schedule(Bell(), directory, event_filter=kinds)


def _identify(directory: Path) -> tuple[str, int, int] | None:
    """Tell a directory from its successor under the same name; None if there is none to watch yet."""
    try:
        status = directory.stat()
    except OSError:
        return None
    return str(directory), status.st_dev, status.st_ino
