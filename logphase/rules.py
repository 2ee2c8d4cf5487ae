"""Rule files -> RuleSet: what an engine's lines look like and mean. The only module of the core that has files read, once, at the start.

The format is described in docs/writing-rules.md. What comes with logphase counts least, over it the user's own files, over these what
`--rules` names: each layer may add, replace by id, and switch off.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, cast

from logphase import rulefiles
from logphase.errors import RuleError
from logphase.rulefiles import BUNDLED, COMMON, FORMAT, Table
from logphase.rulevalues import (
    DEFAULT_PATIENCE_S,
    Argument,
    Edge,
    Fingerprint,
    Head,
    Header,
    PhaseRule,
    Rule,
    RuleSet,
    WarmthRule,
    Wrapper,
    build,
    compiled,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "DEFAULT_PATIENCE_S",
    "FORMAT",
    "Argument",
    "Edge",
    "Fingerprint",
    "Header",
    "PhaseRule",
    "Rule",
    "RuleSet",
    "WarmthRule",
    "Wrapper",
    "assemble",
    "available",
    "bundled",
    "claims",
    "compiled",
    "concerned",
    "for_all",
    "load",
    "load_bundled",
    "of_file",
    "tables",
]

DEFAULT_ENGINE = "sglang"
LISTS = ("header", "wrapper", "phase", "fingerprint", "argument", "warmth", "rule")


@cache
def _known(given: str | None, user: str) -> tuple[str, ...]:  # noqa: ARG001 - the cache's key
    added = {_engine(table) for table in rulefiles.layers(given)} - {""}
    return tuple(sorted({*bundled(), *added}, key=lambda name: (name != DEFAULT_ENGINE, name)))


def bundled() -> tuple[str, ...]:
    """Names of the engines that come with logphase."""
    names = {table.folder for table in rulefiles.bundled()} - {COMMON}
    return tuple(sorted(names, key=lambda name: (name != DEFAULT_ENGINE, name)))


def load_bundled(engine: str = DEFAULT_ENGINE) -> RuleSet:
    """The rules that come with logphase, with examples, and without anybody's own."""
    own = [table for table in rulefiles.bundled(examples=True) if table.folder in (engine, COMMON)]
    return assemble(engine, sorted(own, key=lambda table: table.folder == COMMON))


def available(extra: str | None = None) -> tuple[str, ...]:
    """Names of the engines, those of `extra` and of the user's own files too; the first one is the default."""
    return _known(extra, str(rulefiles.user_folder()))


def concerned(extra: str) -> tuple[str, ...]:
    """The engines that a file or folder says something about: none where it is for all."""
    try:
        return tuple(
            dict.fromkeys(name for table in rulefiles.layers(extra) if table.layer == rulefiles.GIVEN and (name := _engine(table)))
        )
    except RuleError:
        return ()


def claims(engine: str, extra: str | None = None) -> tuple[str, ...]:
    """Texts that only this engine writes."""
    return _claims(engine, extra, str(rulefiles.user_folder()))


@cache
def _claims(engine: str, given: str | None, user: str) -> tuple[str, ...]:  # noqa: ARG001 - the cache's key
    tables = (*rulefiles.layers(given), *rulefiles.bundled())
    return tuple(text for table in tables if _engine(table) == engine for text in _head(table, "claims").claims)


def load(engine: str = DEFAULT_ENGINE, extra: str | None = None, *, examples: bool = False) -> RuleSet:
    """Load an engine's rules: the bundled ones, over them the user's own, over these a file or folder `extra`.

    Without `examples` the rules have none, and reading them is quick.

    Raises:
        RuleError: what is wrong in which file, with the key path.
    """
    return _load(engine, extra, str(rulefiles.user_folder()), examples)


@cache
def _load(engine: str, extra: str | None, user: str, examples: bool) -> RuleSet:  # noqa: ARG001, FBT001 - the cache's key
    return assemble(engine, tables(engine, extra, examples=examples))


def tables(engine: str, extra: str | None = None, *, examples: bool = False) -> tuple[Table, ...]:
    """The files that an engine's rules come from, those that count more first."""
    layers = rulefiles.layers(extra, examples=examples)
    brought = rulefiles.bundled(examples=examples)
    own = [table for table in brought if table.folder == engine]
    if not own and engine not in {_engine(table) for table in layers}:
        known = ", ".join(available(extra))
        raise RuleError(f"no engine called {engine!r}", f"Known engines: {known}.")
    over = [table for table in layers if _engine(table) in ("", engine)]
    return (*over, *own, *(table for table in brought if table.folder == COMMON))


def of_file(path: str) -> RuleSet:
    """One file as the whole of an engine's rules, trusted, with nothing before or behind it."""
    from pathlib import Path

    table = Table(path, BUNDLED, "", rulefiles.read(Path(path)))
    return assemble(_engine(table), (table,))


def _engine(table: Table) -> str:
    """The engine that a file's rules are for; empty where they are for all."""
    return table.folder if table.folder and table.folder != COMMON else _head(table, "engine").engine


def for_all(table: Table) -> bool:
    """Whether a file's rules are for every engine."""
    return _engine(table) == ""


