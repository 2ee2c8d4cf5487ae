"""What `logphase watch` costs as a process, for minutes: beside serving traffic, and beside a log that is silent.

    python benchmarks/soak.py [--seconds 300] [--rate 10000] [--rate 0]

The log holds a startup that was ready before; `watch` waits for a new one, as it does beside a server that nobody restarts. A writer in
another process adds traffic as SGLang prints it. CPU is the watching process's, in percent of one core; memory is its resident set, after
a tenth of the time and at the end. Targets: CPU < 5 % at 10,000 lines/s and < 0.5 % when idle; memory flat.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from generate import decode, default_startup, prefill

TICKS = os.sysconf("SC_CLK_TCK")
PAGE_MB = os.sysconf("SC_PAGE_SIZE") / 1e6
BEAT_S = 0.01
STAMP = "2026-11-30 12:00:00"


def write(log: str, rate: int, seconds: float) -> None:
    """Append traffic at a rate: so many lines every hundredth of a second, in one write each."""
    chance = random.Random(1)
    pool = [make(chance, STAMP + " TP0").replace("@", "").encode() for make in (prefill, decode) for _ in range(50)]
    number, begun = 0, time.monotonic()
    with Path(log).open("ab", buffering=0) as file:
        while (now := time.monotonic() - begun) < seconds:
            due = int(now * rate) - number
            file.write(b"".join(pool[(number + at) % len(pool)] for at in range(due)))
            number += due
            time.sleep(BEAT_S)


def spent(pid: int) -> float:
    """CPU seconds of a process so far, all threads."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_mb(pid: int) -> float:
    """Memory that a process holds now."""
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * PAGE_MB


def measure(rate: int, seconds: float) -> str:
    """Watch one log; return the table's row."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "server.log"
        log.write_bytes(default_startup().read_bytes())
        watch = subprocess.Popen(
            [sys.executable, "-m", "logphase", "watch", str(log), "--format", "plain", "--stall-after", "1d"], stdout=subprocess.DEVNULL
        )
        writer = subprocess.Popen([sys.executable, __file__, "--write", str(log), str(rate), str(seconds)]) if rate else None
        time.sleep(seconds / 10)
        first_mb, begun, cpu = resident_mb(watch.pid), time.monotonic(), spent(watch.pid)
        time.sleep(seconds * 0.85)
        share = 100 * (spent(watch.pid) - cpu) / (time.monotonic() - begun)
        last_mb = resident_mb(watch.pid)
        alive = watch.poll() is None
        watch.terminate()
        watch.wait()
        if writer is not None:
            writer.wait()
        size = log.stat().st_size / 1e6
    return f"{rate:7,} {seconds:6.0f} {size:8.0f} {share:7.2f} {first_mb:8.1f} {last_mb:8.1f}{'' if alive else '   it ended early'}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--rate", type=int, action="append", help="lines a second; may be given again")
    parser.add_argument("--write", nargs=3, metavar=("LOG", "RATE", "SECONDS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        log, rate, seconds = options.write
        write(log, int(rate), float(seconds))
        return
    print("lines/s      s   log MB   CPU %  RSS MB   at end")
    for rate in options.rate or (10_000, 0):
        print(measure(rate, options.seconds), flush=True)


if __name__ == "__main__":
    main()
