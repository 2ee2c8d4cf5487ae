"""One real request -> proof that inference works, or that it does not.

It is sent once, after the log's own evidence. Where the log can have none (--log-level warning hides every line), it is sent when the
port of this very server is open, and its answer is the proof of readiness.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from logphase.testimony import Says, Testimony
from logphase.witness.background import Asked
from logphase.witness.http import OK, Address, Answer, ask
from logphase.witness.port import Listener, http_is_up, listener

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from logphase.live import Frame
    from logphase.timeline import Startup

NAME = "canary"
LIMIT_S = 600.0  # the first request may compile; SGLang gives its own warm-up so long
KNOCK_S = 0.5
PROMPT = "The capital of France is"
HIDING = frozenset({"warning", "error", "critical", "fatal"})
ANYWHERE = ("0.0.0.0", "::", "*")  # noqa: S104 - compared, not bound


def request(engine: str, arguments: Mapping[str, object]) -> tuple[str, bytes]:
    """Path and body of a small request that this server can answer."""
    if engine == "vllm":
        model = _model(arguments)
        return "/v1/completions", json.dumps({"model": model, "prompt": PROMPT, "max_tokens": 1, "temperature": 0}).encode()
    if str(arguments.get("is_embedding")) == "True":
        return "/encode", json.dumps({"text": PROMPT}).encode()
    return "/generate", json.dumps({"text": PROMPT, "sampling_params": {"max_new_tokens": 1, "temperature": 0}}).encode()


def _model(arguments: Mapping[str, object]) -> str:
    served = arguments.get("served_model_name")
    first = served[0] if isinstance(served, (list, tuple)) and served else served
    return str(first or arguments.get("model") or arguments.get("model_path") or arguments.get("model_tag") or "")


def send(base: Address, engine: str, arguments: Mapping[str, object], limit_s: float = LIMIT_S) -> Answer:
    """Send it; a key that the server asks for is in its own arguments."""
    path, body = request(engine, arguments)
    headers = {"content-type": "application/json"}
    key = arguments.get("api_key")
    if isinstance(key, (list, tuple)):
        key = key[0] if key else None
    if key:
        headers["authorization"] = f"Bearer {key}"
    return ask(Address(base.host, base.port, path, base.tls), limit_s, body=body, headers=headers)


def worked(answer: Answer) -> bool:
    """Whether it is an inference's answer: 200, and JSON with something in it."""
    if answer.status != OK:
        return False
    try:
        return bool(json.loads(answer.body))
    except (ValueError, RecursionError):
        return False


class Canary:
    """The witness. `base`: where the server is, if that is known beside the log; `command`: what it was started with, if that is known.

    `root`: the server's first process, so that no stranger's answer can prove anything. `named`: the user vouches for the address where
    the log holds no startup at all, as `check` on a rotated log or one of --log-level warning needs it.
    """

    name = NAME

    def __init__(
        self,
        base: Address | None,
        command: Mapping[str, object],
        root: Callable[[], int | None],
        *,
        limit_s: float = LIMIT_S,
        named: bool = False,
        who: Callable[[int, int | None], Listener | None] = listener,
    ) -> None:
        self._base = base
        self._command = command
        self._root = root
        self._limit_s = limit_s
        self._named = named
        self._who = who
        self._knock: Asked[tuple[Listener | None]] | None = None
        self._seen_closed = False
        self._asked: Asked[Answer] | None = None

    @property
    def pending(self) -> bool:
        """Whether its answer is still to come."""
        return self._asked is not None and self._asked.open

    @property
    def failed(self) -> bool:
        """Whether it was answered, and not by an inference."""
        return self._asked is not None and self._asked.answer is not None and not worked(self._asked.answer)

    def ask(self, frame: Frame) -> Sequence[Testimony]:
        """Send when it is time; say what came back."""
        startup = frame.startup
        if self._asked is None:
            over = startup is not None and (startup.cause is not None or startup.stopped is not None)
            base = self._address(startup)
            if over or base is None or not (_ready(startup) or self._blind(startup, base)):
                return ()
            engine = startup.engine if startup is not None else "sglang"
            arguments = {**self._command, **(startup.arguments if startup is not None else {})}
            self._asked = Asked(lambda: send(base, engine, arguments, self._limit_s), None)
        answer = self._asked.ask()
        return () if answer is None else (tell(answer, startup),)

    def _address(self, startup: Startup | None) -> Address | None:
        if self._base is not None:
            return self._base
        arguments = {**self._command, **(startup.arguments if startup is not None else {})}
        default = "8000" if startup is not None and startup.engine == "vllm" else "30000"
        port, host = str(arguments.get("port") or default), str(arguments.get("host") or "127.0.0.1")
        return Address("127.0.0.1" if host in ANYWHERE else host, int(port)) if port.isdigit() else None

    def _blind(self, startup: Startup | None, base: Address) -> bool:
        """Whether this log can prove nothing, and the port is open, and this server's: its process's, or closed when we first looked."""
        if self._named and startup is None:
            return self._base is not None
        level = str(self._command.get("log_level") or "").lower()
        hidden = level in HIDING or (startup is not None and not startup.arguments and bool(startup.phases))
        if not hidden or http_is_up(startup) or not base.local:
            return False
        if self._knock is None:
            self._knock = Asked(lambda: (self._who(base.port, self._root()),), KNOCK_S)
        answer = self._knock.ask()
        if answer is None:
            return False
        held = answer[0]
        self._seen_closed = self._seen_closed or (held is None and startup is not None)
        return held is not None and (held.ours is True or (held.ours is None and self._seen_closed))


def _ready(startup: Startup | None) -> bool:
    return startup is not None and (startup.ready is not None or (startup.waiting_for == "inference" and http_is_up(startup)))


def tell(answer: Answer, startup: Startup | None) -> Testimony:
    """What the answer says beside the log."""
    ready = startup is not None and startup.ready is not None
    if worked(answer):
        agree = "as the log says" if ready else "which the log could not prove"
        return Testimony(NAME, Says.READY, f"One real request was answered in {answer.seconds:.2f} s: inference works, {agree}.")
    what = f"was answered {answer.status}" if answer.status is not None else f"got nothing: {answer.trouble}"
    if answer.status == OK:
        what = "was answered 200 without a result in it"
    said = "The log says ready, but one real request" if ready else "One real request"
    return Testimony(NAME, Says.NOTE, f"{said} {what}{': they disagree' if ready else ''}.")
