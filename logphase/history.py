"""Startup <-> Entry: what is kept of a finished startup, as plain values, and the startup as it was at a moment of its way.

Law of this file: nothing here reads or writes. What is kept holds no secret (`redact`), and as much as time left, comparisons and a
back-test need: phases with their begin and end, ranks with their duration, the curve of each bar in a few points.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from logphase.likeness import Likeness, likeness
from logphase.redact import redact, redact_arguments
from logphase.timeline import Moment, Phase, Progress, Span, Startup

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from logphase.rules import RuleSet

READY, FAILED = "ready", "failed"
POINTS = 24  # of a bar's curve
RANKS = 128  # whose durations are kept; of more, the slowest
NOT_KEPT = frozenset({"serving", "shutdown"})


@dataclass(frozen=True, slots=True)
class Kept:
    """A phase of an entry, in seconds since its start. `ranks`: tag -> duration; `curve`: the bar's elapsed seconds and steps done."""

    id: str
    title: str
    status: str
    start_s: float | None
    end_s: float | None
    duration_s: float | None
    ranks: Mapping[str, float]
    curve: tuple[tuple[float, int], ...] = ()
    total: int | None = None
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A finished startup. `number` is 0 before it is in a store; `started` is on the log's clock, `remembered` on the wall's.

    `state`: ready | failed; `total_s`: from started to ready, or to the failure; `identity`: the same for the same startup read twice.
    """

    number: int
    identity: str
    remembered: float
    started: float | None
    source: str
    state: str
    total_s: float | None
    failed_in: str | None
    likeness: Likeness
    arguments: Mapping[str, object]
    ranks: tuple[str, ...]
    phases: tuple[Kept, ...]


def entry(
    startup: Startup, rules: RuleSet, *, now: float, source: str = "", host: str = "", version: str = "", failed: bool = False
) -> Entry | None:
    """What is to be kept of a startup; None of one that is not finished, or of which nothing but its launch was seen.

    `now` is the wall clock, `version` the engine's where it is known better than by the log; `failed`: it is over, though no line says so.
    """
    phases = tuple(_kept(phase) for phase in startup.phases if phase.id not in NOT_KEPT)
    over = startup.ready is not None or (startup.stopped is None and (failed or startup.cause is not None))
    if not phases or not startup.reached or not over:
        return None
    end = startup.ready or startup.ended or startup.last_line
    return Entry(
        number=0,
        identity=identity(startup),
        remembered=now,
        started=startup.started.time,
        source=redact(source),
        state=READY if startup.ready is not None else FAILED,
        total_s=_rounded(end.after_s),
        failed_in=(startup.failed_in or startup.current) if startup.ready is None else None,
        likeness=likeness(startup, rules, host, version),
        arguments=redact_arguments(startup.arguments),
        ranks=startup.ranks[:RANKS],
        phases=phases,
    )


def identity(startup: Startup) -> str:
    """The same for the same startup, from whichever command, file or copy it was read: its engine, begin, arguments and first lines."""
    began = startup.started.time
    told = [startup.engine, None if began is None else round(began), redact_arguments(startup.arguments), startup.head]
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()[:32]


def _kept(phase: Phase) -> Kept:
    ranks = {rank: round(span.duration_s, 3) for rank, span in phase.ranks.items() if span.duration_s is not None}
    if len(ranks) > RANKS:
        ranks = dict(sorted(ranks.items(), key=lambda pair: -pair[1])[:RANKS])
    return Kept(
        phase.id,
        phase.title,
        phase.status,
        _rounded(phase.start_s),
        _rounded(phase.end_s),
        _rounded(phase.duration_s),
        ranks,
        _thinned(phase.curve),
        phase.progress.total if phase.progress is not None else None,
        phase.progress.unit if phase.progress is not None else "",
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _thinned(curve: Sequence[tuple[float, int]]) -> tuple[tuple[float, int], ...]:
    """A few points of a curve, the first and the last among them."""
    if len(curve) <= POINTS:
        return tuple(curve)
    step = (len(curve) - 1) / (POINTS - 1)
    return tuple(curve[round(step * at)] for at in range(POINTS))


def restore(kept: Entry, at_s: float | None = None) -> Startup:
    """An entry as a startup again: whole, or as it was `at_s` seconds after its begin. It has no lines, and no evidence."""
    phases = tuple(_phase(one, at_s) for one in kept.phases if at_s is None or one.start_s is None or one.start_s <= at_s)
    current = max((one for one in phases if one.start_s is not None), key=lambda one: one.start_s or 0.0, default=None)
    open_ = [one for one in phases if one.status == "open"]
    began = kept.started
    now = kept.total_s if at_s is None else at_s
    moment = Moment(None if began is None or now is None else began + now, 0, "log", now)
    done = at_s is None or (kept.total_s is not None and at_s >= kept.total_s)
    return Startup(
        index=1,
        engine=kept.likeness.engine,
        source=kept.source or None,
        lines=(0, 0),
        started=Moment(began, 0, "log", 0.0),
        ready=moment if done and kept.state == READY else None,
        stopped=None,
        ended=moment if done and kept.state == FAILED else None,
        last_progress=moment,
        last_line=moment,
        arguments=dict(kept.arguments),
        ranks=kept.ranks,
        phases=phases,
        gaps=(),
        explained=None,
        current=open_[-1].id if open_ else current.id if current is not None else None,
        failed_in=kept.failed_in if done else None,
        cause=None,
        ready_evidence=(),
        stop_evidence=(),
        progress_evidence=(),
        warnings=(),
        duration_s=now,
        version=kept.likeness.version,
    )


def _phase(kept: Kept, at_s: float | None) -> Phase:
    is_open = at_s is not None and kept.end_s is not None and kept.end_s > at_s
    spans = {} if is_open else {rank: Span(rank, kept.status, None, None, took, "clock", (0, 0)) for rank, took in kept.ranks.items()}
    slowest = max(spans, key=lambda rank: kept.ranks[rank]) if spans else None
    phase = Phase(
        id=kept.id,
        title=kept.title,
        status=kept.status,
        start_s=kept.start_s,
        end_s=kept.end_s,
        duration_s=kept.duration_s,
        duration_from=None,
        ranks=spans,
        spans=(),
        slowest=slowest,
        spread_s=max(kept.ranks.values()) - min(kept.ranks.values()) if len(spans) > 1 else None,
        missing=(),
        progress=_progress(kept, kept.curve),
        values={},
        lines=(0, 0),
        curve=kept.curve,
    )
    if not is_open:
        return phase
    assert at_s is not None
    seen = tuple(point for point in kept.curve if (kept.start_s or 0.0) + point[0] <= at_s)
    return replace(phase, status="open", end_s=None, duration_s=None, progress=_progress(kept, seen), curve=seen)


def _progress(kept: Kept, curve: Sequence[tuple[float, int]]) -> Progress | None:
    if not curve or not kept.total:
        return None
    return Progress(curve[-1][1], kept.total, kept.unit, curve[-1][0])
