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
        self._analyzer = Analyzer(rules=rules, engine=engine)
        self._analyzer.number_from(first_line)
        self._stall_after, self._warn_only = stall_after, stall_action == "warn"
        self._timeout, self._accept_old = timeout, accept_old
        self._started, self._changed = started, changed
        self._witnesses, self._medians = tuple(witnesses), medians
        self._fed: float | None = None  # when bytes arrived last
        self._old_lines = 0  # lines that were in the file before
        self._fresh = False  # bytes arrived since
        self._notices: list[str] = []
        self._failed: float | None = None  # since when the verdict is a failure
        self._input_ended = False

    def feed(self, chunk: Chunk) -> None:
        """Take what a source yields: bytes, or what happened to the file."""
        if chunk.change is not None and chunk.reason:
            self._notice(chunk.reason)
        if chunk.change is not None and chunk.change.starts_over:
            self._analyzer.number_from(1)
            self._old_lines = 0
        if not chunk.data:
            return
        self._analyzer.feed(chunk.data, chunk.at)
        if chunk.live:
            self._fresh = True
            self._fed = chunk.at if chunk.at is not None else self._fed
        else:
            self._old_lines = self._analyzer.timeline().lines

    def close(self) -> None:
        """The input has ended."""
        self._analyzer.close()
        self._input_ended = True

    def tick(self, wall: float) -> Frame:
        """What is known at a moment of the wall clock."""
        started = self._started = wall if self._started is None else self._started
        timeline = self._analyzer.timeline()
        startup = timeline.startups[-1] if timeline.startups else None
        silence = max(0.0, wall - (started if self._fed is None else max(self._fed, started)))
        if startup is not None and self._stall_after is not None:
            startup = replace(startup, budget_s=self._stall_after, budget_from="--stall-after")
        now = None if startup is None else (startup.last_line.time or 0.0) + silence
        verdict = _nothing(timeline, silence) if startup is None else judge(startup, now, live=True)
        for warning in startup.warnings if startup is not None else ():
            self._notice(warning)
        elapsed = None if startup is None or startup.last_line.after_s is None else startup.last_line.after_s + silence
        left = estimate(startup, silence, self._medians) if startup is not None else None
        frame = Frame(wall, timeline, startup, verdict, left, elapsed, silence, wall - started)
        return self._decided(replace(frame, testimony=tuple(said for witness in self._witnesses for said in witness.ask(frame))))

    def _decided(self, frame: Frame) -> Frame:
        """The frame with the witnesses' word, an old story told apart, and the end, if it is one."""
        lives = any(said.says is Says.LIVES for said in frame.testimony)
        if self._is_old(frame.startup) and not (self._accept_old or lives):
            earlier = f"an earlier startup: {frame.verdict.summary}"
            waiting = Verdict(State.UNSEEN, None, f"Waiting for a new launch. In the file is {earlier}", None, ())
            frame = replace(frame, startup=None, verdict=waiting, estimate=None, earlier=earlier)
        for said in frame.testimony:
            if said.says is Says.NOTE:
                self._notice(said.text)
        frame = replace(frame, verdict=weigh(frame.verdict, frame.testimony))
        final = self._ending(frame)
        return replace(frame, final=final, notices=tuple(self._notices))

    def _is_old(self, startup: Startup | None) -> bool:
        """Whether the line that decides a startup was in the file before watching began."""
        if startup is None:
            return False
        lines = [moment.line for moment in (startup.ready, startup.ended, startup.stopped) if moment is not None]
        return bool(lines) and max(lines) <= self._old_lines

    def _ending(self, frame: Frame) -> Ending | None:
        state = frame.verdict.state
        if state in ENDED:
            self._failed = frame.wall if self._failed is None else self._failed
            certain = frame.startup is None or frame.startup.certain or self._input_ended
            quiet, most = (SETTLE_S, SETTLE_MOST_S) if certain else (DOUBT_S, LAUNCH_PATIENCE_S)
            settled = frame.silence_s >= quiet or frame.wall - self._failed >= most or self._input_ended
            return Ending.FAILED if settled else None
        self._failed = None
        if state is State.READY:
            return Ending.READY
        if state is State.STALLED and not self._warn_only:
            return Ending.STALLED
        if state is State.STALLED:
            self._notice(frame.verdict.summary)
        if self._input_ended:
            return Ending.INPUT_ENDED
        return Ending.TIMEOUT if self._timeout is not None and frame.watched_s > self._timeout else None

    def _notice(self, text: str) -> None:
        if text not in self._notices and len(self._notices) < MAX_NOTICES:
            self._notices.append(text)


ENDED = frozenset({State.CRASHED, State.NEVER_STARTED, State.STOPPED})


def _nothing(timeline: Timeline, silence: float) -> Verdict:
    """No startup so far: the first line of a launch may take minutes."""
    if silence > LAUNCH_PATIENCE_S:
        stall = Stall("launch", silence, LAUNCH_PATIENCE_S, "the rules: imports take minutes at most", ())
        text = (
            f"Stalled: nothing was written for {duration(silence)}; no launch prints nothing for longer than {duration(LAUNCH_PATIENCE_S)}."
        )
        return Verdict(State.STALLED, "launch", text, None, (), stall)
    read = f"{timeline.lines} lines, none of a startup" if timeline.lines else "nothing is written yet"
    return Verdict(
        State.UNSEEN, None, f"Waiting for a launch: {read}. Its first line may take up to {duration(LAUNCH_PATIENCE_S)}.", None, ()
    )


def weigh(verdict: Verdict, testimony: Sequence[Testimony]) -> Verdict:
    """A verdict of the log with what was seen beside it; where they disagree about the end, the world is believed, and said to be."""
    decisive = {one.says: one for one in reversed(testimony)}
    evidence = tuple(Evidence(f"witness:{one.witness}", 0, None, one.text) for one in testimony if one.says is not Says.NOTE)
    gone, ready, busy = (decisive.get(says) for says in (Says.GONE, Says.READY, Says.BUSY))
    evidence = (*verdict.evidence, *evidence)
    if gone is not None and verdict.state not in ENDED:
        state = State.NEVER_STARTED if verdict.state is State.UNSEEN else State.CRASHED
        before = {State.READY: "Was ready, then crashed", State.UNSEEN: "Never started"}.get(verdict.state, "Crashed")
        return replace(verdict, state=state, summary=f"{before}: {gone.text}", evidence=evidence, stall=None)
    if ready is not None and verdict.state in (State.STARTING, State.STALLED, State.UNSEEN):
        return replace(verdict, state=State.READY, phase="serving", summary=f"Ready: {ready.text}", evidence=evidence, stall=None)
    if busy is not None and verdict.state is State.STALLED:
        return replace(verdict, state=State.STARTING, summary=f"Starting: {busy.text}", evidence=evidence, stall=None)
    return replace(verdict, evidence=evidence)
