"""Startup -> figures for plotly, as plain data.

Law of this file: a figure holds the timeline's own numbers, unrounded and unscaled. Texts in it are escaped for plotly, which reads some
HTML in them, and for its templates. Colours of text and grid are the page's (page.css), so that one figure serves both themes.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, TypeAlias

from logphase.views.measures import AFTER, end_of, telling_gaps, total
from logphase.views.palette import RANKS, colours, ink
from logphase.views.words import lines, seconds, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from logphase.timeline import Memory, Phase, Span, Startup
    from logphase.views.measures import Pace

Figure: TypeAlias = dict[str, object]

SERVER = "server"
"""The lane of what no rank printed."""

MOST_LANES = 96
_LABELLED = 16  # lanes that have room for words
_ROOM = 960  # pixels
_POINTS = 80  # from which on a line needs no dots
_LEFT = 62  # pixels: numbers of up to five digits and a title
_WIDEST = 200  # pixels for the names of ranks
QUIET = "#808893"
_GOOD, _BAD = "#1f9d55", "#d1293d"
_UNTAGGED = "no tag"


def words(value: str) -> str:
    """A text for a figure: nothing in it is a tag, an entity or a template."""
    return escape(visible(value), quote=False).replace("%{", "% {")


def lanes(startup: Startup) -> list[str]:
    """Ranks that are drawn: all, or of very many those that were slowest, late or failed first."""
    if len(startup.ranks) <= MOST_LANES:
        return list(startup.ranks)
    telling = {tag for phase in startup.phases for tag in (phase.slowest, *phase.missing) if tag is not None}
    telling |= {tag for phase in startup.phases for tag, span in phase.ranks.items() if span.status == "failed"}
    order = sorted(startup.ranks, key=lambda tag: tag not in telling)[:MOST_LANES]
    return [tag for tag in startup.ranks if tag in set(order)]


def gantt(startup: Startup) -> Figure | None:
    """Phases along the time, a lane for each rank and one for what no rank printed; None where no time is known."""
    shown = lanes(startup)
    shades = colours(phase.id for phase in startup.phases)
    labelled = len(shown) <= _LABELLED
    made = (_bars(startup, phase, set(shown), shades[phase.id], words_fit=labelled) for phase in startup.phases)
    traces = [trace for trace in made if trace is not None]
    if not traces or total(startup) <= 0:
        return None
    used = {lane for trace in traces for lane in _lanes_of(trace)}
    order = ([SERVER] if SERVER in used or not shown else []) + [words(tag) for tag in shown]
    lane_px = 40 if len(order) <= 2 else 27 if len(order) <= 9 else 21 if len(order) <= _LABELLED + 1 else 13
    size = 12 if lane_px > 13 else 9
    layout = base_layout(lane_px * len(order) + 88, 44, left=min(16 + max(map(len, order)) * size * 5 // 8, _WIDEST))
    layout |= {
        "barmode": "overlay",
        "bargap": 0.22,
        "xaxis": axis("seconds since start") | {"range": [0, total(startup) * 1.012]},
        "yaxis": {
            "type": "category",
            "categoryorder": "array",
            "categoryarray": order,
            "range": [len(order) - 0.5, -0.5],
            "fixedrange": len(order) <= _LABELLED,
            "tickfont": {"size": size},
            "tickmode": "array",
            "tickvals": order,
            "ticklabelstandoff": 6,
            "ticklabeloverflow": "allow",
            "showgrid": False,
        },
        "shapes": list(_bands(startup)),
        "annotations": list(_marks(startup)),
    }
    return {"data": traces, "layout": layout}


def blank(note: str) -> Figure:
    """A sheet without a timeline, which says why."""
    hidden = {"visible": False}
    said = {"text": words(note), "showarrow": False, "xref": "paper", "yref": "paper", "x": 0.5, "y": 0.5, "font": {"size": 14}}
    return {"data": [], "layout": base_layout(140, 44) | {"xaxis": hidden, "yaxis": hidden, "annotations": [said]}}


def _lanes_of(trace: Figure) -> list[str]:
    lanes_of = trace["y"]
    return lanes_of if isinstance(lanes_of, list) else []


def _bars(startup: Startup, phase: Phase, shown: set[str], shade: str, *, words_fit: bool) -> Figure | None:
    """All stretches of one phase as one trace."""
    if phase.id in AFTER:
        return None
    bars = [
        (SERVER if tag is None else words(tag), part.start_s, end, part)
        for tag, part in _parts(phase)
        if (tag is None or tag in shown) and part.start_s is not None and (end := end_of(startup, part)) is not None
    ]
    if not bars:
        return None
    marker: Figure = {"color": shade, "line": {"color": [_BAD if bar[3].status == "failed" else shade for bar in bars], "width": 1}}
    if any(bar[3].status != "done" for bar in bars):
        patterns = {"open": "/", "failed": "x"}
        shapes = [patterns.get(bar[3].status, "") for bar in bars]
        marker["pattern"] = {"shape": shapes, "bgcolor": shade, "fgcolor": "#ffffff", "fgopacity": 0.5, "size": 6}
    return {
        "type": "bar",
        "orientation": "h",
        "name": words(phase.title),
        "meta": phase.id,
        "y": [bar[0] for bar in bars],
        "base": [bar[1] for bar in bars],
        "x": [bar[2] - bar[1] for bar in bars],
        "text": [words(phase.id) if words_fit and _fits(phase.id, (bar[2] - bar[1]) / (total(startup) or 1.0)) else "" for bar in bars],
        "textposition": "inside" if words_fit else "none",
        "insidetextanchor": "middle",
        "textangle": 0,
        "insidetextfont": {"color": ink(shade), "size": 11},
        "marker": marker,
        "customdata": [_told(phase, bar[3], bar[1], bar[2]) for bar in bars],
        "hovertemplate": "<b>%{fullData.name}</b> · %{y}<br>%{customdata[0]}<br>%{customdata[1]}<extra></extra>",
    }


def _fits(word: str, share: float) -> bool:
    """Whether a bar has room for a word, on a page of the usual width."""
    return share * _ROOM >= 7 * len(word) + 8


def _parts(phase: Phase) -> Iterator[tuple[str | None, Span | Phase]]:
    """The stretches to draw: every part where it came more than once, else one for each rank, else the phase's own."""
    if phase.spans:
        yield from ((span.rank, span) for span in phase.spans)
    elif phase.ranks:
        yield from phase.ranks.items()
    else:
        yield None, phase


