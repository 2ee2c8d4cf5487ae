"""Event, Startup -> Warmth: whether a startup was cold (something was compiled or fetched anew) or warm (it came from caches).

Which wordings and which figures tell it is rule data: `[[warmth]]`. Law of this file: a log that tells nothing gives no answer, and of
signs that point both ways the cold one counts, since whatever was compiled anew cost its time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from logphase.rules import compiled
from logphase.timeline import Evidence, Sign

if TYPE_CHECKING:
    from collections.abc import Iterable

    from logphase.events import Event
    from logphase.rules import RuleSet, WarmthRule
    from logphase.timeline import Phase, Startup

COLD, WARM = "cold", "warm"
STATES = (COLD, WARM)
LEAST_S = 0.5  # a load that took less says nothing of a rate


@dataclass(frozen=True, slots=True)
class Warmth:
    """How a startup began. `state`: cold | warm | None (the log does not tell); `signs`: the lines and figures that it rests on.

    `against`: signs of the other state, which do not count: a page cache can be warm where kernels are compiled anew.
    """

    state: str | None
    signs: tuple[Sign, ...] = ()
    against: tuple[Sign, ...] = ()


def warmth(startup: Startup) -> Warmth:
    """Tell cold from warm by what the log says."""
    by_state = {state: tuple(sign for sign in startup.signs if sign.state == state) for state in STATES}
    for state, other in ((COLD, WARM), (WARM, COLD)):
        if by_state[state]:
            return Warmth(state, by_state[state], by_state[other])
    return Warmth(None)


class Signs:
    """Feed events, ask for what was said of caches and compilers."""

    def __init__(self, rules: RuleSet) -> None:
        self._open: dict[str, list[WarmthRule]] = {}
        for entry in rules.warmths:
            if entry.rule:
                self._open.setdefault(entry.rule, []).append(entry)
        self._measured = tuple(entry for entry in rules.warmths if not entry.rule)
        self._said: list[Sign] = []

    def feed(self, event: Event) -> None:
        """Take an event: what was said once says nothing new later."""
        entries = self._open.get(event.rule.id)
        if not entries:
            return
        record = event.record
        found = [entry for entry in entries if not entry.pattern or compiled(entry.pattern, entry.trusted).search(record.text)]
        for entry in found:
            entries.remove(entry)
            self._said.append(Sign(entry.state, entry.what, Evidence(event.rule.id, record.line, record.rank or None, record.text.strip())))

    def all(self, phases: Iterable[Phase]) -> tuple[Sign, ...]:
        """What was said, and what the phases' figures tell."""
        if not self._measured:
            return tuple(self._said)
        known = {phase.id: phase for phase in phases}
        measured = (_measure(entry, known[entry.phase]) for entry in self._measured if entry.phase in known)
        return (*self._said, *(sign for sign in measured if sign is not None))


def _measure(entry: WarmthRule, phase: Phase) -> Sign | None:
    """A figure of a phase that reaches what the rule demands, as a sign; its line is the phase's first."""
    figure = _first_step(phase) if entry.first_step_s else _gb_per_second(phase)
    wanted = entry.first_step_s or entry.gb_per_s
    if figure is None or figure < wanted:
        return None
    unit = "s" if entry.first_step_s else "GB/s"
    return Sign(entry.state, f"{entry.what} ({phase.title}: {figure:.1f} {unit})", Evidence("", phase.lines[0], None, ""))


def _first_step(phase: Phase) -> float | None:
    """Seconds until a bar that was seen at 0 moved; None while it has not, or where its beginning was not seen."""
    if not phase.curve or phase.curve[0][1] != 0:
        return None
    begun = phase.curve[0][0]
    return next((elapsed - begun for elapsed, done in phase.curve if done > 0), None)


def _gb_per_second(phase: Phase) -> float | None:
    """What a done load read a second, over all ranks of it, by the memory that it took."""
    size = phase.values.get("mem_usage_gb")
    took = max((span.duration_s or 0.0 for span in phase.ranks.values()), default=phase.duration_s or 0.0)
    if phase.status != "done" or phase.spans or not isinstance(size, float) or took < LEAST_S:
        return None
    return size * max(1, len(phase.ranks)) / took
