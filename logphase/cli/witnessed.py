"""A log's last startup, and the world beside it, now -> a verdict. For `check`, which has no later."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from logphase.live import Frame
from logphase.testimony import Says
from logphase.verdict import State, Verdict, judge
from logphase.views.sentence import unseen
from logphase.views.words import quote
from logphase.witness import TWICE_S, Asked, call, weigh

if TYPE_CHECKING:
    from logphase.timeline import Timeline
    from logphase.witness import Address


def witnessed(timeline: Timeline, quiet: float | None, pid: int | None, health: Address | None, *, canary: bool) -> tuple[Verdict, bool]:
    """Ask the witnesses and weigh what they say; findings go to stderr. Also whether one that the user named says no to a ready server."""
    startup = timeline.startups[-1] if timeline.startups else None
    if startup is not None:
        verdict = judge(startup, None if quiet is None else (startup.last_line.time or 0.0) + quiet, live=quiet is not None)
    else:
        text, hint = unseen(timeline)
        verdict = Verdict(State.UNSEEN, None, f"{text}. {hint}", None, ())
    frame = Frame(time.time(), timeline, startup, verdict, None, None, quiet or 0.0, 0.0)
    called = call(Asked(pid, health, canary, once=True))
    testimony = called.last_words(frame, least_s=TWICE_S if pid is not None else 0.0)
    for one in testimony:
        if one.says in (Says.NOTE, Says.READY):
            click.echo(f"{one.witness}: {quote(one.text, hide=True)}", err=True)
    return weigh(verdict, testimony), called.objects
