"""Phase -> colour, the same in every figure, table and report.

Law of this file: kin phases share a hue and the draft model's is the lighter one; no two phases of a report share a colour. Each is told
from a white and from a dark page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

PHASES = {
    "launch": "#64748b",
    "spawn": "#94a3b8",
    "dist-init": "#7c5cd6",
    "draft-init": "#b3a1ee",
    "download": "#0f8f86",
    "weights": "#2f6fde",
    "draft-weights": "#82aef5",
    "kv-cache": "#1f9d55",
    "draft-kv-cache": "#7bcf9c",
    "kernel-warmup": "#a9702a",
    "compile": "#8a5a44",
    "prefill-graph": "#e2711d",
    "draft-prefill-graph": "#f5b27a",
    "target-graph": "#c2388e",
    "draft-graph": "#e78ac3",
    "extend-graph": "#8f2f6b",
    "lora": "#7d9a1e",
    "http": "#1597b8",
    "warmup": "#d9a514",
    "serving": "#3f8f6b",
    "shutdown": "#8b8f98",
}

_SPARE = ("#4f7a8c", "#b05c5c", "#5b6fb5", "#9aa83a", "#c98a9b", "#3aa6a0", "#8d7b4f", "#6d8f3c", "#a06cc4", "#d08c5a")

RANKS = ("#2f6fde", "#e2711d", "#1f9d55", "#c2388e", "#7c5cd6", "#1597b8", "#a9702a", "#d9a514")
"""For as many ranks as can be told apart."""

_DARK = 0.58  # brightness below which white text is read best


def colours(phases: Iterable[str]) -> dict[str, str]:
    """A colour for each phase; one that is not known by name takes the next spare one."""
    found: dict[str, str] = {}
    spare = 0
    for name in phases:
        if name in found:
            continue
        if name in PHASES:
            found[name] = PHASES[name]
        else:
            found[name] = _SPARE[spare] if spare < len(_SPARE) else _further(spare)
            spare += 1
    return found


def _further(number: int) -> str:
    """Beyond the spare ones: hues at the golden angle, which never repeat."""
    return f"hsl({(number * 137.508) % 360:.0f}, {45 + number % 3 * 12}%, {45 + number % 4 * 5}%)"


def ink(colour: str) -> str:
    """Black or white, whichever is read on that colour."""
    if not colour.startswith("#"):
        return "#ffffff"
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return "#ffffff" if 0.299 * red + 0.587 * green + 0.114 * blue < _DARK else "#111827"
