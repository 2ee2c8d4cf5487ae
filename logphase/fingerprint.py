"""Event -> VersionRange: which version of the engine wrote a log, and whether the rules are up to it.

An engine that does not print its version gives it away: many a line was reworded once. Each wording narrows the range. Law of this
file: a range without members, or an alarm without a line that speaks for it, is no answer; then it says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from logphase.rules import Edge, compiled

if TYPE_CHECKING:

    from logphase.events import Event
    from logphase.rules import Fingerprint, RuleSet

LOW = 0.5  # share of a startup's time that lines explain, below which the rules are out of date rather than the startup odd
LONG_S = 60.0  # of a startup whose share says something
ENDS = frozenset({Edge.END, Edge.POINT})
Said = Mapping[str, Mapping[Edge, str]]  # phase -> what lines did to it, and since which version they are printed


class VersionRange(NamedTuple):
    """The oldest and the newest version that fit; empty where nothing tells. `exact`: the log says it itself."""

    oldest: str = ""
    newest: str = ""
    exact: bool = False

    def __str__(self) -> str:
        if self.oldest == self.newest:
            return self.oldest
        if not self.newest:
            return f"{self.oldest} or newer"
        return f"{self.oldest} to {self.newest}" if self.oldest else f"{self.newest} or older"


class Wording:
    """Feed events, ask for the range."""

    def __init__(self, rules: RuleSet) -> None:
        self._open: dict[str, list[Fingerprint]] = {}
        for entry in rules.fingerprints:
            self._open.setdefault(entry.rule, []).append(entry)
        self._oldest = self._newest = self._said = ""

    def feed(self, event: Event) -> None:
        """Take an event: what tells the version once tells nothing new later."""
        said = event.values.get("version")
        if said and not self._said:
            self._said = str(said)
        entries = self._open.get(event.rule.id)
        if entries is None:
            return
        found = [entry for entry in entries if not entry.pattern or compiled(entry.pattern, entry.trusted).search(event.record.text)]
        for entry in found:
            entries.remove(entry)
            if entry.since and not older(entry.since, self._oldest):
                self._oldest = entry.since
            if entry.until and (not self._newest or older(entry.until, self._newest)):
                self._newest = entry.until

    @property
    def range(self) -> VersionRange:
        """What the wordings so far leave; empty when they contradict each other."""
        if self._said:
            return VersionRange(self._said, self._said, exact=True)
        if self._oldest and self._newest and older(self._newest, self._oldest):
            return VersionRange()
        return VersionRange(self._oldest, self._newest)


def key(version: str) -> tuple[int, ...]:
    """What versions are ordered by: their first three numbers, so that a release candidate or post release counts as its release."""
    numbers = [int(part) for part in re.findall(r"\d+", version)[:3]]
    return (*numbers, *[0] * (3 - len(numbers)))


def older(one: str, other: str) -> bool:
    """Whether a version is older than another one."""
    return key(one) < key(other)


def drift(
    rules: RuleSet,
    version: VersionRange,
    said: Said,
    arguments: Mapping[str, object],
    explained: float | None,
    duration_s: float | None,
    *,
    odd: str = "",
) -> str:
    """What speaks for rules that the engine's wording has left behind, as one warning; empty when nothing does.

    `said`, `explained` and `duration_s` are those of a startup that is ready and was read from its beginning; else leave them empty.
    `odd` is what else cannot be so.
    """
    found = []
    tested = rules.tested_with[-1] if rules.tested_with else ""
    if version.exact and tested and older(tested, version.oldest):
        found.append(f"it is of version {version.oldest}, and the rules were checked against {tested}")
    missing = [
        phase.title
        for phase in rules.phases.values()
        if said and phase.id not in said and _expected(phase.always_since, phase.always_unless, rules, version, arguments)
    ]
    missing += _halves(rules, version, said)
    if missing:
        found.append(f"no line of {' and '.join(missing)} was found, which every start prints")
    if odd:
        found.append(odd)
    if explained is not None and duration_s is not None and duration_s >= LONG_S and explained < LOW:
        found.append(f"known lines explain only {explained:.0%} of the time to ready")
    if not found:
        return ""
    return (
        f"The rules may be older than this log: {'; '.join(found)}. Phases and durations may be incomplete. "
        "Update logphase, or see what it does not know: logphase rules try LOG"
    )


def _expected(since: str, unless: Mapping[str, str], rules: RuleSet, version: VersionRange, arguments: Mapping[str, object]) -> bool:
    """Whether the version at hand always prints a phase; where the version is unknown, whether each that the rules know does."""
    oldest = version.oldest or (rules.tested_with[0] if rules.tested_with else "")
    if not since or not oldest or older(oldest, since):
        return False
    return not any(str(arguments.get(name)) == value for name, value in unless.items())


def _halves(rules: RuleSet, version: VersionRange, said: Said) -> list[str]:
    """Phases that have begun without a known end, or ended without a known begin, where the version always prints both."""
    found = []
    for name, edges in said.items():
        phase = rules.phases[name]
        begun, ended = Edge.BEGIN in edges, bool(ENDS & edges.keys())
        if not phase.paired_since or (ended and (begun or phase.begins_at_end_of)):
            continue
        oldest = max((version.oldest, *edges.values(), *rules.tested_with[:1]), key=key)
        if not older(oldest, phase.paired_since):
            found.append(f"the {'begin' if ended else 'end'} of {phase.title}")
    return found
