"""Event -> the phase that it means: what came before decides, as the rule file says.

The same words come for the target and for the draft model, and a bar names neither its phase nor its rank. This file keeps the
tracks of a launch's phases and answers three questions: which phase does a line mean, which phases does a begin end, what runs now.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from logphase.rules import Edge
from logphase.spans import Track
from logphase.timeline import Progress

if TYPE_CHECKING:
    from collections.abc import Mapping

    from logphase.events import Event
    from logphase.records import Record
    from logphase.rules import PhaseRule, RuleSet

LONGEST_S = 1e9  # of a bar, or of one step of it: 30 years


class Phases:
    """The tracks of a launch, and what lines mean in view of them."""

    def __init__(self, rules: RuleSet) -> None:
        self.rules = rules
        self.tracks: dict[str, Track] = {}
        self.arguments: Mapping[str, object] = {}
        self.arguments_whole = False
        self._pending: Progress | None = None  # a bar without description that came before its phase's begin

    def track(self, name: str) -> Track:
        """The track of a phase, made when it is first asked for."""
        if name not in self.tracks:
            self.tracks[name] = Track(self.rules.phases[name])
        return self.tracks[name]

    def current(self, rank: str | None = None) -> str | None:
        """The phase that runs (on a rank): the innermost that began last; between two phases the one that ended last."""
        open_ = [
            (track.rule.nested, track.begun, name)
            for name, track in self.tracks.items()
            if (track.is_open() if rank is None else track.open_span(rank) is not None)
        ]
        if open_:
            return max(open_)[2]
        if rank is not None:
            return None
        return max(((track.last_line, name) for name, track in self.tracks.items()), default=(0, None))[1]

    def argument_is(self, readings: Mapping[str, str]) -> bool:
        """Whether the arguments line gives one of these names the value that stands beside it."""
        return any(
            str(self.arguments[name]) == value if name in self.arguments else self.arguments_whole and value == "None"
            for name, value in readings.items()
        )

    # --- which phase does a line mean

    def meant(self, event: Event, rank: str | None) -> str | None:
        """The phase of an event; None where it belongs to none that is known."""
        rule = event.rule
        is_bar = event.is_bar
        if rule.phase == "open":
            return self._of_plain_bar(event) if is_bar else self.current()
        if rule.phase == "any":
            return self.current()
        if not rule.again:
            return rule.phase
        return self._of_bar(event) if is_bar and rank is None else self.again(rule.phase, rank)

    def again(self, name: str, rank: str | None) -> str:
        """The phase that words of phase `name` mean for a rank: that one, or a later one of its chain when the rank is past it."""
        while True:
            phase = self.rules.phases[name]
            track = self.tracks.get(name)
            if not phase.again or (track is not None and track.open_span(rank)) or self.argument_is(phase.again_unless):
                return name
            past = (track is not None and track.is_done(rank)) or any(
                rank in self.tracks[late].spans for late in phase.past if late in self.tracks
            )
            if not past or not all(known in self.tracks for known in phase.again_after):
                return name
            name = phase.again

    def _of_bar(self, event: Event) -> str:
        """A bar has no rank: it belongs to the member of its chain that is open, else to the next one."""
        chain = [event.rule.phase]
        while (phase := self.rules.phases[chain[-1]]).again and not self.argument_is(phase.again_unless):
            chain.append(phase.again)
        open_ = [(self.tracks[name].begun, name) for name in chain if name in self.tracks and self.tracks[name].is_open()]
        if open_:
            track = self.tracks[max(open_)[1]]
            if not (track.by_bar and _is_new(track.progress, event)):
                return track.rule.id
        return next((name for name in chain if name not in self.tracks or not self.tracks[name].spans), chain[-1])

    def _of_plain_bar(self, event: Event) -> str | None:
        """A bar without description belongs to the innermost phase that began with a line of its own."""
        total = int(event.values["total"])
        open_ = [
            (track.rule.nested, track.begun, name)
            for name, track in self.tracks.items()
            if track.is_open() and track.rule.process == "scheduler"
        ]
        if not open_:
            return None
        track = self.tracks[max(open_)[2]]
        same = track.progress is not None and track.progress.total == total
        return track.rule.id if same or not track.by_bar else None

    def keep(self, event: Event) -> None:
        """Keep a bar that belongs to no phase yet: one that begins next may take it."""
        if event.rule.phase == "open" and event.is_bar:
            self._pending = bar_progress(event, "steps")

    # --- what does a begin do

    def enter(self, name: str, rank: str | None, record: Record, *, explicit: bool, bar_elapsed: float | None, zero: float | None) -> None:
        """A rank enters a phase. It leaves the one that it was in; a begin that only a bar shows lies its elapsed time before."""
        track = self.track(name)
        phase = track.rule
        key = None if phase.process == "launcher" else rank
        if not phase.nested:
            self._leave_others(track, {key, rank}, record)
        start = record.time
        if not explicit and start is not None:
            implied = self.implied_start(phase)
            if implied is not None:
                start = implied
            if bar_elapsed is not None:
                start = max(start - bar_elapsed, start - bar_elapsed if zero is None else zero)
                start = max([start, *(end for other in self.tracks.values() for end in other.ends())])
        track.begin(key, start, record.line, explicit=explicit, came_from="arrival" if record.time_from == "arrival" else "clock")
        if explicit and not phase.nested and phase.process == "scheduler":
            if self._pending is not None and track.progress is None:
                track.progress = replace(self._pending, unit=phase.unit)
            self._pending = None

    def _leave_others(self, track: Track, ranks: set[str | None], record: Record) -> None:
        for other in self.tracks.values():
            if other is track or other.rule.nested:
                continue
            for rank in ranks:
                if other.rule.process == track.rule.process or rank is not None or len(ranks) == 1:
                    other.settle(record.time, rank)
        self.leave_nested(record)

    def leave_nested(self, record: Record) -> None:
        """What ran inside is over when the phase around it speaks."""
        for other in self.tracks.values():
            if other.rule.nested and other.is_open():
                other.settle(record.time, every=True)

    def finish_bars(self, record: Record) -> None:
        """No more is to come: a phase of which only a bar is known ended with its bar, if that is full."""
        for track in self.tracks.values():
            full = track.progress is not None and track.progress.done == track.progress.total
            if full and track.is_open() and track.by_bar:
                track.settle(record.time, every=True)

    def implied_start(self, phase: PhaseRule) -> float | None:
        """Where a phase that prints only its end began: at the last end of those before it."""
        ends = [end for name in phase.begins_at_end_of if name in self.tracks for end in self.tracks[name].ends()]
        return max(ends, default=None)


def _is_new(before: Progress | None, event: Event) -> bool:
    """Whether a state is another bar's, not the next one of the bar before."""
    done, total = int(event.values["done"]), int(event.values["total"])
    return before is not None and before.done == before.total and (total != before.total or done == 0)


