"""Report -> Parquet of spans, through pandas and pyarrow (the extra `parquet`).

Law of this file: the columns and their types are those of `Timeline.to_frame()`; the file's own metadata name the tool and the format.
"""

from __future__ import annotations

from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING, Any

from logphase.errors import LogphaseError
from logphase.tables import Row, as_frame, rows

if TYPE_CHECKING:
    from pandas import DataFrame

    from logphase.views import Report

FORMAT = 1


def render(report: Report) -> bytes:
    """The table as the bytes of a Parquet file."""
    refuse_without_pyarrow()
    return written(as_frame(Row(*map(valid, row)) for row in rows(report.shown(), hide=report.redact)), report.tool)


def refuse_without_pyarrow() -> None:
    """Say what is missing, before anything is made of it."""
    if find_spec("pyarrow") is None:
        raise LogphaseError("parquet needs pyarrow, which is not installed", "Install it with: pip install pyarrow")


def written(table: DataFrame, tool: str) -> bytes:
    """A frame as the bytes of a Parquet file that names what made it."""
    table.attrs = {"logphase": tool, "format": FORMAT}
    out = BytesIO()
    table.to_parquet(out, engine="pyarrow", index=False)
    return out.getvalue()


def valid(cell: Any) -> Any:  # noqa: ANN401 - a cell keeps its type
    """Text that is valid UTF-8, as the file demands."""
    return cell.encode("utf-8", "replace").decode("utf-8") if isinstance(cell, str) else cell
