"""Paths -> timelines: what every command that reads logs does first.

Law of this file: what a user typed is resolved here, once: globs, `-`, which startup, which moment.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import click

from logphase.errors import SourceError
from logphase.logs import STDIN, changed, choose, expand

if TYPE_CHECKING:
    from typing import BinaryIO

    from logphase.timeline import Timeline
__all__ = ["STDIN", "analyse", "changed", "choose", "expand", "only", "silence"]


def only(name: str) -> str:
    """The one path that is meant."""
    paths = expand([name])
    if len(paths) > 1:
        raise SourceError(f"{name}: {len(paths)} files match, this command takes one", f"Type the one you mean, e.g. {paths[-1]}")
    return paths[0]


def analyse(
    path: str,
    *,
    engine: str | None = None,
    rules: str | None = None,
    until: float | None = None,
    copy: BinaryIO | None = None,
    brief: bool = False,
) -> Timeline:
    """Read one log to its end, or to the moment `until` on its own clock.

    `copy` gets what was read, for what can be read only once. `brief`: the verdict is all that is asked for.
    """
    from logphase.analyzer import Analyzer
    from logphase.sources import read
    from logphase.walk import AFTERWARDS

    analyzer = Analyzer(rules=rules, engine=engine, until=until, reference=changed(path), afterwards=0 if brief else AFTERWARDS)
    for chunk in read(path):
        if chunk.reason:
            click.echo(f"Warning: {path}: {chunk.reason}", err=True)
        analyzer.feed(chunk.data, chunk.at, chunk.launched)
        if copy is not None:
            copy.write(chunk.data)
    analyzer.close()
    return analyzer.timeline()


def silence(path: str) -> float | None:
    """Seconds since a file last changed; None for stdin, which has ended when it is judged."""
    if path == STDIN:
        return None
    try:
        return max(time.time() - os.stat(path).st_mtime, 0.0)  # noqa: PTH116
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or error}", "The file went away while it was read.") from error