def bar_progress(event: Event, unit: str) -> Progress:
    """The bar's state that an event holds."""
    values = event.values
    elapsed = values.get("bar_elapsed")
    rate = values.get("rate")
    return Progress(
        int(values["done"]),
        int(values["total"]),
        unit,
        None if elapsed is None else clock_seconds(str(elapsed)),
        None if rate is None else step_seconds(str(rate)),
        event.record.line,
    )


def clock_seconds(text: str) -> float | None:
    """`[H:]MM:SS` of a bar in seconds; None for more than any bar runs."""
    total = 0.0
    for part in text.split(":"):
        total = total * 60 + float(part or 0)
    return total if total <= LONGEST_S else None


def step_seconds(text: str) -> float | None:
    """`3.42s/it` or `0.29it/s` as seconds per step; None for a rate that the bar does not know."""
    number = text.strip().rstrip("abcdefghijklmnopqrstuvwxyz/ ")
    try:
        rate = float(number)
    except ValueError:
        return None
    if text.strip()[len(number) :].startswith("s/"):
        return rate if rate <= LONGEST_S else None
    return 1.0 / rate if rate >= 1.0 / LONGEST_S else None


MOVES = frozenset({Edge.BEGIN, Edge.END, Edge.POINT, Edge.PROGRESS})
