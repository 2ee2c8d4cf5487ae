"""Frame -> the live screen: the verdict, the phases with their bars, the ranks, what is left, the newest evidence.

Law of this file: pure lines for a given width and height, none wider and not more of them; no terminal, no clock. What does not fit is
summed up, the oldest phases first; the phase that runs, the verdict and the evidence are always there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from logphase.verdict import State
from logphase.views.doing import bar, current, left, patience, spent, stall
from logphase.views.glyphs import ASCII, STYLE, UNICODE
from logphase.views.sentence import said
from logphase.views.words import count, quote, spoken, visible
from logphase.views.words import ranks as runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from logphase.live import Frame
    from logphase.timeline import Phase
    from logphase.views.glyphs import Glyphs

NARROWEST = 40
GRID_RANKS = 64
TITLE = 34
WIDE_TITLE = 50
WIDEST_BAR = 24
ROOMY = 110  # columns from which on it is shown where in time a phase lies
WIDEST_PLACE = 80
TIME = 12
STEPS = 18
GAP = 1
NARROW = 66  # columns below which names and bars give way to figures
NARROW_TIME = 9
NARROW_STEPS = 12
LEAST_PHASES = 3


def lines(frame: Frame, width: int, height: int, *, source: str = "", hide: bool = True, ascii: bool = False) -> list[Text]:  # noqa: A002
    """The screen at a moment; at most `height` lines, none wider than `width`."""
    width = max(width, NARROWEST)
    glyphs = ASCII if ascii else UNICODE
    head = _head(frame, width, source)
    foot = _foot(frame, width, height, hide=hide)
    room = height - len(head) - len(foot)
    grid = _grid(frame, width, max(0, room - LEAST_PHASES), glyphs)
    body = _phases(frame, width, room - len(grid), glyphs)
    whole = [*head, *body, *grid, *foot][: max(1, height)]
    return [_plain(line) for line in whole] if ascii else whole


def _head(frame: Frame, width: int, source: str) -> list[Text]:
    word = frame.verdict.state.value
    ready = frame.startup.ready if frame.startup is not None and frame.verdict.state is State.READY else None
    elapsed = ready.after_s if ready is not None else frame.elapsed_s
    right = spoken(elapsed) if elapsed is not None else f"watched for {spoken(frame.watched_s)}"
    if frame.final is None and frame.silence_s >= 1:
        right = f"silent for {spoken(round(frame.silence_s))}   {right}"
    right = _cut(right, width - len(word) - 1)
    room = width - len(word) - len(right) - 3
    name = visible(source)
    if cell_len(name) > room - 2:  # of a path the end tells more
        name = "…" + name[len(name) - max(0, room - 3) :] if room > 3 else ""
    name = _cut(f"  {name}", room)
    line = Text()
    line.append(word, style=f"bold {STYLE[word]}")
    line.append(name, style="dim")
    line.append(" " * max(1, width - line.cell_len - len(right)))
    line.append(right)
    return [line]


def _phases(frame: Frame, width: int, room: int, glyphs: Glyphs) -> list[Text]:
    """One line for each phase; the oldest are summed up where there is no room."""
    phases = [] if frame.startup is None else [phase for phase in frame.startup.phases if phase.id != "serving"]
    if room <= 0 or not phases:
        return []
    hidden = max(0, len(phases) - room + 1) if len(phases) > room else 0
    shown = phases[hidden:]
    kept = [_phase(frame, phase, width, glyphs) for phase in shown]
    if hidden:
        ended = max((phase.end_s for phase in phases[:hidden] if phase.end_s is not None), default=None)
        until = f", until {spoken(ended)}" if ended is not None else ""
        kept.insert(0, Text(_cut(f" {glyphs.done} {count(hidden, 'earlier phase')}{until}", width), style="dim"))
    return kept[:room]


def _phase(frame: Frame, phase: Phase, width: int, glyphs: Glyphs) -> Text:
    time = spent(frame, phase)
    narrow = width < NARROW
    title = min(WIDE_TITLE if width >= ROOMY else TITLE, max(12, width - (NARROW_TIME + NARROW_STEPS + 5 if narrow else TIME + STEPS + 8)))
    style = STYLE.get(phase.status, "")
    line = Text(f" {glyphs.mark(phase.status)} ", style=style)
    line.append(set_cell_size(_cut(visible(phase.title), title), title), style="" if phase.status == "done" else f"bold {style}")
    line.append(_right("-" if time is None else spoken(time), NARROW_TIME if narrow else TIME))
    steps = bar(phase)
    columns = NARROW_STEPS if narrow else STEPS
    line.append(_right(_cut(steps, columns), columns + GAP), style="dim" if phase.status == "done" else "")
    cells = min(WIDEST_BAR, width - line.cell_len - 1)
    if cells >= 4:
        line.append(" ")
        line.append(_filled(phase, cells, glyphs), style=style or "green")
    if width >= ROOMY and frame.elapsed_s and phase.start_s is not None:
        place = min(WIDEST_PLACE, width - line.cell_len - 3)
        stretch = (phase.start_s, phase.end_s if phase.end_s is not None else frame.elapsed_s)
        line.append("   ")
        line.append(glyphs.bar([stretch], frame.elapsed_s, place, phase.status).rstrip(), style=style or "dim")
    line.truncate(width)
    return line


def _filled(phase: Phase, cells: int, glyphs: Glyphs) -> str:
    """How much of a phase is done: of one without a bar nobody knows."""
    if phase.status == "done":
        return glyphs.full * cells
    done = phase.progress
    if done is None or done.total <= 0:
        return glyphs.dot * cells
    full = min(cells, int(cells * min(done.done / done.total, 1.0)))
    filling = glyphs.broken if phase.status == "failed" else glyphs.full
    return filling * full + glyphs.dot * (cells - full)


def _grid(frame: Frame, width: int, room: int, glyphs: Glyphs) -> list[Text]:
    """Where each rank is in the phase that runs; as text where there are more than fit."""
    phase = current(frame)
    if frame.startup is None or phase is None or not frame.startup.ranks or room <= 0:
        return []
    if frame.verdict.state is State.READY or not phase.ranks:
        return []
    tags = frame.startup.ranks
    cell = max(cell_len(visible(tag)) for tag in tags) + 3
    columns = max(1, (width - 1) // cell)
    if len(tags) > GRID_RANKS or (len(tags) + columns - 1) // columns > room:
        return [_summed(phase, tags, width, glyphs)]
    rows = []
    for start in range(0, len(tags), columns):
        row = Text(" ")
        for tag in tags[start : start + columns]:
            status = _status(phase, tag)
            row.append(
                set_cell_size(f"{glyphs.mark(status) if status else glyphs.dot} {visible(tag)}", cell),
                style=STYLE.get(status, "dim") or "green",
            )
        row.rstrip()
        rows.append(row)
    return rows


def _status(phase: Phase, tag: str) -> str:
    """done, open or failed; empty for a rank that has not spoken in the phase."""
    return phase.ranks[tag].status if tag in phase.ranks else ""


def _summed(phase: Phase, tags: Sequence[str], width: int, glyphs: Glyphs) -> Text:
    parts = []
    for status in ("failed", "open", "done", ""):
        those = [tag for tag in tags if _status(phase, tag) == status]
        if those:
            parts.append(f"{glyphs.mark(status) if status else glyphs.dot} {len(those)}: {runs(those)}")
    return Text(_cut(" " + "   ".join(parts), width))


def _foot(frame: Frame, width: int, height: int, *, hide: bool) -> list[Text]:
    """The verdict's sentence, what is left, the remedy, the newest evidence and note."""
    verdict = frame.verdict
    found: list[Text] = []
    roomy = height >= 20
    if verdict.state is not State.STARTING or (frame.startup is not None and frame.startup.waiting_for) or current(frame) is None:
        found += _wrapped(f" {verdict.state}: {said(verdict, hide=hide)}", width, 3 if roomy else 2, f"bold {STYLE[verdict.state.value]}")
    if verdict.cause is not None and verdict.cause.remedy:
        found += _wrapped(f" {quote(verdict.cause.remedy, hide=hide)}", width, 3 if roomy else 1, "")
    for told in stall(frame):
        found += _wrapped(f" {told}", width, 2 if roomy else 1, "")
    if frame.estimate is not None and frame.final is None:
        found.append(Text(_cut(f" {left(frame.estimate, source=True)}", width)))
    if patience(frame):
        found += _wrapped(f" {patience(frame)}", width, 2 if roomy else 1, "dim")
    last = next((one for one in reversed(verdict.evidence) if one.line > 0), None)
    if last is not None:
        found.append(Text(_cut(f" line {last.line:,}: {quote(last.text, hide=hide)}", width), style="dim"))
    shown = frame.notices[-2:] if roomy else frame.notices[-1:]
    found += [Text(_cut(f" note: {quote(notice, hide=hide)}", width), style="dim") for notice in shown]
    return found[: max(2, height - 1 - LEAST_PHASES)]


def _wrapped(text: str, width: int, limit: int, style: str) -> list[Text]:
    """A sentence over at most `limit` lines."""
    rows: list[str] = []
    row = ""
    for word in text.split():
        if row and cell_len(f"{row} {word}") > width:
            rows.append(row)
            row = f"   {word}"
        else:
            row = f"{row} {word}"
    rows.append(row)
    if len(rows) > limit:
        rows = [*rows[: limit - 1], " ".join([rows[limit - 1], *(one.strip() for one in rows[limit:])])]
    return [Text(_cut(one, width), style=style) for one in rows]


def _cut(text: str, width: int) -> str:
    """The text in at most `width` columns."""
    return text if cell_len(text) <= width else set_cell_size(text, max(0, width - 1)).rstrip() + "…" if width > 0 else ""


def _right(text: str, width: int) -> str:
    return " " * max(0, width - cell_len(text)) + text


def _plain(line: Text) -> Text:
    """The line for a terminal that has only ASCII."""
    text = line.plain.replace("…", "~").replace("·", "-").encode("ascii", "replace").decode("ascii")
    made = Text(text, style=line.style)
    for span in line.spans if len(text) == len(line.plain) else ():
        made.stylize(span.style, span.start, span.end)
    return made
