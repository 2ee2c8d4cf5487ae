"""What the history promises under load: nothing that was confirmed is lost, and a large one makes nobody slower.

    python benchmarks/history.py [--writers 10] [--entries 100] [--held 10000] [--rounds 15]

Two parts. WRITERS processes remember ENTRIES startups each at once, and each second one of them is killed: every entry that a writer
confirmed must be there, and the file must open and pass SQLite's own check. Then `watch` of a recorded startup, timed in turns with
no history and with one of HELD startups: target, a ratio <= 1.2.
"""

from __future__ import annotations

import argparse
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

from made_startups import startups

import logphase
from logphase import rules
from logphase.history import Entry, entry
from logphase.recollection import FILE, host
from logphase.store import Store

SAMPLE = Path(__file__).parent.parent / "sample_logs" / "tp2-eagle3.log"
PAUSE_S = 0.08  # between two entries of a writer, so that there is somebody to be killed


def write(path: str, name: str, number: int) -> None:
    """Be a writer: confirm each entry on stdout once it is kept."""
    made = startups(1, 20)
    with Store(Path(path)) as store:
        for at in range(number):
            store.remember(replace(made[at % len(made)], identity=f"{name}-{at}"))
            print(f"{name}-{at}", flush=True)
            time.sleep(PAUSE_S)


def writers(number: int, entries: int) -> None:
    """Let many write at once, and kill one each second."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / FILE
        outs = [Path(folder) / f"confirmed-{at}" for at in range(number)]
        begun = time.perf_counter()
        processes = [
            subprocess.Popen([sys.executable, __file__, "--write", str(path), str(at), str(entries)], stdout=out.open("wb"))
            for at, out in enumerate(outs)
        ]
        killed = 0
        while alive := [process for process in processes if process.poll() is None]:
            time.sleep(1)
            if len(alive) > 1:
                random.choice(alive).kill()
                killed += 1
        took = time.perf_counter() - begun
        confirmed = {line for out in outs for line in out.read_text("utf-8").splitlines()}
        with Store(path) as store:
            kept = {one.identity for one in store.entries()}
        with sqlite3.connect(path) as file:
            sound = file.execute("PRAGMA integrity_check").fetchone()[0]
    print(f"{number} writers, {killed} killed, {took:.1f} s: {len(confirmed)} confirmed, {len(kept)} kept,", end=" ")
    print(f"{len(confirmed - kept)} confirmed and lost; SQLite's check: {sound}")


def fill(folder: Path, held: int) -> None:
    """A history of many startups: a tenth of them are of the sample's model and like it but for small things."""
    startup = logphase.analyze(str(SAMPLE)).startups[-1]
    own = entry(startup, rules.load(startup.engine), now=time.time(), host=host())
    assert own is not None
    made = startups(1, min(held, 200))
    with Store(folder / FILE) as store:
        store.remember(own)
        connection = store._open(write=True)  # noqa: SLF001 - one transaction for all of them: this is no measurement of writing
        connection.execute("PRAGMA synchronous = OFF")
        for at in range(held - 1):
            store.remember(_other(own, at) if at % 10 == 0 else replace(made[at % len(made)], identity=f"made-{at}"))


def _other(own: Entry, at: int) -> Entry:
    like = own.likeness if at % 20 == 0 else replace(own.likeness, flags={**own.likeness.flags, "page_size": at})
    return replace(own, identity=f"own-{at}", likeness=like)


def watched(folder: Path, log: bytes) -> float:
    """Seconds of `watch` on a log that it is given whole."""
    command = [sys.executable, "-m", "logphase", "watch", "--format", "plain", "-"]
    begun = time.perf_counter()
    subprocess.run(command, env={**os.environ, "LOGPHASE_HISTORY": str(folder)}, input=log, capture_output=True, check=False)
    return time.perf_counter() - begun


def large(held: int, rounds: int) -> None:
    """Time watch with and without a large history, in turns: on a log that ends in a phase, and on one that ends ready."""
    lines = SAMPLE.read_bytes().splitlines(keepends=True)
    startup = logphase.analyze(str(SAMPLE)).startups[-1]
    assert startup.ready is not None
    capture = next(phase for phase in startup.phases if phase.id == "target-graph")
    with tempfile.TemporaryDirectory() as place:
        full = Path(place) / "full"
        fill(full, held)
        size = (full / FILE).stat().st_size / 1e6
        print(f"watch of {SAMPLE.name}, {rounds} pairs; history of {held:,} startups, {size:.0f} MB")
        for name, end in (("starting", capture.lines[0]), ("ready", startup.ready.line)):
            log = b"".join(lines[:end])
            pairs = [(watched(Path(place) / f"empty-{name}-{at}", log), watched(full, log)) for at in range(rounds)]
            none, some = zip(*pairs, strict=True)
            ratio = median(with_ / without for without, with_ in pairs)
            print(f"ends {name:9} without history: min {min(none) * 1000:4.0f} ms, median {median(none) * 1000:4.0f} ms", end="; ")
            print(f"with it: min {min(some) * 1000:4.0f} ms, median {median(some) * 1000:4.0f} ms", end="; ")
            print(f"ratio of minima {min(some) / min(none):.2f}, median of pairs {ratio:.2f} (target <= 1.2)")


def main() -> None:
    """Run both parts."""
    if sys.argv[1:2] == ["--write"]:
        write(sys.argv[2], sys.argv[3], int(sys.argv[4]))
        return
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--writers", type=int, default=10)
    options.add_argument("--entries", type=int, default=100)
    options.add_argument("--held", type=int, default=10_000)
    options.add_argument("--rounds", type=int, default=15)
    asked = options.parse_args()
    writers(asked.writers, asked.entries)
    large(asked.held, asked.rounds)


if __name__ == "__main__":
    main()
