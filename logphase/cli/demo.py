"""`logphase demo`: a real startup, replayed fast through the live view, and its report."""

from __future__ import annotations

import time
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

import click

from logphase import __version__
from logphase.cli import options, output
from logphase.cli.exit_codes import ExitCode
from logphase.cli.showing import FORMAT_HELP, FORMATS, shown
from logphase.errors import LogphaseError

if TYPE_CHECKING:
    from importlib.abc import Traversable

    from logphase.timeline import Timeline

LOG = "tp2-eagle3.log"
STEP_S = 0.1  # between two drawings
SPEED = 12.0


@click.command(short_help="Show a real startup, replayed fast through the live view, and its report.")
@click.option("--speed", type=click.FloatRange(min=0, min_open=True), default=SPEED, show_default=True, help="So many times as fast.")
@click.option("--format", "form", type=click.Choice(FORMATS), help=FORMAT_HELP)
@options.color_option
def demo(speed: float, form: str | None, color: str) -> ExitCode:
    """Show a real startup, replayed fast through the live view, and its report.

    Nothing is launched. It is SGLang 0.5.15 with a draft model (EAGLE-3) on two H200, ready two minutes after its first line.

    \b
    Examples
      logphase demo
      logphase demo --speed 30 --format plain
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    with as_file(_bundled()) as path:
        timeline = _play(path, speed, form, color)
    from logphase.verdict import judge
    from logphase.views import Report, view

    last = len(timeline.startups) - 1
    report = Report(
        timeline=timeline,
        verdicts=tuple(judge(startup) for startup in timeline.startups),
        sources=(LOG,),
        tool=f"logphase {__version__}",
        origins=(LOG,) * len(timeline.startups),
        chosen=(last,),
        width=output.columns(),
        color=output.colored(color, None),
        ascii=output.plain_ascii(None),
    )
    output.to_stdout("\n")
    output.to_stdout(view("table")(report))
    return ExitCode.READY


def _bundled() -> Traversable:
    """The log, from the wheel or from the checkout."""
    inside = files("logphase") / "demo" / LOG
    if inside.is_file():
        return inside
    beside = Path(__file__).parent.parent.parent / "sample_logs" / LOG
    if not beside.is_file():
        raise LogphaseError("the demo's log is not part of this installation", "Install logphase again, or name a log: logphase report LOG")
    return beside


def _play(path: Path, speed: float, form: str | None, color: str) -> Timeline:
    """Feed the log to a Watch on a clock that runs faster."""
    from logphase.live import Watch
    from logphase.replay import pieces
    from logphase.sources import Chunk

    began = time.time()
    watch = Watch(started=began)
    with shown(form, color=color, hide=True, source=LOG) as show:
        frame = watch.tick(began)
        now = 0.0
        for piece in pieces(str(path)):
            while piece.at_s - now > STEP_S * speed:
                now += STEP_S * speed
                time.sleep(STEP_S)
                show(watch.tick(began + now))
            time.sleep(max(0.0, piece.at_s - now) / speed)
            now = max(now, piece.at_s)
            watch.feed(Chunk(piece.data, began + now, LOG, live=True))
            frame = watch.tick(began + now)
            show(frame)
            if frame.final is not None:
                break
        return frame.timeline
