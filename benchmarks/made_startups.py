"""Makes startups as a history has them: a fixed generator with a seed, for backtest.py.

Phases and their lengths are those of measured and published startups (ANCHORS); what varies from run to run varies as it did in the
recorded runs: imports and process starts by 12 %, loading by 10 % from the page cache and by 25 % from a disk, captures by 8 %, the
warm-up request by 30 %, and a run as a whole by 5 %, since a busy host slows everything. One phase in 60 takes half as long again or more.
A first run is cold in half of the cases, a later one in one of ten; what cold costs is in COLD. Nothing here was fitted to the estimate.
"""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import TYPE_CHECKING

from logphase.history import READY, Entry, Kept
from logphase.likeness import Likeness

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ANCHORS: dict[str, dict[str, float]] = {
    "3b": {
        "launch": 2, "spawn": 19.5, "dist-init": 0.2, "weights": 1.1, "kv-cache": 0.7, "prefill-graph": 7.9, "target-graph": 3.3,
        "http": 0.3, "warmup": 1.6,
    },
    "3b-eagle3": {
        "launch": 2, "spawn": 18.6, "dist-init": 0.2, "weights": 1.1, "draft-weights": 0.3, "kv-cache": 0.6, "prefill-graph": 7.9,
        "target-graph": 2.5, "draft-prefill-graph": 1.3, "draft-graph": 3.1, "http": 0.3, "warmup": 1.3,
    },
    "3b-tp2": {
        "launch": 3, "spawn": 21, "dist-init": 2.5, "weights": 1.2, "kv-cache": 0.4, "prefill-graph": 14, "target-graph": 4.8, "http": 0.4,
        "warmup": 2.5,
    },
    "8b-pp4": {"launch": 6, "spawn": 19, "dist-init": 7.1, "weights": 57.7, "kv-cache": 3, "target-graph": 9, "http": 12, "warmup": 6.6},
    "122b-fp8": {
        "launch": 6, "spawn": 15, "dist-init": 2, "weights": 31, "kv-cache": 2, "prefill-graph": 12, "target-graph": 14, "http": 1,
        "warmup": 5,
    },
    "own-rig": {
        "launch": 5, "spawn": 9, "dist-init": 3, "weights": 154.9, "kv-cache": 3, "prefill-graph": 64.6, "target-graph": 4.6, "http": 1,
        "warmup": 3,
    },
    "deepseek-tp2": {
        "launch": 8, "spawn": 40, "dist-init": 60, "weights": 401.9, "kv-cache": 5, "target-graph": 64.9, "draft-weights": 20,
        "draft-graph": 5.4, "http": 10, "warmup": 15,
    },
    "70b-tp8": {"launch": 12, "spawn": 25, "dist-init": 60, "weights": 10, "compile": 85, "kv-cache": 8, "target-graph": 60, "warmup": 2},
}  # fmt: skip
"""Model -> seconds of each phase of a warm start, in order."""
VARIES = {"launch": 0.12, "spawn": 0.12, "dist-init": 0.12, "weights": 0.10, "draft-weights": 0.10, "compile": 0.08, "warmup": 0.30}
CAPTURES = 0.08
COLD = {"weights": (3.5, 17.0), "prefill-graph": (2.0, 4.0), "target-graph": (1.2, 3.0), "compile": (1.5, 3.0), "warmup": (1.0, 5.0)}
"""How many times as long a phase takes cold: from, to."""
COLD_VARIES = 0.25
BUSY = 0.05
ODD = 1 / 60
SIZES = (1, 2, 4, 11)  # startups of a fingerprint, so that the last has 0, 1, 3, 10 before it
STEPS = {"weights": 60, "prefill-graph": 58, "target-graph": 36, "draft-graph": 23}


def startups(seed: int, number: int = 200) -> list[Entry]:
    """Make startups of many fingerprints, in the order of time."""
    chance = random.Random(seed)
    made: list[Entry] = []
    group = 0
    while len(made) < number:
        size = min(SIZES[group % len(SIZES)], number - len(made))
        made += _group(chance, group, size)
        group += 1
    chance.shuffle(made)
    return [replace(entry, number=at + 1, identity=f"{seed}-{at}") for at, entry in enumerate(made)]


def _group(chance: random.Random, group: int, size: int) -> Iterator[Entry]:
    """Startups of one fingerprint: the same machine and flags, each run a little different."""
    name = chance.choice(list(ANCHORS))
    scale = math.exp(chance.gauss(0, 0.25))
    usual = {phase: seconds * scale * math.exp(chance.gauss(0, 0.15)) for phase, seconds in ANCHORS[name].items()}
    slower = {phase: chance.uniform(*times) for phase, times in COLD.items()}
    like = Likeness("sglang", f"{name}-{group}", "0.5.15", {}, {}, "host", None)
    for number in range(size):
        cold = chance.random() < (0.5 if number == 0 else 0.1)
        yield _startup(chance, usual, slower if cold else {}, replace(like, warmth="cold" if cold else "warm"))


def _startup(chance: random.Random, usual: Mapping[str, float], slower: Mapping[str, float], like: Likeness) -> Entry:
    at = 0.0
    phases = []
    busy = math.exp(chance.gauss(0, BUSY))
    for name, seconds in usual.items():
        varies = COLD_VARIES if name in slower else VARIES.get(name, CAPTURES)
        took = seconds * slower.get(name, 1.0) * busy * math.exp(chance.gauss(0, varies))
        took *= chance.uniform(1.5, 3.0) if chance.random() < ODD else 1.0
        at += chance.uniform(0, 1.0)  # between two phases there is a gap
        phases.append(_phase(chance, name, at, took, cold=name in slower))
        at += took
    return Entry(0, "", 0.0, 0.0, "made", READY, at, None, like, {"model_path": like.model}, (), tuple(phases))


def _phase(chance: random.Random, name: str, start: float, took: float, *, cold: bool) -> Kept:
    """A phase with the stamps of whole seconds and a bar: shards come evenly, of captures the first takes longest, above all cold."""
    total = STEPS.get(name)
    curve: tuple[tuple[float, int], ...] = ()
    if total is not None:
        first = (chance.uniform(0.5, 0.8) if cold else chance.uniform(0.1, 0.25)) if "graph" in name else 1 / total
        marks = [0.0, *(first + (1 - first) * step / (total - 1) for step in range(total))]
        curve = tuple((float(int(mark * took)), done) for done, mark in enumerate(marks) if done % 3 != 1 or done < 4)
    begin, end = float(int(start)), float(int(start + took))
    return Kept(name, name, "done", begin, end, end - begin, {}, curve, total, "steps" if total else "")
