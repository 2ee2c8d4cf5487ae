"""Sheet -> rows for a spreadsheet or pandas: one for each variant, phase and rank, the phase itself under an empty rank.

Law of this file: CSV as RFC 4180 in which no cell is a formula; an empty cell for what is not known. `baseline` rows have no difference.
"""

from __future__ import annotations

import csv
from importlib.util import find_spec
from io import BytesIO, StringIO
from typing import TYPE_CHECKING, NamedTuple

from logphase.errors import LogphaseError
from logphase.views.spreadsheet import safe

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from logphase.comparison import Comparison
    from logphase.samples import Sample
    from logphase.views.comparing import Sheet

DTYPES: Mapping[str, str] = {
    "variant": "string",
    "baseline": "bool",
    "phase": "string",
    "title": "string",
    "rank": "string",
    "n": "int64",
    "median_s": "float64",
    "min_s": "float64",
    "max_s": "float64",
    "delta_s": "float64",
    "share_of_delta": "float64",
    "verdict": "string",
    "basis": "string",
    "p": "float64",
    "reason": "string",
}
"""Column -> pandas dtype, in order."""


class Line(NamedTuple):
    """A row; the fields are the columns."""

    variant: str
    baseline: bool
    phase: str
    title: str
    rank: str | None
    n: int
    median_s: float | None
    min_s: float | None
    max_s: float | None
    delta_s: float | None = None
    share_of_delta: float | None = None
    verdict: str | None = None
    basis: str | None = None
    p: float | None = None
    reason: str | None = None


def lines(comparison: Comparison) -> Iterator[Line]:
    """The rows, variant by variant; the total comes last."""
    for at, variant in enumerate(comparison.variants):
        for row in (*comparison.phases, comparison.gaps, comparison.total):
            made = row.changes[at - 1] if at else None
            reasons = " ".join(row.reasons[at - 1]) if at and row.reasons else ""
            yield Line(
                variant.name,
                at == 0,
                row.id,
                row.title,
                None,
                *_figures(row.samples[at]),
                delta_s=_rounded(made.delta_s) if made else None,
                share_of_delta=_rounded(row.shares[at - 1]) if at and row.shares else None,
                verdict=str(made.verdict) if made else None,
                basis=made.basis if made else None,
                p=made.p if made else None,
                reason=reasons or None,
            )
            for tag, samples in row.ranks.items():
                base, own = samples[0].median, samples[at].median
                delta = own - base if at and base is not None and own is not None else None
                yield Line(variant.name, at == 0, row.id, row.title, tag, *_figures(samples[at]), delta_s=_rounded(delta))


def _figures(sample: Sample) -> tuple[int, float | None, float | None, float | None]:
    low, high = sample.range or (None, None)
    return sample.n, _rounded(sample.median), _rounded(low), _rounded(high)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def render(sheet: Sheet) -> str:
    """The rows as CSV."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(DTYPES)
    for line in lines(sheet.comparison):
        writer.writerow([safe(cell) if isinstance(cell, str) else cell for cell in line])
    return out.getvalue()


def parquet(sheet: Sheet) -> bytes:
    """The rows as the bytes of a Parquet file."""
    if find_spec("pyarrow") is None:
        raise LogphaseError("parquet needs pyarrow, which is not installed", "Install it with: pip install pyarrow")
    import pandas as pd

    table = pd.DataFrame.from_records([tuple(map(_valid, line)) for line in lines(sheet.comparison)], columns=list(DTYPES))
    table = table.astype(dict(DTYPES))
    table.attrs = {"logphase": sheet.tool, "format": 1}
    out = BytesIO()
    table.to_parquet(out, engine="pyarrow", index=False)
    return out.getvalue()


def _valid(cell: object) -> object:
    return cell.encode("utf-8", "replace").decode("utf-8") if isinstance(cell, str) else cell
