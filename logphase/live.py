"""Chunks -> Frames: a startup as it happens, and when to stop watching.

Law of this file: the loop's state and nothing of the loop. It reads no clock, file or terminal: chunks come in by `feed`, the wall
clock by `tick`, and every tick gives a Frame, which is all that a screen, a pipe or a test needs. `watch`, `run` and `replay` share it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from logphase.analyzer import Analyzer
from logphase.estimate import estimate
from logphase.timeline import Evidence
from logphase.verdict import Stall, State, Verdict, duration, judge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from logphase.estimate import Estimate, Past
    from logphase.sources import Chunk
    from logphase.timeline import Startup, Timeline

SETTLE_S = 0.3  # a failure's lines come in a burst: its cause is known when nothing came for so long …
SETTLE_MOST_S = 0.7  # … or after this
DOUBT_S = 0.7  # a failure that the startup may survive
LAUNCH_PATIENCE_S = 600.0
MAX_NOTICES = 200


class Ending(StrEnum):
    """Why watching is over; `cli.exit_codes.of_ending` has the numbers."""

    READY = "ready"
    FAILED = "failed"  # crashed, never started, or stopped before it was ready
    STALLED = "stalled"
    TIMEOUT = "timeout"
    INPUT_ENDED = "input-ended"
    INTERRUPTED = "interrupted"  # the last three are told by signals, never found here
    TERMINATED = "terminated"
    HANGUP = "hangup"


class Says(StrEnum):
    """What a witness can say."""

    LIVES = "lives"  # this launch's process runs since before the deciding line: an old verdict is its own
    BUSY = "busy"  # it works although the log is silent: no stall
    READY = "ready"  # inference worked
    GONE = "gone"  # the server's process is no more, whatever the log says
    NOTE = "note"  # a finding to be shown; decides nothing


@dataclass(frozen=True, slots=True)
class Testimony:
    """What a witness beside the log has seen, in a sentence for a person."""

    witness: str
    says: Says
    text: str


class Witness(Protocol):
    """Something beside the log that can be asked. It never blocks: slow work is done elsewhere, and its newest result is given."""

    name: str

    def ask(self, frame: Frame) -> Sequence[Testimony]:
        """Say what is known now; the frame is what the log says."""


@dataclass(frozen=True, slots=True)
class Frame:
    """All that is known at one moment of the wall clock.

    `startup` is the one that is watched: the last one, or None before its first line. `elapsed_s` and `silence_s` are as of `wall`
    (the latter since bytes arrived). `earlier` tells of a startup that was over before watching began. `notices` grow at the end
    and are said once each; `final` is set when watching is over.
    """

    wall: float
    timeline: Timeline
    startup: Startup | None
    verdict: Verdict
    estimate: Estimate | None
    elapsed_s: float | None
    silence_s: float
    watched_s: float
    earlier: str = ""
    notices: tuple[str, ...] = ()
    testimony: tuple[Testimony, ...] = ()
    final: Ending | None = None


class Watch:
    """Feed what a source yields, tick with the wall clock.

    Args:
        rules, engine: as for `Analyzer`.
        stall_after: seconds of silence that count as a stall, over those of the rules.
        stall_action: `exit` ends at a stall, `warn` shows it and goes on.
        timeout: seconds after `started` at which watching ends.
        accept_old: a verdict whose line was in the file before counts too.
        started: wall clock at which watching began; the first tick if None.
        changed: wall clock at which the file changed last before that.
        witnesses: see `Witness`.
        medians: how long the phases took before, in their order; see `estimate`.
        first_line: number of the first line that is fed, where reading begins inside a file.
    """

    def __init__(
        self,
        *,
        rules: str | None = None,
        engine: str | None = None,
        stall_after: float | None = None,
        stall_action: str = "exit",
        timeout: float | None = None,
        accept_old: bool = False,
        started: float | None = None,
        changed: float | None = None,
        witnesses: Sequence[Witness] = (),
        medians: Mapping[str, Past] | None = None,
        first_line: int = 1,
    ) -> None:
        self._rules, self._engine = rules, engine
