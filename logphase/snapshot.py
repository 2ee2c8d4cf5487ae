"""StartupBuilder -> Startup: the launch as a frozen value, at the end of what was fed."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from logphase.fingerprint import drift
from logphase.gaps import gaps
from logphase.phases import bar_progress
from logphase.rules import DEFAULT_PATIENCE_S, Edge
from logphase.spans import Track
from logphase.timeline import Cause, Evidence, Memory, Moment, Startup

if TYPE_CHECKING:
    from logphase.startups import StartupBuilder
    from logphase.timeline import Phase

BUDGET_STEPS = 30  # a bar that moves may be silent for so many of its own steps
BUDGET_LEAST_S = 180.0
BY_BAR = "the bar's own rate"
DISAGREE = 0.05  # with the engine's own timings, as a share
DISAGREE_S = 0.5
ANSWERED = 20  # requests before the word that it is ready; a warm-up takes a few
AFTER_READY = frozenset({"serving", "shutdown"})


def snapshot(launch: StartupBuilder) -> Startup:
    """Read a launch; what is fed later does not change the value."""
    zero = launch.zero
    ready = launch.ready
    phases = _phases(launch)
    last_time, progress_time = _known_until(launch)
    end = ready.time if ready else last_time
    total = None if zero is None or end is None else max(0.0, end - zero)
    named = [
        (start - zero, stop - zero, name)
        for name, track in launch.tracks.items()
        if zero is not None and name not in AFTER_READY
        for start, stop in track.intervals()
    ]
    found, share = gaps(named, total) if total is not None else ((), None)
    current = launch.phases.current()
    budget, budget_from = _budget(launch, current)
    cause = launch.failures.cause
    stop = launch.stop
    return Startup(
        index=launch.index,
        engine=launch.rules.engine,
        source=launch.source,
        lines=(launch.first_line, launch.last_line),
        started=Moment(zero if launch.dated else None, launch.zero_line or launch.first_line, launch.zero_from, 0.0),
        ready=Moment(ready.time if launch.dated else None, ready.line, ready.source, ready.after_s) if ready else None,
        stopped=_moment(launch, stop.record.time, stop.record.line) if stop else None,
        ended=_moment(launch, cause.event.record.time, cause.line) if cause else None,
        last_progress=_moment(launch, progress_time, launch.progress[1].line if launch.progress[1] else launch.first_line),
        last_line=_moment(launch, last_time, launch.last_line),
        arguments=dict(launch.arguments),
        ranks=tuple(sorted(launch.ranks, key=_natural)),
        phases=phases,
        gaps=found,
        explained=share,
        current=current,
        failed_in=launch.failed_in(),
        cause=Cause(cause.event.rule.id, cause.line, cause.rank, cause.event.record.text.strip(), cause.event.rule.remedy)
        if cause
        else None,
        ready_evidence=_ready_evidence(launch),
        stop_evidence=(Evidence(stop.rule.id, stop.record.line, None, stop.record.text),) if stop else (),
        progress_evidence=(launch.progress[1],) if launch.progress[1] else (),
        warnings=_warnings(launch, phases, share, total),
        version=str(launch.wording.range),
        head=launch.head,
        signs=launch.signs.all(phases),
        duration_s=total,
        budget_s=budget,
        budget_from=budget_from,
        waiting_for="inference" if ready is None and launch.warm_up_skipped and launch.up else "",
        certain=launch.failures.certain,
        worker=launch.worker,
        worked=launch.worked or "warmup" in launch.tracks,
        memory=tuple(
            Memory(rank, max(0.0, moment - zero), free, phase, line)
            for rank, moment, free, phase, line in launch.memory
            if zero is not None
        ),
        pollers=launch.polls.pollers(zero, dated=launch.dated),
        reached=launch.scheduled or bool(launch.arguments_line) or any(rank for rank in launch.ranks),
    )


def _known_until(launch: StartupBuilder) -> tuple[float | None, float | None]:
    """The moments of the last line and of the last progress: while a bar runs, no stamp comes, but the bar has a clock of its own.

    Progress before the first stamp counts from that: when it was is not known, and it is no silence since 1970.
    """
    last, progress = launch.last_time, launch.zero if launch.progress[0] is None else launch.progress[0]
    current = launch.phases.current()
    if launch.over or launch.ready is not None or launch.arrived or current is None:
        return last, progress
    track = launch.tracks[current]
    last = max((moment for moment in (last, *track.reached()) if moment is not None), default=None)
    return last, max((moment for moment in (progress, track.moved_at) if moment is not None), default=None)


def _moment(launch: StartupBuilder, time: float | None, line: int) -> Moment:
    after = None if time is None or launch.zero is None else max(0.0, time - launch.zero)
    return Moment(time, line, "log", after)


def _phases(launch: StartupBuilder) -> tuple[Phase, ...]:
    order = {name: number for number, name in enumerate(launch.rules.phases)}
    tracks = dict(launch.tracks)
    for name, event in launch.peeked.items():
        if name not in tracks:
            line = event.record.line
            tracks[name] = Track(launch.rules.phases[name], first_line=line, last_line=line)
    failed = launch.failed_in()
    if failed is not None:
        track = tracks.get(failed)
        if track is None:
            track = Track(launch.rules.phases[failed])
            cause = launch.failures.cause
            track.first_line = track.last_line = cause.line if cause else 0
            tracks[failed] = track
    phases = []
    between = launch.failed_between()
    for name in sorted(tracks, key=lambda name: (tracks[name].first_line, order[name])):
        track = tracks[name]
        ranks = () if launch.ready is not None else tuple(launch.ranks)
        if name in launch.peeked:
            track = replace(track, progress=bar_progress(launch.peeked[name], track.rule.unit))
        phases.append(track.phase(launch.zero, ranks, launch.past, failed=name == failed and not between))
    return tuple(phases)


def _budget(launch: StartupBuilder, current: str | None) -> tuple[float, str]:
    """How long the current phase may be silent, and who says so."""
    if current is None:
        return DEFAULT_PATIENCE_S, "the default"
    track = launch.tracks[current]
    patience = track.rule.patience_s
    bar = track.progress
    if bar and bar.step_s and 0 < bar.done < bar.total:
        budget = max(BUDGET_LEAST_S, BUDGET_STEPS * bar.step_s)
        if budget < patience:
            return budget, f"{BY_BAR} of {bar.step_s:.2g} s a step"
    return patience, f"the rules: {track.rule.why}" if track.rule.why else "the rules"


def _ready_evidence(launch: StartupBuilder) -> tuple[Evidence, ...]:
    if launch.ready is None:
        return ()
    return tuple(evidence for evidence in (launch.up, *launch.evidence[:1], *launch.evidence[1:][-1:]) if evidence is not None)


def _warnings(launch: StartupBuilder, phases: tuple[Phase, ...], share: float | None, total: float | None) -> tuple[str, ...]:
    found = list(launch.remarks)
    for events in launch.warnings.values():
        first = events[0]
        more = f", and {len(events) - 1} more" if len(events) > 1 else ""
        remedy = f" {first.rule.remedy}" if first.rule.remedy else ""
        found.append(f"{first.record.text.strip()[:300]} (line {first.record.line}{more}).{remedy}")
    hint = launch.rules.hints.get("bars_only", "")
    spans = [
        span for track in launch.tracks.values() if track.rule.process == "scheduler" for spans in track.spans.values() for span in spans
    ]
    bars = any(track.progress is not None for track in launch.tracks.values())
    if hint and bars and spans and not launch.arguments_line and not any(span.explicit for span in spans):
        found.append(hint)
    found += _disagreements(launch, phases)
    if launch.ranks.lost:
        found.append(f"{launch.ranks.lost} more ranks were counted and left out.")
    said = {name: track.said for name, track in launch.tracks.items()}
    begun = bool(launch.arguments_line) or ("launch" in said and any(Edge.BEGIN in edges for edges in said.values()))
    whole = launch.ready is not None and not launch.worker and begun
    drifted = drift(
        launch.rules,
        launch.wording.range,
        said if whole else {},
        launch.arguments,
        share if whole else None,
        total,
        odd=_odd(launch, whole=whole),
    )
    if drifted:
        found.append(drifted)
    return tuple(found)


def _odd(launch: StartupBuilder, *, whole: bool) -> str:
    """What cannot be so, unless a wording is not known: no arguments line, or a server that works without having said so."""
    if whole and not launch.arguments_line and any(rule.edge is Edge.ARGUMENTS and rule.since for rule in launch.rules.rules):
        return "no line of the arguments was found"
    up = launch.up
    if up is not None and launch.ready is None and launch.failures.cause is None and launch.answered >= ANSWERED:
        return f"it has answered {launch.answered} requests since line {up.line}, and no known line says that it is ready"
    return ""


def _disagreements(launch: StartupBuilder, phases: tuple[Phase, ...]) -> list[str]:
    """Our figures against the engine's own, which take the slowest rank."""
    found = []
    for phase in phases:
        theirs = launch.timings.get(phase.id.replace("-", "_"))
        if not isinstance(theirs, float) or theirs <= 0:
            continue
        ours = max((span.duration_s or 0.0 for span in phase.ranks.values()), default=phase.duration_s or 0.0)
        if phase.spans:
            ours = phase.duration_s or 0.0
        if abs(ours - theirs) > max(DISAGREE * theirs, DISAGREE_S):
            found.append(f"{phase.title}: the engine's own timings say {theirs:.2f} s, its lines say {ours:.2f} s.")
    return found


def _natural(rank: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d{1,15})", rank)]
