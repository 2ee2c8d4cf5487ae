"""bytes -> Timeline: the walk of one log, composed. Read this file first; `analyzer` chooses whose rules it takes.

    bytes -> lines -> records -> events -> launches -> timeline

No clock, file or thread: the bytes come in with their arrival time, and the same `feed` serves a live log, a finished one and the
tests. While a startup runs every line is read; when it is over, or nothing has been known for long, only lines that hold a text of
an armed rule are (`quiet`), which is what makes a log of gigabytes cheap.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

from logphase.events import Matcher
from logphase.launches import Launches
from logphase.lines import HEAD, Line, LineSplitter, clean
from logphase.literals import scanner
from logphase.records import RecordParser
from logphase.rules import Edge
from logphase.snapshot import snapshot
from logphase.spans import STAMP_S
from logphase.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Callable

    from logphase.records import Record
    from logphase.rules import RuleSet
    from logphase.startups import StartupBuilder
    from logphase.timeline import Launched, Startup

PATIENT_LINES = 2000  # lines without a known one before a log counts as quiet
ALERT_LINES = 400  # lines that are read in full after a failure of a server that was up
AFTERWARDS = 400  # lines that are read in full after a server is ready: who polled it, and for how long
SILENT_S = 3600.0  # from the start of a process to its first line, at most
REACH = HEAD - 1024  # into a line in which a text counts, so that it lies in what is kept as a whole
TRAFFIC = frozenset({Edge.SERVING, Edge.HEARTBEAT, Edge.NOTE})
NEWS = frozenset({Edge.LAUNCH, Edge.ARGUMENTS, Edge.STOP, Edge.FATAL})  # of a server that is up, or over


class Walk:
    """The walk with the rules of one engine."""

    def __init__(self, rules: RuleSet, until: float | None = None, reference: float | None = None, afterwards: int = AFTERWARDS) -> None:
        self.rules = rules
        self._afterwards = afterwards
        self.lines = LineSplitter()
        self.records = RecordParser(rules, reference)
        self.matcher = Matcher(rules)
        self.launches = Launches(rules)
        self.claimed = False  # the engine's own words were seen
        self._until = until
        self._ended = False  # `until` is reached
        self._unknown = 0  # lines since the last known one
        self._alert = 0
        self._settled = 0  # lines since every launch was ready or over
        self._parsed = 0  # bytes up to which records were read
        self._steps = 0
        self._aligned = False  # arrival times and the log's clock
        self._rezoned = False  # a wrapper's stamps and the log's clock
        self._past: list[Startup] = []  # of the launches that nothing can change any more, as values
        self._passed = 0  # how many launches these are
        self._past_key: tuple[bool, bool] = (False, False)  # what else they depend on: `claimed`, and whether times have dates
        self._redated = 0.0  # by how much launches were moved since a stamp told the full date
        self._scan: Callable[[memoryview], list[int]] | None = None  # armed while quiet
        self._hits: deque[int] = deque()
        self._scanned = 0
        self._scans: dict[bool, Callable[[memoryview], list[int]]] = {}
        self._launched: Launched | None = None  # a process was started whose first known line has not come yet
        self._begun: StartupBuilder | None = None  # the launch that began last
        self._passing = False  # inside a line that is too long to be looked at as a whole, and not worth it

    def feed(self, data: bytes, at: float | None, launched: Launched | None = None) -> None:
        """Take bytes and read every line that is complete."""
        if self._ended:
            return
        self._launched = launched or self._launched
        self.lines.feed(data, at)
        while not self._ended:
            if self._scan is not None and self.lines.at_line_start and not self._skip(self._scan):
                return
            line = self.lines.pop()
            if line is None:
                return
            if self._passing:
                self._passing = not line.end
            else:
                self._line(line)

    def close(self) -> None:
        """The input has ended: its last line counts although it has no end."""
        if not self._ended:
            line = self.lines.close()
            if line is not None and not self._passing:
                self._line(line)
            for record in self.records.close():
                self._record(record)

    def timeline(self) -> Timeline:
        """What is known now; the unfinished line's bar is looked at too."""
        if not self._ended:
            self._catch_up()
            self._peek()
        return Timeline(
            engine=self.rules.engine,
            startups=(*self._settle(), *self._values(self._passed)),
            lines=self.lines.number - 1,
            traffic=self.launches.traffic,
            dropped=self.launches.dropped,
            looked_for=self.rules.claims[:6],
        )

    def _settle(self) -> list[Startup]:
        """The startups of launches whose successors speak: looking at a live log often must not cost more for each of them."""
        if self._past_key != (self.claimed, self.records.dated):
            self._forget_past()
            self._past_key = (self.claimed, self.records.dated)
        passed = self.launches.passed(self._passed)
        self._past += self._values(self._passed, passed)
        self._passed = passed
        return self._past

    def _forget_past(self) -> None:
        self._past, self._passed = [], 0

    def _values(self, begin: int, end: int | None = None) -> list[Startup]:
        """The launches from one number to another as values."""
        seen = [launch for launch in self.launches.all[begin:end] if launch.evident or (launch.faint and self.claimed)]
        for launch in seen:
            launch.dated = self.records.dated or launch.arrived
        return [snapshot(launch) for launch in seen]

    def _peek(self) -> None:
        """Bars in the unfinished line are shown, and kept only when it is complete."""
        for launch in self.launches.running:
            launch.peeked.clear()
        for record in self.records.bars(self.lines.tail()):
            current = self.launches.current(record.source)
            event = self.matcher.feed(record) if current is not None else None
            if current is not None and event is not None:
                current.peeked.clear()
                current.peek(event)

    def _line(self, line: Line) -> None:
        for record in self.records.feed(line):
            self._record(record)
            if self._ended:
                return
        self._parsed = self.lines.offset
        self._quieten()

    def _record(self, record: Record) -> None:
        if self._until is not None and record.time is not None and record.time > self._until:
            self._ended = True
            return
        launches = self.launches
        current = launches.current(record.source)
        self.matcher.serving = current is not None and (current.ready is not None or current.over) and not self._alert
        event = self.matcher.feed(record, anywhere=not self.records.headed)
        self._align()
        self._redate()
        begun = launches.feed(record, event)
        if begun is not None:
            begun.move(self.records.restart(record))
            self._begun = begun
        if self._launched is not None:
            self._start(self._launched, record)
        if len(self.records.clock.steps) > self._steps:
            self._steps = len(self.records.clock.steps)
            self._remark(record.line, self.records.clock.steps[-1])
        self._alert = max(0, self._alert - 1)
        self._unknown += 1
        if event is not None and event.rule.edge not in TRAFFIC and not event.rule.inference:
            self._unknown = 0
            if event.rule.edge is Edge.FATAL:
                self._alert = ALERT_LINES

    def _align(self) -> None:
        """The first stamp tells how far the times so far, arrival's or a wrapper's, are from the log's clock: another zone's, maybe."""
        shift = self.records.arrival_shift
        if shift is not None and not self._aligned:
            self._aligned = True
            self._forget_past()
            for launch in self.launches.all:
                if launch.zero_from == "arrival" or (launch.noted and launch.arrived):
                    launch.move(shift)
                elif launch.arrived:
                    launch.align(shift)
        zone = self.records.outer_shift
        if zone and not self._rezoned:
            self._rezoned = True
            self._forget_past()
            for launch in self.launches.all:
                if launch.foreign and launch.zero_from == "log":
                    launch.move(zone)
                elif launch.foreign:
                    launch.align(zone)

    def _start(self, noted: Launched, record: Record) -> None:
        """The newest launch began when its process was started. A note that does not fit is another launch's, from under the same name."""
        launch = self._begun
        if launch is None or launch.zero is None:
            return
        self._launched = self._begun = None
        time = noted.local if record.at is None else noted.at - (self.records.arrival_shift or 0.0)
        if -STAMP_S <= launch.zero - time <= SILENT_S:
            launch.started_at(time)

    def _redate(self) -> None:
        """The first full date tells of which year, or day, the stamps before it were."""
        by = self._redated - self.records.clock.moved
        if by:
            self._redated -= by
            self._forget_past()
            self.launches.move(by)

    def _remark(self, line: int, back: float) -> None:
        if self.launches.all:
            self.launches.all[-1].remarks.append(f"The log's clock went back by {back:.0f} s at line {line}; durations go on across it.")

    # --- quiet: only lines with an armed rule's text

    def _quieten(self) -> None:
        settled = self.launches.settled
        self._settled = self._settled + 1 if settled else 0
        calm = self._settled > self._afterwards or not self.launches.serving
        quiet = not self._alert and ((settled and calm) or self._unknown > PATIENT_LINES)
        scan = self._scanner(settled) if quiet else None
        if scan is not self._scan:
            self._scan, self._scanned = scan, self.lines.offset
            self._hits.clear()

    def _scanner(self, settled: bool) -> Callable[[memoryview], list[int]]:  # noqa: FBT001 - a key
        if settled not in self._scans:
            self._scans[settled] = scanner(self._texts(settled))
        return self._scans[settled]

    def _texts(self, settled: bool) -> list[str]:  # noqa: FBT001 - of a key
        """What makes a line worth reading while the log is quiet."""
        armed = [
            rule
            for rule in self.rules.rules
            if (rule.scope == "always" and rule.edge in NEWS if settled else rule.edge not in TRAFFIC and not rule.inference)
        ]
        return [text for rule in armed for text in rule.contains]

    @property
    def news(self) -> list[str] | None:
        """While every launch is ready or over and the log is quiet: the texts without which no line changes anything; else None."""
        if self._scan is None or self._passing or not self.lines.at_line_start or not self.launches.settled:
            return None
        return self._texts(settled=True) if self._scan is self._scans.get(True) else None

    def _skip(self, scan: Callable[[memoryview], list[int]]) -> bool:
        """Pass over lines that hold none of the armed texts; True when the next line is to be read."""
        lines = self.lines
        size = len(lines.pending)
        offset = lines.offset
        fresh = max(self._scanned, offset)
        if fresh < offset + size:
            begin = lines.line_start(fresh - offset)
            while self._hits and self._hits[-1] >= offset + begin:
                self._hits.pop()
            self._hits.extend(offset + begin + hit for hit in scan(lines.pending[begin:]))
            self._scanned = offset + size
        while self._hits:
            hit = self._hits[0] - offset
            start = lines.line_start(hit) if hit >= 0 else 0
            if 0 <= hit < start + REACH:
                lines.skip(start)
                self._context()
                return True
            self._hits.popleft()
        lines.skip(lines.line_start(size))
        self._passing = len(lines.pending) > HEAD
        return self._passing

    def _context(self) -> None:
        """Read the last stamped line before this one, so that a line without a stamp has a time and an owner."""
        behind = self.lines.offset - self._parsed
        if behind <= 0:
            return
        history = self.lines.history
        parts = history[-behind:].split(b"\n")
        if behind > len(history):
            parts[0] = b""  # it lacks its head
        number = self.lines.number - len(parts) + 1
        texts: list[tuple[int, str]] = []
        for index in range(len(parts) - 1, -1, -1):
            if parts[index]:
                texts.append((number + index, clean(parts[index])))
                if self.records.stamped(texts[-1][1]):
                    break
        for line, text in reversed(texts):
            for record in self.records.feed(Line(line, text)):
                launch = self.launches.current(record.source)
                if launch is not None and (self._until is None or record.time is None or record.time <= self._until):
                    launch.see(replace(record, rank=None))  # which ranks there are must not depend on who asked when
        self._parsed = self.lines.offset

    def _catch_up(self) -> None:
        if self._scan is not None and self.lines.at_line_start:
            self._context()
