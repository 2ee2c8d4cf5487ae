"""Paths -> Table: a rule file's TOML, or what was made of it before.

Reading TOML is the slowest step of a short command. So an installed logphase brings its own rules as one JSON file, made when the
wheel was built, and for other files the same is kept in the user's cache folder for as long as their size and time of change hold.
Both leave out the examples. Law of this file: it knows where files are and how they are read, never what a rule means.
"""

from __future__ import annotations

import contextlib
import json
import os
import zlib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from logphase.errors import RuleError

FORMAT = 1
BUNDLE = "bundle.json"
ENGINE_FILE = "engine.toml"
COMMON = "common"
BUNDLED = "bundled"
USER = "user"
GIVEN = "--rules"
EXAMPLES = ("examples", "counterexamples")


class Table(NamedTuple):
    """A rule file. `layer`: bundled | user | --rules; `folder`: the engine whose it is, `common`, or empty."""

    path: str
    layer: str
    folder: str
    content: dict[str, Any]

    @property
    def name(self) -> str:
        """The path as a message shows it: bundled files by folder and name."""
        return f"{self.folder}/{self.path.rpartition(os.sep)[2]}" if self.layer == BUNDLED else self.path


def home() -> Path:
    """The bundled rules: inside the package when installed, beside it in a checkout."""
    inside = Path(__file__).with_name("rules")
    return inside if inside.is_dir() else Path(__file__).parent.parent / "rules"


def user_folder() -> Path:
    """Where a user's own rules live."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "logphase" / "rules"


def cache_folder() -> Path:
    """Where what was made of rule files is kept; it may be deleted at any time."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "logphase"


def read(path: Path) -> dict[str, Any]:
    """A rule file's table, whole.

    Raises:
        RuleError: it cannot be read, is no TOML, or is of another format.
    """
    import tomllib

    try:
        data = path.read_bytes()
        table = tomllib.loads(data.decode())
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise RuleError(f"not UTF-8 text (at line {line})", "A rule file is TOML 1.0: save it as UTF-8.", str(path)) from error
    except (ValueError, RecursionError) as error:  # also of a number of thousands of digits, and of brackets in brackets
        raise RuleError(f"not valid TOML: {error}", "Quote patterns with single quotes: '…'.", str(path)) from error
    except OSError as error:
        raise RuleError(f"cannot be read: {error}", "Check the path and its permissions.", str(path)) from error
    if table.get("format", FORMAT) != FORMAT:
        raise RuleError(f"format {table['format']} is not known", f"This version reads format {FORMAT}.", str(path))
    return table


def ordered(folder: Path) -> list[Path]:
    """The rule files of a folder: the engine's own first, then by alphabet."""
    return sorted(folder.glob("*.toml"), key=lambda path: (path.name != ENGINE_FILE, path.name))


def bundled(*, examples: bool = False) -> tuple[Table, ...]:
    """The rules that come with logphase."""
    return _bundled(str(home()), examples=examples)


@cache
def _bundled(place: str, *, examples: bool) -> tuple[Table, ...]:
    root = Path(place)
    made = root / BUNDLE
    if not examples and made.is_file():
        held = json.loads(made.read_text("utf-8"))
        return tuple(Table(str(root / folder / name), BUNDLED, folder, content) for folder, name, content in held["tables"])
    paths = [path for folder in sorted(root.iterdir()) if folder.is_dir() for path in ordered(folder)]
    contents = [read(path) for path in paths] if examples else _kept(paths)
    return tuple(Table(str(path), BUNDLED, path.parent.name, content) for path, content in zip(paths, contents, strict=True))


def bundle(root: Path) -> str:
    """What `BUNDLE` holds for the rules of a folder."""
    paths = [path for folder in sorted(root.iterdir()) if folder.is_dir() for path in ordered(folder)]
    tables = [[path.parent.name, path.name, lean(read(path))] for path in paths]
    return json.dumps({"format": FORMAT, "tables": tables}, ensure_ascii=False, separators=(",", ":"))


def layers(given: str | None, *, examples: bool = False) -> tuple[Table, ...]:
    """The rules over the bundled ones, in the order in which they count: those that were given, then the user's own.

    Raises:
        RuleError: a file is wrong, or nothing is where the given path leads.
    """
    tables = []
    for layer, paths in ((GIVEN, _given(given)), (USER, _below(user_folder()))):
        contents = [read(path) for path in paths] if examples else _kept(paths)
        tables += [Table(str(path), layer, _engine_above(path), content) for path, content in zip(paths, contents, strict=True)]
    return tuple(tables)


def _given(given: str | None) -> list[Path]:
    if given is None:
        return []
    path = Path(given)
    found = _below(path) if path.is_dir() else [path]
    if not found or not found[0].is_file():
        raise RuleError(f"no rule file at {given}", "Name a .toml file, or a folder of them; logphase rules new -o mine.toml begins one.")
    return found


def _below(folder: Path) -> list[Path]:
    """The rule files of a folder, and of the folders in it that hold an engine."""
    if not folder.is_dir():
        return []
    inner = [ordered(engine.parent) for engine in sorted(folder.glob(f"*/{ENGINE_FILE}"))]
    return [*ordered(folder), *(path for paths in inner for path in paths)]


def _engine_above(path: Path) -> str:
    """The engine of a file that lies beside an engine's own file, as that one names it."""
    head = path.with_name(ENGINE_FILE)
    if path == head or not head.is_file():
        return ""
    return str(_kept([head])[0].get("engine", ""))


def lean(table: dict[str, Any]) -> dict[str, Any]:
    """A table without examples: what reading a log takes."""
    listed = ("rule", "header", "wrapper")
    return {key: [_without(each) for each in value] if key in listed and isinstance(value, list) else value for key, value in table.items()}


def _without(item: Any) -> Any:  # noqa: ANN401 - whatever stands there; it is checked when it becomes a rule
    return {key: value for key, value in item.items() if key not in EXAMPLES} if isinstance(item, dict) else item


def _kept(paths: list[Path]) -> list[dict[str, Any]]:
    """The tables without examples, from the cache when nothing has changed since they were put there."""
    if not paths:
        return []
    try:
        stats = [path.stat() for path in paths]
    except OSError:
        return [lean(read(path)) for path in paths]
    made_of = [[str(path.resolve()), stat.st_mtime_ns, stat.st_size] for path, stat in zip(paths, stats, strict=True)]
    place = cache_folder() / f"rules-{zlib.crc32(json.dumps([name for name, _, _ in made_of]).encode()):08x}.json"
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        held = json.loads(place.read_text("utf-8"))
        if held["made_of"] == made_of and len(held["tables"]) == len(paths):
            return list(held["tables"])
    tables = [lean(read(path)) for path in paths]
    with contextlib.suppress(OSError, TypeError):  # a date is valid TOML and no JSON: its rule is refused later
        _keep(place, json.dumps({"made_of": made_of, "tables": tables}, ensure_ascii=False))
    return tables


def _keep(place: Path, text: str) -> None:
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = place.with_suffix(f".{os.getpid()}")
    part.write_text(text, "utf-8")
    part.replace(place)
