"""The world beside the log -> Testimony: processes, the port's owner, HTTP, one real request.

A witness never decides alone and never holds up the log: it says what it has seen, `live.Watch` weighs it against the lines, and where
the two disagree that is said, not averaged. The processes and the port's owner are asked of the system and disturb nothing; HTTP and
the canary begin when the log says that HTTP is up.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from logphase.testimony import weigh
from logphase.witness.canary import Canary
from logphase.witness.http import Address, Health
from logphase.witness.port import PortOwner, http_is_up
from logphase.witness.processes import ProcessTree, Writers, look, look_at_session

if TYPE_CHECKING:
    from collections.abc import Mapping

    from logphase.live import Frame, Witness
    from logphase.testimony import Testimony

__all__ = ["TWICE_S", "Address", "Asked", "Called", "call", "weigh"]

ASK_S = 0.02
LAST_WORD_S = 30.0
TWICE_S = 1.3  # two looks at the processes, and the time that the log has for its own words


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user named, and what `run` knows beside: its child's pid, and the command's own flags."""

    pid: int | None = None
    health: Address | None = None
    canary: bool = False
    log: str | None = None
    command: Mapping[str, object] | None = None
    once: bool = False  # `check`: there is no later


@dataclass(frozen=True, slots=True)
class Called:
    """The witnesses that were called."""

    all: tuple[Witness, ...]
    canary: Canary | None
    health: Health | None

    def last_words(self, frame: Frame, limit_s: float = LAST_WORD_S, least_s: float = 0.0) -> tuple[Testimony, ...]:
        """Ask again until those whose answer is on its way have given it: the log was faster, and the user asked for both.

        `least_s`: go on for so long in any case; who looks twice can tell what moves and what is gone.
        """
        least = time.monotonic() + least_s
        end = time.monotonic() + limit_s
        while True:
            said = tuple(testimony for witness in self.all for testimony in witness.ask(frame))
            waiting = any(witness is not None and witness.pending for witness in (self.canary, self.health))
            if (not waiting and time.monotonic() >= least) or time.monotonic() >= end:
                return said
            time.sleep(ASK_S)

    def answered(self, frame: Frame) -> Frame:
        """The frame of a ready server with their last words: an answer that the user asked for may still be on its way."""
        said = self.last_words(frame)
        fresh = tuple(one.text for one in said if one.text not in frame.notices)
        return replace(frame, testimony=said, notices=(*frame.notices, *fresh))

    @property
    def objects(self) -> bool:
        """Whether HTTP or the one real request, asked since the log's ready line, says no or nothing."""
        return any(one is not None and (one.failed or one.pending) for one in (self.canary, self.health))


def call(asked: Asked) -> Called:
    """The witnesses for what the user named; none without a name, but who writes the log."""
    found: list[Witness] = []
    local = asked.health is not None and asked.health.local
    if asked.pid is not None or local:
        port = PortOwner(lambda frame: _port(frame, asked), lambda: asked.pid)

        def find(frame: Frame) -> int | None:
            return asked.pid or (port.pid if http_is_up(frame.startup) else None)

        launched = asked.command is not None
        found += [ProcessTree(find, look=look_at_session if launched else look, first=not launched), port]
    health = Health(asked.health) if asked.health is not None else None
    canary = Canary(asked.health, asked.command or {}, lambda: asked.pid, named=asked.once) if asked.canary else None
    found += [witness for witness in (health, canary) if witness is not None]
    if asked.log is not None and asked.pid is None and not asked.once:
        found.append(Writers(asked.log))
    return Called(tuple(found), canary, health)


def _port(frame: Frame, asked: Asked) -> int | None:
    if asked.health is not None:
        return asked.health.port if asked.health.local else None
    named = (asked.command or {}).get("port") or (frame.startup.arguments.get("port") if frame.startup is not None else None)
    return int(str(named)) if str(named).isdigit() else None
