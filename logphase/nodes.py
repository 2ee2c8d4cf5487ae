"""Startups of several hosts' logs -> one startup: their ranks side by side, on the first node's clock.

Law of this file: only what must happen on all hosts at once tells how far their clocks are apart: the end of the rendezvous, and the
allocation that follows the barrier after loading. A worker prints no bar, no HTTP line and no ready line; that is no fault of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from logphase.gaps import gaps
from logphase.timeline import Node, Phase, Span, Startup

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from logphase.timeline import Moment

COINCIDE = ("dist-init", "kv-cache")  # phases that end on all hosts at once
STAMP_S = 1.5  # a difference that stamps of whole seconds make
AGREE_S = 3.0  # two events tell the same difference
NEAR_S = 3600.0  # starts of one launch are no farther apart, on clocks that are right
AFTER = frozenset({"serving", "shutdown"})
LAUNCHER = frozenset({"launch", "spawn", "download", "http", "warmup", *AFTER})
SHAPE = ("nnodes", "tp_size", "pp_size", "dp_size", "model_path")


@dataclass(frozen=True, slots=True)
class Part:
    """One host's startup: its node rank and the file that it is from."""

    node: int
    source: str
    startup: Startup


def node_rank(startup: Startup) -> int | None:
    """The node that the arguments name; None where the launch has only one."""
    number, of = startup.arguments.get("node_rank"), startup.arguments.get("nnodes")
    return number if isinstance(number, int) and isinstance(of, int) and of > 1 else None


def one_launch(first: Startup, other: Startup) -> bool:
    """Whether two logs' startups are nodes of one launch: same meeting place, same shape, another node rank, started together."""
    place = first.arguments.get("dist_init_addr")
    if place is None or place != other.arguments.get("dist_init_addr") or first.engine != other.engine:
        return False
    if node_rank(first) is None or node_rank(other) is None or node_rank(first) == node_rank(other):
        return False
    if any(first.arguments.get(name) != other.arguments.get(name) for name in SHAPE):
        return False
    apart = abs((first.started.time or 0.0) - (other.started.time or 0.0))
    undated = first.started.time is None or other.started.time is None
    return undated or apart <= NEAR_S or (apart + NEAR_S / 4) % NEAR_S <= NEAR_S / 2  # or another time zone


def merge(parts: Sequence[Part]) -> Startup:
    """Nodes of one launch as one startup; the lines that it names are the first node's."""
    parts = sorted(parts, key=lambda part: part.node)
    head = parts[0].startup
    tags = _tags(parts)
    ahead = [(0.0, ())] + [_ahead(head, part.startup) for part in parts[1:]]
    offsets = [_offset(head, part.startup, skew[0]) for part, skew in zip(parts, ahead, strict=True)]
    earliest = min(offsets)
    moved = [
        _moved(part, offset - earliest, skew[0] or 0.0, tags[part.node])
        for part, offset, skew in zip(parts, offsets, ahead, strict=True)
    ]
    base = moved[0]
    first = moved[offsets.index(earliest)]
    failed = min((part for part in moved if part.cause), key=lambda part: part.ended.after_s or 0.0 if part.ended else 0.0, default=None)
    own = failed or base
    phases = _phases(moved)
    total = base.ready.after_s if base.ready else max((part.last_line.after_s or 0.0 for part in moved), default=None)
    found, share = gaps(_intervals(moved), total) if total is not None else ((), None)
    nodes = tuple(
        Node(part.node, part.source, made.ranks, part.startup.lines, skew[0], skew[1])
        for part, made, skew in zip(parts, moved, ahead, strict=True)
    )
    return replace(
        base,
        started=first.started,
        last_progress=max((part.last_progress for part in moved), key=lambda at: at.after_s or 0.0),
        last_line=max((part.last_line for part in moved), key=lambda at: at.after_s or 0.0),
        ended=own.ended,
        cause=own.cause,
        failed_in=own.failed_in,
        ranks=tuple(rank for part in moved for rank in part.ranks),
        phases=phases,
        gaps=found,
        explained=share,
        duration_s=total,
        reached=any(part.reached for part in moved),
        certain=any(part.certain for part in moved),
        memory=tuple(point for part in moved for point in part.memory),
        nodes=nodes,
        warnings=(*_told(nodes, parts, failed, moved), *dict.fromkeys(text for part in moved for text in part.warnings)),
    )


