"""Variants -> what has to be said before their numbers are believed: what was left out, mixed, or is not alike.

Law of this file: nothing is left out or pooled without a word.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from logphase import flags
from logphase.flags import CHOSEN
from logphase.sides import engines_of, said, starts_of, states_of, versions_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from logphase.flags import Difference
    from logphase.rules import RuleSet
    from logphase.sides import Variant


def otherwise(sides: Sequence[Variant], found_arguments: Sequence[Difference]) -> tuple[str, ...]:
    """What differs beside the arguments that the rules know, and may explain any phase."""
    found = []
    if engines_of(sides) > 1:
        found.append("another engine")
    if len({*versions_of(sides)} - {""}) > 1:
        found.append("another version")
    if len({*starts_of(sides)} - {""}) > 1:
        found.append("a cold start")
    return (*found, *flags.unknown(found_arguments))


def reservations(sides: Sequence[Variant], found_arguments: Sequence[Difference], rules: RuleSet) -> list[str]:
    """What was left out, what is mixed, what is not alike."""
    notes = [note for side in sides for note in (*_left_out(side), *_mixed(side, rules))]
    if engines_of(sides) > 1:
        notes.append("The variants are of different engines: their arguments are not compared, and their phases only by name.")
    versions = versions_of(sides)
    if len({*versions} - {""}) > 1:
        notes.append(f"The engine's versions differ ({_listed(sides, versions)}): that can explain any phase.")
    warmths = starts_of(sides)
    if len({*warmths} - {""}) > 1:
        notes.append(f"Cold and warm starts are compared ({_listed(sides, warmths)}): caches can explain loading, compiling and capture.")
    begins = [said(run.startup.started.source for run in side.pooled) for side in sides]
    if len(set(begins)) > 1:
        notes.append(f"The start is known from different sources ({_listed(sides, begins)}): launch and total are not alike.")
    strange = flags.unknown(found_arguments)
    if strange:
        notes.append(f"The rules do not know what {', '.join(strange)} does: it may explain any phase.")
    return notes


def _left_out(side: Variant) -> list[str]:
    seen = {run.source for run in side.runs}
    empty = [source for source in dict.fromkeys(side.sources) if source not in seen]
    notes = [f"{side.name}: no startup is seen in {_some(empty)}."] if empty else []
    unready = [run.source for run in side.runs if run.total_s is None]
    if unready and side.ready:
        notes.append(f"{side.name}: {len(unready)} of {len(side.runs)} startups did not get ready and are left out: {_some(unready)}.")
    elif unready:
        notes.append(f"{side.name}: no startup got ready ({_some(unready)}): only phases that ended are compared, and no total.")
    if side.runs and not any(run.startup.arguments for run in side.pooled):
        notes.append(f"{side.name}: the arguments are not in the log: they are not compared.")
    return notes


def _mixed(side: Variant, rules: RuleSet) -> list[str]:
    notes = []
    states = Counter(state or "not told by the log" for state in states_of(side))
    if len(states) > 1:
        told = ", ".join(f"{number} {state}" for state, number in sorted(states.items()))
        notes.append(f"{side.name} pools cold and warm starts ({told}): its median lies between two kinds.")
    arguments = [run.startup.arguments for run in side.pooled]
    inside = flags.differences(arguments, rules) if len(arguments) > 1 and engines_of([side]) == 1 else ()
    chosen = [difference.name for difference in inside if difference.kind == CHOSEN and (difference.explains or not difference.known)]
    if chosen:
        notes.append(f"{side.name} pools startups with different {', '.join(chosen)}.")
    return notes


def _listed(sides: Sequence[Variant], values: Sequence[str]) -> str:
    return "; ".join(f"{side.name}: {value or 'not told'}" for side, value in zip(sides, values, strict=True))


def _some(names: Sequence[str], most: int = 3) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
