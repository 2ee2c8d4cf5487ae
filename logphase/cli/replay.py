"""`logphase replay`: write a recorded log again at its own pace."""

from __future__ import annotations

import os
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from logphase.cli import options
from logphase.cli.exit_codes import ExitCode
from logphase.cli.reading import only
from logphase.errors import LogphaseError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import BinaryIO

    from logphase.replay import Piece

_LONGEST_S = 1e6  # that the system sleeps at a time


@click.command(short_help="Write a recorded log again at its own pace.")
@options.log_argument
@click.option("--speed", type=click.FloatRange(min=0, min_open=True), default=1.0, show_default=True, help="So many times as fast.")
@click.option("-o", "--output", "target", metavar="FILE", help="Write there instead of to stdout; never over a file that exists.")
@click.option("--append", is_flag=True, help="Write behind what the file that -o names holds, as >> does.")
@click.option("--force", is_flag=True, help="Overwrite the file that -o names.")
@options.rule_options
def replay(log: str, target: str | None, speed: float, engine: str | None, rules: str | None, *, append: bool, force: bool) -> ExitCode:
    """Write a recorded log again at its own pace.

    Byte for byte, so that watch can be tried without a GPU. The pace is that of LOG.arrivals if there is one (`logphase run` writes it),
    else of the stamps, and inside a bar of its own clock.

    \b
    Examples
      logphase replay old.log --speed 20 -o server.log & logphase watch server.log
      logphase replay old.log --speed 20 | logphase watch -
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from logphase.replay import pieces

    path = only(log)
    with ExitStack() as stack:
        out = sys.stdout.buffer if target in (None, "-") else stack.enter_context(_opened(str(target), path, append=append, force=force))
        _play(pieces(path, rules=rules, engine=engine), out, speed)
    return ExitCode.READY


def _opened(target: str, log: str, *, append: bool, force: bool) -> BinaryIO:
    path = Path(target)
    if path.exists() and log != "-" and path.samefile(log):
        raise LogphaseError(f"{target} is the log itself", "Choose another name for the copy.")
    if path.is_file() and path.stat().st_size and not (append or force):
        raise LogphaseError(f"{target} exists already", "Overwrite it with --force, write behind it with --append, or choose another name.")
    try:
        return path.open("ab" if append else "wb", buffering=0)
    except OSError as error:
        raise LogphaseError(f"{target}: {error.strerror or error}", "Choose another place with -o.") from error


def _play(parts: Iterable[Piece], out: BinaryIO, speed: float) -> None:
    """Write each piece when its time has come; a reader that has gone ends it."""
    begun = time.monotonic()
    try:
        for piece in parts:
            wait = begun + piece.at_s / speed - time.monotonic()
            if wait > 0:
                time.sleep(min(wait, _LONGEST_S))
            out.write(piece.data)
            out.flush()
    except BrokenPipeError:
        with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - what is left in the buffer must go somewhere
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
    except OSError as error:
        raise LogphaseError(f"the copy cannot be written: {error.strerror or error}", "Look at the free space there.") from error
