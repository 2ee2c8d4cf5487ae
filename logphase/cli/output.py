"""Text or bytes -> stdout or a file, whole or not at all.

Law of this file: a file that exists is replaced only with --force, and only by a finished one; a log is never written over; a reader
that hangs up is no error.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from logphase.errors import LogphaseError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

WIDTH = 100  # columns where no terminal tells
WIDEST = 220
_ENDINGS = {"md": "markdown", "htm": "html", "xml": "junit", "prom": "prometheus"}
_OF_TEXT = frozenset({"", "txt", "log"})


def form_of(target: str | None, forms: Collection[str], default: str) -> str:
    """The form that the ending of -o's file asks for; one that no form has is an error, so that no table is called a picture."""
    ending = Path(target or "").suffix.lower().lstrip(".")
    form = _ENDINGS.get(ending, ending)
    if form in forms:
        return form
    if ending in _OF_TEXT:
        return default
    raise LogphaseError(f"{target}: no form has the ending .{ending}", f"Say which one it is with --format: {', '.join(forms)}.")


def refuse_early(target: str | None, *, force: bool, terminal: bool, form: str, logs: Iterable[str] = ()) -> None:
    """Say before the work what would fail after it. `terminal`: the format can be read on one."""
    if target in (None, "-"):
        if not terminal and sys.stdout.isatty():
            raise LogphaseError(f"{form} is not for a terminal", f"Write it to a file: -o report.{form}")
        return
    path = Path(str(target))
    if path.is_dir():
        raise LogphaseError(f"{path} is a folder", f"Name a file in it: -o {path / f'report.{form}'}")
    if not path.absolute().parent.is_dir():
        raise LogphaseError(f"{path.parent}: no such folder", f"Make it first: mkdir -p {path.parent}")
    if any(log != "-" and path.exists() and Path(log).exists() and path.samefile(log) for log in logs):
        raise LogphaseError(f"{path} is the log itself", "Choose another name for the report.")
    if path.is_file() and not force:
        raise LogphaseError(f"{path} exists already", "Overwrite it with --force, or choose another name.")


def deliver(content: str | bytes, target: str | None) -> None:
    """Write the finished content where it belongs; `refuse_early` has been asked."""
    if target in (None, "-"):
        to_stdout(content)
        return
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    try:
        _to_file(Path(str(target)), data)
    except OSError as error:
        raise LogphaseError(f"{target}: {error.strerror or error}", "Nothing was written there; choose another place with -o.") from error


def _to_file(path: Path, data: bytes) -> None:
    import tempfile

    path = path.resolve()
    if path.exists() and not path.is_file():  # a device or a pipe
        path.write_bytes(data)
        return
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).chmod(path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask())
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def to_stdout(content: str | bytes) -> None:
    """Write to stdout in its own encoding; a reader that has gone (`| head`) is no error."""
    data = content if isinstance(content, bytes) else content.encode(_encoding(), "replace")
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - what is left in the buffer must go somewhere
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
    except OSError as error:
        raise LogphaseError(f"stdout: {error.strerror or error}", "Write the report to a file with -o FILE.") from error


def _encoding() -> str:
    return sys.stdout.encoding or "utf-8"


def plain_ascii(target: str | None) -> bool:
    """Whether the output can hold no block characters."""
    if target not in (None, "-"):
        return False
    try:
        "█✓▸…·".encode(_encoding())
    except (UnicodeEncodeError, LookupError):
        return True
    return False


def colored(choice: str, target: str | None) -> bool:
    """Whether the output has colour: as asked, else on a terminal that can and may."""
    if choice != "auto":
        return choice == "always"
    return target in (None, "-") and sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def columns() -> int:
    """Width of the output: COLUMNS, the terminal, else a width that most can show."""
    import shutil

    return min(shutil.get_terminal_size((WIDTH, 24)).columns, WIDEST)