def _told(phase: Phase, part: Span | Phase, start: float, end: float) -> list[str]:
    """What hovering over a bar says."""
    more = "" if part.status == "done" else f" ({part.status})"
    facts = [f"{name.removesuffix('_gb').replace('_', ' ')} {value:,} GB" for name, value in _memory_values(phase)]
    if phase.progress is not None:
        facts.append(f"{phase.progress.done:,}/{phase.progress.total:,} {phase.progress.unit}")
    return [words(f"@{seconds(start)}  +{seconds(end - start)}{more}"), words(" · ".join([lines(*part.lines), *facts]))]


def _memory_values(phase: Phase) -> list[tuple[str, float]]:
    return [(name, value) for name in ("mem_usage_gb", "avail_mem_gb") if isinstance(value := phase.values.get(name), int | float)]


def _bands(startup: Startup) -> Iterator[Figure]:
    """Gaps as bands behind all lanes, and the moment of readiness as a line."""
    for gap in telling_gaps(startup):
        yield {
            "type": "rect",
            "layer": "below",
            "xref": "x",
            "yref": "paper",
            "x0": gap.start_s,
            "x1": gap.start_s + gap.duration_s,
            "y0": 0,
            "y1": 1,
            "fillcolor": QUIET,
            "opacity": 0.22,
            "line": {"width": 0},
            "name": "gap",
        }
    if startup.ready is not None and startup.ready.after_s is not None:
        at = startup.ready.after_s
        line = {"color": _GOOD, "width": 2}
        yield {"type": "line", "xref": "x", "yref": "paper", "x0": at, "x1": at, "y0": 0, "y1": 1, "line": line, "name": "ready"}


def _marks(startup: Startup) -> Iterator[Figure]:
    if startup.ready is not None and startup.ready.after_s is not None:
        yield {
            "x": startup.ready.after_s,
            "y": 1,
            "xref": "x",
            "yref": "paper",
            "yanchor": "bottom",
            "xanchor": "right",
            "text": f"ready @{seconds(startup.ready.after_s)}",
            "showarrow": False,
            "font": {"size": 12},
        }


