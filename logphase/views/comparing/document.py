"""Sheet -> one JSON document, for scripts.

Law of this file: the shape is the contract's "format 1" of compare; a field may be added, none renamed or dropped. Unknown is null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from logphase.redact import redact, redact_arguments
from logphase.verdict import judge
from logphase.views.document import startup_entry, written

if TYPE_CHECKING:
    from collections.abc import Sequence

    from logphase.budget import Breach
    from logphase.comparison import Comparison, Row
    from logphase.flags import Difference
    from logphase.samples import Sample
    from logphase.sides import Variant
    from logphase.views.comparing import Sheet

FORMAT = 1


def render(sheet: Sheet) -> str:
    """The document as text."""
    return written(document(sheet.comparison, tool=sheet.tool, hide=sheet.redact, breaches=sheet.breaches))


def document(comparison: Comparison, *, tool: str, hide: bool = True, breaches: Sequence[Breach] | None = None) -> dict[str, object]:
    """Format 1 as plain values."""
    made: dict[str, object] = {
        "format": FORMAT,
        "tool": tool,
        "variants": [_variant(variant, hide=hide) for variant in comparison.variants],
        "arguments": [_argument(one, hide=hide) for one in comparison.arguments],
        "environment": [{"name": name, "values": list(_hidden(name, values, hide=hide))} for name, values in comparison.environment],
        "phases": [{"id": row.id, "title": row.title, **_row(row), "ranks": _ranks(row)} for row in comparison.phases],
        "gaps": _row(comparison.gaps, reason=False),
        "total": _row(comparison.total),
        "notes": list(comparison.notes),
    }
    if breaches is not None:
        made["over_limit"] = [{"variant": one.variant, "phase": one.phase, "limit": one.limit, "told": one.told} for one in breaches]
    return made


def _variant(variant: Variant, *, hide: bool) -> dict[str, object]:
    startups = []
    for run, found in zip(variant.runs, variant.warmths, strict=True):
        entry = startup_entry(run.startup, judge(run.startup), redact=hide)
        entry |= {"file": run.source, "start": found.state, "pooled": any(run is one for one in variant.pooled)}
        startups.append(entry)
    return {"name": variant.name, "n": len(variant.pooled), "sources": list(variant.sources), "startups": startups}


def _argument(one: Difference, *, hide: bool) -> dict[str, object]:
    values = _hidden(one.name, one.values, hide=hide)
    return {
        "name": one.name,
        "values": list(values),
        "kind": one.kind,
        "present": list(one.present),
        "derived_from": list(one.derived_from),
        "explains": list(one.explains),
    }


def _hidden(name: str, values: Sequence[object], *, hide: bool) -> Sequence[object]:
    return [redact_arguments({name: value})[name] for value in values] if hide else values


def _row(row: Row, *, reason: bool = True) -> dict[str, object]:
    entry: dict[str, object] = {
        "n": [sample.n for sample in row.samples],
        "median_s": [sample.median for sample in row.samples],
        "range_s": [sample.range for sample in row.samples],
        "delta_s": [made and made.delta_s for made in row.changes],
        "verdict": [made and str(made.verdict) for made in row.changes],
        "basis": [made and made.basis for made in row.changes],
        "p": [made and made.p for made in row.changes],
        "noise_s": [made and made.noise_s for made in row.changes],
    }
    if row.shares:
        entry["share_of_delta"] = list(row.shares)
    if reason:
        entry["reason"] = list(row.reason) or None
    return entry


def _ranks(row: Row) -> dict[str, object]:
    return {redact(tag): _rank(samples) for tag, samples in row.ranks.items()}


def _rank(samples: Sequence[Sample]) -> dict[str, object]:
    base = samples[0].median
    others = [sample.median for sample in samples[1:]]
    return {
        "n": [sample.n for sample in samples],
        "median_s": [sample.median for sample in samples],
        "delta_s": [None if base is None or other is None else other - base for other in others],
    }
