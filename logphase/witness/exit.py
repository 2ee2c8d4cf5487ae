"""How the launched command ended -> what that means where the log is silent. `run` alone can know it.

The code by itself tells nothing: SGLang's graceful stop ends with signal 9, as the crash of a scheduler does.
"""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

from logphase.testimony import Says, Testimony
from logphase.witness.processes import KILLER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from logphase.child import Ended
    from logphase.live import Frame

NAME = "exit"
GRACE_S = 0.3  # its last lines are read first
REST_EVERY_S = 0.5
ASKED = " The second signal to logphase killed it."


class Exit:
    """The witness. `ended`: how the command ended, once it has; `rest`: what it left behind and still lives."""

    name = NAME

    def __init__(self, ended: Callable[[], Ended | None], rest: Callable[[], Sequence[int]]) -> None:
        self._ended = ended
        self._rest = rest
        self.asked = False  # who watches had it killed
        self.read = False  # all that it wrote was read: before that the log may still tell
        self._looked = 0.0
        self._left: tuple[int, ...] = ()

    @property
    def left(self) -> tuple[int, ...]:
        """What goes on although the command has ended, as of the last look."""
        return self._left

    @property
    def over(self) -> bool:
        """Whether the command has ended and has left nothing behind; asked at most every half second once it has ended."""
        if self._ended() is None:
            return False
        now = time.monotonic()
        if now - self._looked >= REST_EVERY_S:
            self._looked = now
            self._left = tuple(self._rest())
        return not self._left

    def ask(self, frame: Frame) -> Sequence[Testimony]:
        """Say how it ended, where the log does not."""
        ended = self._ended()
        startup = frame.startup
        if ended is None or frame.wall - ended.at < GRACE_S or (startup is not None and (startup.cause or startup.stopped)):
            return ()
        if not self.over:
            text = f"The command {ended}, but {len(self._left)} of its processes go on (pid {self._left[0]}): it is watched on."
            return (Testimony(NAME, Says.NOTE, text),)
        if startup is not None and startup.ready is not None and ended.code == 0:
            return (Testimony(NAME, Says.NOTE, f"The command {ended} after it was ready."),)
        if not self.read:
            return ()
        killed = "" if ended.code != -signal.SIGKILL else ASKED if self.asked else KILLER
        return (Testimony(NAME, Says.GONE, f"The command {ended}, and the log has no line about it.{killed}"),)
