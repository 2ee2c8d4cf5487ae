"""Report -> one self-contained HTML page: verdict, timeline of every rank, what readiness waited for, memory, gaps, evidence.

Law of this file: nothing is fetched, and nothing runs but the two scripts whose hashes the page's own policy names. Figures lie in it as
data; every number of a figure stands in a table too.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING

from logphase.verdict import duration
from logphase.views import figures, measures, sections
from logphase.views.advice import advice
from logphase.views.excerpts import Excerpts, wanted
from logphase.views.markup import Html, el, join, text
from logphase.views.palette import RANKS, colours
from logphase.views.sentence import sentence, unseen
from logphase.views.words import count, lines, quote, seconds, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from logphase.hints import Hint
    from logphase.timeline import Phase, Startup
    from logphase.verdict import Verdict
    from logphase.views import Report
    from logphase.views.figures import Figure

MOST_STARTUPS = 12
"""Startups that one page shows in full."""

_NOTHING = "'none'"
_LINES = 4  # of a hint's evidence


def asset(name: str) -> str:
    """A file that the page is made of."""
    return (files("logphase.views") / "assets" / name).read_text(encoding="utf-8")


def render(report: Report) -> str:
    """The whole page."""
    page = _Page(report)
    shown = report.shown()
    body = [page.startup(at, *parts) for at, parts in enumerate(shown[-MOST_STARTUPS:])] if shown else [_nothing(report)]
    title = visible(sentence(*shown[-1][:2], hide=report.redact)) if shown else "unseen: no startup"
    return whole(f"{title[:120]} · {', '.join(report.sources)[:80]}", [*body, _others(report, len(shown))], page.figures, report.tool)


def whole(title: str, body: Sequence[Html | None], drawn: dict[str, Figure], tool: str) -> str:
    """A page of its parts; its policy lets the scripts that draw the figures run, and nothing else."""
    scripts = (asset("plotly-basic.min.js"), asset("page.js")) if drawn else ()
    return Template(asset("page.html")).substitute(
        policy=_policy(scripts),
        title=text(title),
        style=asset("page.css"),
        body=join(body),
        tool=text(tool),
        credit=" · figures by plotly.js (MIT), which is part of this page" if scripts else "",
        scripts=_scripts(drawn, scripts) if scripts else "",
    )


def _policy(scripts: Sequence[str]) -> str:
    """What the page may do: run these scripts, use its own styles, and nothing else."""
    hashes = [f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts]
    return f"default-src 'none'; script-src {' '.join(hashes) or _NOTHING}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def _scripts(drawn: dict[str, Figure], scripts: Sequence[str]) -> str:
    """The figures as data, and what draws them."""
    told = "<noscript><p>The figures need JavaScript; the tables hold the same numbers.</p></noscript>"
    data = f'<script type="application/json" id="figures">{_data(drawn)}</script>'
    parts = [told, data, *(f"<script>{script}</script>" for script in scripts)]
    return "\n".join(parts)


def _data(drawn: dict[str, Figure]) -> str:
    """The figures as JSON in which nothing can end the element that holds it."""
    from plotly.io.json import to_json_plotly

    return str(to_json_plotly(drawn, engine="json")).replace("<", "\\u003c")


class _Page:
    """Collects the figures while the sections are made."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.figures: dict[str, Figure] = {}

    def startup(self, at: int, startup: Startup, verdict: Verdict, origin: str) -> Html:
        """One startup as an article."""
        name = f"s{at + 1}"
        keys = wanted(startup, verdict)
        own = {item.line: item.text for item in (*verdict.evidence, *((verdict.cause,) if verdict.cause else ())) if item.line > 0}
        excerpts = Excerpts(f"{name}-L", own | dict(self.report.quotes.get(origin, {})), keys, self.report.redact)
        parts = [
            ("time", "Timeline", self._time(name, startup, excerpts)),
            ("chain", "What it waited for", self._waits(startup, excerpts)),
            ("hints", "What to change", _advice(advice(startup), excerpts, hide=self.report.redact)),
            ("progress", "Loading and capture", self._curves(name, startup)),
            ("memory", "GPU memory", self._memory(name, startup, excerpts)),
            ("gaps", "Gaps", sections.gaps(startup)),
            ("warnings", "Warnings", self._warnings(startup, verdict)),
            ("arguments", "Arguments", sections.arguments(self.report, startup)),
            ("log", "The log's own lines", excerpts.section()),
        ]
        made = [(f"{name}-{key}", title, content) for key, title, content in parts if content]
        return el(
            "article",
            sections.verdict_banner(self.report, startup, verdict, origin, excerpts),
            sections.key_figures(startup, excerpts),
            el("nav", *(el("a", title, href=f"#{key}") for key, title, _ in made), aria_label="Sections"),
            *(el("section", el("h2", title, id=f"{key}-h"), content, id=key, aria_labelledby=f"{key}-h") for key, title, content in made),
        )

    def _figure(self, name: str, figure: Figure, told: str, caption: str | None = None) -> Html:
        """A place for a figure; the script fills it."""
        self.figures[name] = figure
        layout = figure["layout"]
        height = layout["height"] if isinstance(layout, dict) else 0
        plot = el("div", id=name, cls="plot", role="img", aria_label=told, style=f"height:{height}px")
        return el("figure", plot, el("figcaption", caption) if caption else None)

    def _time(self, name: str, startup: Startup, excerpts: Excerpts) -> Html | None:
        if not startup.phases:
            return None
        figure = figures.gantt(startup)
        drawn = None
        if figure is not None:
            told = "Phases along the time, one lane for each rank. The table below holds the same numbers."
            shown = figures.lanes(startup)
            few = len(shown) < len(startup.ranks)
            note = (
                f"{len(shown)} of {count(len(startup.ranks), 'rank')} are drawn, the slowest, missing and failed among them. "
                if few
                else ""
            )
            bands = "Grey bands are gaps: no line names that time. " if measures.telling_gaps(startup) else ""
            bands += "Hatched bars have not ended. " if any(phase.status != "done" for phase in _before_ready(startup)) else ""
            how = "Drag to zoom, double-click to see all; colours are those of the table."
            drawn = self._figure(f"{name}-plot-lanes", figure, told, f"{note}{bands}{how}")
        return join([drawn, sections.phases(startup, excerpts), sections.by_rank(startup)])

    def _waits(self, startup: Startup, excerpts: Excerpts) -> Html | None:
        chain, blame = sections.chain(startup, excerpts), sections.blame(startup)
        if chain is None or blame is None:
            return None
        end = "readiness" if startup.ready is not None else "the end of what is known"
        waited = f"What {end} waited for, back to the start: @ when it began, + how long."
        blamed = "Phases by their duration, whether anything waited for them or not."
        left = el("div", el("h3", "Critical chain"), el("p", waited), chain)
        return el("div", left, el("div", el("h3", "Blame"), el("p", blamed), blame), cls="pair")

    def _curves(self, name: str, startup: Startup) -> Html | None:
        shades = colours(phase.id for phase in startup.phases)
        drawn: list[Html] = []
        for phase in startup.phases:
            pace = measures.pace(phase)
            if pace is None:
                continue
            figure = figures.curve(phase, pace, shades[phase.id])
            plot = self._figure(f"{name}-plot-bar-{len(drawn) + 1}", figure, f"Progress of {phase.title} over time", _paced(phase, pace))
            drawn.append(el("div", el("h3", phase.title), plot))
        return el("div", *drawn, cls="curves") if drawn else None

    def _memory(self, name: str, startup: Startup, excerpts: Excerpts) -> Html | None:
        figure, table = figures.memory(startup), sections.memory(startup, excerpts)
        if table is None:
            return None
        many = len(figures.lanes(startup)) > len(RANKS)
        note = "Orange: the rank with least free memory at the end." if many else None
        told = "Free memory of each rank's GPU along the time. The table below sums it up by phase."
        return join([self._figure(f"{name}-plot-memory", figure, told, note) if figure is not None else None, table])

    def _warnings(self, startup: Startup, verdict: Verdict) -> Html | None:
        told = list(dict.fromkeys((*startup.warnings, *verdict.warnings)))
        return el("ul", *(el("li", quote(item, hide=self.report.redact)) for item in told)) if told else None


