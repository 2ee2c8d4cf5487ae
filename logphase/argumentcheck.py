"""`[[argument]]` tables under examination -> Problem: unknown phases and kinds, sources that lead nowhere, names said twice."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from logphase.ruleproblems import Examination, Problem
    from logphase.rules import Argument

KINDS = ("chosen", "derived", "auto")


def problems(examined: Examination) -> Iterator[Problem]:
    """Everything that is wrong with what is said of arguments."""
    listed = examined.rules.arguments
    known = [name for entry in listed for name in entry.name]
    for number, entry in enumerate(listed):
        if entry.kind not in KINDS:
            yield examined.problem(entry.where, f"kind {entry.kind!r} is not known", f"{', '.join(KINDS)}.", "kind")
        for name in entry.explains:
            if name not in examined.rules.phases:
                phases = f"Phases: {', '.join(examined.rules.phases)}."
                yield examined.problem(entry.where, f"phase {name!r} is not defined", phases, "explains")
        yield from _sources(examined, entry, known)
        for other in listed[:number]:
            twice = next((name for name in entry.name if name in other.name), None)
            if twice and entry.where.partition(": ")[0] == other.where.partition(": ")[0]:
                yield examined.problem(entry.where, f"{twice!r} has a table already", f"See {other.where}; the first one counts.", "name")


def _sources(examined: Examination, entry: Argument, known: list[str]) -> Iterator[Problem]:
    key = "derived_from"
    if entry.derived_from and entry.kind != "derived":
        yield examined.problem(entry.where, "derived_from is said of a derived one", 'kind = "derived"', key)
    for source in entry.derived_from:
        if not any(fnmatchcase(name, source) or fnmatchcase(source, name) for name in known):
            yield examined.problem(entry.where, f"nothing is said of {source!r}", "Name an argument that has a table.", key)
        elif any(fnmatchcase(name, source) for name in entry.name):
            hint = "Give the one that is set by hand a table of its own."
            yield examined.problem(entry.where, f"{source!r} follows from itself", hint, key)
