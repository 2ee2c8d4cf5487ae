"""Records and events -> launches: which of the startups in a log each of them belongs to.

A log that is appended to holds several launches; replicas and actors write into one file; the last lines of the old server come
after the first of the new one. A ready line of one launch never counts for another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from logphase import arguments
from logphase.phases import MOVES
from logphase.rules import Edge
from logphase.startups import StartupBuilder

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from logphase.events import Event
    from logphase.records import Record
    from logphase.rules import RuleSet

MAX_STARTUPS = 10_000
SAME_S = 2.0  # an arguments line that comes again within this is the same launch's
DRAIN_S = 120.0  # a server that was up says its last lines within this
LATE_S = 30.0  # what the other ranks say so long after a failure is no new launch
LATE = frozenset({Edge.SERVING, Edge.READY, Edge.STOP, Edge.HEARTBEAT, Edge.NOTE, Edge.WARN})  # of an old server, behind a new launch
BEGINS = MOVES | {Edge.FATAL, Edge.STOP, Edge.READY, Edge.WORKER_READY, Edge.TIMINGS, Edge.FRAME}
PLACES = frozenset({"port", "base_gpu_id", "dp_rank", "node_rank", "nccl_port", "dist_init_addr", "random_seed", "host", "gpu_id_step"})


class Launches:
    """Feed records with their events; `all` are the launches in the order in which they began."""

    def __init__(self, rules: RuleSet) -> None:
        self._rules = rules
        self.all: list[StartupBuilder] = []
        self.dropped = 0
        self.traffic = False
        self._current: dict[str | None, StartupBuilder] = {}
        self._previous: dict[str | None, StartupBuilder] = {}
        self._prologue: Record | None = None

    def current(self, source: str | None) -> StartupBuilder | None:
        """The launch that a source's lines belong to now."""
        return self._current.get(source)

    @property
    def running(self) -> Collection[StartupBuilder]:
        """The newest launch of each source."""
        return self._current.values()

    def passed(self, begin: int) -> int:
        """How many launches, counted on from `begin`, are over for good: nothing that comes can belong to them."""
        speaking = {*map(id, self._current.values()), *map(id, self._previous.values())}
        while begin < len(self.all) and id(self.all[begin]) not in speaking:
            begin += 1
        return begin

    @property
    def settled(self) -> bool:
        """Whether every source's launch is ready or over: nothing but its end or a new launch is news."""
        return bool(self._current) and all(launch.ready is not None or launch.over for launch in self._current.values())

    @property
    def serving(self) -> bool:
        """Whether any source's launch is ready and not over."""
        return any(launch.ready is not None and not launch.over for launch in self._current.values())

    def feed(self, record: Record, event: Event | None) -> StartupBuilder | None:
        """Give a record to its launch; returns it when the record began a new one."""
        if event is None:
            self._unknown(record)
            return None
        edge = event.rule.edge
        self.traffic = self.traffic or edge is Edge.SERVING
        before = self._current.get(record.source)
        if edge is Edge.LAUNCH:
            launch = before if before is not None and not _beyond(before) else self._new(record)
            launch.see(record)
            launch.launched(event)
        elif edge is Edge.ARGUMENTS:
            launch = self._arguments(event, before)
        else:
            other = self._other(event, before)
            if other is None:
                return None
            launch = other
        launch.wording.feed(event)
        launch.signs.feed(event)
        return launch if launch is not before and launch is self._current.get(record.source) else None

    def move(self, by: float) -> None:
        """The log's clock was wrong so far: `by` seconds earlier. What a job's own word has dated is not concerned."""
        self._prologue = None if self._prologue is None else self._prologue.moved(by)
        for launch in self.all:
            if launch.zero_from != "process":
                launch.move(by)

    def _unknown(self, record: Record) -> None:
        launch = self._current.get(record.source)
        if launch is None:
            if self._prologue is None and record.header is not None and record.time_from == "log":
                self._prologue = record
            return
        launch = self._late(record, None, launch) or launch
        launch.see(record)
        if record.header is not None and record.alias is None:
            if record.rank:
                launch.tagged(record)
            launch.alive(record)

    def _other(self, event: Event, launch: StartupBuilder | None) -> StartupBuilder | None:
        record, rule = event.record, event.rule
        if launch is not None:
            launch = self._late(record, event, launch) or launch
            if launch.over and rule.edge is Edge.BEGIN and _long_after(launch, record):
                launch = self._new(record)
        elif rule.edge not in BEGINS or (rule.edge is Edge.READY and rule.inference):
            if record.header is not None and record.time_from == "log" and self._prologue is None and rule.edge is not Edge.SERVING:
                self._prologue = record
            return None
        else:
            launch = self._new(record)
        wall = event.values.get("wall_time")
        if wall is not None:
            from logphase.clock import Clock

            time = Clock().read(str(wall))
            if time is not None and not _beyond(launch):
                launch.began_at(time, record.line)
            return launch
        launch.see(record)
        if record.rank and record.header is not None and record.alias is None:
            launch.tagged(record)
        launch.feed(event)
        return launch

    def _late(self, record: Record, event: Event | None, launch: StartupBuilder) -> StartupBuilder | None:
        """The old server, if it is the one that still speaks while the new one has said no more than that it begins."""
        previous = self._previous.get(record.source)
        if previous is None or previous.ready is None or _beyond(launch):
            return None
        if record.time is not None and previous.last_time is not None and record.time - previous.last_time > DRAIN_S:
            return None
        if record.rank or (event is not None and event.rule.edge in LATE and event.rule.phase not in ("launch", "download")):
            return previous
        return None

    def _arguments(self, event: Event, launch: StartupBuilder | None) -> StartupBuilder:
        record = event.record
        text = str(event.values.get("arguments", record.message))
        found = arguments.parse(text)
        if launch is not None and launch.arguments_line and not self._same_launch(event, found, launch):
            launch = None
        if launch is None or (launch.arguments_line == 0 and _beyond(launch)):
            launch = self._new(record)
        launch.see(record)
        launch.set_arguments(event, found, whole=arguments.is_whole(text))
        return launch

    def _same_launch(self, event: Event, found: Mapping[str, object], launch: StartupBuilder) -> bool:
        """An arguments line that comes again: once more for the same process, for another node, or for a replica beside it."""
        if launch.over or launch.ready is not None:
            return False
        before = launch.arguments
        changed = {name for name in found.keys() | before.keys() if found.get(name) != before.get(name)}
        time = event.record.time
        soon = time is None or launch.arguments_time is None or time - launch.arguments_time <= SAME_S
        if not changed:
            return soon and not launch.scheduled
        node = "node_rank" in changed and str(found.get("nnodes", 1)) not in ("1", "None")
        return changed <= PLACES and (node or not launch.scheduled)

    def _new(self, record: Record) -> StartupBuilder:
        source = record.source
        before = self._current.get(source)
        if before is not None:
            self._previous[source] = before
        if len(self.all) >= MAX_STARTUPS:
            self.dropped += 1
            self.all.pop()
        launch = StartupBuilder(self._rules, len(self.all) + self.dropped + 1, source)
        if self._prologue is not None:
            launch.see(self._prologue)
            self._prologue = None
        self.all.append(launch)
        self._current[source] = launch
        return launch


def _beyond(launch: StartupBuilder) -> bool:
    """Whether more than its first lines was seen of a launch."""
    return bool(launch.arguments_line) or launch.scheduled or launch.ready is not None or launch.over or bool(launch.failures.cause)


def _long_after(launch: StartupBuilder, record: Record) -> bool:
    cause = launch.failures.cause
    ended = launch.stop.record.time if launch.stop else cause.event.record.time if cause else None
    return record.time is not None and ended is not None and record.time - ended > LATE_S
