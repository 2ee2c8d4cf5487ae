"""Report -> text for a person: the verdict first, then where the time went, then what to do.

Law of this file: pure text at a given width, from 60 columns up; everything quoted from the log is made harmless before it is laid out.
rich does the layout and nothing else: no markup, no guessing of the terminal.
"""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from logphase.views import phasetable
from logphase.views.advice import advice
from logphase.views.facts import facts
from logphase.views.glyphs import ASCII, STYLE, UNICODE
from logphase.views.measures import telling_gaps
from logphase.views.sentence import said, unseen
from logphase.views.words import count, quote, ranks, seconds, spoken, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import RenderableType

    from logphase.hints import Hint
    from logphase.timeline import Evidence, Startup
    from logphase.verdict import Verdict
    from logphase.views import Report
    from logphase.views.glyphs import Glyphs

NARROWEST = 60
_EVIDENCE = 8  # lines of evidence shown
_GAPS = 8
_TRANSLATED = str.maketrans({"…": "~", "·": "-"})  # one column each: the layout holds


def render(report: Report) -> str:
    """The whole report as text that ends with a newline."""
    width = max(NARROWEST, report.width)
    glyphs = ASCII if report.ascii else UNICODE
    return printed(_blocks(report, width, glyphs), width, color=report.color, ascii=report.ascii)


def printed(blocks: Iterable[RenderableType], width: int, *, color: bool, ascii: bool) -> str:  # noqa: A002 - the field's name
    """Blocks laid out at a width, as text."""
    out = StringIO()
    console = Console(
        file=out,
        width=width,
        color_system="standard" if color else None,
        force_terminal=color,
        no_color=not color,
        markup=False,
        highlight=False,
        emoji=False,
        legacy_windows=False,
        _environ={},
    )
    for block in blocks:
        console.print(block)
    text = out.getvalue()
    if ascii:
        text = text.translate(_TRANSLATED).encode("ascii", "replace").decode("ascii")
    return "\n".join(line if color else line.rstrip() for line in text.split("\n"))


def _blocks(report: Report, width: int, glyphs: Glyphs) -> Iterator[RenderableType]:
    if not report.timeline.startups:
        yield from _nothing(report)
    for number, shown in enumerate(report.shown()):
        if number:
            yield Text(f"\n{glyphs.rule * width}\n", style="dim")
        yield from _startup(report, shown, width, glyphs)
    yield from _left_out(report)


def _nothing(report: Report) -> Iterator[RenderableType]:
    text, hint = unseen(report.timeline)
    yield _headline("unseen", text)
    yield Text("")
    yield Text(", ".join(visible(source) for source in report.sources), style="dim")
    yield from _section("What was looked for", [quote(item, hide=report.redact) for item in report.timeline.looked_for])
    yield from _section("What to do", [hint])


def _startup(report: Report, shown: tuple[Startup, Verdict, str], width: int, glyphs: Glyphs) -> Iterator[RenderableType]:
    startup, verdict, origin = shown
    yield _headline(verdict.state.value, said(verdict, hide=report.redact))
    yield Text("")
    for line in _packed(facts(report, startup, origin), f" {glyphs.dot} ", width):
        yield Text(line, style="dim", no_wrap=True, overflow="ellipsis")
    yield from _evidence(report, verdict, width)
    if startup.phases:
        yield Text("")
        yield from phasetable.blocks(startup, report.by, width, glyphs)
        yield from _section("", phasetable.remarks(startup))
        yield from _gaps(startup)
    warnings = dict.fromkeys((*startup.warnings, *verdict.warnings))
    yield from _section("Warnings", [quote(warning, hide=report.redact) for warning in warnings], style="yellow")
    yield from _section("What to do", _advice(verdict))
    yield from _section("What to change", [_hint(hint, hide=report.redact) for hint in advice(startup)])


def _headline(state: str, text: str) -> RenderableType:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(f"{state.upper()}:", style=f"bold reverse {STYLE[state]}"), Text(text, style="bold"))
    return grid


def _packed(pieces: Sequence[str], between: str, width: int) -> Iterator[str]:
    """Pieces joined into as few lines as fit, none torn apart."""
    line = ""
    for piece in pieces:
        if line and len(line) + len(between) + len(piece) > width:
            yield line
            line = piece
        else:
            line = f"{line}{between}{piece}" if line else piece
    yield line


