"""A child and a Watch -> an exit code: the loop of `run`.

Law of this file: the child is never left alone by accident. It goes on when it is ready and `--detach` was given; in every other case
it has ended, or is ended here, before `run` does.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from logphase.live import ENDINGS, Ending
from logphase.testimony import ENDED
from logphase.verdict import State
from logphase.witness.exit import NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

    from logphase.child import ArrivalsFile, Child
    from logphase.cli.signals import Caught
    from logphase.live import Frame, Watch
    from logphase.service import Service
    from logphase.sources import Chunk, Follower
    from logphase.timeline import Launched
    from logphase.witness import Called
    from logphase.witness.exit import Exit

FRAME_S = 0.1  # between two looks at the state while bytes pour in, and at a child that has ended
HURRY_S = 2.0  # a server that failed and hangs gets so long to go …
GRACE_S = 10.0  # … one that only stalled may have something to save
LAST_S = 2.0  # within which the exit is told where the log tells nothing


@dataclass(frozen=True, slots=True)
class Outcome:
    """How it went: what `run` ends with, the last frame, and whether the child still runs."""

    ending: Ending
    frame: Frame
    runs: bool


class Running:
    """Follows a child's log until the child has ended, or is ready and may be left."""

    def __init__(
        self,
        child: Child,
        watch: Watch,
        leaves: Exit,
        arrivals: ArrivalsFile,
        service: Service,
        called: Called,
        caught: Caught,
        show: Callable[[Frame], None],
        remember: Callable[[Frame], None],
        *,
        detach: bool,
    ) -> None:
        self._child, self._watch, self._leaves, self._arrivals = child, watch, leaves, arrivals
        self._service, self._called, self._caught, self._detach = service, called, caught, detach
        self._show, self._remember = show, remember
        self._stop = threading.Event()
        self._signalled: signal.Signals | None = None
        self._ready = False
        self._launched: Launched | None = child.launched

    def run(self, log: str) -> Outcome:
        """Follow to the end."""
        from logphase.sources import follow

        with ExitStack() as stack:
            stack.callback(self._caught.release)
            self._caught.give_to(self._signal)
            follower = stack.enter_context(follow(log, offsets={log: self._child.offset}, stop=self._stop))
            frame, looked = self._watch.tick(time.time()), 0.0
            for chunk in follower:
                self._take(chunk)
                if time.monotonic() - looked < FRAME_S and not chunk.is_tick and not self._watch.pressing:
                    continue
                frame, looked = self._look(), time.monotonic()
                ending = self._over(frame)
                if ending is not None:
                    outcome = self._leave(ending, frame)
                    self._rest(follower, runs=outcome.runs)
                    return outcome
                if self._leaves.over or (self._signalled is not None and self._child.ended() is not None):
                    self._stop.set()
            return self._leave(*self._last())

    def _signal(self, number: int, _: FrameType | None) -> None:
        """Pass it on; the second time the child is killed."""
        again, self._signalled = self._signalled, signal.Signals(number) if number in ENDINGS else self._signalled
        if again is not None and number in ENDINGS:
            self._leaves.asked = True
            self._child.stop(0.0)
        else:
            self._child.pass_on(number)

    def _take(self, chunk: Chunk) -> None:
        if chunk.data:
            at = chunk.at or time.time()
            self._arrivals.add(at, chunk.offset + len(chunk.data))
            self._watch.feed(replace(chunk, at=at, live=True, launched=self._launched))
            self._launched = None
        elif chunk.change is not None:
            self._watch.feed(chunk)

    def _look(self) -> Frame:
        frame = self._watch.tick(time.time())
        self._arrivals.flush()
        self._show(frame)
        self._remember(frame)
        if frame.verdict.state is State.READY:
            self._service.ready(frame.verdict.summary)
        else:
            self._service.status(frame.verdict.summary, moves=frame.verdict.state in (State.STARTING, State.UNSEEN))
        return frame

    def _over(self, frame: Frame) -> Ending | None:
        """Why to end now although the child may still run; None to go on."""
        if self._signalled is not None:
            return None  # it was asked to end: its last words are read
        if frame.final is Ending.READY:
            self._ready = True
            return Ending.READY if self._detach else None
        return frame.final

    def _last(self) -> tuple[Ending, Frame]:
        """The child has ended and all that it wrote was read: what the log says counts, and the exit where it says nothing."""
        self._leaves.read = True
        end = time.monotonic() + LAST_S
        frame = self._look()
        while self._signalled is None and time.monotonic() < end:
            if frame.verdict.state in ENDED or any(one.witness == NAME for one in frame.testimony):
                break
            time.sleep(FRAME_S)
            frame = self._look()
        if self._signalled is not None:
            return ENDINGS[self._signalled], frame
        ended = self._child.ended()
        well = frame.verdict.state is State.STOPPED and self._ready
        well = well or (frame.verdict.state is State.READY and ended is not None and ended.code == 0)
        return Ending.READY if well else Ending.FAILED, frame

    def _rest(self, follower: Follower, *, runs: bool) -> None:
        """What was written until now, or until the child ended, has its arrival times, too."""
        self._stop.set()
        if not runs:
            for chunk in follower:
                self._take(chunk)

    def _leave(self, ending: Ending, frame: Frame) -> Outcome:
        if ending is Ending.READY and self._detach:
            frame = self._called.answered(frame)
            self._show(frame)
            ending = Ending.FAILED if self._called.objects else Ending.READY
        runs = ending is Ending.READY and self._detach and not self._leaves.over
        if not runs:
            self._service.stopping(frame.verdict.summary)
            self._child.stop(HURRY_S if ending is Ending.FAILED else GRACE_S)
        return Outcome(ending, frame, runs)


def flags(command: Sequence[str]) -> dict[str, object]:
    """The options of a command, by name, as an engine's arguments line would have them: `--log-level warning`, `--port=30000`."""
    found: dict[str, object] = {}
    for word, after in zip(command, [*command[1:], ""], strict=True):
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            found[name.replace("-", "_")] = value if equals else True if after.startswith("--") or not after else after
    return found


def new_log() -> str:
    """A name for a log that nobody named."""
    return os.path.join(".", time.strftime("server-%Y%m%d-%H%M%S.log"))  # noqa: PTH118 - a plain path for the message
