"""Startup -> what a page says about changing it: the hints, each with the numbers of the lines that it rests on.

Law of this file: a hint without evidence is not shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logphase.timeline import Startup

_SOURCE = "logphase.hints"


@dataclass(frozen=True, slots=True)
class Advice:
    """A hint as the page shows it."""

    title: str
    reason: str
    action: str
    lines: tuple[int, ...]


def advice(startup: Startup) -> tuple[Advice, ...]:
    """The hints on a startup; none where this installation has no hints."""
    if find_spec(_SOURCE) is None:
        return ()
    found = import_module(_SOURCE).hints(startup)
    shown = (Advice(hint.title, hint.reason, hint.action, tuple(getattr(item, "line", item) for item in hint.evidence)) for hint in found)
    return tuple(item for item in shown if item.lines)
