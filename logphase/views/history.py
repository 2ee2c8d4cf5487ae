"""Entries of the history and scores of a back-test -> text for people and machines.

Law of this file: pure functions; what came from a log or a path is made harmless before it is shown. The columns of the export are told in
docs/history.md.
"""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime
from io import StringIO
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from logphase.views.spreadsheet import safe as cell
from logphase.views.words import count, moment, one_line, seconds, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from logphase.backtest import Score
    from logphase.history import Entry, Kept
    from logphase.timeline import Value

FORMAT = 1
NUMBERS = (0, 3)  # columns of the list that hold numbers
NEEDED = 6  # columns of the list that never give way, the last of them the model, which is cut instead
MODEL = 12  # columns of it that are always shown
INDENT = 13  # of a value that needs more than one line
COLUMNS = {
    "entry": "int64",
    "remembered": "string",
    "started": "string",
    "source": "string",
    "host": "string",
    "state": "string",
    "total_s": "float64",
    "failed_in": "string",
    "engine": "string",
    "version": "string",
    "model": "string",
    "warmth": "string",
    "alike": "string",
    "phase": "string",
    "rank": "string",
    "status": "string",
    "start_s": "float64",
    "end_s": "float64",
    "duration_s": "float64",
}
"""Column of the export -> pandas dtype, in order."""


def listing(entries: Sequence[Entry], held: int, width: int | None = None) -> str:
    """A table, the newest last. `held`: how many there are in all; `width`: columns that there are, else as many as it takes."""
    if not entries:
        return "The history is empty. watch and run fill it, and: logphase report LOG --remember\n"
    cells = [("entry", "remembered", "state", "total", "caches", "model", "version", "host"), *map(_line, entries)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(cells[0]))]
    while width is not None and (over := sum(widths) + 2 * (len(widths) - 1) - width) > 0:
        if len(widths) == NEEDED:
            widths[-1] = max(widths[-1] - over, MODEL)
            break
        widths.pop()
    lines = [_row([one_line(text, limit=most) for text, most in zip(row, widths, strict=False)], widths) for row in cells]
    if held > len(entries):
        lines.append(f"{held - len(entries):,} older ones: -n 0 shows all")
    return "\n".join(lines) + "\n"


def _row(row: Sequence[str], widths: Sequence[int]) -> str:
    padded = [text.rjust(width) if at in NUMBERS else text.ljust(width) for at, (text, width) in enumerate(zip(row, widths, strict=True))]
    return "  ".join(padded).rstrip()


def _line(entry: Entry) -> tuple[str, str, str, str, str, str, str, str]:
    alike = entry.likeness
    state = entry.state if entry.failed_in is None else f"{entry.state} in {entry.failed_in}"
    return (
        str(entry.number),
        _wall(entry.remembered)[:16].replace("T", " "),
        _word(state),
        "-" if entry.total_s is None else seconds(entry.total_s),
        alike.warmth or "-",
        _word(_short(alike.model)) or "-",
        _word(alike.version) or "-",
        _word(alike.host) or "-",
    )


def _short(model: str) -> str:
    """The last two parts of a path."""
    return "/".join(model.rstrip("/").split("/")[-2:])


def _word(text: str, limit: int | None = 40) -> str:
    return one_line(visible(text), limit=limit)


def _wall(at: float) -> str:
    """A moment of the wall clock, in this machine's time."""
    return datetime.fromtimestamp(at, UTC).astimezone().isoformat(timespec="seconds")


def entry_text(entry: Entry, width: int) -> str:
    """One entry: what it was, its phases, what it is compared by; `width` is in columns."""
    alike = entry.likeness
    ended = "ready" if entry.failed_in is None else f"failed in {entry.failed_in}"
    after = "" if entry.total_s is None else f" after {seconds(entry.total_s)}"
    lines = [f"Entry {entry.number}: {_word(ended)}{after}", ""]
    told = {
        "remembered": _wall(entry.remembered),
        "started": moment(entry.started) if entry.started is not None else "",
        "log": entry.source,
        "host": alike.host,
        "engine": f"{alike.engine} {alike.version}".strip(),
        "model": alike.model,
        "caches": alike.warmth or "the log does not tell cold from warm",
        "topology": _pairs(alike.topology),
        "flags": _pairs(alike.flags),
        "alike": alike.key,
    }
    for name, text in told.items():
        parts = wrap(_word(text, None), max(width, 2 * INDENT) - INDENT, break_on_hyphens=False)
        lines += [f"  {name if at == 0 else '':<11}{part}" for at, part in enumerate(parts)]
    lines += ["", f"  {'phase':<22}{'begin':>10}{'duration':>11}  slowest rank"]
    lines += [_phase_line(phase) for phase in entry.phases]
    return "\n".join(lines) + "\n"


