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
        found[named[2]] = int(named[1])
    return found


def merged(timelines: dict[str, Timeline], nodes: dict[str, int]) -> dict[str, Timeline]:
    """The timelines with each launch's startup in its first node's file, and no longer in the others'."""
    told = [path for path in nodes if path in timelines]
    if told:
        missing = [path for path in told if not timelines[path].startups]
        if missing:
            raise LogphaseError(f"{missing[0]} holds no startup, so it is no node of one", "Look at it alone: logphase report FILE")
        return _put_together(timelines, {path: timelines[path].startups[-1] for path in told}, nodes)
    for path, timeline in list(timelines.items()):
        for startup in timeline.startups:
            group = _group(timelines, path, startup)
            if len(group) > 1:
                timelines = _put_together(timelines, group, {name: node_rank(one) or 0 for name, one in group.items()})
    return timelines


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
