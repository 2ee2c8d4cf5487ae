"""Startup -> what a page says about changing it: the hints, each with the numbers of the lines that it rests on.

Law of this file: a hint without evidence is not shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from logphase.hints import hints

if TYPE_CHECKING:
    from logphase.hints import Hint
    from logphase.timeline import Startup


def advice(startup: Startup) -> tuple[Hint, ...]:
    """The hints on a startup that have a line to show."""
    return tuple(hint for hint in hints(startup) if hint.lines)
