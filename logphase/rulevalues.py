"""TOML table -> Rule, and the other values that a rule file is made of.

Bundled patterns are compiled with `re` (they are checked in CI); patterns of other files with `regex`, each search under a time limit,
so that no rule file can hang a watch. The values are named tuples, not dataclasses: a short command feels the 10 ms that building six
of those takes.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from logphase.errors import RuleError
from logphase.rulefiles import BUNDLED, FORMAT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

TIMEOUT_S = 0.05  # of one search with a pattern that is not ours
DEFAULT_PATIENCE_S = 600.0
PREFIX = 400  # characters within which a message begins behind a prefix that no header knows
_BEGINS = re.compile(r"^|[\s\]>)|:=]+")
NOTHING: Mapping[str, Any] = MappingProxyType({})


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


EDGES = {edge.value: edge for edge in Edge}


class Pattern(Protocol):
    """What `re` and the timed wrapper of `regex` have in common here."""

    def match(self, text: str, start: int = 0, /) -> Any: ...  # noqa: ANN401 - a match object of either library
    def search(self, text: str, /) -> Any: ...  # noqa: ANN401


class Head(NamedTuple):
    """What a rule file says about itself and its engine."""

    format: int = FORMAT
    engine: str = ""
    tested_with: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    hints: Mapping[str, str] = NOTHING
    off: tuple[str, ...] = ()


class Header(NamedTuple):
    """How a line of the engine starts."""

    id: str
    pattern: str
    examples: tuple[str, ...] = ()
    where: str = ""
    trusted: bool = True


class Wrapper(NamedTuple):
    """What another program puts in front of a line."""

    id: str
    pattern: str = ""
    format: str = ""
    contains: str = ""
    keys: Mapping[str, tuple[str, ...]] = NOTHING
    newline: bool = False  # the message holds its newline: without one it goes on in the next line
    examples: tuple[str, ...] = ()
    where: str = ""
    trusted: bool = True


class PhaseRule(NamedTuple):
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
    again_unless: Mapping[str, str] = NOTHING
    begins_at_end_of: tuple[str, ...] = ()
    unit: str = "steps"
    always_since: str = ""
    always_unless: Mapping[str, str] = NOTHING
    paired_since: str = ""
    where: str = ""


class Fingerprint(NamedTuple):
    """A wording of some versions only: `rule` fires and `pattern` is found in its line, so the version is within since and until."""

    rule: str
    pattern: str = ""
    since: str = ""
    until: str = ""
    where: str = ""
    trusted: bool = True


class Argument(NamedTuple):
    """What a launch argument does to startup: the phases that another value of it can explain, and whether somebody chose it.

    `name`: names, `*` stands for anything; `kind`: chosen | derived (follows from others of `derived_from` when it is not given) |
    auto (chance); `spelled`: flags beside `--name`.
    """

    name: tuple[str, ...]
    explains: tuple[str, ...] = ()
    kind: str = "chosen"
    derived_from: tuple[str, ...] = ()
    spelled: tuple[str, ...] = ()
    why: str = ""
    where: str = ""


class WarmthRule(NamedTuple):
    """What tells a cold start from a warm one: `pattern` in a line of `rule`, or a figure of `phase` that is reached."""

    state: str
    what: str
    rule: str = ""
    pattern: str = ""
    phase: str = ""
    first_step_s: float = 0.0  # until its bar, seen at 0, moved
    gb_per_s: float = 0.0  # that it read
    where: str = ""
    trusted: bool = True


class Rule(NamedTuple):
    """One wording and what it means; see docs/writing-rules.md for each field."""

    id: str
    phase: str
    edge: Edge
    contains: tuple[str, ...]
    pattern: str
    types: Mapping[str, str] = NOTHING
    again: bool = True
    opens: str = ""
    opens_unless: Mapping[str, str] = NOTHING
    scope: str = "startup"
    inference: bool = False
    since: str = ""
    until: str = ""
    source: str = ""
    strength: int = 2
    provisional: bool = False
    fallback: bool = False
    traceback: bool = False
    examples: tuple[str, ...] = ()
    counterexamples: tuple[str, ...] = ()
    remedy: str = ""
    where: str = ""
    layer: str = BUNDLED
    trusted: bool = True

    def match(self, message: str) -> Any:  # noqa: ANN401
        """Match at the start of a message; None when it does not fit (or an untrusted pattern ran out of time)."""
        return compiled(self.pattern, self.trusted).match(message)

    def search(self, line: str) -> Any:  # noqa: ANN401
        """Match where a message may begin, for logs whose prefix no header knows: behind a word or a bracket, not far into the line."""
        pattern = compiled(self.pattern.removeprefix("^"), self.trusted)
        for begin in _BEGINS.finditer(line, 0, PREFIX):
            found = pattern.match(line, begin.end())
            if found is not None:
                return found
        return None


class RuleSet(NamedTuple):
    """An engine's rules, ready for use; rules in the order in which they are tried."""

    engine: str
    tested_with: tuple[str, ...]
    claims: tuple[str, ...]
    headers: tuple[Header, ...]
    wrappers: tuple[Wrapper, ...]
    phases: Mapping[str, PhaseRule]
    rules: tuple[Rule, ...]
    hints: Mapping[str, str] = NOTHING
    fingerprints: tuple[Fingerprint, ...] = ()
    arguments: tuple[Argument, ...] = ()  # those of upper layers first
    warmths: tuple[WarmthRule, ...] = ()
    replaced: Mapping[str, str] = NOTHING  # id -> where the rule stood that another one took the place of
    off: tuple[str, ...] = ()


