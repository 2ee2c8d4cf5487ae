"""Recorded logs, written again at 50 times their pace, through `logphase watch` as a process: whether it is right, and how soon.

    python benchmarks/replays.py [--speed 50] FOLDER...

Each FOLDER holds `server.log` and `arrivals.tsv` (epoch, size of the log after each read). The log is written into an empty file as the
arrivals say; `watch` follows it. When it ends, its verdict, phases, evidence and cause must be those of `logphase report` on the lines
that were read until then; where the log decides nothing, watch is ended by SIGTERM behind its last byte. `ready s` is from the write
that completes the ready line to the event that tells of it; the aim is 0.2 s.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LOGPHASE = [sys.executable, "-m", "logphase"]
READY_S = 0.2
AFTER_S = 2.0  # behind the last byte, when the log has decided nothing


@dataclass
class Writer(threading.Thread):
    """Writes a log as its arrivals say, and notes when each line was complete."""

    folder: Path
    target: Path
    speed: float
    stop: threading.Event = field(default_factory=threading.Event)
    lines: list[float] = field(default_factory=list)  # when each line was complete

    def __post_init__(self) -> None:
        super().__init__()

    def __hash__(self) -> int:
        return id(self)

    def run(self) -> None:
        data = (self.folder / "server.log").read_bytes()
        rows = [row.split("\t") for row in (self.folder / "arrivals.tsv").read_text(encoding="ascii").splitlines()]
        reads = [(float(at), int(size)) for at, size in rows]
        begun, done = time.monotonic(), 0
        with self.target.open("ab", buffering=0) as file:
            for at, size in reads:
                if self.stop.wait(max(0.0, begun + (at - reads[0][0]) / self.speed - time.monotonic())):
                    return
                file.write(data[done:size])
                self.lines += [time.time()] * data.count(b"\n", done, size)
                done = size


def replay(folder: Path, speed: float) -> tuple[dict[str, Any], list[float]]:
    """Watch one log; return the last event, and when each line was written."""
    with tempfile.TemporaryDirectory() as place:
        log = Path(place) / "server.log"
        log.touch()
        watch = subprocess.Popen([*LOGPHASE, "watch", str(log), "--format", "jsonl"], stdout=subprocess.PIPE, text=True)
        assert watch.stdout is not None
        watch.stdout.readline()  # it is at work
        writer = Writer(folder, log, speed)
        writer.start()
        threading.Thread(target=_end, args=(writer, watch), daemon=True).start()
        events = [json.loads(line) for line in watch.stdout]
        watch.wait()
        writer.stop.set()
        writer.join()
    return events[-1], writer.lines


def _end(writer: Writer, watch: subprocess.Popen[str]) -> None:
    writer.join()
    time.sleep(AFTER_S)
    if watch.poll() is None:
        watch.terminate()


def reported(folder: Path, lines: int) -> dict[str, Any] | None:
    """What a report says of the first lines of a log; None if there is no startup in them."""
    whole = (folder / "server.log").read_bytes().splitlines(keepends=True)
    kept, number = b"", 0
    for line in whole:  # bytes.splitlines cuts at a lone CR, too
        if number == lines:
            break
        kept += line
        number += line.endswith(b"\n")
    done = subprocess.run([*LOGPHASE, "report", "-", "--format", "json"], input=kept, capture_output=True, check=True)
    return next(reversed(json.loads(done.stdout)["startups"]), None)


def differences(event: dict[str, Any], report: dict[str, Any] | None) -> list[str]:
    """In what the watched startup is another than the reported one."""
    watched = event["startup"]
    if watched is None or report is None:
        return [] if watched is report else [f"startup: {bool(watched)} instead of {bool(report)}"]
    pairs = {
        "state": (event["state"], report["verdict"]["state"]),
        "phase": (event["phase"], report["verdict"]["phase"]),
        "cause": (watched["verdict"]["cause"], report["verdict"]["cause"]),
        "ready": ((watched["ready"] or {}).get("line"), (report["ready"] or {}).get("line")),
        "evidence": (watched["verdict"]["evidence"], report["verdict"]["evidence"]),
        "phases": (_phases(watched), _phases(report)),
    }
    return [f"{name}: {one} instead of {other}" for name, (one, other) in pairs.items() if one != other]


def _phases(startup: dict[str, Any]) -> list[tuple[object, ...]]:
    return [(phase["id"], phase["status"], sorted(phase["ranks"])) for phase in startup["phases"]]


def main() -> None:
    """Print a row for each log, and what differed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--speed", type=float, default=50.0)
    options = parser.parse_args()
    print(f"{'log':36} {'ending':12} {'lines':>6} {'ready s':>8}")
    wrong, waits = 0, []
    for folder in options.folders:
        event, written = replay(folder, options.speed)
        found = differences(event, reported(folder, event["lines"]))
        wrong += bool(found)
        ready = event["startup"] and event["startup"]["ready"]
        wait = event["at"] - written[ready["line"] - 1] if ready and event["ending"] == "ready" else None
        waits += [wait] if wait is not None else []
        shown = "" if wait is None else f"{wait:.3f}"
        print(f"{folder.name:36} {event['ending']:12} {event['lines']:6} {shown:>8}  {'; '.join(found)}", flush=True)
    print(f"{len(options.folders) - wrong} of {len(options.folders)} as the report; ready after at most {max(waits, default=0.0):.3f} s")


if __name__ == "__main__":
    main()
