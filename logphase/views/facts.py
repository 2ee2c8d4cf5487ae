"""Startup -> which one it is: file, number, lines, engine, model, ranks, nodes, start.

Law of this file: names that somebody else gave (files, models, sources) go through `named`, which makes them safe for the view; the rest
is ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from logphase.views.words import count, lines, moment, quote, ranks, visible

if TYPE_CHECKING:
    from collections.abc import Callable

    from logphase.timeline import Startup
    from logphase.views import Report

_MODEL = 80  # characters


def facts(report: Report, startup: Startup, origin: str, named: Callable[[str], str] = visible) -> list[str]:
    """What tells this startup from others, a piece for each thing."""
    siblings = sum(1 for other in report.origins if other == origin)
    which = f"startup {startup.index} of {siblings}, " if siblings > 1 else ""
    found = [named(origin if origin != "-" else "standard input"), f"{which}{lines(*startup.lines)}", startup.engine]
    model = startup.arguments.get("model_path") or startup.arguments.get("model")
    if isinstance(model, str):
        found.append(named(quote(model, hide=report.redact, limit=_MODEL)))
    if startup.source:
        found.append(f"from {named(startup.source)}")
    if startup.ranks:
        many = len(startup.ranks) > 1
        found.append(f"{count(len(startup.ranks), 'rank')} ({named(ranks(startup.ranks))})" if many else named(startup.ranks[0]))
    if startup.nodes:
        found.append(f"{count(len(startup.nodes), 'node')} ({', '.join(f'{node.rank}: {named(node.source)}' for node in startup.nodes)})")
    if startup.started.time is not None:
        found.append(f"started {moment(startup.started.time).replace('T', ' ')}")
    return found
