"""Commands -> seconds, peak memory and paired ratios.

Load on the machine moves every figure, so commands are compared in rounds: each round runs all of them, one after the other, in
an order that turns, and the ratio of two commands is the median of the ratios of their rounds.

Peak memory is the kernel's `ru_maxrss`. A child inherits the high-water mark of what started it, so this process stays small
(nothing heavy is imported) and no figure below `floor_mb()` means anything.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Run:
    """One process from start to end."""

    wall_s: float
    cpu_s: float
    peak_mb: float
    code: int


def run(command: Sequence[str]) -> Run:
    """Run a command with its output in a file: into /dev/null, grep would stop at its first match."""
    with tempfile.TemporaryFile() as out:
        files = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0), *((os.POSIX_SPAWN_DUP2, out.fileno(), fd) for fd in (1, 2))]
        began = time.perf_counter()
        pid = os.posix_spawnp(command[0], command, os.environ, file_actions=files)
        return ended(pid, began)


def ended(pid: int, began: float) -> Run:
    """Wait for a process that was started at `began`."""
    _, status, usage = os.wait4(pid, 0)
    wall_s = time.perf_counter() - began
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return Run(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit, os.waitstatus_to_exitcode(status))


def floor_mb() -> float:
    """What a process that needs nothing is charged with."""
    return run(["true"]).peak_mb


@dataclass(slots=True)
class Contest:
    """Commands that do comparable work on one input; the first is what the others are measured against."""

    commands: dict[str, list[str]]
    runs: dict[str, list[Run]] = field(default_factory=dict)

    def hold(self, rounds: int) -> Contest:
        names = list(self.commands)
        self.runs = {name: [] for name in names}
        for turn in range(rounds):
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                self.runs[name].append(run(self.commands[name]))
        return self

    @property
    def reference(self) -> str:
        return next(iter(self.commands))

    def seconds(self, name: str) -> float:
        return median(one.wall_s for one in self.runs[name])

    def peak_mb(self, name: str) -> float:
        return max(one.peak_mb for one in self.runs[name])

    def ratio(self, name: str, to: str | None = None, allowance_s: float = 0.0) -> float:
        """Median over the rounds of this command's time, less the allowance, by the other's."""
        pairs = zip(self.runs[name], self.runs[to or self.reference], strict=True)
        return median((one.wall_s - allowance_s) / other.wall_s for one, other in pairs)

    def codes(self, name: str) -> set[int]:
        return {one.code for one in self.runs[name]}
