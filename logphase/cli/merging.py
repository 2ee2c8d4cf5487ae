"""Timelines of several files -> the same with the nodes of one launch put together."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from logphase.errors import LogphaseError
from logphase.nodes import Part, merge, node_rank, one_launch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from logphase.timeline import Startup, Timeline


def logs_argument(command: Callable[..., object]) -> Callable[..., object]:
    """Any number of logs, none where --node names them."""
    return click.argument("logs", metavar="LOG...", nargs=-1)(command)


def node_option(command: Callable[..., object]) -> Callable[..., object]:
    """Which node a file is."""
    return click.option(
        "--node",
        "nodes",
        multiple=True,
        callback=_nodes,
        metavar="N=FILE",
        help="FILE is node N of the launch whose other logs are named; without it the arguments in the logs tell which belong together.",
    )(command)


def _nodes(_: click.Context, __: click.Parameter, values: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for value in values:
        named = re.fullmatch(r"(\d{1,5})=(.+)", value, re.DOTALL)
        if named is None:
            raise click.BadParameter(f"{value!r} names no node; write its number and its log, e.g. --node 1=node1.log")
        if int(named[1]) in found.values():
            raise click.BadParameter(f"node {int(named[1])} is named twice")
        if named[2] in found:
            raise click.BadParameter(f"{named[2]} is named as node {found[named[2]]} and as node {int(named[1])}")
        found[named[2]] = int(named[1])
    return found


def merged(timelines: dict[str, Timeline], nodes: dict[str, int]) -> dict[str, Timeline]:
    """The timelines with each launch's startup in its first node's file, and no longer in the others'."""
    told = [path for path in nodes if path in timelines]
    if told:
        missing = [path for path in told if not timelines[path].startups]
        if missing:
            raise LogphaseError(f"{missing[0]} holds no startup, so it is no node of one", "Look at it alone: logphase report FILE")
        group = {path: timelines[path].startups[-1] for path in told}
        numbers = {path: nodes[path] for path in told}
        for path, timeline in timelines.items():
            fitting = None if path in group else _joins(timeline, group, numbers)
            if fitting is not None:
                group[path], numbers[path] = fitting, node_rank(fitting) or 0
        if len(nodes) == 1 == len(group):
            raise LogphaseError(
                f"--node names {told[0]} alone, and no other log that is named belongs to its launch",
                "Name each node's log: logphase report --node 0=head.log --node 1=worker.log",
            )
        return _put_together(timelines, group, numbers) if len(group) > 1 else timelines
    for path, timeline in list(timelines.items()):
        for startup in timeline.startups:
            group = _group(timelines, path, startup)
            if len(group) > 1:
                timelines = _put_together(timelines, group, {name: node_rank(one) or 0 for name, one in group.items()})
    return {path: _apart(timeline) for path, timeline in timelines.items()} if len(timelines) > 1 else timelines


def _joins(timeline: Timeline, group: dict[str, Startup], numbers: dict[str, int]) -> Startup | None:
    """The last startup of a log that --node does not name, if it is a node of the launch by its own arguments."""
    for startup in reversed(timeline.startups):
        own = node_rank(startup)
        if own is not None and own not in numbers.values():
            return startup if any(one_launch(startup, one) or not one.arguments for one in group.values()) else None
    return None


def _apart(timeline: Timeline) -> Timeline:
    """The timeline with a word on each startup of several nodes whose other nodes are not among the named logs."""
    return replace(timeline, startups=tuple(map(_alone, timeline.startups)))


def _alone(startup: Startup) -> Startup:
    own = node_rank(startup)
    if own is None or startup.nodes:
        return startup
    told = (
        f"This is node {own} of {startup.arguments['nnodes']}; none of the other logs names the same launch (dist_init_addr, shape, time) "
        "and another node. If one belongs to it, say so: --node 0=FILE --node 1=FILE"
    )
    return replace(startup, warnings=(*startup.warnings, told))


def _group(timelines: dict[str, Timeline], path: str, startup: Startup) -> dict[str, Startup]:
    """The startups of other files that belong to this one, by file: of several of a file the one that started nearest."""
    group = {path: startup}
    if startup.nodes or node_rank(startup) is None:
        return group
    taken = {node_rank(startup)}
    for other, timeline in timelines.items():
        fitting = [one for one in timeline.startups if other != path and not one.nodes and one_launch(startup, one)]
        if fitting:
            nearest = min(fitting, key=lambda one: abs((one.started.time or 0.0) - (startup.started.time or 0.0)))
            if node_rank(nearest) not in taken:
                taken.add(node_rank(nearest))
                group[other] = nearest
    return group


def _put_together(timelines: dict[str, Timeline], group: dict[str, Startup], nodes: dict[str, int]) -> dict[str, Timeline]:
    parts = [Part(nodes[path], path, startup) for path, startup in group.items()]
    home = min(parts, key=lambda part: part.node).source
    made = merge(parts)
    result = dict(timelines)
    for path, startup in group.items():
        own = timelines[path].startups
        kept = tuple(made if one is startup else one for one in own) if path == home else tuple(one for one in own if one is not startup)
        result[path] = replace(timelines[path], startups=kept)
    return result
