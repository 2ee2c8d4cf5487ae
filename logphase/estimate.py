"""Startup -> Estimate: how long it will still take, with a range and a source; None rather than a wrong one.

Inside a phase its bar speaks, by its recent rate: captures go from the largest size to the smallest, so the first step is the slowest
and says nothing about the others. For what is to come only history speaks. Law of this file: pure, no clock.

The range is meant to hold the truth in four of five cases. Few earlier startups say little of their own spread, so it is drawn towards
what such phases usually vary by (PRIOR), and the fewer there are the wider it gets: Student's t with PRIOR_N more startups than there are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from logphase.timeline import Phase, Startup

LEAST_STEPS = 3  # a bar that has done fewer says nothing: the first step compiles
STUCK = 4.0  # of its own steps without a new one, and SLOW_S: then the rate that it had says nothing
SLOW_S = 10.0
SPREAD = 0.15  # least width of a range, to both sides
NOT_TO_COME = frozenset({"serving", "shutdown"})
EARLY = frozenset({"launch", "spawn", "dist-init", "download"})  # phases that never come late, and that caches change little
Z = 1.2816  # standard deviations of a normal distribution that hold four of five
PRIOR = 0.15  # how much the time of a phase usually varies, as a share (docs/history.md)
PRIOR_N = 3.0  # how many startups that counts as
STAMP_S = 0.7  # what stamps of whole seconds leave open
LEAST_S = 0.5
LEAST_SHARE = 0.05  # of a phase's time, before which its pace says nothing
OVERRUN = 0.999
LOW, HIGH = 0.05, 0.95  # of the usual variation: one startup in seven has a surprise in it, so that four of five remain


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds that are left. `scope`: phase (until the running phase ends) | ready. `source`: who says so."""

    left_s: float
    low_s: float
    high_s: float
    scope: str
    source: str


@dataclass(frozen=True, slots=True)
class Past:
    """A phase in earlier startups that became ready; one value each, in any order.

    `took`: seconds from its first begin to its last end; `after`: from there to ready; `curves`: share of the bar done -> share of `took`;
    `source`: where that is known from; `wide`: how much less sure it is than its number says, 1 where the startups are all alike;
    `unsure`: what else makes it so, as a standard deviation of the logarithm.
    """

    took: tuple[float, ...]
    after: tuple[float, ...]
    curves: tuple[tuple[tuple[float, float], ...], ...] = ()
    source: str = "history"
    wide: float = 1.0
    unsure: float = 0.0


def estimate(startup: Startup, quiet_s: float, past: Mapping[str, Past] | None = None) -> Estimate | None:
    """What is left as of `quiet_s` seconds after the last line. `past`: phases of earlier startups, in their order."""
    if startup.ready is not None or startup.cause is not None or startup.stopped is not None:
        return None
    phase = next((phase for phase in startup.phases if phase.id == startup.current), None)
    running = _bar(phase, startup, quiet_s) if phase is not None and phase.status == "open" else None
    told = _to_ready(startup, running, quiet_s, past) if past else None
    return told or running


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


def _to_ready(startup: Startup, running: Estimate | None, quiet_s: float, past: Mapping[str, Past]) -> Estimate | None:
    """The running phase by its bar and by history, and by history what comes after it; None once history is overrun."""
    phase = _newest(startup, past)
    if phase is None:
        return None
    before = past[phase.id]
    now = (startup.last_line.after_s or 0.0) + quiet_s
    if phase.status == "open":
        rest = _rest(phase, max(0.0, now - (now if phase.start_s is None else phase.start_s)), before, running)
        after = _conditional(before.after, 0.0, before)
    else:
        rest = Spread(0.0, 0.0, 0.0)
        after = _conditional(before.after, max(0.0, now - (now if phase.end_s is None else phase.end_s)), before)
    if rest is None or after is None:
        return None
    moved = _moved(startup, past, phase.id)
    middle = max(rest.middle, rest.middle + after.middle + moved)
    blur = math.hypot(STAMP_S, moved * Z * PRIOR * before.wide)
    low = middle - math.hypot(rest.middle - rest.low, after.middle - after.low, blur)
    high = middle + math.hypot(rest.high - rest.middle, after.high - after.middle, blur)
    number = len(before.after)
    told = f"{before.source}, {number} startup{'' if number == 1 else 's'}"
    by_bar = running is not None and phase.id == startup.current and phase.progress is not None
    return Estimate(middle, max(0.0, low), high, "ready", f"the bar and {told}" if by_bar else told)


