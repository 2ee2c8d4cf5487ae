"""Chunks -> Frames: a startup as it happens, and when to stop watching.

Law of this file: the loop's state and nothing of the loop. It reads no clock, file or terminal: chunks come in by `feed`, the wall
clock by `tick`, and every tick gives a Frame, which is all that a screen, a pipe or a test needs. `watch`, `run` and `replay` share it.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf
from typing import TYPE_CHECKING, Protocol

from logphase.analyzer import Analyzer
from logphase.earlier import Story, earlier, story, story_lines
from logphase.estimate import estimate
from logphase.snapshot import BY_BAR
from logphase.testimony import ENDED, Says, weigh
from logphase.verdict import Stall, State, Verdict, duration, judge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from logphase.estimate import Estimate, Past
    from logphase.sources import Chunk
    from logphase.testimony import Testimony
    from logphase.timeline import Startup, Timeline

SETTLE_S = 0.3  # a failure's lines come in a burst: its cause is known when nothing came for so long …
SETTLE_MOST_S = 0.7  # … or after this
DOUBT_S = 0.7  # a failure that the startup may survive
LAUNCH_PATIENCE_S = 600.0
MAX_NOTICES = 200
CHANGES = {
    "appeared": "the file is there now",
    "truncated": "the log was emptied and begins anew; line numbers begin at 1 again",
    "rewritten": "the log was written anew; line numbers begin at 1 again",
    "rotated": "the log was rotated; line numbers begin at 1 again",
    "polling": "no file events, the log is looked at four times a second instead: {}",
    "recreated": "the log was deleted and created again; line numbers begin at 1 again",
}


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


ENDINGS = {signal.SIGINT: Ending.INTERRUPTED, signal.SIGTERM: Ending.TERMINATED, signal.SIGHUP: Ending.HANGUP}


class History(Protocol):
    """What earlier startups like this one took; empty and None where nothing is known of any."""

    def past(self, startup: Startup) -> Mapping[str, Past]:
        """The phases of earlier startups, in their order."""

    def patience(self, startup: Startup, phase: str) -> float | None:
        """How long a phase may be silent, in seconds, by how long it took before."""


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
    quiet_s: float = 0.0  # without progress


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
        history: what is known of earlier startups.
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
        history: History | None = None,
        first_line: int = 1,
    ) -> None:
        self._analyzer = Analyzer(rules=rules, engine=engine)
        self._analyzer.begin_file(first_line)
        self._stall_after, self._warn_only = stall_after, stall_action == "warn"
        self._timeout, self._accept_old = timeout, accept_old
        self._started, self._changed = started, changed
        self._witnesses, self._history = tuple(witnesses), history
        self._timeline: Timeline | None = None  # as of the bytes so far
        self._fed: float | None = None  # when bytes arrived last
        self._progress: tuple[tuple[object, ...], float | None] = ((), None)  # the newest progress, and when it arrived
        self._old: Story | None = None  # what the file said of its last startup before watching began
        self._told: tuple[object, ...] = ()  # what the last tick knew of the end
        self._notices: dict[str, None] = {}
        self._failed: float | None = None  # since when the verdict is a failure
        self._input_ended = False
        self._final: Ending | None = None

    @property
    def final(self) -> Ending | None:
        """Why watching is over; None while it goes on."""
        return self._final

    @property
    def pressing(self) -> bool:
        """Whether the bytes since the last tick hold news of the end: do not wait for the next one."""
        return self._end() != self._told

    def feed(self, chunk: Chunk) -> None:
        """Take what a source yields: bytes, or what happened to the file."""
        if chunk.change is not None:
            self._change(chunk)
        if not chunk.data:
            return
        self._analyzer.feed(chunk.data, chunk.at, chunk.launched)
        self._timeline = None
        if chunk.live:
            self._fed = chunk.at if chunk.at is not None else self._fed
        else:
            self._old = story(self._look())

    def close(self) -> None:
        """The input has ended."""
        self._analyzer.close()
        self._timeline = None
        self._input_ended = True

    def tick(self, wall: float) -> Frame:
        """What is known at a moment of the wall clock."""
        started = self._started = wall if self._started is None else self._started
        timeline = self._look()
        self._told = self._end()
        startup = timeline.startups[-1] if timeline.startups else None
        silence = max(0.0, wall - (started if self._fed is None else self._fed))
        if startup is None:
            self._final = None
            waiting = self._nothing(timeline, silence, wall - started)
            return self._decided(Frame(wall, timeline, None, waiting, None, None, silence, wall - started))
        if self._fed is None and self._changed is not None:
            silence = max(0.0, wall - self._changed)
        quiet = self._quiet(startup, silence, wall)
        verdict = self._judge(startup, quiet, wall - started)
        for warning in startup.warnings:
            self._notice(warning)
        elapsed = None if startup.last_line.after_s is None else max(startup.last_line.after_s, _bar_at(startup)) + silence
        left = estimate(startup, silence, self._history.past(startup) if self._history is not None and is_on(startup) else None)
        return self._decided(Frame(wall, timeline, startup, verdict, left, elapsed, silence, wall - started, quiet_s=quiet))

    def _quiet(self, startup: Startup, silence: float, wall: float) -> float:
        """Seconds without progress: by the log's clock, but no longer than since the progress arrived."""
        quiet = (startup.last_line.time or 0.0) - (startup.last_progress.time or 0.0) + silence
        bars = tuple((phase.id, phase.status, phase.progress and phase.progress.done) for phase in startup.phases)
        progress = (startup.index, startup.last_progress, bars)
        if progress != self._progress[0]:
            self._progress = (progress, self._fed)
        arrived = self._progress[1]
        return max(0.0, quiet if arrived is None else min(quiet, wall - arrived))

    def _look(self) -> Timeline:
        if self._timeline is None:
            self._timeline = self._analyzer.timeline()
        return self._timeline

    def _end(self) -> tuple[object, ...]:
        """What is known of the end of the newest launch, asked cheaply."""
        launches = self._analyzer.walk.launches.all
        if not launches:
            return ()
        newest = launches[-1]
        return len(launches), newest.ready is not None, newest.over, newest.failures.cause is not None

    def _change(self, chunk: Chunk) -> None:
        change = chunk.change
        assert change is not None
        known = CHANGES.get(change.value, "")
        self._notice(known.format(chunk.reason) if "{}" in known else chunk.reason or known)
        if change.starts_over:
            self._analyzer.begin_file()
            self._timeline = None

    def _patience(self) -> float:
        """How long a launch may write nothing."""
        launch = self._analyzer.walk.rules.phases.get("launch")
        return self._stall_after or (launch.patience_s if launch is not None else LAUNCH_PATIENCE_S)

    def _judge(self, startup: Startup, quiet: float, watched: float) -> Verdict:
        if self._stall_after is not None:
            startup = replace(startup, budget_s=self._stall_after, budget_from="--stall-after")
        elif self._history is not None and is_on(startup):
            startup = _patient(startup, self._history)
        now = (startup.last_progress.time or 0.0) + quiet
        verdict = judge(startup, now, live=True)
        if verdict.state is State.STALLED and self._fed is None and watched <= self._patience():
            return judge(replace(startup, budget_s=inf), now, live=True)  # all of it is from before: a new launch may be about to write
        return verdict

    def _nothing(self, timeline: Timeline, silence: float, watched: float) -> Verdict:
        """No startup so far: the first line of a launch may take minutes, and traffic is no sign of one."""
        allowed = self._patience()
        silence = watched if timeline.traffic else silence
        read = f"{timeline.lines:,} lines, none of a startup" if timeline.lines else "nothing was written"
        if silence > allowed:
            return _late(f"{read}, for {duration(silence)}", silence, allowed)
        text = f"Waiting for a launch: {read}. A launch may be silent for {duration(allowed)}, so long it is waited for."
        if self._input_ended:
            text = f"The input ended: {read}."
        if timeline.traffic:
            text += " Only requests are in it: --log-level warning hides a startup, and then only --canary can prove that it works."
        return Verdict(State.UNSEEN, None, text, None, ())

    def _decided(self, frame: Frame) -> Frame:
        """The frame with the witnesses' word, an old story told apart, and the end, if it is one."""
        old = self._is_old(frame.startup) and not self._accept_old
        asked = replace(frame, earlier=earlier(frame.startup) if old and frame.startup is not None else "")
        frame = replace(frame, testimony=tuple(said for witness in self._witnesses for said in witness.ask(asked)))
        if old and not any(said.says is Says.LIVES for said in frame.testimony):
            frame = self._waiting(frame, asked.earlier)
        for said in frame.testimony:
            if said.says is Says.NOTE:
                self._notice(said.text)
        frame = replace(frame, verdict=weigh(frame.verdict, frame.testimony))
        self._final = self._ending(frame)
        return replace(frame, final=self._final, notices=tuple(self._notices))

    def _is_old(self, startup: Startup | None) -> bool:
        """Whether what decides a startup was in the file before watching began. One that was ready and is stopped now is old, too."""
        old = self._old
        if startup is None or old is None or startup.index != old.index or old.lines == (None, None, None):
            return False
        ready, failed, stopped = story_lines(startup)
        return (ready, failed) == old.lines[:2] and (stopped == old.lines[2] or ready is not None)

    def _waiting(self, frame: Frame, earlier: str) -> Frame:
        """The file's last startup is over, or up: its successor is waited for."""
        allowed = self._patience()
        waiting = Verdict(State.UNSEEN, None, f"In the file is {earlier}; waiting for a new one.", None, ())
        if frame.watched_s > allowed:
            waiting = _late(f"no new launch in {duration(frame.watched_s)}; in the file is {earlier}", frame.watched_s, allowed)
        self._notice(f"{earlier}; waiting for a new one (--accept-old takes it as it is)".capitalize())
        return replace(frame, startup=None, verdict=waiting, estimate=None, elapsed_s=None, earlier=earlier)

    def _ending(self, frame: Frame) -> Ending | None:
        state = frame.verdict.state
        if state in ENDED:
            self._failed = frame.wall if self._failed is None else self._failed
            certain = frame.startup is None or frame.startup.certain or frame.startup.stopped is not None or self._input_ended
            quiet, most = (SETTLE_S, SETTLE_MOST_S) if certain else (DOUBT_S, LAUNCH_PATIENCE_S)
            settled = frame.silence_s >= quiet or frame.wall - self._failed >= most or self._input_ended
            return Ending.FAILED if settled else None
        self._failed = None
        if state is State.READY:
            return Ending.READY
        if state is State.STALLED and not self._warn_only:
            return Ending.STALLED
        if self._input_ended:
            return Ending.INPUT_ENDED
        return Ending.TIMEOUT if self._timeout is not None and frame.watched_s > self._timeout else None

    def _notice(self, text: str) -> None:
        if text and len(self._notices) < MAX_NOTICES:
            self._notices[text] = None


