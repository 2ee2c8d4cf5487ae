"""Frames -> the terminal or a pipe, for as long as a startup is watched.

Law of this file: the views say what is to be seen, this file writes it. The live view never takes the alternate screen, and what it
showed last stays in the scroll-back. A terminal that is gone ends nothing: the verdict is still wanted.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import TYPE_CHECKING, Self

from logphase.cli.output import colored, plain_ascii, to_stdout
from logphase.errors import LogphaseError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from logphase.live import Frame

FORMATS = ("live", "plain", "jsonl")
FORMAT_HELP = "live: a view that is redrawn (default on a terminal); plain: a line for each change, at least every 30 s; or jsonl."
DRAW_S = 0.1  # between two drawings while much happens
CALM_S = 1.0  # while nothing does: only the clock goes on


@contextlib.contextmanager
def shown(form: str | None, *, color: str, hide: bool, source: str = "") -> Iterator[Callable[[Frame], None]]:
    """`show(frame)`, in the form that is asked for; without one, as the output can show it."""
    if form in (None, "live") and can_redraw():
        with Screen(color=color, hide=hide, source=source) as screen:
            yield screen.show
    elif form == "jsonl":
        from logphase.views.stream import Events

        events = Events(hide=hide)
        yield lambda frame: _write(events.feed(frame))
    else:
        from logphase.views.plain import PlainLines

        lines, paint = PlainLines(hide=hide), colored(color, None)
        yield lambda frame: _write([_painted(line) if paint else line for line in lines.feed(frame)])


def can_redraw() -> bool:
    """Whether the output is a terminal that can move its cursor."""
    return sys.stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb", "unknown")


def _write(lines: list[str]) -> None:
    if lines:
        with contextlib.suppress(LogphaseError):  # a closed terminal
            to_stdout("".join(f"{line}\n" for line in lines))


def _painted(line: str) -> str:
    """The line with its first word in the state's colour."""
    import click

    from logphase.views.glyphs import STYLE

    word, colon, rest = line.partition(":")
    return f"{click.style(word, fg=STYLE[word], bold=True)}{colon}{rest}" if STYLE.get(word) else line


class Screen:
    """The live view. A resize begins it anew below, because a terminal breaks the old lines as it likes."""

    def __init__(self, *, color: str, hide: bool, source: str) -> None:
        from rich.console import Console

        self._hide, self._source, self._ascii = hide, source, plain_ascii(None)
        self._console: Console = Console(no_color=not colored(color, None), highlight=False, markup=False, emoji=False)
        self._live: Live | None = None
        self._size: tuple[int, int] = (0, 0)
        self._drawn: tuple[object, ...] = ()
        self._rows: list[int] = []  # width of each line on the screen
        self._at = 0.0
        self._frame: Frame | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            if self._frame is not None:
                self._draw(self._frame)
            if self._live is not None:
                self._live.stop()

    def show(self, frame: Frame) -> None:
        """Draw it, unless the same was drawn a moment ago."""
        self._frame = frame
        now = time.monotonic()
        startup = frame.startup
        known = (frame.verdict.state, frame.verdict.phase, len(frame.notices), frame.final, startup.lines[1] if startup is not None else 0)
        wait = DRAW_S if known != self._drawn else CALM_S
        if frame.final is None and now - self._at < wait and self._dimensions() == self._size:
            return
        self._drawn, self._at = known, now
        with contextlib.suppress(OSError):  # the terminal is gone
            self._draw(frame)

    def _draw(self, frame: Frame) -> None:
        from rich.live import Live
        from rich.text import Text

        from logphase.views.screen import lines

        size = self._dimensions()
        made = lines(frame, size[0] - 1, size[1] - 1, source=self._source, hide=self._hide, ascii=self._ascii)
        if self._live is not None and size[0] != self._size[0]:
            self._forget(size[0])
        picture: Text = Text("\n").join(made)
        picture.no_wrap = True
        if self._live is None:
            self._live = Live(picture, console=self._console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
            self._live.start(refresh=True)
        else:
            self._live.update(picture, refresh=True)
        self._size, self._rows = size, [line.cell_len for line in made]

    def _dimensions(self) -> tuple[int, int]:
        return self._console.size.width, self._console.size.height

    def _forget(self, width: int) -> None:
        """Wipe out what was drawn at another width: count the rows that it takes now, go up there, and begin anew."""
        assert self._live is not None
        self._live.stop()
        self._live = None
        rows = sum(max(1, -(-cells // max(1, width))) for cells in self._rows)
        self._console.file.write(f"\x1b[{min(rows, self._console.size.height - 1)}A\r\x1b[J")
        self._console.file.flush()