def _tags(parts: Sequence[Part]) -> Mapping[int, str]:
    """What stands before the rank tags of a node: nothing, unless two nodes print the same ones."""
    every = [rank for part in parts for rank in part.startup.ranks]
    same = len(every) != len(set(every)) or not all(part.startup.ranks for part in parts)
    return {part.node: f"node{part.node}" if same else "" for part in parts}


def _end(startup: Startup, name: str) -> float | None:
    """When a phase ended on this host for the first time, by its last rank; seconds since its start."""
    phase = next((phase for phase in startup.phases if phase.id == name), None)
    if phase is None:
        return None
    if phase.spans:
        first = {span.rank: span.end_s for span in reversed(phase.spans)}
        return max((end for end in first.values() if end is not None), default=None)
    ends = [span.end_s for span in phase.ranks.values() if span.status == "done" and span.end_s is not None]
    return max(ends, default=phase.end_s)


def _ahead(head: Startup, other: Startup) -> tuple[float | None, tuple[str, ...]]:
    """How far the other host's clock is ahead, and which phases tell it."""
    if head.started.time is None or other.started.time is None:
        return None, ()
    told: dict[str, float] = {}
    for name in COINCIDE:
        here, there = _end(head, name), _end(other, name)
        if here is not None and there is not None:
            told[name] = other.started.time + there - (head.started.time + here)
    if not told:
        return None, ()
    first = next(iter(told))
    agreeing = {name: value for name, value in told.items() if abs(value - told[first]) <= AGREE_S}
    mean = sum(agreeing.values()) / len(agreeing)
    return (0.0 if abs(mean) <= STAMP_S else round(mean, 3)), tuple(agreeing)


def _offset(head: Startup, other: Startup, ahead: float | None) -> float:
    """Where the other host's start lies, in seconds since the first node's."""
    if head is other:
        return 0.0
    if head.started.time is not None and other.started.time is not None:
        return other.started.time - head.started.time - (ahead or 0.0)
    for name in COINCIDE:
        here, there = _end(head, name), _end(other, name)
        if here is not None and there is not None:
            return here - there
    return 0.0


def _moved(part: Part, by: float, ahead: float, prefix: str) -> Startup:
    """A host's startup on the common clock, its ranks under names that no other host has."""
    startup = part.startup

    def name(rank: str | None) -> str | None:
        return f"{prefix} {rank}".strip() if rank else None

    def at(moment: Moment) -> Moment:
        after = None if moment.after_s is None else moment.after_s + by
        return replace(moment, after_s=after, time=None if moment.time is None else moment.time - ahead)

    def span(one: Span) -> Span:
        return replace(one, rank=name(one.rank), start_s=_plus(one.start_s, by), end_s=_plus(one.end_s, by))

    def phase(one: Phase) -> Phase:
        ranks = {name(tag) or tag: span(value) for tag, value in one.ranks.items()}
        if prefix and not ranks and one.id not in LAUNCHER:
            ranks = {prefix: span(Span(prefix, one.status, one.start_s, one.end_s, one.duration_s, one.duration_from, one.lines))}
            ranks = {prefix: replace(ranks[prefix], rank=prefix)}
        return replace(
            one,
            start_s=_plus(one.start_s, by),
            end_s=_plus(one.end_s, by),
            ranks=ranks,
            spans=tuple(span(value) for value in one.spans),
            slowest=name(one.slowest),
            missing=tuple(name(tag) or tag for tag in one.missing),
        )

    cause = startup.cause
    return replace(
        startup,
        started=replace(at(startup.started), after_s=0.0),
        ready=at(startup.ready) if startup.ready else None,
        stopped=at(startup.stopped) if startup.stopped else None,
        ended=at(startup.ended) if startup.ended else None,
        last_progress=at(startup.last_progress),
        last_line=at(startup.last_line),
        cause=replace(cause, rank=name(cause.rank)) if cause else None,
        ranks=tuple(name(tag) or tag for tag in startup.ranks) or ((prefix,) if prefix else ()),
        phases=tuple(phase(one) for one in startup.phases),
        memory=tuple(replace(point, rank=name(point.rank), at_s=point.at_s + by) for point in startup.memory),
    )


