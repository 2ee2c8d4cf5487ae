"""A health URL -> a status code and what it is worth. Never a word in the body: SGLang's body is empty at 200 and at 503 alike.

A 200 of SGLang's takes at least 1.00 s, because its handler sends a request of one token and sleeps a second before it looks. So a probe
with a limit of 1 s always fails, each probe costs a real request, and this witness asks seldom and waits long.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from logphase.testimony import Says, Testimony
from logphase.witness.background import Asked
from logphase.witness.port import http_is_up

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from logphase.live import Frame
    from logphase.timeline import Startup

NAME = "health"
EVERY_S = 10.0
OK = 200
LIMIT_S = 25.0  # SGLang's own limit is 20 s
COST = "An SGLang 200 has an empty body, takes at least 1.00 s (a limit of 1 s always fails) and costs a real request of one token."


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. `status` None: nothing, and `trouble` says why."""

    status: int | None
    seconds: float
    trouble: str = ""
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Address:
    """Where to ask."""

    host: str
    port: int
    path: str = "/health"
    tls: bool = False

    @staticmethod
    def parse(url: str) -> Address:
        """Read a URL; ValueError says what is wrong with it."""
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is no http address; write it as http://127.0.0.1:30000/health")
        tls = parts.scheme == "https"
        path = parts.path if parts.path not in ("", "/") else "/health"
        return Address(parts.hostname, parts.port or (443 if tls else 80), path + (f"?{parts.query}" if parts.query else ""), tls)

    @property
    def local(self) -> bool:
        """Whether it is this machine, as far as its name tells."""
        return self.host in ("localhost", "::1", "0.0.0.0") or self.host.startswith("127.")  # noqa: S104 - compared, not bound

    def __str__(self) -> str:
        return f"http{'s' if self.tls else ''}://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}{self.path}"


def ask(address: Address, limit_s: float = LIMIT_S, *, body: bytes | None = None, headers: dict[str, str] | None = None) -> Answer:
    """One request, straight to the address: no proxy that the environment names, no redirect followed."""
    import http.client

    kind = http.client.HTTPSConnection if address.tls else http.client.HTTPConnection
    began = time.monotonic()
    connection = None
    try:
        connection = kind(address.host, address.port, timeout=limit_s)
        connection.request("GET" if body is None else "POST", address.path, body=body, headers=headers or {})
        response = connection.getresponse()
        content = response.read(1 << 16) if body is not None else b""
        return Answer(response.status, time.monotonic() - began, body=content)
    except TimeoutError:
        return Answer(None, time.monotonic() - began, f"no answer within {limit_s:g} s")
    except ConnectionRefusedError:
        return Answer(None, time.monotonic() - began, "the connection was refused")
    except (OSError, ValueError, http.client.HTTPException) as error:  # ValueError: a log may name a host that is none
        return Answer(None, time.monotonic() - began, str(error) or type(error).__name__)
    finally:
        if connection is not None:
            connection.close()


class Health:
    """The witness: begins when the log says that HTTP is up, so that it disturbs nothing."""

    name = NAME

    def __init__(self, address: Address, *, ask: Callable[[Address], Answer] = ask, every_s: float | None = EVERY_S) -> None:
        self._address = address
        self._new: Callable[[], Asked[Answer]] = lambda: Asked(lambda: ask(address), every_s)
        self._asked = self._new()
        self._ready = False  # the log had said so when the question went out

    @property
    def pending(self) -> bool:
        """Whether an answer is still to come."""
        return self._asked.open

    @property
    def failed(self) -> bool:
        """Whether the answer since the log's ready line is no 200."""
        return self._ready and self._asked.answer is not None and self._asked.answer.status != OK

    def ask(self, frame: Frame) -> Sequence[Testimony]:
        """Ask once HTTP is up; say what the newest answer means."""
        over = frame.startup is not None and (frame.startup.cause is not None or frame.startup.stopped is not None)
        if not http_is_up(frame.startup) or (over and self._asked.answer is None):
            return ()
        if frame.startup is not None and frame.startup.ready is not None and not self._ready:
            self._ready, self._asked = True, self._new()  # what was answered in the warm-up is no answer now
        answer = self._asked.answer if over else self._asked.ask()
        if answer is None or frame.startup is None:
            return ()
        return (Testimony(NAME, Says.NOTE, explain(self._address, answer, frame.startup)),)


def explain(address: Address, answer: Answer, startup: Startup) -> str:
    """What an answer means beside what the log says."""
    ready = startup.ready is not None
    over = startup.cause is not None or startup.stopped is not None
    match answer.status:
        case 200 if over:
            text = f"The log says that this server is over, yet {address} answers 200: the log is believed."
        case 200 if ready:
            text = f"{address} answers 200, as the log says."
        case 200:
            text = f"{address} answers 200, but the log has no proof of inference yet: proxies and old versions say 200 without one."
        case 503 if ready and not over:
            text = f"The log says ready, but {address} answers 503: they disagree. SGLang says 503 if no token comes within 20 s."
        case 503:
            text = f"{address} answers 503: not ready, as in the warm-up and while it shuts down."
        case 404 | 405:
            text = f"{address} answers {answer.status}: no such page, so it is not the engine's own port, or the path is wrong."
        case None:
            before = "As expected," if over else f"The log says {'ready' if ready else 'that HTTP is up'}, but"
            text = f"{before} {address} gave nothing: {answer.trouble}."
        case _:
            text = f"{address} answers {answer.status}, which is neither SGLang's 200 nor its 503: a proxy may stand between (no_proxy)."
    return f"{text} {COST}" if answer.status == OK and not over else text