def _before_ready(startup: Startup) -> list[Phase]:
    return [phase for phase in startup.phases if phase.id not in measures.AFTER]


def _paced(phase: Phase, pace: measures.Pace) -> str:
    unit = phase.progress.unit if phase.progress is not None else "steps"
    (first, _), (last, done) = pace.points[0], pace.points[-1]
    start, end, step = pace.longest
    told = f"{done:,} {unit} in {duration(last - first)}, {pace.mean:.3g} a second. "
    where = f"{duration(start)} into the bar" if start > first else "at its begin"
    return f"{told}Longest wait: {duration(end - start)} for number {step:,}, {where}."


def _advice(hints: Sequence[Hint], excerpts: Excerpts, *, hide: bool) -> Html | None:
    if not hints:
        return None
    items = []
    for hint in hints:
        where = join([" (", join([excerpts.link(line) for line in hint.lines[:_LINES]], ", "), ")"])
        reason = el("p", quote(hint.reason, hide=hide), where)
        action = el("p", *_coded(quote(hint.action, hide=hide)), cls="action")
        items.append(el("li", el("h3", quote(hint.title, hide=hide)), reason, action))
    return el("ol", *items, cls="hints")


def _coded(text: str) -> Iterator[str]:
    """What stands between backticks as code."""
    for at, part in enumerate(text.split("`")):
        yield el("code", part) if at % 2 else part


