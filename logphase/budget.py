"""Limits of a gate -> what breaks them: `10%` for everything, or a TOML file with limits per phase.

    total = "10%"              # slower than the baseline by more than this
    default = "20%"            # of every phase without a limit of its own
    [phases]
    weights = 300              # seconds, whatever the baseline took
    target-graph = "15%"

Law of this file: what noise explains breaks no relative limit, and a variant that never got ready breaks every gate.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from logphase.comparison import TOTAL
from logphase.errors import LogphaseError
from logphase.samples import THUMB_S, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from logphase.comparison import Comparison, Row
    from logphase.sides import Variant

_SHARE = re.compile(r"\s*(\d{1,6}(?:\.\d{1,6})?)\s*%\s*")
_EXAMPLE = 'Write total = "10%", default = "20%" and a table [phases] with shares or seconds: weights = 300.'


@dataclass(frozen=True, slots=True)
class Limit:
    """A share of the baseline by which it may be slower, or seconds that it may take."""

    share: float | None = None
    seconds: float | None = None

    def __str__(self) -> str:
        return f"{self.seconds:g} s" if self.seconds is not None else f"{(self.share or 0.0) * 100:g}%"


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits by phase id, of the total, and of every other phase."""

    total: Limit | None = None
    default: Limit | None = None
    phases: Mapping[str, Limit] = field(default_factory=dict)

    def of(self, name: str) -> Limit | None:
        """The limit of a phase, or of the total."""
        return self.total if name == TOTAL else self.phases.get(name, self.default)


@dataclass(frozen=True, slots=True)
class Breach:
    """A limit that a variant broke: which, and in words by how much."""

    variant: str
    phase: str
    limit: str
    told: str


def parse(text: str) -> Budget:
    """Read `10%`, or the file of that name.

    Raises:
        LogphaseError: it is neither, or the file holds something else.
    """
    share = _SHARE.fullmatch(text)
    if share is not None:
        limit = Limit(share=float(share[1]) / 100)
        return Budget(limit, limit)
    return _of_file(Path(text))


def _of_file(path: Path) -> Budget:
    import tomllib

    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise LogphaseError(f"--fail-over {path}: {reason}", "Give a share, as 10%, or a file of limits.") from error
    except (ValueError, RecursionError) as error:  # also of a number of thousands of digits, and of brackets in brackets
        raise LogphaseError(f"{path}: not valid TOML: {error}", _EXAMPLE) from error
    phases = table.pop("phases", {})
    unknown = sorted(set(table) - {"total", "default"})
    if unknown or not isinstance(phases, dict):
        raise LogphaseError(f"{path}: {', '.join(unknown) or 'phases'} is no limit", _EXAMPLE)
    total, default = (_limit(path, name, table[name]) if name in table else None for name in ("total", "default"))
    return Budget(total, default, {name: _limit(path, f"phases.{name}", value) for name, value in phases.items()})


def _limit(path: Path, name: str, value: object) -> Limit:
    if isinstance(value, str) and (share := _SHARE.fullmatch(value)) is not None:
        return Limit(share=float(share[1]) / 100)
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        return Limit(seconds=float(value))
    raise LogphaseError(f"{path}: {name} = {value!r} is no limit", _EXAMPLE)


def breaches(comparison: Comparison, budget: Budget) -> tuple[Breach, ...]:
    """What the other variants break, the total first."""
    found: list[Breach] = []
    rows = (comparison.total, *comparison.phases)
    for at, variant in enumerate(comparison.variants[1:], 1):
        if not variant.ready:
            found.append(Breach(variant.name, TOTAL, str(budget.total or "ready"), "it did not get ready"))
        for row in rows:
            limit = budget.of(row.id)
            if limit is not None:
                found += _broken(variant, row, at, limit)
    return tuple(found)


def doubts(comparison: Comparison, budget: Budget) -> tuple[Breach, ...]:
    """What is over a relative limit by seconds, and too few startups to say whether that is chance: it breaks nothing, and is told."""
    found: list[Breach] = []
    for at, variant in enumerate(comparison.variants[1:], 1):
        for row in (comparison.total, *comparison.phases):
            limit, made = budget.of(row.id), row.changes[at - 1]
            if limit is not None and made is not None and made.verdict is Verdict.UNCLEAR and (made.delta_s or 0.0) >= THUMB_S:
                found += _slower(variant, row, at, limit)
    return tuple(found)


def _broken(variant: Variant, row: Row, at: int, limit: Limit) -> Iterator[Breach]:
    median, made = row.samples[at].median, row.changes[at - 1]
    if limit.seconds is not None and median is not None and median > limit.seconds:
        yield Breach(variant.name, row.id, str(limit), f"it took {median:.2f} s{_known(row, at)}")
    if made is not None and made.verdict is Verdict.SLOWER:
        yield from _slower(variant, row, at, limit)


def _slower(variant: Variant, row: Row, at: int, limit: Limit) -> Iterator[Breach]:
    """Whether a row is over a share of the baseline."""
    median, base, made = row.samples[at].median, row.samples[0].median, row.changes[at - 1]
    if median is None or not base or made is None or limit.share is None:
        return
    slower = (median - base) / base
    if slower > limit.share:
        told = f"{median:.2f} s instead of {base:.2f} s, {slower * 100:.0f}% slower{_known(row, at)}; {made.grounds}"
        yield Breach(variant.name, row.id, str(limit), told)


def _known(row: Row, at: int) -> str:
    return f" (n = {row.samples[0].n} against {row.samples[at].n})"
