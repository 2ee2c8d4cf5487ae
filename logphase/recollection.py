"""Startup -> what earlier startups like it took, while it is watched: the history as a loop may ask it.

Law of this file: nothing waits for it, and nothing that is watched fails by it; a history that cannot be read is one warning and no
answer. It is light: what reads a store is imported where a store is there.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from logphase.estimate import Past
    from logphase.recall import Recalled
    from logphase.timeline import Startup

SWITCH = "LOGPHASE_HISTORY"  # off, or the folder
OFF = frozenset({"off", "0", "no", "false"})
FILE = "history.sqlite3"
HOST = "LOGPHASE_HOST"


def place() -> Path | None:
    """Where the history is; None where it is switched off."""
    switch = os.environ.get(SWITCH, "").strip()
    if switch.casefold() in OFF:
        return None
    state = os.environ.get("XDG_STATE_HOME", "")
    folder = Path(state) if state.startswith("/") else Path.home() / ".local" / "state"
    return (Path(switch).expanduser() if switch else folder / "logphase") / FILE


def host() -> str:
    """Which machine this is, for the history: LOGPHASE_HOST where machines are known by another name."""
    import socket

    return os.environ.get(HOST, "") or socket.gethostname()


@dataclass(frozen=True, slots=True)
class _Answer:
    """What the store said: for which startup, by how much of it."""

    startup: tuple[int, int] = (0, 0)
    known: tuple[object, ...] = ()
    recalled: Recalled | None = None
    pasts: Mapping[str, Past] = field(default_factory=dict)
    trouble: str = ""


class Recollection:
    """The history for one process that watches. It never waits: the store is asked in a thread, and the newest answer is given.

    Args:
        path: of the store; None where history is switched off.
        warn: gets one sentence when the store cannot be read; then there is no history.
        rules: as for `Analyzer`.
        version: of the engine, where it is known better than by the log, as soon as it is.
    """

    def __init__(
        self, path: Path | None, warn: Callable[[str], None], *, rules: str | None = None, version: Callable[[], str] = str
    ) -> None:
        self._path, self._warn, self._rules, self._version = path, warn, rules, version
        self._answer = _Answer()
        self._asks: Thread | None = None

    def past(self, startup: Startup) -> Mapping[str, Past]:
        """What the phases of startups like this one took; nothing before its arguments are known."""
        return self._newest(startup).pasts

    def patience(self, startup: Startup, phase: str) -> float | None:
        """How long a phase may be silent by history; None where it does not tell."""
        found = self._newest(startup).recalled
        if found is None:
            return None
        from logphase.recall import patience

        return patience(found, phase)

    def settle(self, patience_s: float = 10.0) -> None:
        """Wait for the answer to the last question."""
        if self._asks is not None:
            self._asks.join(patience_s)

    def _newest(self, startup: Startup) -> _Answer:
        """The answer so far, and a new question when more is known of the startup than when it was asked last."""
        answer = self._answer
        if answer.trouble and self._path is not None:
            self._path = None
            self._warn(answer.trouble)
        asking = self._asks is not None and self._asks.is_alive()
        known = (len(startup.arguments), startup.version, self._version(), tuple(sign.state for sign in startup.signs))
        this = (startup.index, startup.lines[0])
        path = self._path
        if path is not None and startup.arguments and not asking and (this, known) != (answer.startup, answer.known) and path.is_file():
            self._asks = Thread(target=self._ask, args=(path, startup, this, known), name="logphase-history", daemon=True)
            self._asks.start()
        return answer if answer.startup == this else _Answer()

    def _ask(self, path: Path, startup: Startup, this: tuple[int, int], known: tuple[object, ...]) -> None:
        from logphase import rules as rule_files
        from logphase.likeness import likeness
        from logphase.recall import pasts, recall
        from logphase.store import HistoryError, Store

        try:
            with Store(path) as store:
                found = recall(store, likeness(startup, rule_files.load(startup.engine, self._rules), host(), self._version()))
            self._answer = _Answer(this, known, found, pasts(found))
        except HistoryError as error:
            self._answer = _Answer(this, known, trouble=f"{error.message}. {error.hint}")


def spread(startup: Startup, rules: str | None = None) -> dict[str, tuple[float, float, int]]:
    """Median, median absolute deviation and number of each phase's duration in the startups that are alike; {} where there are none.

    Cold and warm startups are not put together: of a startup whose log does not tell, the warm ones are taken.

    Raises:
        HistoryError: when the store cannot be used.
    """
    path = place()
    if path is None or not path.is_file():
        return {}
    from logphase import rules as rule_files
    from logphase.likeness import likeness
    from logphase.recall import recall, spreads
    from logphase.store import Store

    with Store(path) as store:
        found = recall(store, likeness(startup, rule_files.load(startup.engine, rules), host()))
    return spreads(found)