def _moved(startup: Startup, past: Mapping[str, Past], current: str) -> float:
    """What is still to come though it came earlier before, less what came already: versions change the order of phases."""
    if past[current].wide <= 1.0:
        return 0.0
    seen = {phase.id for phase in startup.phases}
    order = list(past)
    at = order.index(current)
    late = math.fsum(_median(past[name].took) for name in order[:at] if name not in seen and name not in EARLY)
    return late - math.fsum(_median(past[name].took) for name in order[at + 1 :] if name in seen)


def _newest(startup: Startup, past: Mapping[str, Past]) -> Phase | None:
    """The running phase, else the one behind which the startup is: the last one that history knows."""
    known = {phase.id: phase for phase in startup.phases if phase.id in past and phase.id not in NOT_TO_COME}
    current = known.get(startup.current or "")
    if current is not None:
        return current
    return next((known[name] for name in reversed(list(past)) if name in known), None)


@dataclass(frozen=True, slots=True)
class Spread:
    """Seconds: what is likely, and a range that holds four of five."""

    middle: float
    low: float
    high: float


def _rest(phase: Phase, spent: float, before: Past, running: Estimate | None) -> Spread | None:
    """What is left of a phase that has run for `spent` seconds: by how far its bar has come, else by how long it took before."""
    bar = phase.progress
    if bar is None or not bar.total or not phase.curve or bar.done < LEAST_STEPS:
        return _conditional(before.took, spent, before)
    if not before.curves:
        return _conditional(before.took, spent, before) if running is None else Spread(running.left_s, running.low_s, running.high_s)
    passed = _median([_at(curve, bar.done / bar.total) for curve in before.curves])
    took, usual = phase.curve[-1][0], max(_median(before.took), LEAST_S)
    if passed >= 1.0:
        return Spread(0.0, 0.0, 0.0)
    by_pace = max(took / passed, LEAST_S) if passed > LEAST_SHARE else usual
    left = by_pace**passed * usual ** (1 - passed) * (1 - passed) - max(0.0, spent - took)
    if left <= 0.0:  # the bar has stood still for too long to go by it
        return _conditional(before.took, spent, before)
    wide = left * (math.exp(Z * PRIOR * before.wide) - 1)
    return Spread(left, max(0.0, left - wide), left + wide)


def _at(curve: Sequence[tuple[float, float]], share: float) -> float:
    """Which share of its time a bar had taken when so much of it was done."""
    before = (0.0, 0.0)
    for done, passed in curve:
        if done >= share:
            step = (share - before[0]) / (done - before[0]) if done > before[0] else 1.0
            return before[1] + step * (passed - before[1])
        before = (done, passed)
    return 1.0


def _conditional(values: Sequence[float], spent: float, before: Past) -> Spread | None:
    """What is left of something that took `values` before and has taken `spent` so far; None when it has never taken that long.

    A length of time is taken as log-normal around the median.
    """
    middle = math.log(max(_median(values), LEAST_S))
    number = len(values)
    squares = math.fsum((math.log(max(value, LEAST_S)) - middle) ** 2 for value in values)
    free = PRIOR_N + number - 1
    sigma = before.wide * math.sqrt((PRIOR_N * PRIOR**2 + squares) / free * (1 + 1 / number)) * _student(free) / Z
    sigma = math.hypot(sigma, before.unsure, STAMP_S / math.exp(middle))
    begun = 0.0 if spent <= 0 else _phi((math.log(spent) - middle) / sigma)
    if begun > OVERRUN:
        return None
    low, half, high = (math.exp(middle + sigma * _quantile(begun + (1 - begun) * share)) for share in (LOW, 0.5, HIGH))
    return Spread(max(0.0, half - spent), max(0.0, low - spent), max(0.0, high - spent))


def _median(values: Sequence[float]) -> float:
    """The middle of the values, in whatever order they are."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _student(free: float) -> float:
    """How many standard deviations hold four of five, with so many degrees of freedom (Cornish and Fisher's expansion)."""
    return Z + (Z**3 + Z) / (4 * free) + (5 * Z**5 + 16 * Z**3 + 3 * Z) / (96 * free**2)


def _phi(z: float) -> float:
    return 0.5 * (1 + math.erf(z / math.sqrt(2)))


def _quantile(share: float) -> float:
    """The inverse of `_phi`, by halving."""
    low, high = -9.0, 9.0
    for _ in range(40):
        half = (low + high) / 2
        low, high = (half, high) if _phi(half) < share else (low, half)
    return (low + high) / 2
