"""How soon a written line is in hand, and what following costs.

    python benchmarks/follow.py [--seconds 10] [--pace heavy]

Each row is one follower in this process and one writer in another; the lines carry the moment of their write. CPU is this process's, all
threads, in percent of one core. Targets: p95 <= 5 ms with events, <= 300 ms when polling; CPU < 5 % at 10,000 lines/s, < 0.5 % idle.
"""

from __future__ import annotations

import argparse
import errno
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from logphase.sources import Follower, count_lines, open_tail
from logphase.sources.wakeup import Wakeup, new_observer

if TYPE_CHECKING:
    from watchdog.observers.api import BaseObserver

POLL_S = 0.25
PACES = ("idle", "quiet", "bursts", "steady", "heavy")


def refuse() -> BaseObserver:
    """Be an observer that cannot be had, so that the follower polls."""
    observer = new_observer()
    observer.start = _no_start  # type: ignore[method-assign] # it is to fail as one does where inotify is not to be had
    return observer


def _no_start() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def write(path: str, pace: str, seconds: float) -> None:
    """Write stamped lines: `quiet` about 15 a second, `bursts` 40 at once every half second, `steady` 100 and `heavy` 10,000 a second."""
    end = time.monotonic() + seconds
    filler = b" " + b"x" * 180 + b"\n"
    with Path(path).open("ab", buffering=0) as log:
        while (now := time.monotonic()) < end:
            log.writelines(b"%d" % time.monotonic_ns() + filler for _ in range({"bursts": 40, "heavy": 20}.get(pace, 1)))
            gap = {"quiet": random.uniform(0.03, 0.1), "bursts": 0.5, "steady": 0.01, "heavy": 0.002}[pace]
            time.sleep(max(0.0, now + gap - time.monotonic()))


def measure(pace: str, seconds: float, *, events: bool) -> str:
    """Follow one writer; return the table's row."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "server.log"
        log.touch()
        stop = threading.Event()
        waits: list[float] = []
        waiter = Wakeup(POLL_S, new_observer if events else refuse)
        with Follower([open_tail(str(log))], waiter, stop, time.time, POLL_S) as follower:
            next(follower)
            writer = None
            if pace != "idle":
                writer = subprocess.Popen([sys.executable, __file__, "--write", str(log), pace, str(seconds)])
            timer = threading.Timer(seconds + 1.0, stop.set)
            timer.start()
            began, cpu = time.monotonic(), time.process_time()
            rest = b""
            for chunk in follower:
                if chunk.data:
                    now = time.monotonic_ns()
                    *lines, rest = (rest + chunk.data).split(b"\n")
                    waits.extend((now - int(line.partition(b" ")[0])) / 1e6 for line in lines[:: 1 if len(lines) < 100 else 50])
            share = 100 * (time.process_time() - cpu) / (time.monotonic() - began)
            timer.join()
            if writer:
                writer.wait()
        waits.sort()
        figures = [f"{waits[int(len(waits) * part)]:8.2f}" if waits else "       -" for part in (0.5, 0.95, 0.99)]
        lines = count_lines(log, log.stat().st_size)
    how = "events" if events else "polling"
    return f"{pace:8} {how:8} {lines / seconds:8.0f} {' '.join(figures)} {share:7.2f} {resident_mb():7.1f}"


def resident_mb() -> float:
    """Give the memory that this process holds."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--pace", choices=PACES, action="append", help="only this one; may be given again")
    parser.add_argument("--write", nargs=3, metavar=("LOG", "PACE", "SECONDS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        log, pace, seconds = options.write
        write(log, pace, float(seconds))
        return
    print("pace     how       lines/s   p50 ms   p95 ms   p99 ms   CPU %  RSS MB")
    for pace in options.pace or PACES:
        for events in (True, False):
            print(measure(pace, options.seconds, events=events), flush=True)


if __name__ == "__main__":
    main()
