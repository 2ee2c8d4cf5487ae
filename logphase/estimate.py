"""Startup -> Estimate: how long it will still take, with a range and a source; None rather than a wrong one.

Inside a phase only its bar speaks, by its recent rate: captures go from the largest size to the smallest, so the first step is the
slowest and says nothing about the others. For the phases to come only history speaks. Law of this file: pure, no clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from logphase.timeline import Phase, Startup

Past: TypeAlias = "tuple[float, float, float, int, str]"
"""How long a phase took before: median, shortest, longest (seconds), number of startups, where that is known from."""

LEAST_STEPS = 3  # a bar that has done fewer says nothing: the first step compiles
STUCK = 4.0  # of its own steps without a new one, and SLOW_S: then the rate that it had says nothing
SLOW_S = 10.0
SPREAD = 0.15  # least width of a range, to both sides
NOT_TO_COME = frozenset({"serving", "shutdown"})


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds that are left. `scope`: phase (until the running phase ends) | ready. `source`: who says so."""

    left_s: float
    low_s: float
    high_s: float
    scope: str
    source: str


def estimate(startup: Startup, quiet_s: float, medians: Mapping[str, Past] | None = None) -> Estimate | None:
    """What is left as of `quiet_s` seconds after the last line. `medians`: the same phases of earlier startups, in their order."""
    if startup.ready is not None or startup.cause is not None or startup.stopped is not None:
        return None
    phase = next((phase for phase in startup.phases if phase.id == startup.current), None)
    running = _bar(phase, startup, quiet_s) if phase is not None and phase.status == "open" else None
    past = medians or {}
    if not past or startup.current not in past:
        return running
    return _to_ready(startup, phase, running, quiet_s, past)


def _bar(phase: Phase, startup: Startup, quiet_s: float) -> Estimate | None:
    bar = phase.progress
    if bar is None or not LEAST_STEPS <= bar.done < bar.total:
        return None
    rates = _step_times(phase.curve)
    if not rates:
        return None
    since = quiet_s + max(0.0, (startup.last_line.after_s or 0.0) - _bar_moment(phase, startup))
    if since > STUCK * max(rates) and since > SLOW_S:
        return None
    left = bar.total - bar.done
    spent = min(since, max(rates))
    middle, low, high = (max(0.0, step * left - spent) for step in _range(rates))
    return Estimate(middle, low * (1 - SPREAD), high * (1 + SPREAD), "phase", "the bar's recent rate")


def _range(rates: Sequence[float]) -> tuple[float, float, float]:
    """The rate to go by, the lowest and the highest to be expected; a bar that gets faster will get faster still."""
    recent, newest, whole = rates if len(rates) == 3 else (rates[0], min(rates), max(rates))  # noqa: PLR2004 - half, quarter, whole
    if newest < recent < whole:
        return newest, newest * newest / recent, recent
    return recent, min(rates), max(rates)


def _bar_moment(phase: Phase, startup: Startup) -> float:
    """When the bar moved last, in seconds since the start: its own clock, from where the phase began."""
    bar = phase.progress
    known = startup.last_progress.after_s or 0.0
    if bar is None or bar.elapsed_s is None or phase.start_s is None:
        return known
    return max(known, phase.start_s + bar.elapsed_s)


def _step_times(curve: Sequence[tuple[float, int]]) -> list[float]:
    """Seconds a step over the newest half, quarter and whole of the steps behind the first, newest half first; [] if it cannot be told."""
    points = [point for index, point in enumerate(curve) if index == 0 or point[1] > curve[index - 1][1]]
    points = [point for point in points if point[1] >= 1]
    if not points or points[-1][1] - points[0][1] < LEAST_STEPS - 1:
        return []
    end_s, done = points[-1]
    rates = []
    for share in (2, 4, 1):
        wanted = done - max(2, (done - points[0][1]) // share)
        start_s, before = next(point for point in reversed(points) if point[1] <= max(wanted, points[0][1]))
        if end_s > start_s and done > before:
            rates.append((end_s - start_s) / (done - before))
    return rates


def _to_ready(startup: Startup, phase: Phase | None, running: Estimate | None, quiet_s: float, past: Mapping[str, Past]) -> Estimate | None:
    """The running phase by its bar, else by history, and by history what comes after it; None once history is overrun."""
    current = str(startup.current)
    seen = {known.id for known in startup.phases}
    order = list(past)
    coming = [past[name] for name in order[order.index(current) + 1 :] if name not in seen and name not in NOT_TO_COME]
    now = [running.left_s, running.low_s, running.high_s] if running else _rest_of(phase, startup, quiet_s, past[current])
    if now is None:
        return None
    middle = now[0] + sum(one[0] for one in coming)
    low = now[1] + sum(one[1] for one in coming)
    high = now[2] + sum(one[2] for one in coming)
    number, source = min(one[3] for one in (past[current], *coming)), past[current][4]
    told = f"{source}, {number} startup{'' if number == 1 else 's'}"
    return Estimate(middle, min(low, middle), max(high, middle), "ready", f"{running.source} and {told}" if running else told)


def _rest_of(phase: Phase | None, startup: Startup, quiet_s: float, past: Past) -> list[float] | None:
    """What history leaves of a phase without a bar; of one that is over, nothing."""
    if phase is None or phase.status != "open" or phase.start_s is None:
        return [0.0, 0.0, 0.0]
    spent = max(0.0, (startup.last_line.after_s or 0.0) + quiet_s - phase.start_s)
    if spent > past[2]:
        return None
    return [max(0.0, value - spent) for value in past[:3]]
