"""Startup -> the same with the size of its model's files, where this machine can see them.

Law of this file: it looks at names and sizes only, and believes a folder only when it holds as many shards as the log counted.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logphase.timeline import Startup, Timeline

_WEIGHTS = (".safetensors", ".bin", ".pt", ".gguf")
_MOST = 10_000  # names that are looked at


def with_sizes(timelines: dict[str, Timeline]) -> dict[str, Timeline]:
    """The timelines with `weight_bytes` where it can be known."""
    return {path: replace(timeline, startups=tuple(map(_sized, timeline.startups))) for path, timeline in timelines.items()}


def _sized(startup: Startup) -> Startup:
    folder = startup.arguments.get("model_path") or startup.arguments.get("model")
    loaded = next((phase.progress for phase in startup.phases if phase.id == "weights"), None)
    if not isinstance(folder, str) or not os.path.isabs(folder) or loaded is None:  # noqa: PTH117 - a plain path is all there is
        return startup
    sizes: dict[str, list[int]] = {}
    try:
        with os.scandir(folder) as entries:
            for number, entry in enumerate(entries):
                ending = os.path.splitext(entry.name)[1]  # noqa: PTH122
                if number < _MOST and ending in _WEIGHTS and entry.is_file():
                    sizes.setdefault(ending, []).append(entry.stat().st_size)
    except (OSError, ValueError):  # another machine's folder, or no name of a folder at all
        return startup
    fitting = next((found for found in sizes.values() if len(found) == loaded.total), None)
    return replace(startup, weight_bytes=sum(fitting)) if fitting else startup
