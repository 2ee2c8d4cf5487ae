"""Timeline: what a log says about its startups, as plain frozen values.

Law of this file: nothing here reads, decides or prints. Times ending in `_s` are seconds since the startup's `started`;
moments are seconds on the log's own clock, read as if it were UTC. What is not known is None, never 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pandas import DataFrame

Value: TypeAlias = str | int | float | bool | None
WITNESS = "witness:"


class Launched(NamedTuple):
    """When a process was started: on the wall clock (epoch seconds), and on its host's own clock without a zone, as logs use it."""

    at: float
    local: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """A line that a statement rests on. `line` is 1-based and counts newlines only; `text` is redacted by the view.

    Of a witness beside the log `rule` is `witness:NAME` and `line` 0.
    """

    rule: str
    line: int
    rank: str | None
    text: str

    @property
    def witness(self) -> str:
        """The witness that said it; empty for a line of the log."""
        return self.rule.removeprefix(WITNESS) if self.rule.startswith(WITNESS) else ""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a startup failed: the first cause, not the first loud line."""

    rule: str
    line: int
    rank: str | None
    text: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Sign:
    """That something came from a cache (`state` warm) or was made anew (cold): `what` for a person, and the line that says it."""

    state: str
    what: str
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Progress:
    """The newest state of a bar: `done` of `total`, the bar's own elapsed seconds and seconds per step where it prints them."""

    done: int
    total: int
    unit: str
    elapsed_s: float | None = None
    step_s: float | None = None
    line: int = 0


@dataclass(frozen=True, slots=True)
class Span:
    """One stretch of a phase on one rank (`rank` None: a process without tag). `status`: done | open | failed.

    `duration_from`: elapsed (the engine's own figure) | bar | clock | arrival.
    """

    rank: str | None
    status: str
    start_s: float | None
    end_s: float | None
    duration_s: float | None
    duration_from: str | None
    lines: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase over all ranks. `ranks`: the newest span per tag; `spans`: all parts, when it came more than once."""

    id: str
    title: str
    status: str
    start_s: float | None
    end_s: float | None
    duration_s: float | None
    duration_from: str | None
    ranks: Mapping[str, Span]
    spans: tuple[Span, ...]
    slowest: str | None
    spread_s: float | None
    missing: tuple[str, ...]
    progress: Progress | None
    values: Mapping[str, Value]
    lines: tuple[int, int]
    curve: tuple[tuple[float, int], ...] = ()  # (bar's elapsed s, steps done), thinned to at most 200 points


@dataclass(frozen=True, slots=True)
class Memory:
    """Free memory of a rank's GPU in GB, as a line or a bar printed it `at_s` seconds after the start."""

    rank: str | None
    at_s: float
    avail_gb: float
    phase: str
    line: int


@dataclass(frozen=True, slots=True)
class Gap:
    """Time between two phases that no evidence names."""

    after: str | None
    before: str | None
    start_s: float
    duration_s: float


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment of a startup. `time` is None where the log gives no full date; `source`: process | arrival | log."""

    time: float | None
    line: int
    source: str = "log"
    after_s: float | None = None


@dataclass(frozen=True, slots=True)
class Poller:
    """A client that asked for the server's health: how often in vain and how often with success, its first, first healthy and last poll.

    `last` is the last one that was read: of a long log only the lines around the startup are.
    """

    client: str
    refused: int
    healthy: int
    first: Moment
    first_healthy: Moment | None
    last: Moment


@dataclass(frozen=True, slots=True)
class Node:
    """One host of a launch that spans several, each with a log of its own.

    `ahead_s`: how far its clock is ahead of the first node's, None where no events tell; `ahead_from`: the phases that tell.
    """

    rank: int
    source: str
    ranks: tuple[str, ...]
    lines: tuple[int, int]
    ahead_s: float | None = None
    ahead_from: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Startup:
    """One launch of an engine, as far as the log has it."""

    index: int
    engine: str
    source: str | None
    lines: tuple[int, int]
    started: Moment
    ready: Moment | None
    stopped: Moment | None
    ended: Moment | None
    last_progress: Moment
    last_line: Moment
    arguments: Mapping[str, object]
    ranks: tuple[str, ...]
    phases: tuple[Phase, ...]
    gaps: tuple[Gap, ...]
    explained: float | None
    current: str | None
    failed_in: str | None
    cause: Cause | None
    ready_evidence: tuple[Evidence, ...]
    stop_evidence: tuple[Evidence, ...]
    progress_evidence: tuple[Evidence, ...]
    warnings: tuple[str, ...]
    duration_s: float | None = None  # started to ready, or to the last line
    budget_s: float = 0.0  # how long the current phase may be silent
    budget_from: str = ""
    waiting_for: str = ""  # why a server that is up does not count as ready
    reached: bool = True  # something beyond `launch` was seen
    certain: bool = False  # a failure that leaves no doubt
    worked: bool = False  # an inference was answered, or the warm-up that the engine waits for ended
    worker: bool = False  # ready as a node without HTTP: its ranks are up, no inference is to be seen
    memory: tuple[Memory, ...] = ()
    pollers: tuple[Poller, ...] = ()
    nodes: tuple[Node, ...] = ()  # the hosts whose logs were merged into this startup
    version: str = ""  # of the engine: what the log says, or the range that its wording leaves
    head: int = 0  # checksum of its first lines
    signs: tuple[Sign, ...] = ()  # of a cold or a warm start; `logphase.warmth` weighs them
    weight_bytes: int | None = None  # size of the model's files, where whoever asks can see them


@dataclass(frozen=True, slots=True)
class Timeline:
    """All startups of a log, in file order, and what was read."""

    engine: str | None
    startups: tuple[Startup, ...]
    lines: int
    traffic: bool = False
    dropped: int = 0
    looked_for: tuple[str, ...] = field(default=())

    def to_frame(self) -> DataFrame:
        """Spans as a pandas frame: one row for each startup, phase and rank; docs/report.md tells the columns."""
        frame: DataFrame = import_module("logphase.tables").frame(self.startups)  # pandas is loaded only where it is asked for
        return frame