def _pairs(values: Mapping[str, Value]) -> str:
    return ", ".join(f"{name}={_word(str(value))}" for name, value in values.items() if value)


def _phase_line(phase: Kept) -> str:
    begin = "-" if phase.start_s is None else seconds(phase.start_s)
    took = phase.status if phase.duration_s is None else seconds(phase.duration_s)
    slowest = max(phase.ranks, key=lambda rank: phase.ranks[rank]) if len(phase.ranks) > 1 else ""
    last = f"  {_word(slowest)} {seconds(phase.ranks[slowest])}" if slowest else ""
    return f"  {_word(phase.id):<22}{begin:>10}{took:>11}{last}"


def entries_json(entries: Iterable[Entry]) -> str:
    """Entries as one JSON object, format 1."""
    return json.dumps({"format": FORMAT, "entries": [_document(entry) for entry in entries]}, ensure_ascii=True, indent=2) + "\n"


def _document(entry: Entry) -> dict[str, object]:
    alike = entry.likeness
    return {
        "entry": entry.number,
        "identity": entry.identity,
        "remembered": _wall(entry.remembered),
        "started": None if entry.started is None else moment(entry.started),
        "source": entry.source,
        "state": entry.state,
        "total_s": entry.total_s,
        "failed_in": entry.failed_in,
        "engine": alike.engine,
        "version": alike.version or None,
        "model": alike.model or None,
        "topology": dict(alike.topology),
        "flags": {name: value for name, value in alike.flags.items() if value},
        "host": alike.host,
        "warmth": alike.warmth,
        "alike": alike.key,
        "ranks": list(entry.ranks),
        "arguments": dict(entry.arguments),
        "phases": [
            {
                "id": phase.id,
                "title": phase.title,
                "status": phase.status,
                "start_s": phase.start_s,
                "end_s": phase.end_s,
                "duration_s": phase.duration_s,
                "ranks": dict(phase.ranks),
            }
            for phase in entry.phases
        ],
    }


def rows(entries: Iterable[Entry]) -> Iterator[tuple[object, ...]]:
    """The rows of the export: one for each phase, and one for each rank of it whose duration is kept."""
    for entry in entries:
        alike = entry.likeness
        started = None if entry.started is None else moment(entry.started)
        head = (
            entry.number, _wall(entry.remembered), started, entry.source, alike.host, entry.state, entry.total_s, entry.failed_in,
            alike.engine, alike.version, alike.model, alike.warmth, alike.key,
        )  # fmt: skip
        for phase in entry.phases:
            yield (*head, phase.id, None, phase.status, phase.start_s, phase.end_s, phase.duration_s)
            for rank, took in phase.ranks.items():
                yield (*head, phase.id, rank, phase.status, None, None, took)


def as_csv(entries: Iterable[Entry], tool: str) -> str:
    """The export as CSV (RFC 4180)."""
    del tool
    out = StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for row in rows(entries):
        writer.writerow([cell(value) if isinstance(value, str) else value for value in row])
    return out.getvalue()


def as_parquet(entries: Iterable[Entry], tool: str) -> bytes:
    """The export as Parquet (the extra `parquet`)."""
    from logphase.views.parquet import refuse_without_pyarrow, valid, written

    refuse_without_pyarrow()
    import pandas as pd

    found: list[Any] = [tuple(map(valid, row)) for row in rows(entries)]
    return written(pd.DataFrame.from_records(found, columns=list(COLUMNS)).astype(dict(COLUMNS)), tool)


EXPORTS: Mapping[str, Callable[[Sequence[Entry], str], str | bytes]] = {"csv": as_csv, "parquet": as_parquet}


def scores_text(scores: Sequence[Score], startups: int) -> str:
    """What the estimate was worth, at each share of the way."""
    if not scores:
        return "No startup became ready so far: there is nothing to judge an estimate by.\n"
    lines = [f"{count(startups, 'startup')} that became ready, each judged by those before it", ""]
    lines.append(f"{'of the way':<22}{'cases':>7}{'no estimate':>13}{'median error':>14}{'range held':>12}")
    lines += [
        f"{found.name:<22}{found.guesses:>7}{found.guesses - found.told:>13}{_share(found.error):>14}{_share(found.held):>12}"
        for found in scores
    ]
    lines += ["", "error: of the time left, as a share of the truth; range held: meant to be 80 %"]
    return "\n".join(lines) + "\n"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def scores_json(scores: Sequence[Score], startups: int) -> str:
    """The same as one JSON object."""
    found = [
        {"name": one.name, "cases": one.guesses, "told": one.told, "median_error": one.error, "range_held": one.held} for one in scores
    ]
    return json.dumps({"format": FORMAT, "startups": startups, "scores": found}, indent=2) + "\n"
