"""What a user typed -> files and startups: globs, `-`, which startup of a file.

Law of this file: what every command and the library mean by a name is decided here, once.
"""

from __future__ import annotations

import calendar
import glob
import os
import time
from typing import TYPE_CHECKING

from logphase.errors import LogphaseError, SourceError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from logphase.timeline import Timeline

STDIN = "-"


def expand(names: Iterable[str]) -> list[str]:
    """The paths that are meant: a name that is no file and looks like a glob stands for all that match it."""
    paths: list[str] = []
    for name in names:
        if name == STDIN or os.path.lexists(name) or not glob.has_magic(name):
            paths.append(name)
            continue
        found = sorted(glob.glob(name, recursive=True))  # noqa: PTH207 - a pattern may be absolute
        if not found:
            raise SourceError(f"{name}: no file matches", "Look at the folder with ls, and quote the pattern.")
        paths += found
    return paths


def changed(path: str) -> float | None:
    """When a file last changed, on a naive local clock as logs use it; None for stdin."""
    if path == STDIN:
        return None
    try:
        at = os.stat(path).st_mtime  # noqa: PTH116 - a plain path is all there is
    except OSError:
        return None
    return calendar.timegm(time.localtime(at)) + at % 1


def choose(timeline: Timeline, which: str | int, path: str) -> list[int]:
    """Positions of the startups that are meant."""
    number = len(timeline.startups)
    if which == "all":
        return list(range(number))
    if which == "last":
        return [number - 1] if number else []
    wanted = [at for at, startup in enumerate(timeline.startups) if startup.index == which]
    if not wanted:
        held = f"holds {number} startup{'' if number == 1 else 's'}" if number else "holds no startup"
        raise LogphaseError(f"{path} {held}, not a number {which}", f"Try --startup {number} or --startup all." if number else "")
    return wanted
