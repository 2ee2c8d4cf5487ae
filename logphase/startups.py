"""Event -> Startup: one launch in the making, and as a value at any moment.

What a line means is in the rules and in `phases`; this file keeps what came before: which ranks there are, what failed, what was
asked to stop, what speaks for readiness. Law of this file: whatever is fed twice (a bar's state) changes nothing the second time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from zlib import crc32

from logphase.failures import Candidate, Failures
from logphase.fingerprint import Wording
from logphase.phases import MOVES, Phases, bar_progress
from logphase.polls import Polls
from logphase.ranks import MAX_RANKS, Ranks
from logphase.rules import Edge
from logphase.timeline import Evidence, Moment
from logphase.warmth import Signs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from logphase.events import Event
    from logphase.records import Record
    from logphase.rules import RuleSet
    from logphase.spans import Track
    from logphase.timeline import Progress

CAUSE_ITSELF = 3  # strength of a fatal rule that names the cause
MAX_MEMORY = 20_000
HEADS = 8  # first lines by which a startup is known again
AFTER_FAILURE = frozenset({Edge.FATAL, Edge.FRAME})
NO_VALUES = frozenset({"done", "total", "bar_elapsed", "rate", "rank_index"})


class StartupBuilder:
    """Feed the events and records of one launch."""

    def __init__(self, rules: RuleSet, index: int, source: str | None) -> None:
        self.rules = rules
        self.index = index
        self.source = source
        self.phases = Phases(rules)
        self.failures = Failures()
        self.ranks = Ranks()
        self.past: dict[str, int] = {}  # the last line at which each rank was seen in a phase
        self.zero: float | None = None  # when it began
        self.zero_line = 0
        self.zero_from = "log"
        self.first_line = 0
        self.last_line = 0
        self.last_time: float | None = None
        self.progress: tuple[float | None, Evidence | None] = (None, None)
        self.arguments_line = 0
        self.arguments_time: float | None = None
        self.scheduled = False  # a scheduler has spoken
        self.up: Evidence | None = None  # HTTP listens
        self.worker = False  # ready as a node without HTTP
        self.worked = False  # an inference was answered
        self.word: Event | None = None  # of readiness, where no warm-up ran
        self.evidence: list[Evidence] = []  # of inference and readiness
        self.answered = 0  # inference requests before the word that it is ready
        self.ready: Moment | None = None
        self.stop: Event | None = None
        self.warnings: dict[str, list[Event]] = {}
        self.remarks: list[str] = []
        self.timings: Mapping[str, object] = {}
        self.peeked: dict[str, Event] = {}  # bars in an unfinished line
        self.memory: list[tuple[str | None, float, float, str, int]] = []  # rank, moment, GB, phase, line
        self.polls = Polls()
        self.wording = Wording(rules)  # which version of the engine speaks
        self.signs = Signs(rules)  # of a cold or a warm start
        self.head = self.heads = 0  # checksum of the first lines, and of how many
        self.evident = False  # more than a traceback was seen
        self.faint = False  # a traceback was seen, which may be any program's
        self.arrived = False  # its times are arrival times
        self.noted = False  # whoever started its process noted when
        self.foreign = False  # its times so far are a wrapper's, none the engine's own
        self.dated = True
        self._frames: dict[int, str] = {}
        self._errors: tuple[float | None, int] = (None, 0)  # the run of error records that goes on

    @property
    def arguments(self) -> Mapping[str, object]:
        """What the arguments line says."""
        return self.phases.arguments

    @property
    def tracks(self) -> dict[str, Track]:
        """The phases seen so far."""
        return self.phases.tracks

    @property
    def over(self) -> bool:
        """Whether the launch has ended: failed beyond doubt, or was stopped."""
        return self.failures.certain or self.stop is not None

    @property
    def warm_up_skipped(self) -> bool:
        """Whether nothing but a request that somebody sends can prove inference."""
        return str(self.arguments.get("skip_server_warmup")) == "True"

    # --- what comes in

    def see(self, record: Record) -> None:
        """Any record of this launch: it tells the time and which ranks there are."""
        self.first_line = self.first_line or record.line
        self.last_line = max(self.last_line, record.line)
        if self.heads < HEADS:
            self.heads += 1
            self.head = crc32(record.text.encode("utf-8", "replace"), self.head)
        if record.time is not None:
            self.arrived = self.arrived or record.time_from == "arrival"
            self.foreign = record.time_from == "outer" if self.last_time is None else self.foreign and record.time_from in ("outer", "near")
            self.last_time = record.time if self.last_time is None else max(self.last_time, record.time)
            if self.zero is None and record.time_from != "near":  # a line without a stamp has the time of another launch's
                self._begin_clock(record)
        if record.rank:
            self.ranks.know(record.rank)

    def _begin_clock(self, record: Record) -> None:
        """The first stamp: phases that the launcher had begun before it begin here."""
        self.zero, self.zero_line = record.time, record.line
        self.zero_from = "arrival" if record.time_from == "arrival" else "log"
        time, evidence = self.progress
        if time is not None and record.time is not None:  # lines before the first stamp have the time of another launch's
            self.progress = (max(time, record.time), evidence)
        for track in self.tracks.values():
            span = track.open_span(None)
            if span is not None and span.start is None and track.rule.process == "launcher":
                span.start = record.time

    def feed(self, event: Event) -> None:
        """Take an event: `see` its record first."""
        edge = event.rule.edge
        if self.stop is not None or (self.failures.certain and edge not in AFTER_FAILURE):
            return
        faint = edge is Edge.FRAME or (edge is Edge.FATAL and event.rule.provisional and event.rule.strength < CAUSE_ITSELF)
        self.faint = self.faint or (faint and edge is Edge.FATAL)
        self.evident = self.evident or not faint
        rank = self._rank(event)
        if edge in MOVES:
            self._move(event, rank)
        elif edge is Edge.FATAL:
            self._fail(event, rank)
        elif edge is Edge.FRAME:
            self._frames.setdefault(self._trace(event.record), event.rule.phase)
        elif edge is Edge.STOP:
            self.stop = event
            self.failures.forget()  # an interrupt's own traceback is no failure
            self.phases.finish_bars(event.record)
            self.phases.track("shutdown").begin(None, event.record.time, event.record.line)
        elif edge in (Edge.READY, Edge.WORKER_READY):
            self._ready(event)
        else:
            self._note(event, rank)

    def _note(self, event: Event, rank: str | None) -> None:
        """What moves no phase and is told all the same."""
        edge = event.rule.edge
        if edge is Edge.WARN:
            self.warnings.setdefault(event.rule.id, []).append(event)
            if rank and event.rule.phase in self.rules.phases:
                self.past[rank] = event.record.line
        elif edge is Edge.TIMINGS:
            self.timings = event.values
        elif edge is Edge.HEARTBEAT and "status" in event.values:
            self.polls.feed(event.values, event.record.time, event.record.line)

    def move(self, by: float) -> None:
        """Put it on another clock than the one that it was read with so far: `by` seconds earlier."""
        self.zero = None if self.zero is None else self.zero - by
        self.last_time = None if self.last_time is None else self.last_time - by
        self.arguments_time = None if self.arguments_time is None else self.arguments_time - by
        time, evidence = self.progress
        self.progress = (None if time is None else time - by, evidence)
        self.memory = [(rank, moment - by, free, phase, line) for rank, moment, free, phase, line in self.memory]
        self.polls.move(by)
        self.failures.move(by)
        self.stop = self.stop.moved(by) if self.stop is not None else None
        if self.ready is not None and self.ready.time is not None:
            self.ready = replace(self.ready, time=self.ready.time - by)
        self._errors = (None if self._errors[0] is None else self._errors[0] - by, self._errors[1])
        for track in self.tracks.values():
            track.move(by)

    def align(self, by: float) -> None:
        """Its beginning is on the log's clock by the job's own word: only what arrived since is put there, `by` seconds earlier."""
        self.last_time = None if self.last_time is None else self.last_time - by
        time, evidence = self.progress
        self.progress = (None if time is None else time - by, evidence)

    def peek(self, event: Event) -> None:
        """A bar's state in an unfinished line, to show with the next value: nothing is kept of it."""
        if self.over or self.ready is not None or event.rule.edge is not Edge.PROGRESS or not event.is_bar:
            return
        name = self.phases.meant(event, None)
        if name is not None:
            self.peeked[name] = event

    def launched(self, event: Event) -> None:
        """A first line of a new process."""
        self.evident = True
        self.phases.track("launch").begin(None, self.zero, event.record.line)
        self._advance(event, None)

    def began_at(self, time: float, line: int) -> None:
        """The job's own word of when it began, before the engine's first stamp."""
        self.evident = True
        self.first_line = self.first_line or line
        self.last_line = max(self.last_line, line)
        self.zero, self.zero_line, self.zero_from, self.noted = time, line, "process", False
        self.phases.track("launch").begin(None, time, line).start = time

    def started_at(self, time: float) -> None:
        """When its process was started, by the word of whoever did that: before its first line, which may come minutes later."""
        self.zero = time if self.zero is None else min(time, self.zero)
        self.zero_line, self.zero_from, self.noted = self.first_line, "process", True
        launch = self.tracks.get("launch")
        for span in launch.spans.get(None, ()) if launch is not None else ():
            span.start = self.zero

    def set_arguments(self, event: Event, arguments: Mapping[str, object], *, whole: bool) -> None:
        """The arguments line: launch is over, the processes are spawned."""
        record = event.record
        self.evident = True
        if not self.phases.arguments:
            self.phases.arguments, self.phases.arguments_whole = arguments, whole
        self.arguments_line, self.arguments_time = record.line, record.time
        launch = self.phases.track("launch")
        if launch.open_span(None) is None and not launch.is_done(None):
            launch.begin(None, self.zero, self.first_line)
        if launch.open_span(None) is not None:
            launch.end(None, record.time, record.line, None, None)
        if not self.scheduled:
            self.phases.track("spawn").begin(None, record.time, record.line)
        self._advance(event, None)

    def tagged(self, record: Record) -> None:
        """A line with a rank's tag, or of a phase that only schedulers have: a scheduler lives, so launch and spawn are over."""
        if self.scheduled:
            return
        self.scheduled = True
        for name in {"launch", "spawn"} & self.tracks.keys():
            self.tracks[name].settle(record.time)

    def alive(self, record: Record) -> None:
        """A line of the engine that no rule knows: it works, in whatever phase it is."""
        if not self.over and self.ready is None:
            before, evidence = self.progress
            self.progress = (record.time if record.time is not None else before, evidence or _evidence("", record, record.rank))

    # --- what it means

    def _rank(self, event: Event) -> str | None:
        """Whose line it is: its tag, torch's alias of it, the number in its text, or the tag of the record that it continues."""
        record = event.record
        number = event.values.get("rank_index", record.alias)
        if isinstance(number, int):
            return self.ranks.by_number(number) or record.rank or None
        if record.header is None and record.owner is not None and event.rule.edge in AFTER_FAILURE and self._is_trace(record.owner):
            return record.rank or record.owner.rank or self.ranks.of_alias(record.owner.alias)
        return record.rank or None

    def _is_trace(self, owner: Record) -> bool:
        """Whether what follows a record is its traceback: then it is about the record's rank."""
        return "Traceback" in owner.message or self.failures.holds(owner.line)

    def _trace(self, record: Record) -> int:
        """Which traceback a line belongs to: the line of the record that it continues, or of the first of a run of error records."""
        if record.header is None:
            return record.owner.line if record.owner is not None else 0
        if record.level != "ERROR":
            return record.line
        time = self._errors[0]
        if time is None or time != record.time:
            self._errors = (record.time, record.line)
        return self._errors[1]

    def _move(self, event: Event, rank: str | None) -> None:
        rule, record, values = event.rule, event.record, event.values
        name = self.phases.meant(event, rank)
        if name is None:
            self.phases.keep(event)
            return
        if self.ready is not None:  # a server that captures graphs again while it serves is not starting
            return
        track = self.phases.track(name)
        track.said.setdefault(rule.edge, rule.since)
        phase = track.rule
        key = None if phase.process == "launcher" else rank
        if phase.process == "scheduler" and not phase.nested:
            self.tagged(record)
        bar = bar_progress(event, phase.unit) if event.is_bar else None
        news = True
        if rule.edge in (Edge.END, Edge.POINT):
            self._end(event, track, key)
        else:
            news = self._enter(event, track, rank, key, bar)
        if news and not phase.nested:
            self.phases.leave_nested(record)
        track.values.update({name: value for name, value in values.items() if name not in NO_VALUES})
        if rank:
            self.past[rank] = record.line
        if news:
            self._remember(event, track, rank, bar)
            self._advance(event, rank)

    def _enter(self, event: Event, track: Track, rank: str | None, key: str | None, bar: Progress | None) -> bool:
        """A begin, or evidence that a phase goes on, which opens it where no begin was seen; False for a bar's state that is no news."""
        record, explicit = event.record, event.rule.edge is Edge.BEGIN
        if explicit or not track.is_open() or (bar is None and track.open_span(key) is None):
            elapsed = bar.elapsed_s if bar else None
            self.phases.enter(track.rule.id, rank, record, explicit=explicit, bar_elapsed=elapsed, zero=self.zero)
        if bar is not None:
            return track.bar(bar, record.time, record.line)
        track.seen(key, record.time, record.line)
        return True

    def _remember(self, event: Event, track: Track, rank: str | None, bar: Progress | None) -> None:
        """The free memory that a line or a bar tells."""
        record, free = event.record, event.values.get("avail_mem_gb")
        if not isinstance(free, float) or record.time is None or len(self.memory) >= MAX_MEMORY:
            return
        span = track.open_span(rank) or track.open_span(None)
        moment = span.start + bar.elapsed_s if bar and bar.elapsed_s and span and span.start is not None else record.time
        self.memory.append((rank, moment, free, track.rule.id, record.line))

    def _end(self, event: Event, track: Track, key: str | None) -> None:
        rule, record = event.rule, event.record
        elapsed = event.values.get("elapsed_s")
        start = record.time if rule.edge is Edge.POINT else self.phases.implied_start(track.rule)
        track.end(key, record.time, record.line, elapsed if isinstance(elapsed, float) else None, start)
        if rule.opens:
            self.up = _evidence(rule.id, record, None)
            if not self.phases.argument_is(rule.opens_unless):
                self.phases.track(rule.opens).begin(None, record.time, record.line)

    def _advance(self, event: Event, rank: str | None) -> None:
        """The startup goes on: nothing that was only provisionally fatal was its end."""
        record = event.record
        self.progress = (record.time if record.time is not None else self.progress[0], _evidence(event.rule.id, record, rank))
        self.failures.forget()

    def _fail(self, event: Event, rank: str | None) -> None:
        rule = event.rule
        named = self.phases.again(rule.phase, rank) if rule.phase in self.rules.phases else None
        during = self.phases.current(rank) or self.phases.current()
        self.failures.feed(Candidate(event, rank, named, self._trace(event.record), during))

    def failed_in(self) -> str | None:
        """The phase of the failure: the one that the cause names, else its traceback's frames or head, else the one that ran."""
        cause = self.failures.cause
        if cause is None or cause.phase is not None:
            return cause.phase if cause else None
        frame = self._frames.get(cause.trace)
        if frame:
            return self.phases.again(frame, cause.rank)
        return self.failures.named(cause.trace) or cause.during

    def failed_between(self) -> bool:
        """Whether no line names the phase of the failure and the last one had ended."""
        cause = self.failures.cause
        if cause is None or cause.phase or self._frames.get(cause.trace) or self.failures.named(cause.trace):
            return False
        return cause.during is None or not self.tracks[cause.during].is_open()

    def _ready(self, event: Event) -> None:
        """The engine's word counts when a warm-up ran before it; without one only a request that was answered does."""
        rule, record = event.rule, event.record
        if self.ready is not None or (rule.edge is Edge.WORKER_READY and self.arguments.get("node_rank") == 0):
            return  # a worker's lines in the head node's log
        http = self.tracks.get("http")
        before_http = rule.edge is Edge.READY and not self.arguments and http is not None and http.is_open()
        if rule.inference:
            self.worked = True
            self.answered += 1
            if len(self.evidence) < MAX_RANKS:
                self.evidence.append(_evidence(rule.id, record, record.rank))
            if not (self.word is not None and self.warm_up_skipped):
                return
        elif self.warm_up_skipped or before_http:
            self.word = event
            self.phases.arguments = {**self.arguments, "skip_server_warmup": True}
            return
        else:
            self.evidence.append(_evidence(rule.id, record, record.rank))
        self.worker = rule.edge is Edge.WORKER_READY
        after = None if record.time is None or self.zero is None else record.time - self.zero
        self.ready = Moment(record.time, record.line, "log", after)
        for track in self.tracks.values():
            track.settle(record.time, every=True)
        self.phases.track("serving").begin(None, record.time, record.line)
        self._advance(event, None)


def _evidence(rule: str, record: Record, rank: str | None) -> Evidence:
    return Evidence(rule, record.line, rank or None, record.text.strip())