class _Timed:
    """A `regex` pattern whose searches end after TIMEOUT_S: then the line counts as not matched."""

    def __init__(self, pattern: str) -> None:
        import regex

        self._pattern = regex.compile(pattern)

    def match(self, text: str, start: int = 0, /) -> Any:  # noqa: ANN401
        try:
            return self._pattern.match(text, start, timeout=TIMEOUT_S)
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


def build(kind: Any, item: Mapping[str, Any], where: str) -> Any:  # noqa: ANN401 - TOML's edge: checked here, typed after
    """Make a value of a TOML table; unknown keys, missing keys and wrong types are named with their place."""
    readers = _readers(kind)
    values: dict[str, Any] = {}
    for key, value in item.items():
        read = readers.get(key)
        if read is None:
            known = ", ".join(name for name in readers if name not in INTERNAL)
            raise RuleError(f"unknown key {key!r}", f"Known: {known}.", where)
        try:
            values[key] = read(value)
        except (TypeError, ValueError, AttributeError) as error:
            raise RuleError(f"{value!r} is {error}", "See docs/writing-rules.md.", f"{where}.{key}") from error
    missing = [name for name in kind._fields if name not in values and name not in kind._field_defaults]
    if missing:
        raise RuleError(f"{missing[0]!r} is missing", "See docs/writing-rules.md.", where)
    return kind(**values)


INTERNAL = ("where", "layer", "trusted")


@cache
def _readers(kind: Any) -> dict[str, Callable[[Any], Any]]:  # noqa: ANN401
    """How each field of a kind is read: by the type of its default."""
    found: dict[str, Callable[[Any], Any]] = {}
    for name in kind._fields:
        default = kind._field_defaults.get(name, ())
        if name == "edge":
            found[name] = _edge
        elif name in ("id", "title", "phase", "pattern", "rule", "state", "what"):
            found[name] = _text
        elif name == "keys":
            found[name] = _lists
        else:
            found[name] = _READERS[type(default)]
    return found


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("neither true nor false")
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0:
        raise TypeError("no number above 0")
    return value


def _integer(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("no whole number")
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, (str, list)) or not all(isinstance(item, str) for item in value):
        raise TypeError("neither a text nor a list of texts")
    return (value,) if isinstance(value, str) else tuple(value)


def _mapping(value: object) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise TypeError('no table of texts, as { name = "text" }')
    return value


def _lists(value: object) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise TypeError('no table of lists, as { message = ["msg"] }')
    return {name: _texts(names) for name, names in value.items()}


def _edge(value: object) -> Edge:
    if not isinstance(value, str) or value not in EDGES:
        raise ValueError(f"no edge; edges: {', '.join(Edge)}")
    return EDGES[value]


_READERS: dict[type, Callable[[Any], Any]] = {
    str: _text, bool: _flag, int: _integer, float: _number, tuple: _texts, MappingProxyType: _mapping,
}  # fmt: skip
