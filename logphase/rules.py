"""TOML -> RuleSet: what an engine's lines look like and mean. The only module of the core that reads files, once, at the start.

The format is described in docs/writing-rules.md. Bundled patterns are compiled with `re` (they are checked in CI); patterns of
other files with `regex`, each search under a time limit, so that no rule file can hang a watch.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from logphase.errors import RuleError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FORMAT = 1
TIMEOUT_S = 0.05  # of one search with a pattern that is not ours
DEFAULT_PATIENCE_S = 600.0


class Edge(StrEnum):
    """What a rule's line does to the timeline."""

    LAUNCH = "launch"
    ARGUMENTS = "arguments"
    BEGIN = "begin"
    END = "end"
    POINT = "point"
    PROGRESS = "progress"
    READY = "ready"
    WORKER_READY = "worker-ready"
    FATAL = "fatal"
    FRAME = "frame"
    STOP = "stop"
    WARN = "warn"
    NOTE = "note"
    HEARTBEAT = "heartbeat"
    SERVING = "serving"
    TIMINGS = "timings"


class Pattern(Protocol):
    """What `re` and the timed wrapper of `regex` have in common here."""

    def match(self, text: str, /) -> Any: ...  # noqa: ANN401 - a match object of either library
    def search(self, text: str, /) -> Any: ...  # noqa: ANN401


@dataclass(frozen=True, slots=True)
class Header:
    """How a line of the engine starts."""

    id: str
    pattern: str
    time: str = ""
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wrapper:
    """What another program puts in front of a line."""

    id: str
    pattern: str = ""
    format: str = ""
    contains: str = ""
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    newline: bool = False  # the message holds its newline: without one it goes on in the next line
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PhaseRule:
    """A phase as the rule file defines it; times in seconds."""

    id: str
    title: str
    patience_s: float = DEFAULT_PATIENCE_S
    why: str = ""
    process: str = "scheduler"
    nested: bool = False
    ranks: str = "all"
    again: str = ""
    past: tuple[str, ...] = ()
    again_after: tuple[str, ...] = ()
    again_unless: Mapping[str, str] = field(default_factory=dict)
    begins_at_end_of: tuple[str, ...] = ()
    unit: str = "steps"


@dataclass(frozen=True, slots=True)
class Rule:
    """One wording and what it means; see docs/writing-rules.md for each field."""

    id: str
    phase: str
    edge: Edge
    contains: tuple[str, ...]
    pattern: str
    types: Mapping[str, str] = field(default_factory=dict)
    again: bool = True
    opens: str = ""
    opens_unless: Mapping[str, str] = field(default_factory=dict)
    scope: str = "startup"
    inference: bool = False
    since: str = ""
    until: str = ""
    source: str = ""
    strength: int = 2
    provisional: bool = False
    traceback: bool = False
    examples: tuple[str, ...] = ()
    counterexamples: tuple[str, ...] = ()
    remedy: str = ""
    where: str = ""
    trusted: bool = True

    def match(self, message: str) -> Any:  # noqa: ANN401
        """Match at the start of a message; None when it does not fit (or an untrusted pattern ran out of time)."""
        return compiled(self.pattern, self.trusted).match(message)

    def search(self, line: str) -> Any:  # noqa: ANN401
        """Search the whole line, for logs whose prefix no header knows."""
        return compiled(self.pattern.removeprefix("^"), self.trusted).search(line)


@dataclass(frozen=True, slots=True)
class RuleSet:
    """An engine's rules, ready for use; rules in the order in which they are tried."""

    engine: str
    tested_with: tuple[str, ...]
    claims: tuple[str, ...]
    headers: tuple[Header, ...]
    wrappers: tuple[Wrapper, ...]
    phases: Mapping[str, PhaseRule]
    rules: tuple[Rule, ...]
    hints: Mapping[str, str] = field(default_factory=dict)


class _Timed:
    """A `regex` pattern whose searches end after TIMEOUT_S: then the line counts as not matched."""

    def __init__(self, pattern: str) -> None:
        import regex

        self._pattern = regex.compile(pattern)

    def match(self, text: str, /) -> Any:  # noqa: ANN401
        try:
            return self._pattern.match(text, timeout=TIMEOUT_S)
        except TimeoutError:
            return None

    def search(self, text: str, /) -> Any:  # noqa: ANN401
        try:
            return self._pattern.search(text, timeout=TIMEOUT_S)
        except TimeoutError:
            return None


@cache
def compiled(pattern: str, trusted: bool = True) -> Pattern:  # noqa: FBT001, FBT002 - a cache key, called from two places
    """Compile at first use: a startup touches a third of the rules."""
    return re.compile(pattern) if trusted else _Timed(pattern)


def home() -> Path:
    """The bundled rules: inside the package when installed, beside it in a checkout."""
    inside = Path(__file__).with_name("rules")
    return inside if inside.is_dir() else Path(__file__).parent.parent / "rules"


@cache
def available() -> tuple[str, ...]:
    """Names of the bundled engines; the first one is the default."""
    names = sorted(path.parent.name for path in home().glob("*/engine.toml"))
    return tuple(sorted(names, key=lambda name: name != "sglang"))


@cache
def claims(engine: str) -> tuple[str, ...]:
    """Texts that only this engine writes."""
    return _strings(_read(home() / engine / "engine.toml").get("claims", []))


