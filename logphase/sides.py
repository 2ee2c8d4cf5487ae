"""Run, Variant: startups that count as repeats of the same, and what they have in common.

Law of this file: the order of a variant's runs means nothing; of what its runs do not agree in, what most of them have counts.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from logphase import flags

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from logphase.timeline import Startup
    from logphase.warmth import Warmth


@dataclass(frozen=True, slots=True)
class Run:
    """One startup of a variant. `command`: the words of its launch, where they were recorded; `environment`: what was recorded beside."""

    startup: Startup
    source: str
    command: tuple[str, ...] | None = None
    environment: Mapping[str, str] | None = None

    @property
    def total_s(self) -> float | None:
        """Started to ready; None where it did not get ready."""
        return self.startup.ready.after_s if self.startup.ready is not None else None


@dataclass(frozen=True, slots=True)
class Variant:
    """One side: startups that count as repeats of the same. `sources`: the files that were read for it, without startups too."""

    name: str
    runs: tuple[Run, ...]
    sources: tuple[str, ...] = ()
    warmths: tuple[Warmth, ...] = ()

    @property
    def pooled(self) -> tuple[Run, ...]:
        """The runs that count: those that got ready, or all where none did."""
        return tuple(run for run in self.runs if run.total_s is not None) or self.runs

    @property
    def ready(self) -> bool:
        """Whether any run got ready."""
        return any(run.total_s is not None for run in self.runs)


def most(mappings: Iterable[Mapping[str, object]]) -> dict[str, object]:
    """Of several mappings the most frequent value of each name, of equally frequent ones the first by its text."""
    held: dict[str, list[object]] = {}
    for mapping in mappings:
        for name, value in mapping.items():
            held.setdefault(name, []).append(value)
    return {name: _most(values) for name, values in held.items()}


def _most(values: Sequence[object]) -> object:
    first = values[0]
    if all(value is first or (type(value) is type(first) and value == first) for value in values):
        return first
    counted = Counter(map(flags.key, values))
    chosen = min(counted, key=lambda key: (-counted[key], str(key)))
    return next(value for value in values if flags.key(value) == chosen)


def arguments_of(side: Variant) -> dict[str, object]:
    """The arguments of a variant."""
    return most(run.startup.arguments for run in side.pooled)


def commands_of(sides: Sequence[Variant]) -> list[Sequence[str]] | None:
    """The words of each variant's commands, where all were recorded."""
    found = [[run.command for run in side.pooled] for side in sides]
    if any(command is None for commands in found for command in commands):
        return None
    return [sorted({word for command in commands for word in command or ()}) for commands in found]


def environment_of(sides: Sequence[Variant]) -> tuple[tuple[str, tuple[str | None, ...]], ...]:
    """Variables and packages that are not the same in all variants, where all were recorded."""
    recorded = [[run.environment for run in side.pooled] for side in sides]
    if any(environment is None for environments in recorded for environment in environments):
        return ()
    found = [most(environment for environment in environments if environment is not None) for environments in recorded]
    names = sorted({name for environment in found for name in environment})
    values = {name: tuple(None if name not in environment else str(environment[name]) for environment in found) for name in names}
    return tuple((name, each) for name, each in values.items() if len(set(each)) > 1)


def engines_of(sides: Sequence[Variant]) -> int:
    """How many engines there are."""
    return len({run.startup.engine for side in sides for run in side.pooled})


def versions_of(sides: Sequence[Variant]) -> list[str]:
    """The engine's versions in each variant; empty where nothing tells."""
    return [said(run.startup.version for run in side.pooled) for side in sides]


def states_of(side: Variant) -> list[str | None]:
    """Cold, warm or None for each run that counts."""
    pooled = {id(run) for run in side.pooled}
    return [found.state for run, found in zip(side.runs, side.warmths, strict=True) if id(run) in pooled]


def starts_of(sides: Sequence[Variant]) -> list[str]:
    """Whether each variant's starts were cold or warm; empty where nothing tells."""
    return [said(state for state in states_of(side) if state is not None) for side in sides]


def said(values: Iterable[str]) -> str:
    """What there is, each once."""
    return ", ".join(sorted(set(values)))
