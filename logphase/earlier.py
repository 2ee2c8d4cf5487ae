"""Timeline -> what the file told of its last startup before watching began, and how that is said.

Law of this file: an old story is recognised by the lines that told it, never by a clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logphase.timeline import Moment, Startup, Timeline


@dataclass(frozen=True, slots=True)
class Story:
    """Which startup, and at which lines it became ready, failed or was stopped."""

    index: int
    lines: tuple[int | None, int | None, int | None]


def story(timeline: Timeline) -> Story | None:
    """What a timeline tells of its last startup."""
    return Story(timeline.startups[-1].index, story_lines(timeline.startups[-1])) if timeline.startups else None


def story_lines(startup: Startup) -> tuple[int | None, int | None, int | None]:
    """The lines at which a startup became ready, failed and was stopped."""
    ready, failed, stopped = (moment.line if moment is not None else None for moment in (startup.ready, startup.ended, startup.stopped))
    return ready, failed, stopped


def earlier(startup: Startup) -> str:
    """What became of a startup that was in the file before."""
    what, moment = "ready since", startup.ready
    if startup.stopped is not None:
        what, moment = "stopped at", startup.stopped
    elif startup.cause is not None:
        what, moment = "failed at", startup.ended
    line = f"line {moment.line}" if moment is not None else "an unknown line"
    return f"an earlier startup, {what} {_clock(moment)}{line}"


def _clock(moment: Moment | None) -> str:
    """When it was on the log's own clock, to be followed by the line."""
    if moment is None or moment.time is None:
        return ""
    return f"{datetime.fromtimestamp(int(moment.time), UTC):%Y-%m-%d %H:%M:%S}, "
