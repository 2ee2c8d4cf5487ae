"""Arguments of startups -> what differs between them, who chose it, and which phases it can explain.

What each argument does to startup is rule data (`[[argument]]`). Law of this file: a value that nobody chose is no reason, and of an
argument that the rules do not know nothing is claimed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from logphase.rules import Argument

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from logphase.rules import RuleSet
    from logphase.timeline import Startup, Value

CHOSEN, DERIVED, AUTO = "chosen", "derived", "auto"
WHOLE = 40  # names in an arguments line that lists all of them, also those that were not given
_UNKNOWN = Argument(())


@dataclass(frozen=True, slots=True)
class Difference:
    """An argument with another value in one of several launches; the first is the one that the others are measured against.

    `values` has None where `present` is False. `kind`: chosen | derived | auto; `derived_from`: those that changed and that it follows
    from; `known`: the rules say what it does.
    """

    name: str
    values: tuple[object, ...]
    present: tuple[bool, ...]
    kind: str
    explains: tuple[str, ...]
    derived_from: tuple[str, ...]
    known: bool


def entry(name: str, rules: RuleSet) -> Argument | None:
    """What the rules say of an argument: by its whole name, else by the first pattern that fits."""
    exact = next((one for one in rules.arguments if name in one.name), None)
    return exact or next((one for one in rules.arguments if any(fnmatchcase(name, pattern) for pattern in one.name)), None)


def matters(startup: Startup, rules: RuleSet) -> Mapping[str, Value]:
    """The arguments that matter to startup time, by name in order: what any phase may depend on, and was not drawn by chance.

    What is None or False is left out, so that a version which adds a switch does not make every startup another one. Lists and nested
    values become their JSON text.
    """
    found: dict[str, Value] = {}
    for name, value in sorted(startup.arguments.items()):
        if value is None or value is False:
            continue
        said = entry(name, rules)
        if said is not None and said.explains and said.kind != AUTO:
            found[name] = plain(value)
    return found


def plain(value: object) -> Value:
    """A value that a table's cell can hold: lists and nested ones as JSON text."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def differences(
    launches: Sequence[Mapping[str, object]], rules: RuleSet, commands: Sequence[Sequence[str]] | None = None
) -> tuple[Difference, ...]:
    """The arguments that are not the same in all launches, by name; a launch without any says nothing of them.

    `commands`: the words of each launch's command, where all of them were recorded; they tell for certain what was given.
    """
    told = [arguments for arguments in launches if arguments]
    names = sorted({name for arguments in told for name in arguments})
    differing = [name for name in names if len({(name in arguments, key(arguments.get(name))) for arguments in told}) > 1]
    whole = max(map(len, launches), default=0) >= WHOLE
    found = []
    for name in differing:
        said = entry(name, rules)
        present = tuple(name in arguments for arguments in launches)
        sources = _sources(name, said or _UNKNOWN, differing)
        kind = _kind(name, said or _UNKNOWN, sources, commands)
        if commands is None and whole and not all(name in arguments for arguments in told) and kind == CHOSEN:
            kind = DERIVED  # the line lists every argument: this version does not have it, or the line was cut
        found.append(
            Difference(
                name,
                tuple(arguments.get(name) for arguments in launches),
                present,
                kind,
                (said or _UNKNOWN).explains,
                sources if kind == DERIVED else (),
                said is not None,
            )
        )
    return tuple(found)


def reasons(found: Iterable[Difference], phase: str) -> tuple[str, ...]:
    """The chosen arguments that can explain a change of a phase: by themselves, or by what follows from them."""
    by_name = {difference.name: difference for difference in found}
    reached: set[str] = set()
    open_ = [difference.name for difference in by_name.values() if phase in difference.explains and difference.kind != AUTO]
    while open_:
        name = open_.pop()
        if name not in reached and name in by_name:
            reached.add(name)
            open_ += by_name[name].derived_from
    return tuple(sorted(name for name in reached if by_name[name].kind == CHOSEN))


def unknown(found: Iterable[Difference]) -> tuple[str, ...]:
    """Chosen arguments of which the rules say nothing: they may explain any phase."""
    return tuple(difference.name for difference in found if not difference.known and difference.kind == CHOSEN)


def given(name: str, said: Argument, command: Sequence[str]) -> bool:
    """Whether a command names an argument, in full, shortened as argparse allows, or by another of its flags."""
    flags = (f"--{name.replace('_', '-')}", *said.spelled)
    words = {word.partition("=")[0].replace("_", "-") for word in command if word.startswith("-")}
    return any(flag == word or (len(word) > len("--x") and flags[0].startswith(word)) for word in words for flag in flags)


def key(value: object) -> Hashable:
    """What is equal for equal values only: 1, True and "1" are three."""
    simple = value is None or isinstance(value, str | int | float | bool)
    return type(value).__name__, value if simple else json.dumps(value, sort_keys=True, default=str)


def _sources(name: str, said: Argument, differing: Sequence[str]) -> tuple[str, ...]:
    """Those among the differing arguments that this one follows from."""
    return tuple(other for other in differing if other != name and any(fnmatchcase(other, pattern) for pattern in said.derived_from))


def _kind(name: str, said: Argument, sources: tuple[str, ...], commands: Sequence[Sequence[str]] | None) -> str:
    if commands is not None and not any("--config" in command for command in commands):
        was_given = any(given(name, said, command) for command in commands)
        return CHOSEN if was_given else AUTO if said.kind == AUTO else DERIVED
    if said.kind == DERIVED and said.derived_from and not sources:
        return CHOSEN
    return said.kind if said.kind in (AUTO, DERIVED) else CHOSEN
