"""Paths -> timelines: what every command that reads logs does first.

Law of this file: what a user typed is resolved here, once: globs, `-`, which startup, which moment.
"""

from __future__ import annotations

import calendar
import glob
import os
import time
from typing import TYPE_CHECKING

import click

from logphase.errors import LogphaseError, SourceError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import BinaryIO

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


def only(name: str) -> str:
    """The one path that is meant."""
    paths = expand([name])
    if len(paths) > 1:
        raise SourceError(f"{name}: {len(paths)} files match, this command takes one", f"Type the one you mean, e.g. {paths[-1]}")
    return paths[0]


def analyse(
    path: str, *, engine: str | None = None, rules: str | None = None, until: float | None = None, copy: BinaryIO | None = None
) -> Timeline:
    """Read one log to its end, or to the moment `until` on its own clock. `copy` gets what was read, for what can be read only once."""
    from logphase.analyzer import Analyzer
    from logphase.sources import read

    analyzer = Analyzer(rules=rules, engine=engine, until=until, reference=changed(path))
    for chunk in read(path):
        if chunk.reason:
            click.echo(f"Warning: {path}: {chunk.reason}", err=True)
        analyzer.feed(chunk.data, chunk.at)
        if copy is not None:
            copy.write(chunk.data)
    analyzer.close()
    return analyzer.timeline()


def changed(path: str) -> float | None:
    """When a file last changed, on a naive local clock as logs use it; None for stdin."""
    if path == STDIN:
        return None
    try:
        at = os.stat(path).st_mtime  # noqa: PTH116 - a plain path is all there is
    except OSError:
        return None
    return calendar.timegm(time.localtime(at)) + at % 1


def silence(path: str) -> float | None:
    """Seconds since a file last changed; None for stdin, which has ended when it is judged."""
    if path == STDIN:
        return None
    try:
        return max(time.time() - os.stat(path).st_mtime, 0.0)  # noqa: PTH116
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or error}", "The file went away while it was read.") from error


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