@cache
def load(engine: str = "sglang", extra: str | None = None) -> RuleSet:
    """Load a bundled engine, or an engine's folder; `extra` is a file or folder that adds to it, or replaces rules by id.

    Raises:
        RuleError: what is wrong in which file, with the key path.
    """
    folder = Path(engine) if "/" in engine else home() / engine
    if not (folder / "engine.toml").is_file():
        raise RuleError(f"no engine called {engine!r}", f"Known engines: {', '.join(available())}.")
    files = [(folder / "engine.toml", True)]
    files += [(path, True) for path in sorted(folder.glob("*.toml")) if path.name != "engine.toml"]
    files += [(path, True) for path in sorted((home() / "common").glob("*.toml"))]
    users = [(path, False) for path in _extra(extra)]
    return _assemble(engine, users + files)


def _extra(extra: str | None) -> list[Path]:
    if extra is None:
        return []
    path = Path(extra)
    found = sorted(path.glob("*.toml")) if path.is_dir() else [path]
    if not found or not found[0].is_file():
        raise RuleError(f"no rule file at {extra}", "Give --rules a .toml file or a folder of them.")
    return found


def _assemble(engine: str, files: Iterable[tuple[Path, bool]]) -> RuleSet:
    head: dict[str, Any] = {}
    headers: list[Header] = []
    wrappers: list[Wrapper] = []
    phases: dict[str, PhaseRule] = {}
    rules: dict[str, Rule] = {}
    off: set[str] = set()
    for path, trusted in files:
        table = _read(path)
        for key in ("engine", "tested_with", "claims", "hints"):
            if key in table:
                head.setdefault(key, table[key])
        off |= set(table.get("off", []))
        headers += [_build(Header, item, f"{path.name}: header[{i}]") for i, item in enumerate(table.get("header", []))]
        wrappers += [_build(Wrapper, item, f"{path.name}: wrapper[{i}]") for i, item in enumerate(table.get("wrapper", []))]
        for i, item in enumerate(table.get("phase", [])):
            phase = _build(PhaseRule, item, f"{path.name}: phase[{i}]")
            phases.setdefault(phase.id, phase)
        for i, item in enumerate(table.get("rule", [])):
            where = f'{path.name}: rule[{i}] "{item.get("id", "?")}"'
            if trusted and item.get("id") in rules and rules[item["id"]].trusted:
                raise RuleError("this id is taken", f"See {rules[item['id']].where}; ids are unique over all files of an engine.", where)
            rule = _build(Rule, {**item, "where": where, "trusted": trusted}, where)
            rules.setdefault(rule.id, rule)
    chosen = tuple(rule for rule in rules.values() if rule.id not in off)
    for rule in chosen:
        if rule.phase not in phases and rule.phase not in ("open", "any"):
            raise RuleError(f"phase {rule.phase!r} is not defined", f"Phases: {', '.join(phases)}, open, any.", rule.where)
    return RuleSet(
        engine=str(head.get("engine", engine)),
        tested_with=_strings(head.get("tested_with", [])),
        claims=_strings(head.get("claims", [])),
        headers=tuple(headers),
        wrappers=tuple(wrappers),
        phases=phases,
        rules=chosen,
        hints=head.get("hints", {}),
    )


@cache
def _read(path: Path) -> dict[str, Any]:
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise RuleError(f"not valid TOML: {error}", "Quote patterns with single quotes: '…'.", str(path)) from error
    except (OSError, UnicodeDecodeError) as error:
        raise RuleError(f"cannot be read: {error}", "Check the path and its permissions.", str(path)) from error
    if table.get("format", FORMAT) != FORMAT:
        raise RuleError(f"format {table['format']} is not known", f"This version reads format {FORMAT}.", str(path))
    return table


def _strings(value: Any) -> tuple[str, ...]:  # noqa: ANN401 - TOML's edge
    return (value,) if isinstance(value, str) else tuple(str(item) for item in value)


def _build(kind: Any, item: Mapping[str, Any], where: str) -> Any:  # noqa: ANN401 - TOML's edge: checked here, typed after
    """Make a dataclass of a TOML table; unknown keys, missing keys and wrong types are named with their place."""
    fields = kind.__dataclass_fields__
    unknown = [key for key in item if key not in fields]
    if unknown:
        raise RuleError(f"unknown key {unknown[0]!r}", f"Known: {', '.join(k for k in fields if k not in ('where', 'trusted'))}.", where)
    values: dict[str, Any] = {}
    for key, value in item.items():
        annotation = fields[key].type
        if annotation == "tuple[str, ...]":
            values[key] = _strings(value)
        elif annotation == "Edge":
            if value not in tuple(Edge):
                raise RuleError(f"unknown edge {value!r}", f"Edges: {', '.join(Edge)}.", f"{where}.edge")
            values[key] = Edge(value)
        elif annotation.startswith("Mapping[str, tuple"):
            values[key] = {name: _strings(names) for name, names in value.items()}
        else:
            wanted: tuple[type, ...] = {"str": (str,), "bool": (bool,), "int": (int,), "float": (int, float)}.get(annotation, (dict,))
            if not isinstance(value, wanted):
                raise RuleError(f"{value!r} is not a {annotation}", "See docs/writing-rules.md.", f"{where}.{key}")
            values[key] = value
    try:
        return kind(**values)
    except TypeError as error:
        raise RuleError(str(error).replace("__init__() ", "").replace(f"{kind.__name__}.", ""), "See docs/writing-rules.md.", where) from error
