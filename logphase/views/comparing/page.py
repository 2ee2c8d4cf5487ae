"""Sheet -> one self-contained HTML page: what each variant took, phases side by side, what differs between the launches.

Law of this file: the page is made as a report's is, under the same policy; every number of a figure stands in a table too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from logphase.comparison import CHANGED
from logphase.views.comparing import figures, said
from logphase.views.comparing.table import letter
from logphase.views.markup import Html, el, join
from logphase.views.page import whole
from logphase.views.palette import colours
from logphase.views.words import count, quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from logphase.comparison import Row
    from logphase.views.comparing import Sheet
    from logphase.views.figures import Figure

VALUE = 240  # characters of an argument
REASONS = 4  # that are named in a row


def render(sheet: Sheet) -> str:
    """The whole page."""
    page = _Page(sheet)
    return whole(f"{page.title} · {', '.join(page.labels)[:80]}", [page.article()], page.figures, sheet.tool)


class _Page:
    """Collects the figures while the sections are made."""

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        self.comparison = sheet.comparison
        self.figures: dict[str, Figure] = {}
        names = enumerate(said.names(sheet.comparison))
        self.labels = [letter(at) if name == letter(at) else f"{letter(at)} {name}" for at, name in names]
        self.pair = len(self.labels) == 2
        self.title = said.headline(sheet.comparison, 1) if self.pair else f"{count(len(self.labels), 'variant')} of a startup compared"

    def article(self) -> Html:
        """Banner and sections."""
        parts = [
            ("phases", "Phases", self._phases()),
            ("bars", "Where the time went", self._stacked()),
            ("pairs", "Along the time", self._pairs()),
            ("ranks", "By rank", self._ranks()),
            ("arguments", "Arguments that differ", self._arguments()),
            ("environment", "Environment that differs", self._environment()),
            ("notes", "Notes", self._notes()),
        ]
        made = [(name, title, content) for name, title, content in parts if content is not None]
        return el(
            "article",
            self._banner(),
            el("nav", *(el("a", title, href=f"#{name}") for name, title, _ in made), aria_label="Sections"),
            *(
                el("section", el("h2", title, id=f"{name}-h"), content, id=name, aria_labelledby=f"{name}-h")
                for name, title, content in made
            ),
        )

    def _banner(self) -> Html:
        breaches = self.sheet.breaches
        state, word = (
            ("stopped", "compared") if breaches is None else ("crashed", "over the limit") if breaches else ("ready", "within limits")
        )
        rows = []
        for at, variant in enumerate(self.comparison.variants):
            told = "baseline" if at == 0 else said.headline(self.comparison, at)
            name = quote(variant.name, hide=self.sheet.redact)
            rows.append(
                el("tr", el("th", letter(at), scope="row"), el("td", name), el("td", said.facts(self.comparison, at)), el("td", told))
            )
        broken = [el("li", f"{one.variant}: {one.phase}: {one.told} (limit {one.limit})") for one in breaches or ()]
        return el(
            "header",
            el("p", el("span", word, cls="state"), el("span", self.comparison.engine, cls="facts"), cls="eyebrow"),
            el("h1", f"{self.title[:1].upper()}{self.title[1:]}."),
            _scroll("Variants", [el("tbody", *rows)], cls="sides"),
            el("ul", *broken) if broken else None,
            cls=f"verdict {state}",
        )

    def _phases(self) -> Html:
        others = range(1, len(self.labels))
        shades = colours(row.id for row in self.comparison.phases)
        columns = self.labels if self.pair else [letter(at) for at in range(len(self.labels))]
        heads = [el("th", "Phase", scope="col"), el("th", columns[0], scope="col", cls="num")]
        for at in others:
            heads += [
                el("th", columns[at], scope="col", cls="num"),
                el("th", "Change", scope="col", cls="num"),
                el("th", "Verdict", scope="col"),
            ]
        if self.pair:
            heads.append(el("th", "Because", scope="col"))
        rows = [self._row(row, shades.get(row.id)) for row in (*self.comparison.phases, self.comparison.gaps, self.comparison.total)]
        told = "Medians, with the range where there are repeats; a change against the baseline, and its share of the total's change."
        return join([el("p", told), _scroll("Phases in each variant", [el("thead", el("tr", *heads)), el("tbody", *rows)], cls="variants")])

    def _row(self, row: Row, shade: str | None) -> Html:
        swatch = el("span", cls="swatch", style=f"background:{shade}") if shade else None
        ends = row.id in (self.comparison.total.id, self.comparison.gaps.id)
        reason = "" if ends else said.because(self.comparison, row, REASONS)
        under = el("div", f"because: {reason}", cls="because") if reason and not self.pair else None
        cells: list[Html] = [
            el("th", swatch, row.title, el("small", row.id), under, scope="row"),
            el("td", said.took(row.samples[0]), cls="num"),
        ]
        for at in range(1, len(self.labels)):
            made = row.changes[at - 1]
            share = said.share(row.shares[at - 1]) if row.shares and made is not None and made.verdict in CHANGED else ""
            delta = said.signed(made.delta_s) if made is not None else ""
            verdict = str(made.verdict) if made is not None else ""
            cells += [
                el("td", said.took(row.samples[at]), cls="num"),
                el("td", f"{delta} ({share})" if share else delta, cls="num"),
                el("td", verdict, cls=verdict or None, title=made.grounds if made is not None else None),
            ]
        if self.pair:
            cells.append(el("td", reason, cls="because"))
        return el("tr", *cells, cls="whole" if row.id == self.comparison.total.id else None)

    def _drawn(self, name: str, figure: Figure | None, told: str, caption: str) -> Html | None:
        if figure is None:
            return None
        self.figures[name] = figure
        layout = figure["layout"]
        height = layout["height"] if isinstance(layout, dict) else 0
        plot = el("div", id=name, cls="plot", role="img", aria_label=told, style=f"height:{height}px")
        return el("figure", plot, el("figcaption", caption))

    def _stacked(self) -> Html | None:
        told = "One bar for each variant, phases one behind the other. The table above holds the same numbers."
        caption = (
            "Medians of the phases, in order. Where phases overlap the bar is longer than the startup; grey is time that no line names."
        )
        return self._drawn("plot-stacked", figures.stacked(self.comparison, self.labels), told, caption)

    def _pairs(self) -> Html | None:
        told = "Phases down, time along, one bar for each variant."
        caption = "Of each variant the startup that is nearest its median."
        return self._drawn("plot-pairs", figures.pairs(self.comparison, self.labels), told, caption)

    def _ranks(self) -> Html | None:
        rows = [
            el(
                "tr",
                el("th", f"{row.id} ", el("small", quote(tag, hide=self.sheet.redact)), scope="row"),
                *(el("td", said.took(sample), cls="num") for sample in samples),
            )
            for row in self.comparison.phases
            for tag, samples in row.ranks.items()
        ]
        if not rows:
            return None
        head = el("tr", el("th", "Phase and rank", scope="col"), *(el("th", label, scope="col", cls="num") for label in self.labels))
        table = _scroll("Phases by rank", [el("thead", head), el("tbody", *rows)])
        return el("details", el("summary", count(len(rows), "row")), table)

    def _arguments(self) -> Html:
        arguments, others = said.split(self.comparison.arguments)
        if not self.comparison.arguments:
            return el("p", "None.")
        head = el(
            "tr", el("th", "Argument", scope="col"), *(el("th", label, scope="col") for label in self.labels), el("th", "", scope="col")
        )
        rows = [
            el(
                "tr",
                el("th", one.name, scope="row"),
                *(el("td", said.value(one, at, hide=self.sheet.redact, limit=VALUE)) for at in range(len(self.labels))),
                el("td", said.kind(one)),
                cls=one.kind,
            )
            for one in arguments
        ]
        told = el("p", f"{count(others, 'more argument')} in which the versions differ.") if others else None
        return join([_scroll("Arguments that differ", [el("thead", head), el("tbody", *rows)], cls="arguments"), told])

    def _environment(self) -> Html | None:
        rows = [
            el("tr", el("th", name, scope="row"), *(el("td", quote(value or "not set", hide=self.sheet.redact)) for value in values))
            for name, values in self.comparison.environment
        ]
        return _scroll("Environment that differs", [el("tbody", *rows)], cls="arguments") if rows else None

    def _notes(self) -> Html | None:
        notes = [quote(note, hide=self.sheet.redact) for note in (*self.comparison.notes, *said.remarks(self.comparison))]
        return el("ul", *(el("li", note) for note in notes)) if notes else None


def _scroll(caption: str, parts: Sequence[Html], cls: str | None = None) -> Html:
    """A table with its caption for who does not see it, in a box that scrolls."""
    table = el("table", el("caption", caption, cls="hidden"), *parts, cls=cls)
    return el("div", table, cls="scroll", tabindex=0, role="region", aria_label=caption)
