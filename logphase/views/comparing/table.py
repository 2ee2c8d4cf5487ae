"""Sheet -> text for a person: what changed, phase by phase, and what can have done it.

Law of this file: pure text at a given width; each number has its n in sight, and a change without a reason says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from logphase.comparison import CHANGED
from logphase.samples import Verdict
from logphase.views.comparing import said
from logphase.views.table import NARROWEST, printed
from logphase.views.words import count, quote, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from logphase.comparison import Comparison, Row
    from logphase.views.comparing import Sheet

MOST, FEW = 5, 3  # variants that have room
ARGUMENTS = 20
REASONS = 2  # that are named in a row
WIDE = 100  # columns from which on there is room for shares
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_STYLE = {
    Verdict.SAME: "dim",
    Verdict.SLOWER: "red",
    Verdict.FASTER: "green",
    Verdict.GONE: "green",
    Verdict.NEW: "red",
    Verdict.UNCLEAR: "yellow",
}


def render(sheet: Sheet) -> str:
    """The comparison as text that ends with a newline."""
    width = max(NARROWEST, sheet.width)
    return printed(_blocks(sheet, width), width, color=sheet.color, ascii=sheet.ascii)


def _blocks(sheet: Sheet, width: int) -> Iterator[RenderableType]:
    comparison = sheet.comparison
    shown = min(len(comparison.variants), MOST if width >= WIDE else FEW)
    for at in range(shown):
        yield _variant(comparison, at)
    yield Text("")
    yield _phases(comparison, shown, width)
    yield from _section("Arguments that differ", _arguments(sheet, shown))
    yield from _section("Environment that differs", _environment(sheet, shown))
    notes = [*comparison.notes, *said.remarks(comparison)]
    if shown < len(comparison.variants):
        notes.append(f"{count(len(comparison.variants) - shown, 'more variant')} found no room: --format html and json show all.")
    yield from _section("Notes", [Text(quote(note, hide=sheet.redact)) for note in notes])
    if sheet.breaches is not None:
        lines = [Text(f"{quote(one.variant, hide=sheet.redact)}: {one.phase}: {one.told} (limit {one.limit})") for one in sheet.breaches]
        yield from _section("Over the limit", lines, style="bold red")
        if not lines:
            yield Text("\nWithin the limits.", style="green")


def letter(at: int) -> str:
    """A short name for a variant."""
    return LETTERS[at] if at < len(LETTERS) else str(at + 1)


def _variant(comparison: Comparison, at: int) -> RenderableType:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    named = Text(visible(comparison.variants[at].name), style="bold")
    named.append(f"  {said.facts(comparison, at)}", style="dim")
    told = Text("baseline", style="dim") if at == 0 else Text(said.headline(comparison, at), style=_tone(comparison.total, at))
    named.append("\n")
    named.append_text(told)
    grid.add_row(Text(letter(at), style="bold reverse"), named)
    return grid


def _tone(row: Row, at: int) -> str:
    made = row.changes[at - 1]
    return _STYLE[made.verdict] if made is not None else "yellow"


def _phases(comparison: Comparison, shown: int, width: int) -> RenderableType:
    pair, wide = len(comparison.variants) == 2, width >= WIDE
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1), collapse_padding=not wide, pad_edge=False)
    table.add_column("Phase", no_wrap=True)
    for at in range(shown):
        table.add_column(letter(at), justify="right", no_wrap=pair)
    if pair:
        table.add_column("Change", justify="right", no_wrap=True)
        if wide:
            table.add_column("Share", justify="right", no_wrap=True)
        table.add_column("Verdict", no_wrap=True)
    table.add_column("Because", overflow="fold", min_width=12)
    for row in comparison.phases:
        _line(table, comparison, row, shown, row.id, wide=wide)
    table.add_section()
    _line(table, comparison, comparison.gaps, shown, "(no line names it)", wide=wide)
    _line(table, comparison, comparison.total, shown, "started to ready", wide=wide)
    return table


def _line(table: Table, comparison: Comparison, row: Row, shown: int, name: str, *, wide: bool) -> None:
    pair = len(comparison.variants) == 2
    cells: list[Text] = [Text(name)]
    for at in range(shown):
        cell = Text(said.took(row.samples[at]))
        made = row.changes[at - 1] if at else None
        if made is not None and not pair and made.delta_s is not None:
            cell.append(f"\n{said.signed(made.delta_s)} {made.verdict}", style=_STYLE[made.verdict])
        cells.append(cell)
    if pair:
        made = row.changes[0]
        share = row.shares[0] if row.shares else None
        cells.append(Text(said.signed(made.delta_s) if made is not None else ""))
        if wide:
            cells.append(Text(said.share(share) if made is not None and made.verdict in CHANGED else "", style="dim"))
        cells.append(Text(str(made.verdict) if made is not None else "", style=_STYLE[made.verdict] if made is not None else ""))
    because = "" if row.id in (comparison.gaps.id, comparison.total.id) else said.because(comparison, row, REASONS)
    cells.append(Text(because, style="dim italic" if because == said.NOISE else ""))
    table.add_row(*cells)


def _arguments(sheet: Sheet, shown: int) -> list[RenderableType]:
    arguments, others = said.split(sheet.comparison.arguments)
    if not sheet.comparison.arguments:
        return [Text("none")]
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    for _ in range(shown + 1):
        table.add_column(overflow="fold")
    table.add_row(Text(""), *(Text(letter(at), style="bold") for at in range(shown)), Text(""))
    for one in arguments[:ARGUMENTS]:
        style = "" if one.kind == "chosen" else "dim"
        values = (Text(said.value(one, at, hide=sheet.redact), style=style) for at in range(shown))
        table.add_row(Text(visible(one.name), style=style or "bold"), *values, Text(said.kind(one), style="dim"))
    told: list[RenderableType] = [table]
    more = max(len(arguments) - ARGUMENTS, 0)
    if others or more:
        only = f"{count(others, 'argument')} that not all versions have" if others else ""
        told.append(Text(" and ".join(filter(None, (f"{more} more" if more else "", only))) + ": --format json lists them", style="dim"))
    return told


def _environment(sheet: Sheet, shown: int) -> list[RenderableType]:
    return [
        Text(f"{visible(name)}: {', '.join(quote(value or 'not set', hide=sheet.redact, limit=said.VALUE) for value in values[:shown])}")
        for name, values in sheet.comparison.environment
    ]


def _section(title: str, lines: Sequence[RenderableType], style: str = "bold") -> Iterator[RenderableType]:
    if lines:
        yield Text(f"\n{title}", style=style)
        for line in lines:
            yield Padding(line, (0, 0, 0, 2))
