"""Report -> CSV of spans: RFC 4180, UTF-8, one header line, an empty cell for what is not known.

Law of this file: a cell of text never starts a formula in a spreadsheet, and holds no control character.
"""

from __future__ import annotations

import csv
from io import StringIO
from typing import TYPE_CHECKING

from logphase.tables import DTYPES, Row, rows
from logphase.views.words import moment, visible

if TYPE_CHECKING:
    from logphase.views import Report

_FORMULA = ("=", "+", "-", "@")


def render(report: Report) -> str:
    """The table as text; `docs/report.md` tells the columns."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(DTYPES)
    for row in rows(report.shown(), hide=report.redact):
        writer.writerow(_cells(row))
    return out.getvalue()


def _cells(row: Row) -> list[object]:
    dated = row._replace(started=None if row.started is None else moment(row.started))  # type: ignore[arg-type]
    return [safe(cell) if isinstance(cell, str) else cell for cell in dated]


def safe(cell: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    shown = visible(cell)
    return f"'{shown}" if shown.startswith(_FORMULA) and shown != "-" else shown