def is_on(startup: Startup) -> bool:
    """Whether a startup is neither ready nor over."""
    return startup.ready is None and startup.cause is None and startup.stopped is None


def _patient(startup: Startup, history: History) -> Startup:
    """A phase that takes longer than the rules let it be silent may be silent for as long; never for less than they say."""
    by_rules = not startup.budget_from.startswith(BY_BAR)  # a bar's own rate knows better than any earlier startup
    allowed = history.patience(startup, startup.current) if startup.current is not None and by_rules else None
    if allowed is None or allowed <= startup.budget_s:
        return startup
    return replace(startup, budget_s=allowed, budget_from="history: longer than the rules say, and so it took before")


def _bar_at(startup: Startup) -> float:
    """How far the running bar's own clock has come since the start, where the log is faster than it: in a replay."""
    phase = next((phase for phase in startup.phases if phase.id == startup.current), None)
    if phase is None or phase.status != "open" or phase.start_s is None or phase.progress is None or phase.spans:
        return 0.0
    return phase.start_s + (phase.progress.elapsed_s or 0.0)


def _late(what: str, silence: float, allowed: float) -> Verdict:
    """Nothing came for longer than a launch may be silent."""
    stall = Stall("launch", silence, allowed, "a launch writes its first line within this time", ())
    text = f"Stalled: {what}; a launch may be silent for {duration(allowed)}."
    return Verdict(State.STALLED, "launch", text, None, (), stall)
