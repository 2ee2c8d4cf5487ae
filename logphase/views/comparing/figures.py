"""Comparison -> figures for plotly: where each variant's time went, and the phases of two startups along one time.

Law of this file: a figure holds the comparison's own numbers; texts in it are made harmless as in a report's figures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from logphase.views.comparing import said
from logphase.views.figures import QUIET, Figure, axis, base_layout, words
from logphase.views.measures import end_of
from logphase.views.palette import RANKS, colours, ink
from logphase.views.words import seconds

if TYPE_CHECKING:
    from logphase.comparison import Comparison
    from logphase.sides import Run, Variant

_ROOM = 900  # pixels


def stacked(comparison: Comparison, labels: list[str]) -> Figure | None:
    """One bar for each variant, its phases one behind the other, by their medians; None where no duration is known."""
    shades = colours(row.id for row in comparison.phases)
    lanes = [words(label) for label in labels]
    longest = max((sum(row.samples[at].median or 0.0 for row in comparison.phases) for at in range(len(lanes))), default=0.0)
    if longest <= 0:
        return None
    traces: list[Figure] = []
    for row in (*comparison.phases, comparison.gaps):
        medians = [sample.median for sample in row.samples]
        shade = QUIET if row is comparison.gaps else shades[row.id]
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": words(row.title),
                "meta": row.id,
                "y": lanes,
                "x": [median or 0.0 for median in medians],
                "text": [words(row.id) if median and median / longest * _ROOM > 7 * len(row.id) + 8 else "" for median in medians],
                "textposition": "inside",
                "insidetextanchor": "middle",
                "textangle": 0,
                "insidetextfont": {"color": ink(shade), "size": 11},
                "marker": {"color": shade, "opacity": 0.35 if row is comparison.gaps else 1},
                "customdata": [words(f"{said.took(sample)}, n = {sample.n}") for sample in row.samples],
                "hovertemplate": "<b>%{fullData.name}</b> · %{y}<br>%{customdata}<extra></extra>",
            }
        )
    layout = base_layout(34 * len(lanes) + 80, 20)
    layout |= {
        "barmode": "stack",
        "bargap": 0.25,
        "xaxis": axis("seconds, sum of the phases' medians"),
        "yaxis": {"type": "category", "categoryorder": "array", "categoryarray": lanes[::-1], "automargin": True, "showgrid": False},
    }
    return {"data": traces, "layout": layout}


def pairs(comparison: Comparison, labels: list[str]) -> Figure | None:
    """Phases down, time along, a bar for each variant's startup that is nearest its median."""
    shown = [(at, run) for at, variant in enumerate(comparison.variants[: len(RANKS)]) if (run := typical(variant)) is not None]
    order = [words(row.id) for row in comparison.phases]
    traces: list[Figure] = []
    for at, run in shown:
        bars = [
            (phase.id, phase.start_s, end)
            for phase in run.startup.phases
            if phase.start_s is not None and (end := end_of(run.startup, phase)) is not None and words(phase.id) in order
        ]
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": words(labels[at]),
                "offsetgroup": str(at),
                "y": [words(name) for name, _, _ in bars],
                "base": [start for _, start, _ in bars],
                "x": [end - start for _, start, end in bars],
                "marker": {"color": RANKS[at]},
                "customdata": [words(f"@{seconds(start)}  +{seconds(end - start)}") for _, start, end in bars],
                "hovertemplate": "<b>%{y}</b> · %{fullData.name}<br>%{customdata}<extra></extra>",
            }
        )
    if not any(trace["y"] for trace in traces):
        return None
    layout = base_layout(len(order) * max(22, 11 * len(shown)) + 110, 44)
    layout |= {
        "barmode": "group",
        "bargap": 0.25,
        "showlegend": True,
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "font": {"size": 11}, "traceorder": "normal"},
        "xaxis": axis("seconds since start") | {"rangemode": "tozero"},
        "yaxis": {"type": "category", "categoryorder": "array", "categoryarray": order, "autorange": "reversed", "automargin": True},
    }
    return {"data": traces, "layout": layout}


def typical(variant: Variant) -> Run | None:
    """The startup whose total is nearest the median."""
    timed = sorted(
        ((run.total_s, run.source, run.startup.index, run) for run in variant.pooled if run.total_s is not None), key=lambda one: one[:3]
    )
    if timed:
        return timed[(len(timed) - 1) // 2][3]
    return variant.pooled[0] if variant.pooled else None
