"""Comparison -> words: a difference, on what it rests, what explains it, a value of an argument.

Law of this file: seconds with n beside them, and never a share of something that is not known.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from logphase.comparison import CHANGED
from logphase.redact import redact_arguments
from logphase.samples import Verdict
from logphase.views.words import count, quote, seconds, spoken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from logphase.comparison import Comparison, Row
    from logphase.flags import Difference
    from logphase.samples import Change, Sample

DASH = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"
NOISE = "noise or the machine"
VALUE = 60  # characters of an argument's value
_SHORTEST = 8  # characters that a shortened name keeps


def headline(comparison: Comparison, at: int) -> str:
    """What the whole of one variant is against the baseline, as a sentence without its end."""
    row = comparison.total
    base, other = row.samples[0], row.samples[at]
    made = row.changes[at - 1]
    if made is None or base.median is None or other.median is None or made.delta_s is None:
        return "no total: not both got ready"
    sides = f"n = {base.n} against {other.n}"
    change = "as fast" if not made.delta_s else f"{spoken(abs(made.delta_s))} {'slower' if made.delta_s > 0 else 'faster'}"
    share = f" ({abs(made.delta_s) / base.median * 100:.0f}%)" if base.median > 0 and made.delta_s else ""
    told = ", ".join(filter(None, (f"{change}{share}", weight(made))))
    return f"{spoken(base.median)} to {spoken(other.median)}: {told}; {sides}, {made.grounds}"


def weight(made: Change) -> str:
    """Whether a difference is one, where more than one startup a side tells."""
    if made.verdict is Verdict.SAME:
        return "no difference to be seen"
    return "unclear" if made.verdict is Verdict.UNCLEAR else "" if made.basis == "single" else "more than noise explains"


def took(sample: Sample) -> str:
    """A median with its range: `41.20 s (40.80-43.00)`; a dash without any."""
    if sample.median is None or sample.range is None:
        return DASH
    low, high = sample.range
    return seconds(sample.median) if sample.n == 1 or low == high else f"{seconds(sample.median)} ({low:.2f}{DASH}{high:.2f})"


def signed(value: float | None) -> str:
    """A difference with its sign."""
    if value is None:
        return ""
    rounded = round(value, 2)
    return f"{'+' if rounded > 0 else MINUS if rounded < 0 else ''}{abs(rounded):.2f} s"


def share(value: float | None) -> str:
    """A share of the total's difference."""
    return "" if value is None else f"{round(value * 100)}%".replace("-", MINUS)


def because(comparison: Comparison, row: Row, most: int = 99) -> str:
    """What explains a changed row: at most so many arguments, what else differs, or noise; empty where nothing changed."""
    if not any(made is not None and made.verdict in CHANGED for made in row.changes):
        return ""
    more = f" and {len(row.reason) - most} more" if len(row.reason) > most else ""
    return "; ".join(filter(None, (", ".join(row.reason[:most]) + more, " or ".join(comparison.otherwise)))) or NOISE


def value(difference: Difference, at: int, *, hide: bool, limit: int = VALUE) -> str:
    """An argument's value in one variant, without secrets."""
    if not difference.present[at]:
        return "(not there)"
    held = difference.values[at]
    shown = redact_arguments({difference.name: held})[difference.name] if hide else held
    text = shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False, default=str)
    return quote(text, hide=hide, limit=limit)


def kind(difference: Difference) -> str:
    """Who chose it."""
    if difference.kind == "derived" and difference.derived_from:
        return f"derived from {', '.join(difference.derived_from[:3])}"
    return {"auto": "chance"}.get(difference.kind, difference.kind)


def names(comparison: Comparison, limit: int = 28) -> list[str]:
    """The variants' names without the folders and endings that all share, cut to `limit` characters."""
    parts = [variant.name.split("/") for variant in comparison.variants]
    while all(len(each) > 1 for each in parts) and len({each[0] for each in parts}) == 1:
        parts = [each[1:] for each in parts]
    while all(len(each) > 1 for each in parts) and len({each[-1] for each in parts}) == 1:
        parts = [each[:-1] for each in parts]
    shown = [quote("/".join(each), hide=True) for each in parts]
    limit = max(limit, _SHORTEST)
    return [name if len(name) <= limit else f"{name[: limit // 2 - 1]}…{name[-(limit - limit // 2) :]}" for name in shown]


def facts(comparison: Comparison, at: int) -> str:
    """Of a variant: how many startups, cold or warm, the version."""
    variant = comparison.variants[at]
    states = [found.state for found in variant.warmths]
    told = ", ".join(f"{states.count(state)} {state}" for state in ("cold", "warm") if state in states)
    versions = sorted({run.startup.version for run in variant.runs} - {""})
    return ", ".join(part for part in (count(len(variant.runs), "startup"), told, " / ".join(versions)) if part)


def split(arguments: Sequence[Difference]) -> tuple[list[Difference], int]:
    """The arguments worth a line, chosen ones first, and how many only one version has."""
    shown = [one for one in arguments if all(one.present) or one.kind == "chosen"]
    order = {"chosen": 0, "derived": 1, "auto": 2}
    return sorted(shown, key=lambda one: (order[one.kind], one.name)), len(arguments) - len(shown)


def remarks(comparison: Comparison) -> list[str]:
    """What has to be known about the verdicts: how little one startup can show, and what no changed argument can have done."""
    bases = {made.basis for row in (*comparison.phases, comparison.total) for made in row.changes if made is not None}
    told = []
    if "single" in bases:
        told.append("One startup a side shows no spread: a small difference is unclear, and a large one may be chance. Give repeats.")
    noise = [row for row in comparison.phases if because(comparison, row) == NOISE]
    if noise:
        most = max(abs(made.delta_s or 0.0) for row in noise for made in row.changes if made is not None)
        names = ", ".join(row.id for row in noise)
        told.append(f"No changed argument can touch {names} (up to {spoken(most)}): that is noise or the machine.")
    return told
