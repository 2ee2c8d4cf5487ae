"""Report -> Markdown for an issue, a pull request or a chat: verdict, phases, gaps, what to change.

Law of this file: what the log wrote stands in code spans, so that no `@name`, `#12`, link, tag or table border of it comes alive; the
text reads well where nothing renders it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from logphase.views import measures
from logphase.views.advice import advice
from logphase.views.facts import facts
from logphase.views.sentence import said, unseen
from logphase.views.words import quote, ranks, seconds, spoken, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from logphase.timeline import Phase, Startup
    from logphase.verdict import Verdict
    from logphase.views import Report

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~@!&])")
_MENTION = re.compile(r"([@#])(?=\w)")  # GitHub looks for these when all markup is gone: a mark without width parts them
_EVIDENCE = 6
_GAPS = 5
_SPREAD = 0.01


def render(report: Report) -> str:
    """The report as Markdown with GitHub's tables."""
    parts = [part for shown in report.shown() for part in _startup(report, *shown)]
    if not report.timeline.startups:
        said, advised = unseen(report.timeline)
        parts = [f"### **unseen** in {code(', '.join(report.sources))}", plain(f"{said}. {advised}")]
    return "\n\n".join([*parts, f"<sub>{plain(report.tool)}</sub>"]) + "\n"


def _startup(report: Report, startup: Startup, verdict: Verdict, origin: str) -> Iterator[str]:
    hide = report.redact
    yield f"### **{verdict.state.value}**: {plain(said(verdict, hide=hide))}"
    yield " · ".join(facts(report, startup, origin, code))
    if verdict.cause is not None:
        rank = f" on {code(verdict.cause.rank)}" if verdict.cause.rank else ""
        yield f"**First cause**, line {verdict.cause.line}{rank}:\n\n{code(quote(verdict.cause.text, hide=hide))}"
        if verdict.cause.remedy:
            yield f"**What to do:** {plain(verdict.cause.remedy)}"
    if startup.phases:
        yield _table(startup)
    yield from _gaps(startup)
    hints = [f"**{plain(hint.title)}.** {plain(hint.reason)} {plain(hint.action)}" for hint in advice(startup)]
    yield from _section("What to change", hints)
    yield from _section("Warnings", [plain(quote(text, hide=hide)) for text in dict.fromkeys((*startup.warnings, *verdict.warnings))])
    evidence = [item for item in verdict.evidence if item.line > 0][:_EVIDENCE]
    yield from _section("Evidence", [f"line {item.line}: {code(quote(item.text, hide=hide, limit=300))}" for item in evidence])


def _table(startup: Startup) -> str:
    rows = [
        "| Phase | Takes | Share | Begins | Slowest rank |",
        "| :-- | --: | --: | --: | :-- |",
    ]
    for phase in startup.phases:
        cells = (plain(phase.id), _takes(startup, phase), _share(startup, phase), _begins(phase), _ranks(phase))
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def _takes(startup: Startup, phase: Phase) -> str:
    passed = measures.so_far(startup, phase)
    if phase.id in measures.AFTER or passed is None:
        return "-" if phase.status == "done" else phase.status
    if phase.status == "done":
        return seconds(passed)
    return f"{phase.status} after {seconds(passed)}"


def _share(startup: Startup, phase: Phase) -> str:
    part = measures.share(startup, phase)
    return "-" if part is None else f"{100 * part:.1f} %"


def _begins(phase: Phase) -> str:
    return "-" if phase.start_s is None else f"@{phase.start_s:.2f} s"


def _ranks(phase: Phase) -> str:
    words = []
    if phase.slowest is not None and len(phase.ranks) > 1 and (phase.spread_s or 0.0) >= _SPREAD:
        words.append(f"{plain(phase.slowest)} +{seconds(phase.spread_s or 0.0)}")
    if phase.missing:
        words.append(f"missing {plain(ranks(phase.missing))}")
    if phase.progress is not None and phase.status != "done":
        words.append(f"{phase.progress.done:,} of {phase.progress.total:,} {plain(phase.progress.unit)}")
    return ", ".join(words)


def _gaps(startup: Startup) -> Iterator[str]:
    if startup.explained is None:
        return
    telling = sorted(measures.telling_gaps(startup), key=lambda gap: -gap.duration_s)[:_GAPS]
    between = [
        f"{seconds(gap.duration_s)} between {plain(gap.after or 'the start')} and {plain(gap.before or 'the end')}"
        for gap in sorted(telling, key=lambda gap: gap.start_s)
    ]
    named = f"{100 * startup.explained:.1f} % of {spoken(measures.total(startup))} is named"
    yield f"{named}; no line explains {'; '.join(between)}." if between else f"{named}."


def _section(title: str, items: Sequence[str]) -> Iterator[str]:
    if items:
        yield f"**{title}**\n\n" + "\n".join(f"- {item}" for item in items)


def code(text: str) -> str:
    """Text in a code span that it cannot end; a table's border is no part of it."""
    shown = visible(text).replace("|", "\u2502").strip() or " "
    fence = "`" * (max((len(run) for run in re.findall("`+", shown)), default=0) + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def plain(text: str) -> str:
    """Our own words, with names from the log in them: nothing in it is markup."""
    inert = _SPECIAL.sub(r"\\\1", visible(text)).replace("://", ":\\//").replace("www.", "www\\.")
    return _MENTION.sub("\\1\u200b", inert)