def _evidence(report: Report, verdict: Verdict, width: int) -> Iterator[RenderableType]:
    cause = verdict.cause
    shown = [evidence for evidence in verdict.evidence if cause is None or (evidence.line, evidence.rank) != (cause.line, cause.rank)]
    if cause is None and not shown:
        return
    rows = [_quoted(report, evidence) for evidence in shown[:_EVIDENCE]]
    if cause is not None:
        text = quote(cause.text, hide=report.redact, limit=4 * (width - 24))
        rows.insert(0, (f"  line {cause.line}", visible(cause.rank or ""), Text(text, style="red")))
    ranked = any(rank for _, rank, _ in rows)
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(justify="right", no_wrap=True)
    if ranked:
        grid.add_column(no_wrap=True, max_width=max(10, width // 5), overflow="ellipsis")
    grid.add_column(overflow="fold")
    for where, rank, line in rows:
        grid.add_row(*((Text(where), Text(rank), line) if ranked else (Text(where), line)))
    yield Text("")
    yield grid
    if len(shown) > _EVIDENCE:
        yield Text(f"  and {len(shown) - _EVIDENCE} more lines", style="dim")


def _quoted(report: Report, evidence: Evidence) -> tuple[str, str, Text]:
    where = f"  line {evidence.line}" if evidence.line > 0 else f"  {visible(evidence.rule)}"
    text = Text(quote(evidence.text, hide=report.redact), no_wrap=True, overflow="ellipsis")
    return where, visible(evidence.rank or ""), text


def _gaps(startup: Startup) -> Iterator[RenderableType]:
    """What share of the time has a name, and the stretches that have none."""
    total = startup.duration_s or 0.0
    telling = telling_gaps(startup)
    if startup.explained is None and not telling:
        return
    yield Text("")
    if startup.explained is not None:
        yield Text(f"Explained: {startup.explained * 100:.1f} % of {seconds(total)}", style="bold")
    if not telling:
        return
    largest = sorted(telling, key=lambda gap: -gap.duration_s)[:_GAPS]
    yield Text("Gaps, which no line explains:")
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(overflow="fold")
    for gap in sorted(largest, key=lambda gap: gap.start_s):
        between = [f"after {gap.after}" if gap.after else "", f"before {gap.before}" if gap.before else ""]
        grid.add_row(f"  {seconds(gap.duration_s)}", f"at {seconds(gap.start_s)}", Text(", ".join(filter(None, between))))
    yield grid
    if len(telling) > _GAPS:
        yield Text(f"  and {len(telling) - _GAPS} shorter ones", style="dim")


def _advice(verdict: Verdict) -> list[str]:
    advice = []
    if verdict.cause is not None and verdict.cause.remedy:
        advice.append(visible(verdict.cause.remedy))
    stall = verdict.stall
    if stall is not None:
        silence, budget = spoken(stall.silence_s), spoken(stall.budget_s)
        advice.append(f"{visible(stall.phase)} has been silent for {silence}; {budget} are allowed ({visible(stall.budget_from)}).")
        if stall.missing:
            advice.append(
                f"Not heard of: {ranks(stall.missing)}. Look at these processes first: do they live, what do they wait for "
                "(py-spy dump --pid), what does their own node's log say?"
            )
        else:
            advice.append("See what the server waits for: py-spy dump --pid of a scheduler process, nvidia-smi, the disk and the network.")
    return advice


def _hint(hint: Hint, *, hide: bool) -> str:
    where = ", ".join(str(line) for line in dict.fromkeys(hint.lines))
    return quote(f"{hint.title}. {hint.reason} (line {where}) {hint.action}", hide=hide)


def _section(title: str, items: Sequence[str], style: str = "") -> Iterator[RenderableType]:
    """A title with its items below, each hanging behind two columns."""
    if not items:
        return
    yield Text("")
    if title:
        yield Text(title, style=f"bold {style}".strip())
    grid = Table.grid()
    grid.add_column(width=2)
    grid.add_column(overflow="fold")
    for item in items:
        grid.add_row("", Text(item))
    yield grid


def _left_out(report: Report) -> Iterator[RenderableType]:
    """Startups and files that this report read and does not show."""
    notes = []
    hidden = len(report.timeline.startups) - len(report.chosen)
    if hidden > 0:
        notes.append(f"{count(hidden, 'other startup')} not shown: --startup all shows every one, --startup N one of them.")
    if report.timeline.dropped:
        notes.append(f"{count(report.timeline.dropped, 'more startup')} counted, but not kept.")
    merged = {node.source for startup in report.timeline.startups for node in startup.nodes}
    silent = [source for source in report.sources if source not in report.origins and source not in merged]
    if report.timeline.startups and silent:
        notes.append(f"No startup seen in {', '.join(visible(source) for source in silent)}.")
    yield from _section("", notes)
