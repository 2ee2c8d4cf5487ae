"""`logphase watch`: follow a live startup, end with its verdict."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from logphase.cli import options
from logphase.cli.exit_codes import ExitCode, of_ending
from logphase.cli.reading import STDIN, only
from logphase.cli.showing import FORMAT_HELP, FORMATS, shown
from logphase.cli.signals import Caught
from logphase.live import ENDINGS, Ending

if TYPE_CHECKING:
    from types import FrameType

    from logphase.witness import Address

WHOLE = 1 << 23  # bytes of a log that are read from its beginning; of a larger one, from its last launch
UNSTAMPED = 1 << 20  # bytes of warnings within which a launch that `run` has noted writes the first line that is known
FRAME_S = 0.1  # between two looks at the state while bytes pour in; news of the end is looked at at once


@click.command(short_help="Follow a live startup and end with its verdict.")
@click.argument("log", metavar="LOG")
@click.option("--accept-old", is_flag=True, help="A verdict that was in the file before counts, too.")
@options.limit_options
@options.witness_options()
@options.rule_options
@options.redact_option
@options.color_option
@click.option("--format", "form", type=click.Choice(FORMATS), help=FORMAT_HELP)
def watch(
    log: str,
    timeout: float | None,
    stall_after: float | None,
    stall_action: str,
    pid: int | None,
    health: Address | None,
    engine: str | None,
    rules: str | None,
    color: str,
    form: str | None,
    *,
    accept_old: bool,
    canary: bool,
    no_redact: bool,
) -> ExitCode:
    """Follow a live startup and end with its verdict.

    LOG is a path, or - for stdin. A file that is absent or empty is waited for. What was in it before is an earlier story:
    only a line that comes while it is watched decides (or --accept-old, or a --pid that lives).

    \b
    Exit codes
      0    ready
      1    crashed, never started, or stopped before it was ready
      2    usage, unreadable input, bad rule file
      3    stalled
      5    the input ended before a verdict
      124  --timeout passed
      130, 143, 129  Ctrl-C, SIGTERM, SIGHUP: the last state is printed first

    \b
    Examples
      nohup python -m sglang.launch_server --model-path /models/a > server.log 2>&1 & logphase watch server.log
      kubectl logs -f pod/llm-0 | logphase watch -
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from logphase.cli.remembering import Remembers, recollection
    from logphase.live import Watch
    from logphase.sources import follow
    from logphase.witness import Asked, call

    path = only(log)
    offset, first_line = _last_launch(path)
    called = call(Asked(pid, health, canary, None if path == STDIN else path))
    live = Watch(
        rules=rules,
        engine=engine,
        stall_after=stall_after,
        stall_action=stall_action,
        timeout=timeout,
        accept_old=accept_old or path == STDIN,
        started=time.time(),
        changed=_changed(path),
        witnesses=called.all,
        history=recollection(rules),
        first_line=first_line,
    )
    source = "standard input" if path == STDIN else path
    with ExitStack() as stack:
        remembers = stack.enter_context(Remembers(source, rules))
        asked = _Asked()
        stack.enter_context(Caught(ENDINGS)).give_to(asked.take)
        show = stack.enter_context(shown(form, color=color, hide=not no_redact, source=source))
        follower = stack.enter_context(follow(path, offsets={path: offset}, stop=asked.stop))
        looked = 0.0
        for chunk in follower:
            live.feed(chunk)
            if not chunk.is_tick and time.monotonic() - looked < FRAME_S and not live.pressing:
                continue
            frame, looked = live.tick(time.time()), time.monotonic()
            show(frame)
            remembers.see(frame)
            if frame.final is Ending.READY:
                show(called.answered(frame))
                return ExitCode.FAILED if called.objects else ExitCode.READY
            if frame.final is not None:
                return of_ending(frame.final)
        if asked.ending is None:
            live.close()
        frame = live.tick(time.time())
        if asked.ending is not None:
            frame = replace(frame, final=asked.ending)
        show(frame)
        remembers.see(frame)
        return of_ending(frame.final or Ending.INPUT_ENDED)


class _Asked:
    """Takes SIGINT, SIGTERM and SIGHUP: the follower stops, and the last state can be told."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.ending: Ending | None = None

    def take(self, number: int, _: FrameType | None) -> None:
        """Stop."""
        self.ending = ENDINGS[signal.Signals(number)]
        self.stop.set()


def _changed(path: str) -> float | None:
    """When the log was written to last; None where it is not there or is a stream."""
    try:
        return os.stat(path).st_mtime if os.path.isfile(path) else None  # noqa: PTH113, PTH116 - a plain path is all there is
    except OSError:
        return None


def _last_launch(path: str) -> tuple[int, int]:
    """Offset and line number at which reading begins."""
    from logphase import rules
    from logphase.rules import Edge
    from logphase.sources import count_lines, find_last_launch, launches

    if path == STDIN or not os.path.isfile(path) or os.path.getsize(path) <= WHOLE:  # noqa: PTH113, PTH202 - a plain path is all there is
        return 0, 1
    found = [rule for name in rules.available() for rule in rules.load(name).rules if rule.edge in (Edge.LAUNCH, Edge.ARGUMENTS)]
    offset = find_last_launch(path, [text.encode() for rule in found for text in rule.contains])
    offset = max((at for at in launches(path) if offset - UNSTAMPED <= at <= offset), default=offset)
    return offset, 1 + count_lines(path, offset)
