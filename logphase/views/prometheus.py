"""Report -> Prometheus' text format, for the node exporter's textfile collector.

Law of this file: names end in their base unit, no sample has a time of its own (the collector refuses them), each name and set of
labels comes once, what is not known has no sample.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from logphase.verdict import State
from logphase.views import measures
from logphase.views.words import quote, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from logphase.timeline import Phase, Startup
    from logphase.verdict import Verdict
    from logphase.views import Report

Sample = tuple[str, dict[str, str], float]

HELP = {
    "logphase_startups": "Startups that the file holds.",
    "logphase_startup_info": "One for each startup, with what is known of it as labels.",
    "logphase_startup_state": "1 for the state that the startup is in, 0 for the others.",
    "logphase_startup_started_timestamp_seconds": "When it started, on the log's own clock read as UTC.",
    "logphase_startup_ready_seconds": "Seconds from start to ready; absent until it was ready.",
    "logphase_startup_duration_seconds": "Seconds from start to ready, or to the last line.",
    "logphase_startup_explained_ratio": "Share of that time that a named phase explains.",
    "logphase_phase_duration_seconds": "Seconds of a phase that has ended, over all ranks.",
    "logphase_rank_phase_duration_seconds": "Seconds of a phase that has ended, on one rank: its newest part.",
}


def render(report: Report) -> str:
    """The samples, grouped by name; all are gauges."""
    held: list[Sample] = [("logphase_startups", {"file": source}, report.origins.count(source)) for source in report.sources]
    found = list(_unique(chain(held, (sample for shown in report.shown() for sample in _samples(report, *shown)))))
    out: list[str] = []
    for name, told in HELP.items():
        lines = [f"{name}{{{_labels(labels)}}} {_number(value)}" for sample, labels, value in found if sample == name]
        if lines:
            out += [f"# HELP {name} {told}", f"# TYPE {name} gauge", *lines]
    return "".join(f"{line}\n" for line in out)


def _unique(samples: Iterable[Sample]) -> Iterator[Sample]:
    seen: set[tuple[str, str]] = set()
    for sample in samples:
        key = (sample[0], _labels(sample[1]))
        if key not in seen:
            seen.add(key)
            yield sample


def _samples(report: Report, startup: Startup, verdict: Verdict, origin: str) -> Iterator[Sample]:
    base = {"file": origin, "startup": str(startup.index), "engine": startup.engine}
    if startup.source:
        base["source"] = startup.source
    model = startup.arguments.get("model_path") or startup.arguments.get("model")
    known = {"model": quote(model, hide=report.redact)} if isinstance(model, str) else {}
    yield "logphase_startup_info", base | known | {"ranks": str(len(startup.ranks))}, 1
    for state in State:
        if state is not State.UNSEEN:
            yield "logphase_startup_state", base | {"state": state.value}, float(state is verdict.state)
    figures = {
        "logphase_startup_started_timestamp_seconds": startup.started.time,
        "logphase_startup_ready_seconds": startup.ready.after_s if startup.ready else None,
        "logphase_startup_duration_seconds": startup.duration_s,
        "logphase_startup_explained_ratio": startup.explained,
    }
    yield from ((name, base, value) for name, value in figures.items() if value is not None)
    for phase in startup.phases:
        if phase.id not in measures.AFTER:
            yield from _of_phase(base | {"phase": phase.id}, phase)


def _of_phase(labels: dict[str, str], phase: Phase) -> Iterator[Sample]:
    if phase.duration_s is not None:
        yield "logphase_phase_duration_seconds", labels, phase.duration_s
    for rank, span in phase.ranks.items():
        if span.duration_s is not None:
            yield "logphase_rank_phase_duration_seconds", labels | {"rank": rank}, span.duration_s


def _labels(labels: dict[str, str]) -> str:
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())


def _escaped(value: str) -> str:
    return visible(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(round(value, 3)) if value % 1 else str(int(value))