def assemble(engine: str, files: Sequence[Table], problems: list[RuleError] | None = None) -> RuleSet:
    """Make one set of rules of several files; what is wrong goes to `problems`, or the first of it is raised."""
    found = _Parts(problems)
    for table in files:
        found.add(table)
    rules = found.rules()
    for rule in rules:
        if rule.phase not in found.phases and rule.phase not in ("open", "any"):
            found.refuse(RuleError(f"phase {rule.phase!r} is not defined", f"Phases: {', '.join(found.phases)}, open, any.", rule.where))
    return RuleSet(
        engine=engine,
        tested_with=found.tested_with,
        claims=tuple(found.claims),
        headers=found.kept(found.headers),
        wrappers=found.kept(found.wrappers),
        phases={phase.id: phase for phase in found.built()},
        rules=rules,
        hints=found.hints,
        fingerprints=tuple(found.fingerprints),
        arguments=tuple(found.arguments),
        warmths=tuple(found.warmths),
        replaced=found.replaced,
        off=tuple(sorted(found.off)),
    )


class _Parts:
    """What files hold, gathered: the first file that has an id counts, in the place where the last one has it."""

    def __init__(self, problems: list[RuleError] | None) -> None:
        self._problems = problems
        self._rules: dict[str, list[Rule]] = {}
        self.tested_with: tuple[str, ...] = ()
        self.claims: list[str] = []
        self.headers: dict[str, Header] = {}
        self.wrappers: dict[str, Wrapper] = {}
        self.phases: dict[str, tuple[dict[str, Any], str]] = {}
        self.fingerprints: list[Fingerprint] = []
        self.arguments: list[Argument] = []
        self.warmths: list[WarmthRule] = []
        self.hints: dict[str, str] = {}
        self.off: set[str] = set()
        self.replaced: dict[str, str] = {}

    def refuse(self, error: RuleError) -> None:
        """Note what is wrong, or stop at it."""
        if self._problems is None:
            raise error
        self._problems.append(error)

    def add(self, table: Table) -> None:
        """Take a file that counts less than those before it."""
        trusted = table.layer == BUNDLED
        try:
            head = _head(table)
        except RuleError as error:
            self.refuse(error)
            head = Head()
        self.tested_with = self.tested_with or head.tested_with
        self.claims += head.claims
        self.hints = {**head.hints, **self.hints}
        self.off |= set() if trusted else set(head.off)
        for kind, item, where in self._items(table):
            try:
                self._add(kind, item, where, table.layer, trusted)
            except RuleError as error:
                self.refuse(error)

    def _items(self, table: Table) -> list[tuple[str, dict[str, Any], str]]:
        found = []
        for kind in LISTS:
            listed = table.content.get(kind, [])
            if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
                self.refuse(RuleError(f"{kind!r} is no list of tables", f"Write [[{kind}]] above each of them.", table.name))
                continue
            for number, item in enumerate(listed):
                name = item.get("id") or item.get("rule") or item.get("name") or item.get("phase", "?")
                name = name[0] if isinstance(name, list) and name else name
                found.append((kind, item, f'{table.name}: {kind}[{number}] "{name}"'))
        return found

    def _add(self, kind: str, item: dict[str, Any], where: str, layer: str, trusted: bool) -> None:  # noqa: FBT001 - of every item
        if kind == "rule":
            rule: Rule = build(Rule, {**item, "where": where, "layer": layer, "trusted": trusted}, where)
            if "" in rule.contains:
                raise RuleError("contains holds an empty text", "Give a text that every match holds.", where)
            same = self._rules.get(rule.id, [])
            if same and same[-1].layer == layer:
                raise RuleError("this id is taken", f"See {same[-1].where}; ids are unique over all files of an engine.", where)
            self._rules.pop(rule.id, None)
            self._rules[rule.id] = [*same, rule]
        elif kind == "fingerprint":
            self.fingerprints.append(build(Fingerprint, {**item, "where": where, "trusted": trusted}, where))
        elif kind == "argument":
            self.arguments.append(build(Argument, {**item, "where": where}, where))
        elif kind == "warmth":
            self.warmths.append(build(WarmthRule, {**item, "where": where, "trusted": trusted}, where))
        elif kind == "phase":
            build(PhaseRule, {"title": "", **item, "where": where}, where)
            over, place = self.phases.get(str(item["id"]), ({}, where))
            self.phases[str(item["id"])] = ({**item, **over, "where": place}, place)
        else:
            of: dict[str, Any] = self.headers if kind == "header" else self.wrappers
            made = build(Header if kind == "header" else Wrapper, {**item, "where": where, "trusted": trusted}, where)
            of[made.id] = of.pop(made.id, made)

    def rules(self) -> tuple[Rule, ...]:
        """The rules in the order in which they are tried: added ones first, a replaced one in its old place, fallbacks last."""
        chosen: list[tuple[int, Rule]] = []
        for same in self._rules.values():
            rule, old = same[0], same[-1]
            if rule.id in self.off:
                continue
            if rule is not old:
                self.replaced[rule.id] = old.where
            chosen.append((rule.fallback, rule))
        return tuple(rule for _, rule in sorted(chosen, key=lambda pair: pair[0]))

    def built(self) -> list[PhaseRule]:
        """The phases; one of a higher layer inherits what it does not say."""
        made = []
        for item, where in self.phases.values():
            try:
                made.append(build(PhaseRule, item, where))
            except RuleError as error:
                self.refuse(error)
        return made

    def kept(self, of: Mapping[str, Any]) -> tuple[Any, ...]:
        """Headers or wrappers that are not switched off."""
        return tuple(item for name, item in of.items() if name not in self.off)


def _head(table: Table, *keys: str) -> Head:
    """What stands above a file's tables, checked: of all keys, or of some."""
    given = table.content if not keys else {key: table.content[key] for key in keys if key in table.content}
    return cast("Head", build(Head, {key: value for key, value in given.items() if key not in LISTS}, table.name))
