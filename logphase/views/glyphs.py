"""The few characters that the table draws with, and its bars.

Law of this file: every drawing has a plain ASCII form, for a terminal that has no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

STYLE = {
    "unseen": "yellow",
    "never-started": "red",
    "starting": "cyan",
    "stalled": "magenta",
    "crashed": "red",
    "ready": "green",
    "stopped": "blue",
    "done": "",
    "open": "cyan",
    "failed": "red",
}
"""Colour of a state or of a phase's status."""


_VISIBLE = 0.5  # of a cell


@dataclass(frozen=True, slots=True)
class Glyphs:
    """Marks of a phase's status, fillings of a bar, and the little words between."""

    done: str = "✓"
    open: str = "▸"
    failed: str = "✗"
    full: str = "█"
    part: str = "▏"
    going: str = "▒"
    broken: str = "▓"
    dot: str = "·"
    rule: str = "─"

    def mark(self, status: str) -> str:
        """One character for done, open or failed."""
        return {"done": self.done, "open": self.open, "failed": self.failed}.get(status, " ")

    def bar(self, stretches: Iterable[tuple[float, float]], total: float, width: int, status: str) -> str:
        """Stretches (start, end) of `total` seconds as one line of blocks; what is shorter than half a cell is a thin stroke."""
        cells = [" "] * width
        filling = {"open": self.going, "failed": self.broken}.get(status, self.full)
        for start, end in stretches:
            first, last = (min(max(at / total, 0.0), 1.0) * width for at in (start, end))
            left = min(int(first), width - 1)
            if last - first < _VISIBLE:
                cells[left] = self.part if cells[left] == " " else cells[left]
                continue
            left = min(round(first), width - 1)
            for at in range(left, max(min(round(last), width), left + 1)):
                cells[at] = filling
        return "".join(cells)


UNICODE = Glyphs()
ASCII = Glyphs(done="+", open=">", failed="x", full="#", part="|", going="=", broken="x", dot="-", rule="-")
