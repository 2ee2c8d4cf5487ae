"""What a log does not hold -> one line of JSON beside it: the command, chosen environment variables, package versions, a note.

FILE.launches.jsonl has one object a launch, in order; `offset` is where in FILE the launch's output begins. Law of this file: everything
in it passed `redact` first, and a log's neighbour is replaced whole or not at all.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from logphase.redact import MASK, redact, redact_arguments
from logphase.sources.arrivals import LAUNCHES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

FORMAT = 1
PREFIXES = ("SGLANG_", "SGL_", "VLLM_", "NCCL_", "EAGLE3_")
NAMES = frozenset({"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "HF_HUB_OFFLINE", "HF_HOME"})
PACKAGES = ("sglang", "vllm", "torch", "transformers", "sglang-kernel", "sgl-kernel", "flashinfer-python", "triton")
ENGINES = ("sglang", "vllm")
ASK_S = 20.0
QUESTION = f"""
import importlib.metadata as metadata, json
found = {{}}
for name in {PACKAGES!r}:
    try:
        found[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        pass
print(json.dumps(found))
"""


@dataclass(frozen=True, slots=True)
class LaunchRecord:
    """One launch. `started` and `ended`: ISO 8601 with offset; `exit_code`: the child's own, negative for a signal."""

    command: tuple[str, ...]
    folder: str
    started: str
    offset: int
    pid: int
    environment: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    ended: str | None = None
    exit_code: int | None = None
    state: str | None = None
    format: int = FORMAT


def begin(
    command: Sequence[str],
    started: float,
    offset: int,
    pid: int,
    environment: Mapping[str, str],
    *,
    also: Iterable[str] = (),
    note: str = "",
) -> LaunchRecord:
    """The record of a launch that has just begun. `also`: names of variables that the user chose beside the usual ones."""
    wanted = {*also, *NAMES}
    chosen = {name: value for name, value in sorted(environment.items()) if name in wanted or name.startswith(PREFIXES)}
    hidden = {name: str(value) for name, value in redact_arguments(chosen).items()}
    return LaunchRecord(tuple(hide(command)), str(Path.cwd()), moment(started), offset, pid, hidden, {}, redact(note))


def hide(command: Sequence[str]) -> list[str]:
    """A command's words without secrets; what follows a secret's option is one, whatever it looks like."""
    words: list[str] = []
    before = ""
    for word in command:
        pair = f"{before} {word}"
        secret = before.startswith("--") and "=" not in before and redact(pair) != pair
        words.append(MASK if secret else redact(word))
        before = word
    return words


def moment(epoch: float) -> str:
    """A moment of the wall clock, with its offset."""
    return datetime.fromtimestamp(epoch, UTC).astimezone().isoformat(timespec="milliseconds")


def versions(command: Sequence[str]) -> dict[str, str]:
    """The versions of the engine's packages where the command runs, asked of its own interpreter; empty when there is none to be found."""
    python = interpreter(command)
    if python is None:
        return {}
    try:
        done = subprocess.run(  # noqa: S603 - the interpreter that the user starts himself
            [python, "-I", "-c", QUESTION], capture_output=True, timeout=ASK_S, check=True, stdin=subprocess.DEVNULL
        )
        found = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return {}
    return {str(name): str(version) for name, version in found.items()} if isinstance(found, dict) else {}


def interpreter(command: Sequence[str]) -> str | None:
    """The Python that runs a command: itself, or the one that a script's first line names."""
    path = shutil.which(command[0]) if command else None
    if path is None:
        return None
    if Path(path).name.startswith(("python", "pypy")):
        return path
    try:
        with Path(path).open("rb") as script:
            first = script.readline(512)
    except OSError:
        return None
    words = first[2:].decode("utf-8", "replace").split() if first.startswith(b"#!") else []
    named = words[1:2] if words[:1] == ["/usr/bin/env"] else words[:1]
    found = shutil.which(named[0]) if named else None
    return found if found and Path(found).name.startswith(("python", "pypy")) else None


def keep(log: str, record: LaunchRecord) -> None:
    """Write a record beside the log: in place of the same launch's, else behind the others."""
    path = Path(log + LAUNCHES)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        lines = []
    kept = [line for line in lines if not _same(line, record)]
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_text("\n".join([*kept, json.dumps(asdict(record))]) + "\n", encoding="utf-8")  # ASCII: a word may be no UTF-8
    fresh.replace(path)


def recorded(log: str) -> tuple[LaunchRecord, ...]:
    """The launches that were recorded beside a log, in order; what cannot be read is as if it were not there."""
    try:
        lines = Path(log + LAUNCHES).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return ()
    return tuple(record for line in lines if (record := _record(line)) is not None)


def _record(line: str) -> LaunchRecord | None:
    try:
        held = json.loads(line)
        environment, packages = (_texts(held.get(name)) for name in ("environment", "versions"))
        command = tuple(map(str, held["command"]))
        offset, pid = int(held["offset"]), int(held["pid"])
        return LaunchRecord(command, str(held["folder"]), str(held["started"]), offset, pid, environment, packages)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None


def _texts(value: object) -> dict[str, str]:
    return {str(name): str(each) for name, each in value.items()} if isinstance(value, dict) else {}


class Keeper:
    """Keeps a launch's record beside its log: at once, again when the versions are known, and at the end.

    A record that cannot be written is no reason not to launch: `trouble` tells it.
    """

    def __init__(self, log: str, record: LaunchRecord, command: Sequence[str]) -> None:
        self.trouble = ""
        self._log, self._record = log, record
        self._lock = threading.Lock()
        self._keep()
        self._asks = threading.Thread(target=self._ask, args=(command,), name="logphase-versions", daemon=True)
        self._asks.start()

    def version(self) -> str:
        """The engine's version, as soon as it is known; empty until then."""
        with self._lock:
            found = self._record.versions
        return next((found[name] for name in ENGINES if name in found), "")

    def end(self, at: float | None, exit_code: int | None, state: str, patience_s: float = 2.0) -> None:
        """The launch is over, or is left running (`at` None)."""
        self._asks.join(patience_s)
        with self._lock:
            self._record = replace(self._record, ended=None if at is None else moment(at), exit_code=exit_code, state=state)
            self._keep()

    def _ask(self, command: Sequence[str]) -> None:
        found = versions(command)
        with self._lock:
            self._record = replace(self._record, versions=found)
            self._keep()

    def _keep(self) -> None:
        try:
            keep(self._log, self._record)
        except OSError as error:
            self.trouble = f"{self._log}{LAUNCHES}: {error.strerror}"


def _same(line: str, record: LaunchRecord) -> bool:
    try:
        held = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(held, dict) and (held.get("pid"), held.get("started")) == (record.pid, record.started)