def memory(startup: Startup) -> Figure | None:
    """Free memory of each rank's GPU along the time."""
    by_rank: dict[str | None, list[Memory]] = {}
    drawn = set(lanes(startup))
    for value in startup.memory:
        if value.phase not in AFTER and (value.rank is None or value.rank in drawn):
            by_rank.setdefault(value.rank, []).append(value)
    points = sum(map(len, by_rank.values()))
    if points < 2:
        return None
    titles = {phase.id: phase.title for phase in startup.phases}
    order = sorted(by_rank, key=lambda tag: (tag is not None, startup.ranks.index(tag) if tag in startup.ranks else 0))
    tagged = [tag for tag in order if tag is not None]
    few = len(tagged) <= len(RANKS)
    lowest = min(order, key=lambda tag: by_rank[tag][-1].avail_gb)
    traces: list[Figure] = []
    for tag in order:
        values = sorted(by_rank[tag], key=lambda value: (value.at_s, value.line))
        if few:
            shade = RANKS[tagged.index(tag)] if tag is not None else QUIET if tagged else RANKS[0]
        else:
            shade = RANKS[1] if tag == lowest else RANKS[0]
        name = words(tag) if tag is not None else SERVER if not startup.ranks else _UNTAGGED
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers" if points <= _POINTS else "lines",
                "name": name,
                "x": [value.at_s for value in values],
                "y": [value.avail_gb for value in values],
                "opacity": 1 if few or tag == lowest else 0.35,
                "line": {"shape": "hv", "width": 1.6, "color": shade},
                "marker": {"size": 4, "color": shade},
                "customdata": [words(f"{titles.get(value.phase, value.phase)}, line {value.line}") for value in values],
                "hovertemplate": "<b>%{fullData.name}</b> %{y:.2f} GB free<br>@%{x:.2f} s<br>%{customdata}<extra></extra>",
            }
        )
    layout = base_layout(300, 44) | {
        "showlegend": few and len(order) > 1,
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "font": {"size": 11}},
        "xaxis": axis("seconds since start") | {"range": [0, max(total(startup), 1e-3) * 1.012]},
        "yaxis": axis("GB free") | {"rangemode": "tozero"},
    }
    return {"data": traces, "layout": layout}


def curve(phase: Phase, pace: Pace, shade: str) -> Figure:
    """A bar's steps over time, and below it its rate: a stall of the storage is a flat line and a hole."""
    unit = words(phase.progress.unit if phase.progress is not None else "steps")
    steps: Figure = {
        "type": "scatter",
        "mode": "lines",
        "x": [point[0] for point in pace.points],
        "y": [point[1] for point in pace.points],
        "line": {"color": shade, "width": 2},
        "meta": phase.id,
        "hovertemplate": f"%{{y}} {unit} after %{{x}} s<extra></extra>",
    }
    rate: Figure = {
        "type": "scatter",
        "mode": "lines",
        "x": [start for start, _, _ in pace.rates] + [pace.rates[-1][1]],
        "y": [value for _, _, value in pace.rates] + [pace.rates[-1][2]],
        "yaxis": "y2",
        "fill": "tozeroy",
        "line": {"shape": "hv", "color": shade, "width": 1},
        "customdata": [words(f"{start:g} to {end:g} s") for start, end, _ in pace.rates] + [""],
        "hovertemplate": f"%{{y:.3g}} {unit} a second<br>%{{customdata}}<extra></extra>",
    }
    layout = base_layout(270, left=50) | {
        "xaxis": axis("the bar's own seconds") | {"anchor": "y2", "range": [pace.points[0][0], pace.points[-1][0]]},
        "yaxis": axis(unit) | {"domain": [0.42, 1], "rangemode": "tozero"},
        "yaxis2": axis("a second") | {"domain": [0, 0.3], "rangemode": "tozero", "nticks": 3},
    }
    return {"data": [steps, rate], "layout": layout}


def axis(title: str) -> Figure:
    """An axis with its title."""
    return {
        "title": {"text": title, "font": {"size": 12}, "standoff": 8},
        "zeroline": False,
        "tickfont": {"size": 11},
        "ticklabeloverflow": "allow",
    }


def base_layout(height: int, top: int = 10, left: int = _LEFT) -> Figure:
    """What all figures look like.

    Margins are given: to have plotly measure them draws every axis several times, and was a third of the page's whole time.
    """
    return {
        "height": height,
        "margin": {"l": left, "r": 18, "t": top, "b": 44},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', 'DejaVu Sans', sans-serif", "size": 12},
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": QUIET, "activecolor": "#2f6fde"},
        "hoverlabel": {"bgcolor": "#1f2733", "bordercolor": "#1f2733", "font": {"color": "#ffffff", "size": 12}, "align": "left"},
        "showlegend": False,
        "hovermode": "closest",
        "dragmode": "zoom",
    }
