"""Entries -> Guesses: what would have been said of each startup on its way, from those before it, against what came.

Law of this file: a startup is judged by earlier ones only, and by no more than its log told at that moment: no estimate before its
arguments are known, cold and warm not told apart before a phase that tells it has ended. "No estimate" is counted, never scored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from logphase.estimate import EARLY, Estimate, estimate
from logphase.history import READY, restore
from logphase.likeness import Nearest, nearest
from logphase.recall import MOST, Recalled, pasts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from logphase.estimate import Past
    from logphase.history import Entry
    from logphase.likeness import Likeness

SHARES = (0.10, 0.25, 0.50, 0.75)


@dataclass(frozen=True, slots=True)
class Guess:
    """What was said at a share of the way, and what was true.

    `earlier`: how many startups it rests on; `alike`: whether they differ in nothing.
    """

    entry: Entry
    share: float
    true_s: float
    told: Estimate | None
    earlier: int
    alike: bool

    @property
    def error(self) -> float | None:
        """How far off, as a share of the truth."""
        return None if self.told is None else abs(self.told.left_s - self.true_s) / self.true_s

    @property
    def held(self) -> bool | None:
        """Whether the stated range holds the truth."""
        return None if self.told is None else self.told.low_s <= self.true_s <= self.told.high_s


@dataclass(frozen=True, slots=True)
class Score:
    """Guesses put together: how many, how many of them said something, their median error and how many ranges held, as shares."""

    name: str
    guesses: int
    told: int
    error: float | None
    held: float | None


def backtest(entries: Iterable[Entry], shares: Sequence[float] = SHARES) -> tuple[Guess, ...]:
    """Judge each startup that became ready by those before it, in the order in which they began."""
    found: list[Guess] = []
    by_model: dict[tuple[str, str], list[Entry]] = {}
    for kept in sorted(entries, key=lambda entry: entry.started if entry.started is not None else entry.remembered):
        if kept.state != READY or not kept.total_s:
            continue
        earlier = by_model.setdefault((kept.likeness.engine, kept.likeness.model), [])
        found += judge(kept, earlier[-MOST:], shares)
        earlier.append(kept)
    return tuple(found)


def judge(kept: Entry, earlier: Sequence[Entry], shares: Sequence[float] = SHARES) -> list[Guess]:
    """What earlier startups would have said of one."""
    known: dict[bool, tuple[Nearest, Mapping[str, Past]]] = {}
    guesses = []
    for share in shares:
        at_s = share * (kept.total_s or 0.0)
        told = _is_told(kept, at_s)
        if told not in known:
            known[told] = _comparable(kept.likeness if told else replace(kept.likeness, warmth=None), earlier)
        found, past = known[told]
        said = estimate(restore(kept, at_s), 0.0, past) if _has_arguments(kept, at_s) else None
        said = said if said is not None and said.scope == "ready" else None
        guesses.append(Guess(kept, share, (kept.total_s or 0.0) - at_s, said, len(found.numbers), not found.differs))
    return guesses


def _comparable(wanted: Likeness, earlier: Sequence[Entry]) -> tuple[Nearest, dict[str, Past]]:
    found = nearest(wanted, [(entry.likeness, number) for number, entry in enumerate(earlier)])
    recalled = Recalled(tuple(earlier[number] for number in found.numbers), found.differs, found.distance, wanted.warmth)
    return found, pasts(recalled)


def _has_arguments(kept: Entry, at_s: float) -> bool:
    launch = next((phase for phase in kept.phases if phase.id == "launch"), None)
    return launch is None or launch.end_s is None or launch.end_s <= at_s


def _is_told(kept: Entry, at_s: float) -> bool:
    return any(phase.end_s is not None and phase.end_s <= at_s for phase in kept.phases if phase.id not in EARLY)


def scores(guesses: Sequence[Guess]) -> tuple[Score, ...]:
    """By share of the way; at each share also by the number of startups that a guess rests on."""
    found = []
    for share in dict.fromkeys(guess.share for guess in guesses):
        there = [guess for guess in guesses if guess.share == share]
        found.append(score(f"{share:.0%}", there))
        for name, low, high in (("0", 0, 0), ("1", 1, 1), ("2 to 4", 2, 4), ("5 or more", 5, MOST)):
            some = [guess for guess in there if low <= guess.earlier <= high]
            if some:
                found.append(score(f"{share:.0%}, {name} earlier", some))
    return tuple(found)


def score(name: str, guesses: Sequence[Guess]) -> Score:
    """Put guesses together."""
    from statistics import median

    errors = [guess.error for guess in guesses if guess.error is not None]
    held = [guess.held for guess in guesses if guess.held is not None]
    return Score(name, len(guesses), len(errors), median(errors) if errors else None, sum(held) / len(held) if held else None)
