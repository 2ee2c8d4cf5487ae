"""Startup -> the lines of its log that a page quotes, each with its neighbours, and links to them.

Law of this file: which lines are wanted is decided here, and read elsewhere; a statement links to a line only if the page shows it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from logphase.views.advice import advice
from logphase.views.markup import Html, el, join
from logphase.views.measures import memory_by_phase
from logphase.views.words import quote

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from logphase.timeline import Startup
    from logphase.verdict import Verdict

CONTEXT = 3  # lines before and after
_LONG, _SHORT = 1500, 400  # characters of a line: one that a statement rests on, one beside it


def wanted(startup: Startup, verdict: Verdict) -> dict[int, list[str]]:
    """Number of a line -> what rests on it, in the order of the lines."""
    found: dict[int, list[str]] = {}
    for line, says in _statements(startup, verdict):
        if line > 0 and says not in found.setdefault(line, []):
            found[line].append(says)
    return dict(sorted(found.items()))


def _statements(startup: Startup, verdict: Verdict) -> Iterator[tuple[int, str]]:
    """Lines and what rests on each."""
    if verdict.cause is not None:
        yield verdict.cause.line, "cause"
    for evidence in verdict.evidence:
        if verdict.cause is None or evidence.line != verdict.cause.line:
            yield evidence.line, evidence.rule
    yield from ((line, "hint") for hint in advice(startup) for line in hint.lines)
    yield startup.started.line, "start"
    for phase in startup.phases:
        first, last = phase.lines
        yield first, f"{phase.id} begins" if last != first else phase.id
        if last != first:
            yield last, f"{phase.id} ends" if phase.status == "done" else f"{phase.id}: last line"
    for values in memory_by_phase(startup).values():
        yield min(values, key=lambda value: value.avail_gb).line, "least free memory"


@dataclass(slots=True)
class Excerpts:
    """The quoted lines of one startup. `held`: number -> text; `keys`: number -> what rests on it."""

    prefix: str
    held: Mapping[int, str]
    keys: Mapping[int, list[str]]
    hide: bool
    _shown: set[int] = field(init=False)

    def __post_init__(self) -> None:
        self._shown = {line for key in self.keys for line in range(key - CONTEXT, key + CONTEXT + 1) if line in self.held}

    def link(self, line: int, words: str | None = None) -> Html:
        """`line 96`, as a link where the page shows that line."""
        said = f"line {line}" if words is None else words
        return el("a", said, href=f"#{self.prefix}{line}") if line in self._shown else el("span", said)

    def links(self, first: int, last: int) -> Html:
        """`41-123`, both ends linked."""
        ends = [self.link(line, str(line)) for line in dict.fromkeys((first, last))]
        return join(ends, "\N{EN DASH}")

    def section(self) -> Html | None:
        """All quoted lines in the order of the log, neighbours together."""
        groups = list(_neighbours(sorted(self._shown)))
        return el("div", *(self._group(group) for group in groups), cls="excerpts") if groups else None

    def _group(self, group: list[int]) -> Html:
        rows = []
        for line in group:
            key = self.keys.get(line)
            text = quote(self.held[line], hide=self.hide, limit=_LONG if key else _SHORT)
            tags = [el("span", says, cls="tag") for says in key or ()]
            head = el("th", str(line), scope="row")
            rows.append(el("tr", head, el("td", *tags, el("code", text)), id=f"{self.prefix}{line}", cls="key" if key else None))
        told = f"Lines {group[0]} to {group[-1]}" if len(group) > 1 else f"Line {group[0]}"
        return el("table", el("tbody", *rows), cls="log", aria_label=told)


def _neighbours(lines: Sequence[int]) -> Iterator[list[int]]:
    group: list[int] = []
    for line in lines:
        if group and line != group[-1] + 1:
            yield group
            group = []
        group.append(line)
    if group:
        yield group
