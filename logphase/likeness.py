"""Startup -> Likeness: what two startups must share for one to tell how long the other takes.

Engine and model must be the same: how long another model takes says nothing of this one. Of the rest each part that differs counts,
some more than others, and is named. Law of this file: what is not known yet differs from nothing.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from logphase import flags
from logphase.fingerprint import key as version_key
from logphase.redact import redact, redact_arguments
from logphase.warmth import warmth

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from logphase.rules import RuleSet
    from logphase.timeline import Startup, Value

MODEL = ("model_path", "model", "model_tag")
TOPOLOGY = (
    "tp_size", "tensor_parallel_size", "pp_size", "pipeline_parallel_size", "dp_size", "data_parallel_size", "ep_size", "nnodes",
)  # fmt: skip
WEIGHTS = {"topology": 6.0, "cold/warm": 4.0, "flags": 2.0, "version": 1.0, "host": 0.5}
MORE = 0.25  # for each flag after the first that differs …
MOST_FLAGS = 8  # … and for so many at most
_RANGE = re.compile(r"(?P<oldest>\S+) (?:to (?P<newest>\S+)|or (?P<which>newer|older))")


@dataclass(frozen=True, slots=True)
class Likeness:
    """What of a startup decides how long it takes; empty where it is not known. Secrets are masked.

    `flags` has those that are None or False, too; one that is missing counts as such.

    `warmth`: cold | warm | None; `version`: one, or the range that the log's wording leaves ("0.5.14 to 0.5.15").
    """

    engine: str
    model: str
    version: str
    topology: Mapping[str, Value]
    flags: Mapping[str, Value]
    host: str
    warmth: str | None

    @property
    def key(self) -> str:
        """What all startups share that differ in version and caches only, as a short text."""
        given = {name: value for name, value in self.flags.items() if value}
        same = [self.engine, self.model, dict(self.topology), given, self.host]
        return hashlib.sha256(json.dumps(same, sort_keys=True, default=str).encode()).hexdigest()[:24]

    def differences(self, other: Likeness) -> dict[str, str]:
        """The parts in which another startup of the same engine and model differs, each with how: `0.5.15, here 0.5.13`."""
        found: dict[str, str] = {}
        if self.topology != other.topology:
            found["topology"] = _changed(sorted({*self.topology, *other.topology}), self.topology, other.topology)
        if names := self._flags(other):
            found["flags"] = _changed(names, self.flags, other.flags)
        if self.warmth and other.warmth and self.warmth != other.warmth:
            found["cold/warm"] = f"{other.warmth}, here {self.warmth}"
        if not _overlap(self.version, other.version):
            found["version"] = f"{other.version}, here {self.version}"
        if self.host and other.host and self.host != other.host:
            found["host"] = f"{other.host}, here {self.host}"
        return found

    def distance(self, other: Likeness) -> float:
        """How unlike two startups are: 0 where nothing that is known differs."""
        found = self.differences(other)
        more = MORE * min(MOST_FLAGS, len(self._flags(other)) - 1) if "flags" in found else 0.0
        return sum(WEIGHTS[part] for part in found) + more

    def _flags(self, other: Likeness) -> list[str]:
        """The flags that differ; of versions that have nothing in common only those that both have: each adds its own."""
        names = {*self.flags, *other.flags}
        if not _overlap(self.version, other.version):
            names = {*self.flags} & {*other.flags}
        return sorted(name for name in names if (self.flags.get(name) or None) != (other.flags.get(name) or None))


def likeness(startup: Startup, rules: RuleSet, host: str = "", version: str = "") -> Likeness:
    """Read a startup. `version`: of the engine, where it is known better than by the log."""
    arguments = startup.arguments
    model = next((str(arguments[name]) for name in MODEL if arguments.get(name)), "")
    chosen = {name: flags.plain(value) for name, value in redact_arguments(_matters(startup, rules)).items()}
    return Likeness(
        engine=startup.engine,
        model=redact(model),
        version=version or startup.version,
        topology={name: chosen[name] for name in TOPOLOGY if chosen.get(name) not in (None, 1)},
        flags={name: value for name, value in chosen.items() if name not in (*TOPOLOGY, *MODEL)},
        host=host,
        warmth=warmth(startup).state,
    )


def _matters(startup: Startup, rules: RuleSet) -> dict[str, object]:
    """The arguments that matter to startup time, those that are None or False too: so it is known which this version has."""
    found: dict[str, object] = dict(flags.matters(startup, rules))
    for name, value in startup.arguments.items():
        if value is None or value is False:
            said = flags.entry(name, rules)
            if said is not None and said.explains and said.kind != flags.AUTO:
                found[name] = value
    return dict(sorted(found.items()))


def _changed(all_names: Iterable[str], mine: Mapping[str, Value], theirs: Mapping[str, Value]) -> str:
    names = [name for name in all_names if mine.get(name) != theirs.get(name)]
    told = [f"{name} {_word(theirs.get(name))}, here {_word(mine.get(name))}" for name in names[:3]]
    return "; ".join([*told, *([f"{len(names) - 3} more"] if len(names) > 3 else [])])  # noqa: PLR2004 - as many as a line holds


def _word(value: Value) -> str:
    text = "not given" if value is None else str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"  # noqa: PLR2004 - as much as a line holds


def _overlap(one: str, other: str) -> bool:
    """Whether two versions or ranges have a member in common; one that is not known fits every other."""
    if not one or not other or one == other:
        return True
    (low, high), (from_, to) = _bounds(one), _bounds(other)
    return not ((high and from_ and high < from_) or (to and low and to < low))


def _bounds(text: str) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
    found = _RANGE.fullmatch(text)
    if found is None:
        return version_key(text), version_key(text)
    first, last = version_key(found["oldest"]), version_key(found["newest"]) if found["newest"] else None
    return (None, first) if found["which"] == "older" else (first, last)


@dataclass(frozen=True, slots=True)
class Nearest:
    """The numbers of the nearest startups, all as near as each other, and in which parts they differ, each with how."""

    numbers: tuple[int, ...] = ()
    differs: tuple[tuple[str, str], ...] = ()
    distance: float = 0.0


def nearest(wanted: Likeness, known: Iterable[tuple[Likeness, int]]) -> Nearest:
    """Of startups, each with its number, those that are most alike; none of another engine or model."""
    groups: dict[float, list[tuple[Likeness, int]]] = {}
    for other, number in known:
        if (other.engine, other.model) == (wanted.engine, wanted.model):
            groups.setdefault(wanted.distance(other), []).append((other, number))
    if not groups:
        return Nearest()
    best = min(groups)
    return Nearest(tuple(number for _, number in groups[best]), tuple(wanted.differences(groups[best][0][0]).items()), best)
