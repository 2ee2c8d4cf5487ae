"""Begins, ends and bars of one phase -> its spans per rank, and the phase as a value.

Law of this file: moments are absolute seconds on the log's clock; only `phase()` turns them into seconds since the start. The
engine's own figure of a duration beats clock arithmetic: with stamps of whole seconds the true begin lies within a second of the
stamp, and so does the end, and the printed duration fixes both.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from logphase.timeline import Phase, Progress, Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from logphase.rules import Edge, PhaseRule
    from logphase.timeline import Value

STAMP_S = 1.0  # resolution of a stamp
CURVE = 200  # points of a progress curve that are kept
Rank = str | None


@dataclass(slots=True)
class OpenSpan:
    """A span in the making."""

    line: int
    start: float | None
    explicit: bool
    came_from: str = "clock"
    end: float | None = None
    elapsed: float | None = None
    last_line: int = 0
    last: float | None = None
    status: str = "open"

    def close(self, time: float | None, line: int, elapsed: float | None = None, came_from: str = "clock") -> None:
        """End it: with the engine's own duration, or with the clock's."""
        self.status = "done"
        self.last_line = max(line, self.last_line)
        if elapsed is not None and time is not None:
            earliest = time - elapsed
            self.start = earliest if self.start is None else max(self.start, earliest) if self.start <= earliest + STAMP_S else earliest
            time = self.start + elapsed
        self.elapsed = elapsed
        self.came_from = "elapsed" if elapsed is not None else came_from
        self.end = time if time is None or self.start is None else max(time, self.start)
        self.last = self.end

    def seen(self, time: float | None, line: int) -> None:
        """Evidence that it goes on."""
        self.last_line = max(line, self.last_line)
        if time is not None:
            self.last = time if self.last is None else max(time, self.last)

    def move(self, by: float) -> None:
        """Put it on another clock: `by` seconds earlier."""
        self.start = None if self.start is None else self.start - by
        self.end = None if self.end is None else self.end - by
        self.last = None if self.last is None else self.last - by

    @property
    def duration(self) -> float | None:
        """Seconds, None while it is open or where no clock and no figure is known."""
        if self.status != "done":
            return None
        if self.elapsed is not None:
            return self.elapsed
        return None if self.start is None or self.end is None else self.end - self.start


@dataclass(slots=True)
class Track:
    """One phase of a startup: feed it begins, ends and bar states."""

    rule: PhaseRule
    spans: dict[Rank, list[OpenSpan]] = field(default_factory=dict)
    progress: Progress | None = None
    curve: list[tuple[float, int]] = field(default_factory=list)
    values: dict[str, Value] = field(default_factory=dict)
    said: dict[Edge, str] = field(default_factory=dict)  # what lines did to it, and since which version they are printed
    first_line: int = 0
    last_line: int = 0
    moved_at: float | None = None  # when the bar did its newest step, by its own clock

    def _touch(self, line: int) -> None:
        self.first_line = self.first_line or line
        self.last_line = max(self.last_line, line)

    def open_span(self, rank: Rank) -> OpenSpan | None:
        """The span of a rank that is not over."""
        spans = self.spans.get(rank)
        return spans[-1] if spans and spans[-1].status == "open" else None

    def is_open(self) -> bool:
        """Whether any rank is in this phase."""
        return any(spans[-1].status == "open" for spans in self.spans.values())

    def is_done(self, rank: Rank) -> bool:
        """Whether a rank has ended this phase."""
        spans = self.spans.get(rank)
        return bool(spans) and spans is not None and spans[-1].status == "done"

    @property
    def begun(self) -> int:
        """The line of the newest begin of an open span, 0 when none is open."""
        return max((spans[-1].line for spans in self.spans.values() if spans[-1].status == "open"), default=0)

    @property
    def by_bar(self) -> bool:
        """Whether nothing but a bar says that this phase is open."""
        return all(not spans[-1].explicit for spans in self.spans.values() if spans[-1].status == "open")

    def ends(self) -> Iterable[float]:
        """All ends so far."""
        return (span.end for spans in self.spans.values() for span in spans if span.end is not None)

    def begin(self, rank: Rank, time: float | None, line: int, *, explicit: bool = True, came_from: str = "clock") -> OpenSpan:
        """A rank enters this phase; again, if it is in it already."""
        self._touch(line)
        present = self.open_span(rank)
        if present is not None:
            present.seen(time, line)
            if not present.explicit:
                present.explicit = explicit
                return present
            if not explicit:
                return present
            if self.rule.process == "launcher":
                present.start, present.line = time, line
                return present
            present.close(time, line)
        span = OpenSpan(line, time, explicit, came_from, last=time, last_line=line)
        if rank is not None:
            span.start = self._absorb(span.start)
        self.spans.setdefault(rank, []).append(span)
        return span

    def _absorb(self, start: float | None) -> float | None:
        """What only an untagged bar had opened belongs to the tagged rank that speaks now."""
        loose = self.open_span(None)
        if loose is None or loose.explicit or self.rule.process == "launcher":
            return start
        self.spans[None].pop()
        if not self.spans[None]:
            del self.spans[None]
        return loose.start if start is None or (loose.start is not None and loose.start < start) else start

    def end(self, rank: Rank, time: float | None, line: int, elapsed: float | None, start: float | None, came_from: str = "clock") -> None:
        """A rank leaves this phase; `start` is taken where no begin was seen and no duration is printed."""
        self._touch(line)
        span = self.open_span(rank)
        if span is None and self._said_again(rank, time, line, elapsed, start):
            return
        if span is None:
            span = OpenSpan(line, None if elapsed is not None else self._absorb(start) if rank is not None else start, explicit=True)
            if elapsed is not None and rank is not None:
                self._absorb(None)
            self.spans.setdefault(rank, []).append(span)
        span.close(time, line, elapsed, came_from)

    def _said_again(self, rank: Rank, time: float | None, line: int, elapsed: float | None, start: float | None) -> bool:
        """Several processes without a tag end the same stretch: it counts once, the longest figure of it."""
        spans = self.spans.get(rank)
        if not spans or spans[-1].end is None or time is None:
            return False
        last = spans[-1]
        begin = start if elapsed is None else time - elapsed
        if begin is None or last.end is None or begin >= last.end - STAMP_S / 2:
            return False
        last.last_line = max(line, last.last_line)
        if elapsed is not None and elapsed > (last.elapsed or 0.0):
            last.start, last.end, last.elapsed = begin, time, elapsed
        elif elapsed is None and last.elapsed is None:
            last.end = max(last.end, time)
        return True

    def settle(self, time: float | None, rank: Rank = None, *, every: bool = False) -> None:
        """The rank (or every one) has moved on: spans without an end line end here, or where their bar ended."""
        for name, spans in self.spans.items():
            span = spans[-1]
            if span.status != "open" or not (every or name == rank):
                continue
            elapsed = self.progress.elapsed_s if self.progress and not span.explicit else None
            if elapsed is not None:
                end = None if span.start is None else span.start + elapsed
                span.close(end if end is None or time is None else min(end, time), span.last_line, came_from="bar")
                span.elapsed = elapsed
            else:
                span.close(time, max(span.last_line, span.line), came_from=span.came_from)

    def seen(self, rank: Rank, time: float | None, line: int) -> None:
        """Evidence that a rank is still in this phase."""
        self._touch(line)
        span = self.open_span(rank)
        if span is not None:
            span.seen(time, line)

    def bar(self, progress: Progress, time: float | None, line: int) -> bool:
        """A bar's newest state; True when it is news."""
        self._touch(line)
        running = [spans[-1] for spans in self.spans.values() if spans[-1].status == "open"]
        begun = min((span.start for span in running if span.start is not None), default=None)
        if begun is not None and progress.elapsed_s is not None:
            time = max(begun + progress.elapsed_s, begun if time is None else time)
        for span in running:
            span.seen(time, line)
        before = self.progress
        if before and (before.done, before.total) == (progress.done, progress.total) and before.elapsed_s == progress.elapsed_s:
            return False
        self.progress = progress
        if progress.elapsed_s is not None:
            if self.curve and progress.done < self.curve[-1][1]:
                self.curve.clear()
            self.curve.append((progress.elapsed_s, progress.done))
            if len(self.curve) > CURVE:
                del self.curve[1:-1:2]
        news = before is None or (before.done, before.total) != (progress.done, progress.total)
        self.moved_at = time if news else self.moved_at
        return news

    def phase(self, zero: float | None, ranks: Iterable[str], past: Mapping[str, int], *, failed: bool = False) -> Phase:
        """The phase as a value: seconds since `zero`; `past` tells the last line at which each rank was seen in any phase."""
        parts = {rank: [_span(span, rank, zero) for span in spans] for rank, spans in self.spans.items() if spans}
        tagged = {rank: spans[-1] for rank, spans in parts.items() if rank is not None}
        missing = self._missing(tagged, ranks, past)
        everything = [span for spans in parts.values() for span in spans]
        open_ = (
            any(spans[-1].status == "open" for spans in parts.values()) or bool(missing) or (not everything and self.progress is not None)
        )
        status = "failed" if failed else "open" if open_ else "done"
        starts = [span.start_s for span in everything if span.start_s is not None]
        ends = [span.end_s for span in everything if span.end_s is not None]
        durations = {rank: span.duration_s for rank, span in tagged.items() if span.duration_s is not None}
        slowest = max(durations, key=lambda rank: durations[rank] or 0.0) if durations else None
        return Phase(
            id=self.rule.id,
            title=self.rule.title,
            status=status,
            start_s=min(starts, default=None),
            end_s=None if status != "done" else max(ends, default=None),
            duration_s=None if status != "done" else _duration(list(parts.values())),
            duration_from=None if status != "done" else _source(everything),
            ranks=tagged,
            spans=tuple(everything) if any(len(spans) > 1 for spans in parts.values()) else (),
            slowest=slowest,
            spread_s=max(durations.values()) - min(durations.values()) if len(durations) > 1 else None,
            missing=missing,
            progress=self.progress,
            values=dict(self.values),
            lines=(self.first_line, self.last_line),
            curve=tuple(self.curve),
        )

    def _missing(self, tagged: Mapping[str, Span], ranks: Iterable[str], past: Mapping[str, int]) -> tuple[str, ...]:
        if self.rule.ranks != "all" or self.rule.process != "scheduler" or not any(span.status == "done" for span in tagged.values()):
            return ()
        return tuple(
            rank
            for rank in ranks
            if (rank in tagged and tagged[rank].status == "open") or (rank not in tagged and past.get(rank, 0) < self.first_line)
        )

    def move(self, by: float) -> None:
        """Put it on another clock: `by` seconds earlier."""
        self.moved_at = None if self.moved_at is None else self.moved_at - by
        for spans in self.spans.values():
            for span in spans:
                span.move(by)

    def reached(self) -> Iterable[float]:
        """Until when its open spans are known to have gone on."""
        return (spans[-1].last for spans in self.spans.values() if spans[-1].status == "open" and spans[-1].last is not None)

    def intervals(self) -> Iterable[tuple[float, float]]:
        """What this phase explains: from begin to end, or to the last evidence of an open span."""
        for spans in self.spans.values():
            for span in spans:
                end = span.end if span.end is not None else span.last
                if span.start is not None and end is not None and end > span.start:
                    yield span.start, end


