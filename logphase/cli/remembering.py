"""The history beside a command: what it knows of startups like this one, and a finished startup put into it.

Law of this file: nothing that is watched or reported fails by the history; what is wrong with it is one warning.
"""

from __future__ import annotations

import os
import time
from threading import Thread
from typing import TYPE_CHECKING, Self

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from logphase.live import Frame
    from logphase.recollection import Recollection
    from logphase.timeline import Startup


def warn(text: str) -> None:
    """Say what is wrong with the history."""
    click.echo(f"Warning: {text}", err=True)


def recollection(rules: str | None, version: Callable[[], str] = str) -> Recollection:
    """What the history knows, for a Watch. `version`: of the engine, once it is known better than by the log."""
    from logphase.recollection import Recollection, place

    return Recollection(place(), warn, rules=rules, version=version)


def remember(
    startups: Iterable[tuple[Startup, str]], *, rules: str | None = None, version: str = "", failed: bool = False
) -> tuple[int, int]:
    """Put startups, each with its source, into the history; how many were finished, and how many of these are new.

    `failed`: the caller knows that it is over, though no line says so.
    """
    from logphase.recollection import host, place

    path = place()
    if path is None:
        return 0, 0
    from logphase import rules as rule_files
    from logphase.history import entry
    from logphase.store import HistoryError, Store

    finished = new = 0
    try:
        with Store(path) as store:
            for startup, source in startups:
                known = rule_files.load(startup.engine, rules)
                kept = entry(startup, known, now=time.time(), source=_whole(source), host=host(), version=version, failed=failed)
                finished += kept is not None
                new += kept is not None and store.remember(kept)
    except HistoryError as error:
        warn(f"not remembered: {error.message}. {error.hint}")
    return finished, new


class Remembers:
    """Looks at every frame and remembers the startup once, when it is ready or has failed, in a thread: a loop never waits for a disk.

    Leaving it waits until what was begun is done.
    """

    def __init__(self, source: str, rules: str | None, version: Callable[[], str] = str) -> None:
        self._source, self._rules, self._version = source, rules, version
        self._writes: Thread | None = None

    def see(self, frame: Frame) -> None:
        """Take the newest frame, after it was shown."""
        from logphase.live import Ending

        if self._writes is None and frame.startup is not None and frame.final in (Ending.READY, Ending.FAILED):
            self._writes = Thread(target=self._remember, args=(frame.startup, frame.final is Ending.FAILED), name="logphase-remembers")
            self._writes.start()

    def _remember(self, startup: Startup, failed: bool) -> None:  # noqa: FBT001 - the thread's argument
        remember([(startup, self._source)], rules=self._rules, version=self._version(), failed=failed)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._writes is not None:
            self._writes.join()


def _whole(source: str) -> str:
    """The whole path of a file; a stream has none."""
    return os.path.abspath(source) if os.path.exists(source) else source  # noqa: PTH100, PTH110 - a plain path is all there is
