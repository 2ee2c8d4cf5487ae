"""Startup -> the parts of its page, as HTML: verdict, key figures, phases, chain and blame, ranks, memory, gaps, arguments.

Law of this file: every statement about a line links to it; a number that is not known is a dash; every figure has its table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from logphase.redact import redact_arguments
from logphase.verdict import duration
from logphase.views import measures
from logphase.views.facts import facts
from logphase.views.markup import Html, el, join
from logphase.views.palette import colours
from logphase.views.startup_arguments import GROUPS
from logphase.views.words import count, moment, quote, ranks, seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from logphase.timeline import Phase, Span, Startup
    from logphase.verdict import Verdict
    from logphase.views import Report
    from logphase.views.excerpts import Excerpts

_DASH = "\N{EN DASH}"
_SPREAD = 0.01  # seconds: below it no rank is the slowest
_EVIDENCE = 12
_VALUE = 240  # characters of an argument


def verdict_banner(report: Report, startup: Startup, verdict: Verdict, origin: str, excerpts: Excerpts) -> Html:
    """State, sentence, facts, cause, evidence and advice."""
    state = verdict.state.value
    return el(
        "header",
        el("p", el("span", state, cls="state"), el("span", " · ".join(facts(report, startup, origin)), cls="facts"), cls="eyebrow"),
        el("h1", quote(verdict.summary, hide=report.redact)),
        _cause(report, verdict, excerpts),
        _evidence(report, verdict, excerpts),
        _advice(verdict),
        cls=f"verdict {state}",
    )


def _cause(report: Report, verdict: Verdict, excerpts: Excerpts) -> Html | None:
    cause = verdict.cause
    if cause is None:
        return None
    where = join([excerpts.link(cause.line), f" on {cause.rank}" if cause.rank else None])
    return el(
        "div",
        el("h2", "First cause, ", where),
        el("p", el("code", quote(cause.text, hide=report.redact)), cls="quoted"),
        el("p", el("strong", "What to do: "), cause.remedy) if cause.remedy else None,
        cls="cause",
    )


def _evidence(report: Report, verdict: Verdict, excerpts: Excerpts) -> Html | None:
    cause = verdict.cause
    shown = [item for item in verdict.evidence if cause is None or (item.line, item.rank) != (cause.line, cause.rank)]
    if not shown:
        return None
    rows = [
        el(
            "li",
            excerpts.link(item.line) if item.line > 0 else el("span", item.rule),
            el("span", item.rank, cls="rank") if item.rank else None,
            el("code", quote(item.text, hide=report.redact, limit=300)),
        )
        for item in shown[:_EVIDENCE]
    ]
    if len(shown) > _EVIDENCE:
        rows.append(el("li", f"and {len(shown) - _EVIDENCE} more lines"))
    return el("div", el("h2", "Evidence"), el("ol", *rows, cls="evidence"))


def _advice(verdict: Verdict) -> Html | None:
    stall = verdict.stall
    if stall is None:
        return None
    told = f"{stall.phase} has been silent for {duration(stall.silence_s)}; {duration(stall.budget_s)} are allowed ({stall.budget_from}). "
    if stall.missing:
        told += f"Not heard of: {ranks(stall.missing)}. Look at these processes first: do they live, what do they wait for "
        told += "(py-spy dump --pid)?"
    else:
        told += "See what the server waits for: py-spy dump --pid of a scheduler process, nvidia-smi, the disk and the network."
    return el("div", el("h2", "What to do"), el("p", told), cls="cause")


def key_figures(startup: Startup, excerpts: Excerpts) -> Html | None:
    """The few numbers that a reader takes away."""
    tiles: list[tuple[str, str, str | None]] = []
    ready, whole = startup.ready, measures.total(startup)
    if ready is not None and ready.after_s is not None:
        when = f"at {moment(ready.time).replace('T', ' ')}" if ready.time is not None else ""
        tiles.append(("Ready after", duration(ready.after_s), when))
    elif whole > 0:
        tiles.append(("Seen for", duration(whole), "never ready" if startup.cause or startup.stopped else "not ready yet"))
    longest = next(iter(measures.blame(startup)), None)
    if longest is not None:
        part = measures.share(startup, longest)
        tiles.append(("Longest phase", duration(measures.so_far(startup, longest) or 0.0), f"{longest.title}{_percent(part, ', {}')}"))
    behind = max(startup.phases, key=lambda phase: phase.spread_s or 0.0, default=None)
    if behind is not None and len(startup.ranks) > 1 and behind.slowest is not None and (behind.spread_s or 0.0) >= _SPREAD:
        tiles.append(("Widest spread of ranks", duration(behind.spread_s), f"{behind.slowest} longest in {behind.title}"))
    known = [value for values in measures.memory_by_phase(startup).values() for value in values]
    least = min(known, key=lambda value: value.avail_gb, default=None)
    if least is not None:
        tiles.append(("Least free GPU memory", f"{least.avail_gb:.2f} GB", join([least.rank, excerpts.link(least.line)], ", ")))
    if startup.explained is not None and whole > 0:
        unnamed = 1 - startup.explained
        tiles.append(("Unexplained", _percent(unnamed, "{}"), f"{duration(unnamed * whole)} that no line names"))
    if not tiles:
        return None
    return el("dl", *(el("div", el("dt", name), el("dd", value), el("dd", note, cls="note")) for name, value, note in tiles), cls="tiles")


def _percent(part: float | None, form: str) -> str:
    return "" if part is None else form.format(f"{100 * part:.1f} %")


def phases(startup: Startup, excerpts: Excerpts) -> Html:
    """Every phase in order, with its bar along the whole time."""
    shades, whole = colours(phase.id for phase in startup.phases), measures.total(startup)
    rows = []
    for phase in startup.phases:
        passed = measures.so_far(startup, phase)
        more = "> " if phase.status != "done" and passed is not None else ""
        rows.append(
            el(
                "tr",
                el("th", _swatch(shades[phase.id]), phase.title, el("small", phase.id), scope="row"),
                _number(_seconds(phase.start_s)),
                _number(f"{more}{_seconds(passed)}"),
                _number(_percent(measures.share(startup, phase), "{}") or _DASH),
                el("td", _track(startup, phase, shades[phase.id], whole), cls="track", aria_hidden="true"),
                el("td", _last_word(phase)),
                el("td", excerpts.links(*phase.lines), cls="lines"),
                cls=phase.status,
            )
        )
    heads = ("Phase", "Begins", "Takes", "Share", f"0 to {duration(whole)}" if whole else "", "Ranks and progress", "Lines")
    return _table("Phases in order", heads, rows, numbers=(1, 2, 3), cls="phases")


def _swatch(shade: str) -> Html:
    return el("i", cls="swatch", style=f"background:{shade}", aria_hidden="true")


def _number(value: str) -> Html:
    return el("td", value, cls="num")


def _seconds(value: float | None) -> str:
    return _DASH if value is None else seconds(value)


def _track(startup: Startup, phase: Phase, shade: str, whole: float) -> Html | None:
    if whole <= 0 or phase.id in measures.AFTER:
        return None
    parts: list[Span | Phase] = [part for part in phase.spans if part.start_s is not None]
    parts = parts or [phase]
    bars = []
    for part in parts:
        start, end = part.start_s, measures.end_of(startup, part)
        if start is None or end is None:
            continue
        left, wide = min(start / whole, 1.0), min(max(end - start, 0.0) / whole, 1.0)
        bars.append(el("i", style=f"left:{100 * left:.2f}%;width:{100 * min(wide, 1 - left):.2f}%;background:{shade}"))
    return el("div", *bars) if bars else None


def _last_word(phase: Phase) -> str:
    words = []
    if phase.status != "done":
        done = f" at {phase.progress.done:,} of {phase.progress.total:,} {phase.progress.unit}" if phase.progress is not None else ""
        words.append(f"{phase.status}{done}")
    if phase.slowest is not None and (phase.spread_s or 0.0) >= _SPREAD and len(phase.ranks) > 1:
        words.append(f"{phase.slowest} longest, +{seconds(phase.spread_s or 0.0)}")
    if phase.missing:
        words.append(f"missing {ranks(phase.missing)}")
    if phase.spans:
        words.append(f"{len(phase.spans)} parts")
    return "; ".join(words)


def chain(startup: Startup, excerpts: Excerpts) -> Html | None:
    """What readiness waited for: `@offset +duration`, as systemd-analyze writes it."""
    shades = colours(phase.id for phase in startup.phases)
    rows = []
    for link in measures.chain(startup):
        at, waited = f"@{seconds(link.start_s)}", f"+{seconds(link.waited_s)}"
        if link.phase is None:
            if link.waited_s >= measures.SHORTEST_GAP:
                rows.append(el("tr", el("th", "no line", scope="row"), _number(at), _number(waited), el("td"), el("td"), cls="nothing"))
            continue
        head = el("th", _swatch(shades[link.phase.id]), link.phase.title, scope="row")
        rank = el("td", link.rank, cls="rank") if link.rank else el("td")
        rows.append(el("tr", head, _number(at), _number(waited), rank, el("td", excerpts.links(*link.phase.lines), cls="lines")))
    if not rows:
        return None
    ready = startup.ready
    if ready is not None and ready.after_s is not None:
        rows.append(
            el(
                "tr",
                el("th", "ready", scope="row"),
                _number(f"@{seconds(ready.after_s)}"),
                el("td"),
                el("td"),
                el("td", excerpts.link(ready.line, str(ready.line)), cls="lines"),
                cls="ready",
            )
        )
    return _table("Critical chain", ("Waited for", "At", "For", "Last rank", "Lines"), rows, numbers=(1, 2), cls="chain")


def blame(startup: Startup) -> Html | None:
    """Phases by duration."""
    shades, listed = colours(phase.id for phase in startup.phases), measures.blame(startup)
    longest = measures.so_far(startup, listed[0]) if listed else None
    if not longest:
        return None
    rows = []
    for phase in listed:
        passed = measures.so_far(startup, phase) or 0.0
        bar = el("div", el("i", style=f"left:0;width:{100 * passed / longest:.2f}%;background:{shades[phase.id]}"))
        share = _percent(measures.share(startup, phase), "{}") or _DASH
        rows.append(
            el(
                "tr",
                el("th", phase.title, scope="row"),
                _number(seconds(passed)),
                _number(share),
                el("td", bar, cls="track", aria_hidden="true"),
            )
        )
    return _table("Phases by duration", ("Phase", "Takes", "Share", ""), rows, numbers=(1, 2))


def by_rank(startup: Startup) -> Html | None:
    """Seconds of each phase on each rank; the slowest rank of a phase is marked."""
    columns = [phase for phase in startup.phases if phase.ranks and phase.id not in measures.AFTER]
    if len(startup.ranks) < 2 or not columns:
        return None
    rows = [el("tr", el("th", tag, scope="row"), *(_rank_cell(phase, tag) for phase in columns)) for tag in startup.ranks]
    heads = ("Rank", *(phase.id for phase in columns))
    table = _table("Seconds of each phase, rank by rank", heads, rows, numbers=range(1, len(heads)))
    return el("details", el("summary", f"Seconds of each phase on each of {len(startup.ranks)} ranks"), table, open=len(startup.ranks) <= 8)


def _rank_cell(phase: Phase, tag: str) -> Html:
    span = phase.ranks.get(tag)
    if span is None:
        return el("td", "missing" if tag in phase.missing else _DASH, cls="num missing" if tag in phase.missing else "num")
    if span.duration_s is None or span.status != "done":
        return el("td", span.status, cls=f"num {span.status}")
    slowest = tag == phase.slowest and (phase.spread_s or 0.0) >= _SPREAD
    return el("td", f"{span.duration_s:.2f}", cls="num slowest" if slowest else "num")


def memory(startup: Startup, excerpts: Excerpts) -> Html | None:
    """Free memory per phase: before, after, and the rank that has least."""
    titles = {phase.id: phase.title for phase in startup.phases}
    rows = []
    for name, own in measures.memory_by_phase(startup).items():
        least = min(own, key=lambda value: value.avail_gb)
        change = f"{own[-1].avail_gb - own[0].avail_gb:+.2f}" if len(own) > 1 else _DASH
        cells = [_number(cell) for cell in (f"{own[0].avail_gb:.2f}", f"{own[-1].avail_gb:.2f}", change)]
        where = el("td", excerpts.link(least.line, str(least.line)), cls="lines")
        rows.append(el("tr", el("th", titles.get(name, name), scope="row"), *cells, el("td", least.rank or _DASH, cls="rank"), where))
    heads = ("Phase", "First value", "Last value", "Change", "On the rank with least", "Line")
    return _table("Free GPU memory in GB", heads, rows, numbers=(1, 2, 3)) if rows else None


def gaps(startup: Startup) -> Html | None:
    """Stretches that no line explains, each between two phases."""
    if startup.explained is None and not startup.gaps:
        return None
    titles = {phase.id: phase.title for phase in startup.phases}
    found = measures.telling_gaps(startup)
    whole = measures.total(startup)
    parts: list[Html] = []
    if startup.explained is not None:
        named = _percent(startup.explained, "{}")
        parts.append(el("p", f"{named} of {duration(whole)} lie between the begin and the end of a phase that lines prove."))
    rows = []
    for gap in sorted(found, key=lambda gap: -gap.duration_s):
        before, after = titles.get(gap.after or "", gap.after), titles.get(gap.before or "", gap.before)
        name = f"between {before} and {after}" if before and after else f"after {before}" if before else f"before {after}"
        share = f"{100 * gap.duration_s / whole:.1f} %" if whole else _DASH
        cells = [_number(cell) for cell in (f"@{seconds(gap.start_s)}", seconds(gap.duration_s), share)]
        rows.append(el("tr", el("th", name, scope="row"), *cells))
    if rows:
        parts.append(_table("Gaps, the longest first", ("No line", "At", "For", "Share"), rows, numbers=(1, 2, 3)))
    return join(parts)


def arguments(report: Report, startup: Startup) -> Html | None:
    """Those that matter to a startup in groups; the rest folded away."""
    given = redact_arguments(startup.arguments) if report.redact else dict(startup.arguments)
    if not given:
        return None
    groups = []
    shown: set[str] = set()
    for title, names in GROUPS.items():
        here = [name for name in names if given.get(name) not in (None, "", "{}")]
        shown |= set(here)
        if here:
            groups.append(el("div", el("h3", title), el("dl", *_pairs(report, here, given))))
    rest = sorted(set(given) - shown)
    folded = (el("summary", count(len(rest), "other argument")), el("dl", *_pairs(report, rest, given), cls="rest"))
    return join([el("div", *groups, cls="groups") if groups else None, el("details", *folded) if rest else None])


def _pairs(report: Report, names: Sequence[str], given: dict[str, object]) -> Iterable[Html]:
    for name in names:
        yield el("div", el("dt", _foldable(name)), el("dd", quote(str(given[name]), hide=report.redact, limit=_VALUE)))


def _foldable(name: str) -> Html:
    """An argument's name that may be folded behind its underscores."""
    *heads, last = name.split("_")
    return join([*(f"{part}_" for part in heads), last], el("wbr"))


def _table(caption: str, heads: Sequence[str], rows: Sequence[Html], *, numbers: Iterable[int] = (), cls: str | None = None) -> Html:
    right = set(numbers)
    head = el("tr", *(el("th", name, scope="col", cls="num" if at in right else None) for at, name in enumerate(heads)))
    table = el("table", el("caption", caption, cls="hidden"), el("thead", head), el("tbody", *rows), cls=cls)
    return el("div", table, cls="scroll", tabindex=0, role="region", aria_label=caption)
