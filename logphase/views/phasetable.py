"""Startup -> its phases as a table: in order, by duration, as a chain, or rank by rank.

Law of this file: a number that is not known is a dash; a phase that has not ended shows what has passed so far behind a `>`.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from logphase.views.glyphs import STYLE
from logphase.views.measures import AFTER, SHORTEST_GAP, so_far, total
from logphase.views.words import count, ranks, seconds, spoken, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from logphase.timeline import Phase, Span, Startup
    from logphase.views.glyphs import Glyphs

_SPREAD = 0.01  # seconds: below it no rank is the slowest
_ROOMY_FROM = 80
_TITLES_FROM = 100  # columns
_MEMORY_FROM = 120
_RANKS_APART = 16  # more ranks are summed up


def blocks(startup: Startup, by: str, width: int, glyphs: Glyphs) -> Iterator[RenderableType]:
    """The phases in the order that was asked for."""
    if by == "chain":
        yield _chain(startup, width)
    elif by == "rank" and startup.ranks:
        yield from _by_rank(startup, width)
    else:
        if by == "rank":
            yield Text("This log prints no rank tags: the phases of all ranks together.\n")
        order = sorted(startup.phases, key=lambda phase: -_share_s(startup, phase)) if by == "blame" else startup.phases
        yield _by_phase(startup, order, width, glyphs)


def remarks(startup: Startup) -> list[str]:
    """One sentence for each phase that did not end."""
    return [f"{visible(phase.id)} {phase.status}: {'; '.join(parts)}." for phase in startup.phases if (parts := _unfinished(phase))]


def _unfinished(phase: Phase) -> list[str]:
    if phase.status == "done":
        return []
    parts = []
    if phase.progress is not None:
        step = f"{phase.progress.done:,} of {phase.progress.total:,} {visible(phase.progress.unit)}".rstrip()
        elapsed = phase.progress.elapsed_s
        parts.append(step + (f" after {spoken(elapsed)}" if elapsed is not None else ""))
    ended = [tag for tag, span in phase.ranks.items() if span.status == "done"]
    if ended:
        parts.append(f"ended on {_tags(ended)}")
    if phase.missing:
        parts.append(f"missing {_tags(phase.missing)}")
    return parts


def _tags(tags: Sequence[str]) -> str:
    return f"{len(tags)} ranks ({ranks(tags)})" if len(tags) > _RANKS_APART else ranks(tags)


def _share_s(startup: Startup, phase: Phase) -> float:
    return -1.0 if phase.id in AFTER else so_far(startup, phase) or 0.0


def _duration(startup: Startup, phase: Phase) -> str:
    passed = so_far(startup, phase)
    if passed is None:
        return "-"
    return f"> {seconds(passed)}" if phase.status == "open" else seconds(passed)


def _share(startup: Startup, phase: Phase, whole: float) -> str:
    """Share of the total; none where the log begins in the middle of the phase."""
    passed = so_far(startup, phase)
    known = passed is not None and phase.id not in AFTER and whole > 0 and passed <= whole * 1.01
    return f"{100 * (passed or 0.0) / whole:.1f} %" if known else "-"


def _stretches(startup: Startup, phase: Phase) -> list[tuple[float, float]]:
    parts: Sequence[Span] = [span for span in phase.spans if span.start_s is not None and span.end_s is not None]
    if parts and phase.status == "done":
        return [(span.start_s or 0.0, span.end_s or 0.0) for span in parts]
    passed = so_far(startup, phase)
    if phase.id in AFTER or phase.start_s is None or passed is None:
        return []
    return [(phase.start_s, phase.end_s if phase.end_s is not None else phase.start_s + passed)]


def _last_word(phase: Phase) -> str:
    """The slowest rank and how far behind the fastest it was, or how far the phase has come."""
    if phase.status != "done":
        done = f" {phase.progress.done:,}/{phase.progress.total:,}" if phase.progress is not None else ""
        return f"{phase.status}{done}"
    words = []
    if phase.slowest is not None and (phase.spread_s or 0.0) >= _SPREAD and len(phase.ranks) > 1:
        words.append(f"{visible(phase.slowest)} +{seconds(phase.spread_s or 0.0)}")
    if phase.missing:
        words.append(f"without {ranks(phase.missing)}")
    return ", ".join(words)


def _memory(phase: Phase) -> str:
    used, free = phase.values.get("mem_usage_gb"), phase.values.get("avail_mem_gb")
    parts = [f"{used:.2f} used" if isinstance(used, int | float) else "", f"{free:.2f} free" if isinstance(free, int | float) else ""]
    return ", ".join(filter(None, parts))


def _by_phase(startup: Startup, phases: Sequence[Phase], width: int, glyphs: Glyphs) -> RenderableType:
    whole = total(startup)
    words = [_last_word(phase) for phase in phases]
    durations = [_duration(startup, phase) for phase in phases]
    shares = [_share(startup, phase, whole) for phase in phases]
    titles = [visible(phase.title) for phase in phases] if width >= _TITLES_FROM else []
    memory = [_memory(phase) for phase in phases] if width >= _MEMORY_FROM else []
    widths = {
        "": 1,
        "Phase": min(_widest("Phase", [phase.id for phase in phases]), 20),
        "Title": min(_widest("Title", titles), 32),
        "Duration": _widest("Duration", durations),
        "Share": _widest("Share", shares),
        "Memory, GB": _widest("Memory, GB", memory),
    }
    left_out = {"Title": not titles, "Memory, GB": not any(memory)}
    columns = {name: size for name, size in widths.items() if not left_out.get(name)}
    if any(words):
        room = width - sum(columns.values()) - len(columns) - 1
        columns["Slowest rank"] = min(_widest("Slowest rank", words), max(12, room * 3 // 5))
    bar = max(width - sum(columns.values()) - len(columns), 6) if whole > 0 else 0
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False, header_style="bold")
    for name, size in columns.items():
        if name == "Slowest rank" and bar:
            table.add_column(_scale(whole, bar), width=bar, no_wrap=True)
        right = name in ("Duration", "Share")
        table.add_column(name, width=size, no_wrap=True, overflow="ellipsis", justify="right" if right else "left")
    if bar and "Slowest rank" not in columns:
        table.add_column(_scale(whole, bar), width=bar, no_wrap=True)
    for at, phase in enumerate(phases):
        drawn = glyphs.bar(_stretches(startup, phase), whole, bar, phase.status) if bar else ""
        cells = {"": glyphs.mark(phase.status), "Phase": visible(phase.id), "Title": titles[at] if titles else ""}
        cells |= {"Duration": durations[at], "Share": shares[at], "Memory, GB": memory[at] if memory else ""}
        row = [cells[name] for name in columns if name != "Slowest rank"]
        row += ([drawn] if bar else []) + ([words[at]] if "Slowest rank" in columns else [])
        table.add_row(*map(Text, row), style=STYLE.get(phase.status, ""))
    return table


def _scale(whole: float, width: int) -> str:
    """Head of the bar column: where its left and right edge are."""
    right = seconds(whole)
    return right.rjust(width) if width < len(right) + 4 else "0 s" + right.rjust(width - 3)


def _widest(head: str, cells: Sequence[str]) -> int:
    return max(cell_len(text) for text in (head, *cells))


def _chain(startup: Startup, width: int) -> RenderableType:
    """Every phase and gap in the order of their begin: `@offset` since started, `+duration`."""
    rows = [
        (phase.start_s, visible(phase.id), so_far(startup, phase), visible(phase.title), phase.status)
        for phase in startup.phases
        if phase.start_s is not None
    ]
    rows += [(gap.start_s, "(gap)", gap.duration_s, "no line explains it", "gap") for gap in startup.gaps if gap.duration_s >= SHORTEST_GAP]
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column()  # what gives way
    for start, name, passed, title, status in sorted(rows, key=lambda row: row[0]):
        more = f" ({status})" if status in ("open", "failed") else ""
        told = title + more if width >= _ROOMY_FROM else more.strip()
        lasted = "" if passed is None else f"+{seconds(passed)}"
        grid.add_row(Text(name), f"@{seconds(start)}", lasted, Text(told), style=STYLE.get(status, "dim"))
    if startup.ready is not None and startup.ready.after_s is not None:
        grid.add_row("ready", f"@{seconds(startup.ready.after_s)}", "", "", style="bold green")
    return grid


def _by_rank(startup: Startup, width: int) -> Iterator[RenderableType]:
    phases = [phase for phase in startup.phases if phase.ranks]
    if not phases:
        yield Text("No phase was printed by a rank yet.")
    elif len(startup.ranks) > _RANKS_APART:
        yield Text(f"{count(len(startup.ranks), 'rank')}, seconds of each phase summed up over them:\n")
        yield _summed_up(phases, width)
    else:
        yield Text("Seconds of each phase, rank by rank:\n")
        names = max(cell_len(visible(phase.id)) for phase in phases)
        cell = max(7, *(cell_len(visible(tag)) for tag in startup.ranks))
        fit = max((width - names) // (cell + 1), 1)
        for at in range(0, len(startup.ranks), fit):
            if at:
                yield Text("")
            yield _rank_columns(phases, startup.ranks[at : at + fit], cell)


def _rank_columns(phases: Sequence[Phase], tags: Sequence[str], cell: int) -> RenderableType:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False, header_style="bold")
    table.add_column("Phase", no_wrap=True)
    for tag in tags:
        table.add_column(visible(tag), justify="right", no_wrap=True, width=cell, overflow="ellipsis")
    for phase in phases:
        table.add_row(Text(visible(phase.id)), *(_rank_cell(phase, tag) for tag in tags))
    return table


def _rank_cell(phase: Phase, tag: str) -> Text:
    span = phase.ranks.get(tag)
    if span is None:
        return Text("missing", style="magenta") if tag in phase.missing else Text("-", style="dim")
    if span.duration_s is None or span.status != "done":
        return Text(span.status, style=STYLE.get(span.status, ""))
    return Text(f"{span.duration_s:.2f}", style="bold yellow" if tag == phase.slowest and len(phase.ranks) > 1 else "")


def _summed_up(phases: Sequence[Phase], width: int) -> RenderableType:
    table = Table(box=None, padding=(0, 2 if width >= _ROOMY_FROM else 1, 0, 0), pad_edge=False, show_edge=False, header_style="bold")
    table.add_column("Phase", no_wrap=True, overflow="ellipsis", max_width=20)
    for head in ("Ended", "Fastest", "Median", "Slowest"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("On", no_wrap=True, overflow="ellipsis")
    for phase in phases:
        times = sorted(span.duration_s for span in phase.ranks.values() if span.status == "done" and span.duration_s is not None)
        figures = [f"{value:.2f}" for value in (times[0], median(times), times[-1])] if times else ["-", "-", "-"]
        where = visible(phase.slowest or "")
        if phase.missing:
            where = f"missing {ranks(phase.missing, limit=2)}"
        table.add_row(Text(visible(phase.id)), f"{len(times)}/{len(set(phase.ranks) | set(phase.missing))}", *figures, Text(where))
    return table