def _span(span: OpenSpan, rank: Rank, zero: float | None) -> Span:
    start = None if span.start is None or zero is None else span.start - zero
    if start is not None and start < 0.0:
        start = 0.0 if start >= -STAMP_S else None  # it began before the log did
    end = None if span.end is None or zero is None else max(start or 0.0, span.end - zero)
    return Span(
        rank, span.status, start, end, span.duration, span.came_from if span.status == "done" else None, (span.line, span.last_line)
    )


def _duration(parts: list[list[Span]]) -> float | None:
    """First rank's begin to last rank's end, summed over the times that the phase came."""
    total = 0.0
    rounds = max((len(spans) for spans in parts), default=0)
    for number in range(rounds):
        spans = [spans[number] for spans in parts if number < len(spans)]
        starts = [span.start_s for span in spans if span.start_s is not None]
        ends = [span.end_s for span in spans if span.end_s is not None]
        figures = [span.duration_s for span in spans if span.duration_s is not None]
        if len(starts) == len(spans) == len(ends):
            total += max(max(ends) - min(starts), max(figures, default=0.0) if len(spans) == 1 else 0.0)
        elif figures:
            total += max(figures)
        else:
            return None
    return total if rounds else None


def _source(spans: list[Span]) -> str | None:
    sources = {span.duration_from for span in spans if span.duration_from}
    return sources.pop() if len(sources) == 1 else "clock" if sources else None