def _nothing(report: Report) -> Html:
    """The page of a log without a startup."""
    said, advice = unseen(report.timeline)
    looked = [el("li", el("code", quote(item, hide=report.redact))) for item in report.timeline.looked_for]
    banner = el(
        "header",
        el("p", el("span", "unseen", cls="state"), el("span", " · ".join(report.sources), cls="facts"), cls="eyebrow"),
        el("h1", f"{said[:1].upper()}{said[1:]}."),
        el("p", *_coded(advice)),
        el("div", el("h2", "What was looked for"), el("ul", *looked)) if looked else None,
        cls="verdict unseen",
    )
    return el("article", banner)


def _others(report: Report, shown: int) -> Html | None:
    """Startups of the same logs that this page does not show, and what was not kept."""
    held = set(report.chosen[-MOST_STARTUPS:])
    rows = []
    for at, (startup, verdict, origin) in enumerate(zip(report.timeline.startups, report.verdicts, report.origins, strict=True)):
        if at not in held:
            after = startup.ready.after_s if startup.ready is not None else None
            rows.append(
                el(
                    "tr",
                    el("th", f"{origin}, startup {startup.index}", scope="row"),
                    el("td", lines(*startup.lines)),
                    el("td", verdict.state.value),
                    el("td", "" if after is None else f"ready after {seconds(after)}", cls="num"),
                )
            )
    notes = [f"{count(report.timeline.dropped, 'more startup')} counted, but not kept."] if report.timeline.dropped else []
    silent = [source for source in report.sources if source not in report.origins]
    if report.timeline.startups and silent:
        notes.append(f"No startup seen in {', '.join(silent)}.")
    if shown > MOST_STARTUPS:
        notes.append(f"Of {count(shown, 'startup')} that were asked for, the last {MOST_STARTUPS} are shown in full.")
    if not rows and not notes:
        return None
    table = el("div", el("table", el("tbody", *rows[:500])), cls="scroll") if rows else None
    told = [el("p", note) for note in notes]
    return el("section", el("h2", "Other startups"), table, *told, cls="others")
