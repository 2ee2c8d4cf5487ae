"""Sheet -> Markdown for a pull request: the result first, then phases, arguments, notes.

Law of this file: names and values stand in code spans, so that nothing of a log comes alive; GitHub's tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from logphase.samples import Verdict
from logphase.views.comparing import said
from logphase.views.comparing.table import letter
from logphase.views.markdown import code, plain
from logphase.views.words import quote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from logphase.comparison import Comparison, Row
    from logphase.views.comparing import Sheet

ARGUMENTS = 30


def render(sheet: Sheet) -> str:
    """The comparison as Markdown."""
    return "\n\n".join((*_parts(sheet), f"<sub>{plain(sheet.tool)}</sub>")) + "\n"


def _parts(sheet: Sheet) -> Iterator[str]:
    comparison = sheet.comparison
    if sheet.breaches is not None:
        yield (
            "### \N{CROSS MARK} startup is over the limit"
            if sheet.breaches
            else "### \N{WHITE HEAVY CHECK MARK} startup is within the limits"
        )
    else:
        yield "### Startup compared"
    if sheet.breaches:
        yield "\n".join(
            f"- **{plain(one.phase)}** of {code(one.variant)}: {plain(one.told)} (limit {plain(one.limit)})" for one in sheet.breaches
        )
    lines = []
    for at, variant in enumerate(comparison.variants):
        told = "baseline" if at == 0 else plain(said.headline(comparison, at))
        lines.append(f"- **{letter(at)}** {code(variant.name)} ({plain(said.facts(comparison, at))}): {told}")
    yield "\n".join(lines)
    yield _table(comparison)
    yield from _arguments(sheet)
    if comparison.environment:
        rows = [
            f"| {code(name)} | {' | '.join(code(quote(value or 'not set', hide=sheet.redact)) for value in values)} |"
            for name, values in comparison.environment
        ]
        yield "\n".join((f"| Environment | {_letters(comparison)} |", f"| :-- |{' :-- |' * len(comparison.variants)}", *rows))
    notes = [*comparison.notes, *said.remarks(comparison)]
    if notes:
        yield "\n".join(f"- {plain(quote(note, hide=sheet.redact))}" for note in notes)


def _letters(comparison: Comparison) -> str:
    return " | ".join(letter(at) for at in range(len(comparison.variants)))


def _table(comparison: Comparison) -> str:
    others = range(1, len(comparison.variants))
    pair = len(comparison.variants) == 2
    heads = [f"{letter(at)} | Change | Verdict" if pair else letter(at) for at in others]
    rows = [
        f"| Phase | A | {' | '.join(heads)} | Because |",
        f"| :-- | --: | {' | '.join('--: | --: | :--' if pair else '--:' for _ in others)} | :-- |",
    ]
    for row in (*comparison.phases, comparison.gaps, comparison.total):
        names = {"gaps": "*no line names it*", "total": "**started to ready**"}
        cells = [_cell(row, at, pair=pair) for at in others]
        because = "" if row.id in names else plain(said.because(comparison, row))
        rows.append(f"| {names.get(row.id) or plain(row.id)} | {said.took(row.samples[0])} | {' | '.join(cells)} | {because} |")
    return "\n".join(rows)


def _cell(row: Row, at: int, *, pair: bool) -> str:
    made = row.changes[at - 1]
    delta, verdict = (said.signed(made.delta_s), str(made.verdict)) if made is not None else ("", "")
    if verdict in (Verdict.SLOWER, Verdict.NEW):
        verdict = f"**{verdict}**"
    between = " | " if pair else "<br>"
    return f"{said.took(row.samples[at])}{between}{delta}{between if pair else ' '}{verdict}"


def _arguments(sheet: Sheet) -> Iterator[str]:
    comparison = sheet.comparison
    arguments, others = said.split(comparison.arguments)
    if not arguments:
        return
    rows = [f"| Argument | {_letters(comparison)} | |", f"| :-- |{' :-- |' * len(comparison.variants)} :-- |"]
    for one in arguments[:ARGUMENTS]:
        values = [code(said.value(one, at, hide=sheet.redact)) for at in range(len(comparison.variants))]
        rows.append(f"| {code(one.name)} | {' | '.join(values)} | {plain(said.kind(one))} |")
    yield "\n".join(rows)
    more = len(arguments[ARGUMENTS:]) + others
    if more:
        yield f"{more} more differ, most of them since not all versions have them."
