"""Bundled rules with one mistake each, as a hand that edits them makes it.

Law of this file: a mutant differs from the rules in one place, and in a way that changes what they do.
"""

from __future__ import annotations

import copy
import random
import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from logphase.rulefiles import Table

CLASSES = re.compile(r"\\d\+|\\d\{\d(?:,\d)?\}|\[\\d\.\]\+|\\d")


class Mutant(NamedTuple):
    """The files with the mistake, and what it is."""

    what: str
    tables: tuple[Table, ...]


def mutants(tables: tuple[Table, ...], number: int, folders: tuple[str, ...], seed: int = 1) -> Iterator[Mutant]:
    """So many mutants, of all kinds in turn, of the rules in some folders."""
    chance = random.Random(seed)  # noqa: S311 - which rule is hit
    kinds: list[Callable[[random.Random, list[dict[str, Any]]], str]] = [_anchor, _ids, _digits, _literal, _contains]
    made = turn = 0
    while made < number:
        fresh = tuple(table._replace(content=copy.deepcopy(table.content)) for table in tables)
        rules = [rule for table in fresh if table.folder in folders for rule in table.content.get("rule", [])]
        what = kinds[turn % len(kinds)](chance, rules)
        turn += 1
        if what:
            made += 1
            yield Mutant(what, fresh)


def _anchor(chance: random.Random, rules: list[dict[str, Any]]) -> str:
    """The pattern's start is deleted."""
    rule = chance.choice(rules)
    rule["pattern"] = rule["pattern"].removeprefix("^")
    return f"{rule['id']}: no ^"


def _ids(chance: random.Random, rules: list[dict[str, Any]]) -> str:
    """Two rules have each other's id."""
    one, other = chance.sample(rules, 2)
    one["id"], other["id"] = other["id"], one["id"]
    return f"{one['id']} and {other['id']} swapped"


def _digits(chance: random.Random, rules: list[dict[str, Any]]) -> str:
    """A class of digits is dropped."""
    rule = chance.choice([rule for rule in rules if CLASSES.search(rule["pattern"])])
    found = chance.choice(list(CLASSES.finditer(rule["pattern"])))
    rule["pattern"] = rule["pattern"][: found.start()] + rule["pattern"][found.end() :]
    try:
        re.compile(rule["pattern"])
    except re.error:
        return ""
    return f"{rule['id']}: {found[0]} dropped at {found.start()}"


def _literal(chance: random.Random, rules: list[dict[str, Any]]) -> str:
    """A word of the pattern is loosened to anything."""
    rule = chance.choice(rules)
    words = list(re.finditer(r"(?<![\\<\w(?])[A-Za-z]{4,}(?![\w>])", rule["pattern"]))
    if not words:
        return ""
    found = chance.choice(words)
    rule["pattern"] = f"{rule['pattern'][: found.start()]}.*{rule['pattern'][found.end() :]}"
    return f"{rule['id']}: {found[0]} is anything"


def _contains(chance: random.Random, rules: list[dict[str, Any]]) -> str:
    """A text that a match holds has a wrong letter."""
    rule = chance.choice(rules)
    texts = [rule["contains"]] if isinstance(rule["contains"], str) else list(rule["contains"])
    at = chance.randrange(len(texts))
    place = chance.randrange(len(texts[at]))
    texts[at] = texts[at][:place] + ("x" if texts[at][place] != "x" else "y") + texts[at][place + 1 :]
    rule["contains"] = texts
    return f"{rule['id']}: looks for {texts[at]!r}"
