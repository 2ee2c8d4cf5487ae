"""A port -> who listens on it: this server, nobody, or a stranger that answers in its place."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from logphase.testimony import Says, Testimony
from logphase.witness.background import Asked

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import psutil

    from logphase.live import Frame
    from logphase.timeline import Startup

NAME = "port"
LOOK_S = 1.0
FORWARDERS = ("docker-proxy", "rootlessport", "slirp4netns", "pasta", "conmon", "kubectl", "ssh", "sshd")  # stand for a server elsewhere


@dataclass(frozen=True, slots=True)
class Listener:
    """Who listens. `pid` None: somebody whom this user may not see. `ours`: belongs to the server's processes; None: not known."""

    pid: int | None
    title: str = ""
    born: float = 0.0
    ours: bool | None = None


def listener(port: int, root: int | None = None) -> Listener | None:
    """Who listens on a TCP port of this machine; None: nobody. `root`: the server's first process."""
    import psutil

    from logphase.witness.processes import title

    try:
        sockets = psutil.net_connections(kind="tcp")
    except psutil.AccessDenied:  # not on Linux
        return None
    held = [socket for socket in sockets if socket.status == psutil.CONN_LISTEN and socket.laddr and socket.laddr.port == port]
    if not held:
        return None
    found = []
    for pid in {socket.pid for socket in held if socket.pid}:
        try:
            process = psutil.Process(pid)
            found.append(Listener(pid, title(process), process.create_time(), _descends(process, root)))
        except psutil.NoSuchProcess:
            continue
    return max(found, key=lambda one: bool(one.ours)) if found else Listener(None)


def _descends(process: psutil.Process, root: int | None) -> bool | None:
    """Whether a process is the server's: below its first process, or of the session that `run` gave it."""
    if root is None:
        return None
    if process.pid == root or any(parent.pid == root for parent in process.parents()):
        return True
    try:
        return os.getsid(process.pid) == root
    except ProcessLookupError:
        return None


def http_is_up(startup: Startup | None) -> bool:
    """Whether the log says that the HTTP port is open."""
    if startup is None:
        return False
    return startup.ready is not None or any(
        phase.id in ("warmup", "serving") or (phase.id == "http" and phase.status == "done") for phase in startup.phases
    )


class PortOwner:
    """The witness. It asks the system, not the port, so it may look before HTTP is up: a stale server is found before the load is paid."""

    name = NAME

    def __init__(
        self,
        port: Callable[[Frame], int | None],
        root: Callable[[], int | None],
        *,
        who: Callable[[int, int | None], Listener | None] = listener,
    ) -> None:
        self._port = port
        self._root = root
        self._who = who
        self._number: int | None = None
        self._asked: Asked[tuple[Listener | None, float]] | None = None

    def ask(self, frame: Frame) -> Sequence[Testimony]:
        """Say who holds the port, when it is not this server."""
        self._number = self._number or self._port(frame)
        if self._number is None:
            return ()
        if self._asked is None:
            number = self._number
            self._asked = Asked(lambda: (self._who(number, self._root()), time.monotonic()), LOOK_S)
        answer = self._asked.ask()
        if answer is None:
            return ()
        return tuple(judge(self._number, answer[0], frame))

    @property
    def pid(self) -> int | None:
        """The owner, if it is known and not a stranger."""
        answer = self._asked.answer if self._asked else None
        return answer[0].pid if answer and answer[0] and answer[0].ours is not False else None


def judge(port: int, held: Listener | None, frame: Frame) -> list[Testimony]:
    """What the owner of the port means, given what the log says."""
    up = http_is_up(frame.startup)
    if held is None:
        startup = frame.startup
        runs = startup is not None and startup.cause is None and startup.stopped is None and frame.silence_s > LOOK_S
        text = f"The log says that HTTP is up, but nobody listens on port {port}: they disagree."
        return [Testimony(NAME, Says.NOTE, text)] if up and runs else []
    if held.ours is False and not held.title.startswith(FORWARDERS):
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(held.born))
        agree = "The log says that HTTP is up, but" if up else "HTTP is not up yet, but"
        text = (
            f"{agree} port {port} is held by {held.title} (pid {held.pid}, since {since}), which is none of this server's processes: "
            f"whoever asks that port hears a stranger, and this start cannot bind it. If it is a stale server: kill {held.pid}."
        )
        return [Testimony(NAME, Says.NOTE, text)]
    early = not up and held.ours is None and frame.startup is not None and frame.startup.engine == "sglang" and frame.startup.cause is None
    text = f"HTTP is not up yet, but somebody listens on port {port} already: a stale server may answer in place of this one."
    return [Testimony(NAME, Says.NOTE, text)] if early else []
