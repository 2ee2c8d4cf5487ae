"""Frames -> the terminal or a pipe, for as long as a startup is watched.

Law of this file: what is new is one line; a heartbeat comes at least every half minute, so that nobody waits before a silent screen.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING

from logphase.cli.output import colored, to_stdout
from logphase.views.glyphs import STYLE
from logphase.views.sentence import said
from logphase.views.words import quote, spoken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from logphase.live import Frame

FORMATS = ("plain", "jsonl")
HEARTBEAT_S = 30.0


@contextlib.contextmanager
def shown(form: str | None, *, color: str, hide: bool) -> Iterator[Callable[[Frame], None]]:
    """`show(frame)`, in the form that is asked for."""
    yield (_Events(hide=hide) if form == "jsonl" else _Lines(paint=colored(color, None), hide=hide)).show


class _News:
    """What of a frame was not said yet."""

    def __init__(self) -> None:
        self._state: tuple[object, ...] = ()
        self._notices = 0
        self._at = 0.0

    def take(self, frame: Frame) -> tuple[tuple[str, ...], bool]:
        """New notices, and whether the state is to be told: it changed, or it is time for a heartbeat."""
        notices = frame.notices[self._notices :]
        self._notices = len(frame.notices)
        state = (frame.verdict.state, frame.verdict.phase, frame.earlier)
        due = state != self._state or frame.wall - self._at >= HEARTBEAT_S
        if due:
            self._state, self._at = state, frame.wall
        return notices, due


class _Lines:
    """One line for each change."""

    def __init__(self, *, paint: bool, hide: bool) -> None:
        self._paint, self._hide, self._news = paint, hide, _News()

    def show(self, frame: Frame) -> None:
        """Say what is new."""
        import click

        notices, due = self._news.take(frame)
        for notice in notices:
            to_stdout(f"note: {quote(notice, hide=self._hide)}\n")
        if due:
            word = frame.verdict.state.value
            text = f" {said(frame.verdict, hide=self._hide)}"
            after = f" ({spoken(frame.elapsed_s)})" if frame.elapsed_s is not None else ""
            to_stdout(f"{click.style(word, fg=STYLE[word], bold=True) if self._paint else word}:{text}{after}\n")


class _Events:
    """One JSON object for each change."""

    def __init__(self, *, hide: bool) -> None:
        self._hide, self._news = hide, _News()

    def show(self, frame: Frame) -> None:
        """Say what is new."""
        notices, due = self._news.take(frame)
        for notice in notices:
            to_stdout(json.dumps({"at": round(frame.wall, 3), "event": "notice", "text": quote(notice, hide=self._hide)}) + "\n")
        if due:
            told = {
                "at": round(frame.wall, 3),
                "event": "state",
                "state": frame.verdict.state.value,
                "phase": frame.verdict.phase,
                "elapsed_s": None if frame.elapsed_s is None else round(frame.elapsed_s, 3),
                "summary": said(frame.verdict, hide=self._hide),
                "evidence": [
                    {"rule": one.rule, "line": one.line, "rank": one.rank, "text": quote(one.text, hide=self._hide)}
                    for one in frame.verdict.evidence
                ],
            }
            to_stdout(json.dumps(told) + "\n")