def _plus(value: float | None, by: float) -> float | None:
    return None if value is None else value + by


def _phases(parts: Sequence[Startup]) -> tuple[Phase, ...]:
    order: dict[str, list[Phase]] = {}
    for startup in parts:
        for phase in startup.phases:
            order.setdefault(phase.id, []).append(phase)
    ready = parts[0].ready is not None
    made = [_phase(found, ready=ready and any(phase.id == name for phase in parts[0].phases)) for name, found in order.items()]
    return tuple(sorted(made, key=lambda phase: (phase.id in AFTER, phase.start_s is not None, phase.start_s or 0.0)))


def _phase(found: Sequence[Phase], *, ready: bool) -> Phase:
    """A phase of all hosts; `ready`: the first node is ready, so its word on the phase is the last."""
    first = found[0]
    if len(found) == 1 or first.id in AFTER:
        return first
    states = {first.status} if ready else {phase.status for phase in found}
    status = next((state for state in ("failed", "open") if state in states), "done")
    ranks = {tag: span for phase in found for tag, span in phase.ranks.items()}
    starts = [phase.start_s for phase in found if phase.start_s is not None]
    ends = [phase.end_s for phase in found if phase.end_s is not None]
    times = {tag: span.duration_s for tag, span in ranks.items() if span.duration_s is not None}
    spans = tuple(span for phase in found for span in phase.spans)
    sources = {phase.duration_from for phase in found if phase.duration_from}
    known = [phase.duration_s for phase in found if phase.duration_s is not None]
    duration = max(known, default=None) if spans or len(starts) < len(found) else _plus(max(ends, default=None), -min(starts))
    done = status == "done"
    return replace(
        first,
        status=status,
        start_s=min(starts, default=None),
        end_s=max(ends, default=None) if done else None,
        duration_s=duration if done else None,
        duration_from=(sources.pop() if len(sources) == 1 else "clock") if sources and done else None,
        ranks=ranks,
        spans=spans,
        slowest=max(times, key=lambda tag: times[tag] or 0.0) if times else None,
        spread_s=max(times.values()) - min(times.values()) if len(times) > 1 else None,
        missing=tuple(dict.fromkeys(tag for phase in found for tag in phase.missing)),
        progress=next((phase.progress for phase in found if phase.progress), None),
        curve=next((phase.curve for phase in found if phase.curve), ()),
    )


def _intervals(parts: Iterable[Startup]) -> list[tuple[float, float, str]]:
    """What the phases of all hosts explain."""
    named = []
    for startup in parts:
        for phase in startup.phases:
            pieces: Sequence[Span | Phase] = phase.spans or tuple(phase.ranks.values()) or (phase,)
            for piece in pieces if phase.id not in AFTER else ():
                end = piece.end_s if piece.end_s is not None else startup.last_line.after_s if piece.status != "done" else None
                if piece.start_s is not None and end is not None and end > piece.start_s:
                    named.append((piece.start_s, end, phase.id))
    return named


def _told(nodes: Sequence[Node], parts: Sequence[Part], failed: Startup | None, moved: Sequence[Startup]) -> list[str]:
    """What a reader must know of the merge: clocks, and in which file a cause stands."""
    told = []
    for node in nodes[1:]:
        if node.ahead_s is None:
            told.append(f"No event tells how the clocks of node {nodes[0].rank} and node {node.rank} stand to each other.")
        elif node.ahead_s:
            which = "ahead of" if node.ahead_s > 0 else "behind"
            by = " and ".join(node.ahead_from)
            told.append(
                f"The clock of node {node.rank} is {abs(node.ahead_s):.1f} s {which} node {nodes[0].rank}'s: {by} must end on both at "
                "once. Its times are corrected by that."
            )
    if failed is not None and failed is not moved[0]:
        told.append(f"The first cause stands in {parts[next(at for at, one in enumerate(moved) if one is failed)].source}.")
    return told
