"""State -> exit code: what scripts rely on.

Law of this file: the numbers are public; `docs` and README show the same table.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, assert_never

if TYPE_CHECKING:
    from logphase.live import Ending
    from logphase.verdict import State


class ExitCode(IntEnum):
    """Every code that a command may end with."""

    READY = 0
    FAILED = 1
    USAGE = 2
    STALLED = 3
    STARTING = 4
    UNSEEN = 5
    TIMEOUT = 124
    HANGUP = 129
    INTERRUPTED = 130
    TERMINATED = 143


def of_state(state: State) -> ExitCode:
    """The code with which `check` tells a state."""
    from logphase.verdict import State

    match state:
        case State.READY:
            return ExitCode.READY
        case State.CRASHED | State.NEVER_STARTED | State.STOPPED:
            return ExitCode.FAILED
        case State.STALLED:
            return ExitCode.STALLED
        case State.STARTING:
            return ExitCode.STARTING
        case State.UNSEEN:
            return ExitCode.UNSEEN
        case _:
            assert_never(state)


def of_ending(ending: Ending) -> ExitCode:
    """The code with which `watch` and `run` end."""
    from logphase.live import Ending

    return {
        Ending.READY: ExitCode.READY,
        Ending.FAILED: ExitCode.FAILED,
        Ending.STALLED: ExitCode.STALLED,
        Ending.TIMEOUT: ExitCode.TIMEOUT,
        Ending.INPUT_ENDED: ExitCode.UNSEEN,
        Ending.INTERRUPTED: ExitCode.INTERRUPTED,
        Ending.TERMINATED: ExitCode.TERMINATED,
        Ending.HANGUP: ExitCode.HANGUP,
    }[ending]
