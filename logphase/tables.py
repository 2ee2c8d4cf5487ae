"""Startups -> rows of spans, and a pandas frame of them: the only module that makes one.

Law of this file: one row for each startup, phase and rank (and part, where a phase came more than once); what is not known is empty;
seconds are rounded to milliseconds, as in the JSON document. docs/report.md tells every column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from logphase.redact import redact
from logphase.verdict import judge

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pandas import DataFrame

    from logphase.timeline import Phase, Span, Startup
    from logphase.verdict import Verdict

DTYPES: Mapping[str, str] = {
    "file": "string",
    "startup": "int64",
    "source": "string",
    "engine": "string",
    "model": "string",
    "state": "string",
    "started": "datetime64[ms]",
    "ready_s": "float64",
    "phase": "string",
    "title": "string",
    "rank": "string",
    "part": "int64",
    "status": "string",
    "start_s": "float64",
    "end_s": "float64",
    "duration_s": "float64",
    "duration_from": "string",
    "first_line": "Int64",
    "last_line": "Int64",
}
"""Column -> pandas dtype, in order."""


class Row(NamedTuple):
    """A row of the table; the fields are the columns."""

    file: str | None
    startup: int
    source: str | None
    engine: str
    model: str | None
    state: str
    started: float | None
    ready_s: float | None
    phase: str
    title: str
    rank: str | None
    part: int
    status: str
    start_s: float | None
    end_s: float | None
    duration_s: float | None
    duration_from: str | None
    first_line: int | None
    last_line: int | None


def rows(startups: Iterable[tuple[Startup, Verdict, str | None]], *, hide: bool = True) -> Iterator[Row]:
    """The rows of startups, each with its verdict and the file that it is from. `hide`: mask secrets."""
    for startup, verdict, file in startups:
        model = startup.arguments.get("model_path") or startup.arguments.get("model")
        named = None if not isinstance(model, str) else redact(model) if hide else model
        head = (
            file,
            startup.index,
            startup.source,
            startup.engine,
            named,
            verdict.state.value,
            startup.started.time,
            _rounded(startup.ready.after_s if startup.ready else None),
        )
        for phase in startup.phases:
            for rank, part, span in _spans(phase):
                yield Row(*head, phase.id, phase.title, rank, part, *_cells(phase, span))
            for rank in phase.missing:
                if rank not in phase.ranks:
                    yield Row(*head, phase.id, phase.title, rank, 1, "missing", None, None, None, None, None, None)


def _spans(phase: Phase) -> Iterator[tuple[str | None, int, Span | None]]:
    """Rank, number of the part, and the span; None stands for the phase itself, where no rank is known."""
    if phase.spans:
        counts: dict[str | None, int] = {}
        for span in phase.spans:
            counts[span.rank] = counts.get(span.rank, 0) + 1
            yield span.rank, counts[span.rank], span
    elif phase.ranks:
        for rank, span in phase.ranks.items():
            yield rank, 1, span
    else:
        yield None, 1, None


def _cells(phase: Phase, span: Span | None) -> tuple[str, float | None, float | None, float | None, str | None, int | None, int | None]:
    of = span or phase
    status = "failed" if phase.status == "failed" and of.status == "open" else of.status
    first, last = of.lines if of.lines[1] else (None, None)
    return status, _rounded(of.start_s), _rounded(of.end_s), _rounded(of.duration_s), of.duration_from, first, last


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def frame(startups: Iterable[Startup]) -> DataFrame:
    """The rows of startups as a frame, each judged as of its last line; `file` is empty."""
    return as_frame(rows((startup, judge(startup), None) for startup in startups))


def as_frame(found: Iterable[Row]) -> DataFrame:
    """Rows as a frame with the documented dtypes."""
    import pandas as pd

    table = pd.DataFrame.from_records(list(found), columns=list(DTYPES))
    table["started"] = pd.to_datetime(table["started"].astype("float64"), unit="s")
    return table.astype(dict(DTYPES))
