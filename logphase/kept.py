"""What is kept of a log between two calls of `check`: how far it was read, what was passed over, and the answer if it stands.

Law of this file: it must be invisible when it is wrong. Another file under the name, another content, other rules, another version or a
damaged state count as none. It is small and light: most calls need nothing else.
"""

from __future__ import annotations

import json
import os
import zlib
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from logphase import __version__
from logphase.literals import scanner
from logphase.rulefiles import home, user_folder
from logphase.sources.files import read
from logphase.sources.incarnation import Incarnation, Position, resume

FORMAT = 1
SMALL = 1 << 23  # bytes of a log that is read whole faster than a state pays
QUICK = 1 << 25  # new bytes within which news is looked for without the rules
ADVANCE = 1 << 20  # new bytes from which on it is kept that they were looked at
UNCOUNTED = -1


@dataclass(frozen=True, slots=True)
class Jump:
    """Whole lines that were passed over: where they begin, how many bytes and newlines (UNCOUNTED: nobody needed to know yet)."""

    offset: int
    size: int
    newlines: int

    @property
    def end(self) -> int:
        """Where the line begins that follows."""
        return self.offset + self.size


@dataclass(frozen=True, slots=True)
class Told:
    """What was answered of a startup that is ready or over, and the texts without which no line changes that.

    `asked`: how the question was put, and the rule files as they were. `line`: where the line begins that was not complete.
    """

    state: str
    text: str
    asked: str
    line: int
    news: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class State:
    """What is kept of a log."""

    position: Position
    engine: str
    rules: int
    jumps: tuple[Jump, ...]
    told: Told | None = None

    def dump(self) -> str:
        """The state as text."""
        kept: dict[str, object] = {"format": FORMAT, "tool": __version__, "engine": self.engine, "rules": self.rules}
        kept["position"] = self.position.as_dict()
        kept["jumps"] = [[jump.offset, jump.size, jump.newlines] for jump in self.jumps]
        if self.told is not None:
            kept["told"] = asdict(self.told)
        return json.dumps(kept, separators=(",", ":"))

    @staticmethod
    def parse(text: str) -> State | None:
        """Take a state back; None for anything that is not one of this version's."""
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return None
        match value:
            case {
                "format": 1,
                "tool": str(tool),
                "engine": str(engine),
                "rules": int(rules),
                "position": dict(where),
                "jumps": list(listed),
            } if tool == __version__:
                position, jumps = Position.parse(where), _jumps(listed)
                if position is not None and jumps is not None and (not jumps or jumps[-1].end <= position.offset):
                    return State(position, engine, rules, jumps, _told(value.get("told"), position))
        return None

    def write(self, keep: Path) -> None:
        """Replace the file at once, for another call may read it now; a place that cannot be written is no trouble."""
        import tempfile

        with suppress(OSError):
            keep.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, name = tempfile.mkstemp(dir=keep.parent, prefix=".state-")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    file.write(self.dump())
                Path(name).replace(keep)
            except OSError:
                Path(name).unlink(missing_ok=True)
                raise


def _jumps(listed: list[object]) -> tuple[Jump, ...] | None:
    """Jumps in rising order, without overlap; None if they are anything else."""
    found: list[Jump] = []
    end = 0
    for item in listed:
        match item:
            case [int(offset), int(size), int(newlines)] if offset >= end and size > 0 and (0 < newlines <= size or newlines == UNCOUNTED):
                found.append(Jump(offset, size, newlines))
                end = offset + size
            case _:
                return None
    return tuple(found)


def _told(value: object, position: Position) -> Told | None:
    match value:
        case {"state": str(state), "text": str(text), "asked": str(asked), "line": int(line), "news": list(news)} if (
            news and all(isinstance(one, str) and one for one in news) and 0 <= line <= position.offset
        ):
            return Told(state, text, asked, line, tuple(news))
    return None


def load(keep: Path) -> State | None:
    """The state in a file; None where there is none."""
    try:
        return State.parse(keep.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return None


def unchanged(path: str, keep: Path, asked: str) -> tuple[str, str] | None:
    """State and sentence of the last call, if what is new holds nothing that could change them; no rule is asked for that."""
    state, path = load(keep), os.path.realpath(path)
    if state is None or state.told is None or state.told.asked != asked or state.position.path != path:
        return None
    told, old = state.told, state.position
    if not old.offset or resume(old) != old.offset:
        return None
    data = bytearray()
    for chunk in read(path, start=told.line):
        data += chunk.data
        if len(data) > QUICK:
            return None
    end = told.line + len(data)
    if end < old.offset or scanner(told.news)(memoryview(data)):
        return None
    if end - old.offset >= ADVANCE:
        _advance(state, told, data, keep)
    return told.state, told.text


def _advance(state: State, told: Told, data: bytearray, keep: Path) -> None:
    """Keep that these lines, too, were passed over."""
    position, size, newlines = position_at(state.position.path, told.line + len(data)), data.rfind(b"\n") + 1, data.count(b"\n")
    if position is None or not size or not same_file(position, state.position):
        return
    jumps = list(state.jumps)
    if jumps and jumps[-1].end == told.line:
        last = jumps.pop()
        newlines = UNCOUNTED if last.newlines == UNCOUNTED else last.newlines + newlines
        jumps.append(Jump(last.offset, last.size + size, newlines))
    else:
        jumps.append(Jump(told.line, size, newlines))
    replace(state, position=position, jumps=tuple(jumps), told=replace(told, line=told.line + size)).write(keep)


def position_at(path: str, offset: int) -> Position | None:
    """How a regular file is known again that was read up to an offset; None for anything else."""
    try:
        file = Incarnation(path, offset)
    except OSError:
        return None
    try:
        return file.position() if file.offset == offset and not file.is_compressed() else None
    finally:
        file.close()


def same_file(one: Position, other: Position) -> bool:
    """Whether it is one file at two times, as far as its name and inode tell."""
    return (one.path, one.device, one.inode) == (other.path, other.device, other.inode)


def question(engine: str | None, rules: str | None) -> str:
    """How the question is put, with the rule files as they are now: size and time of each."""
    stamps = []
    for place in (home(), user_folder(), *([Path(rules)] if rules else [])):
        found = [os.path.join(folder, name) for folder, _, names in os.walk(place) for name in names]  # noqa: PTH118 - of os.walk
        for name in sorted(found or [str(place)]):
            with suppress(OSError):
                status = os.stat(name)  # noqa: PTH116 - a plain path is all there is
                stamps.append((name, status.st_mtime_ns, status.st_size))
    return f"{engine or ''}|{rules or ''}|{zlib.crc32(repr(stamps).encode()):08x}"


def is_state(keep: Path) -> bool:
    """Whether a file may be written over: it is empty, or a state of this or another version."""
    try:
        with keep.open("rb") as file:
            head = file.read(64)
    except OSError:
        return False
    return not head or head.startswith(b'{"format":') or not keep.is_file()


def place(path: str) -> Path | None:
    """Where the state of a log is kept unless somebody says where; None for what is read whole at once."""
    try:
        real = os.path.realpath(path)
        if not os.path.isfile(real) or os.path.getsize(real) < SMALL:  # noqa: PTH113, PTH202 - a plain path is all there is
            return None
    except OSError:
        return None
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")  # noqa: PTH111, PTH118
    return Path(cache) / "logphase" / "check" / f"{zlib.crc32(real.encode('utf-8', 'surrogateescape')):08x}-{len(real)}.json"
