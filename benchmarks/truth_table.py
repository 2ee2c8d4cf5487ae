"""Who tells the truth about a startup: twelve launches of a stand-in server, watched at once by six ways to know that it is ready.

    python benchmarks/truth_table.py [SCENARIO…]

Each cell is what was said and how many seconds after the truth (the moment at which inference worked, or at which the startup failed).
`wait-for-it` and `wait-on` are the real programs if they are on PATH, else small stand-ins that do the same; the last line says which.
A way is right when it says ready at or after the truth, or when it says within its limit that the startup failed and why it ends.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FAKE = ROOT / "tests" / "fake_server.py"
LIMIT_S = 9.0
EARLY_S = 0.1  # of the clock that two processes read
SOON_S = 1.0
READY_LINE = "The server is fired up and ready to roll"
PEERS = ("curl | grep ok", "curl -f", "wait-for-it", "wait-on", "grep")
WAIT_FOR_IT = "import socket, sys, time\nwhile socket.socket().connect_ex(('127.0.0.1', int(sys.argv[1]))): time.sleep(0.5)"
WAIT_ON = """import sys, time, urllib.error, urllib.request
while True:
    try:
        if urllib.request.urlopen(sys.argv[1], timeout=30).status < 300: break
    except OSError: pass
    time.sleep(0.25)
time.sleep(0.75)"""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One launch: what the stand-in does, and how logphase is told about it. `code`: what logphase must end with."""

    title: str
    plays: str
    code: int
    state: str
    options: tuple[str, ...] = ()
    server: tuple[str, ...] = ()
    follows: bool = False  # `logphase watch` on the file that the server writes; else `logphase run`
    stale: bool = False
    old: bool = False
    soon: bool = False  # must be told within a second of its line


SCENARIOS = (
    Scenario("normal", "normal", 0, "ready"),
    Scenario("200 with an empty body", "health-at-once", 0, "ready"),
    Scenario("crash during load", "crash", 1, "crashed", soon=True),
    Scenario("silent stall", "stall", 3, "stalled", options=("--stall-after", "2")),
    Scenario("scheduler dead, health says 200", "dead-scheduler", 1, "crashed"),
    Scenario("bad argument", "bad-argument", 1, "never-started", soon=True),
    Scenario("stale server holds the port", "port-taken", 1, "crashed", stale=True, soon=True),
    Scenario("old ready line in the file", "normal", 0, "ready", follows=True, old=True),
    Scenario("1 of 8 ranks killed, no line", "rank-killed", 1, "crashed", server=("--ranks", "8")),
    Scenario("warm-up answered by a proxy", "proxy", 1, "crashed", soon=True),
    Scenario("log rotated in the load", "rotated", 0, "ready", follows=True),
    Scenario("--log-level warning", "warning", 0, "ready", options=("--canary",), server=("--log-level", "warning")),
)


@dataclass(slots=True)
class Said:
    """What one way said, and when: `code` None when it was still waiting at the limit."""

    code: int | None
    at: float
    text: str = ""
    after_s: float | None = None
    right: bool = False


@dataclass(slots=True)
class Row:
    """One scenario, played."""

    scenario: Scenario
    truth: str
    cells: dict[str, Said] = field(default_factory=dict)


def play(scenario: Scenario, *, peers: bool = True) -> Row:
    """Play one scenario with all ways at once."""
    with tempfile.TemporaryDirectory() as folder:
        return _Stage(scenario, Path(folder), peers=peers).play()


class _Stage:
    def __init__(self, scenario: Scenario, folder: Path, *, peers: bool) -> None:
        self.scenario, self.folder, self.peers = scenario, folder, peers
        self.log, self.truth = folder / "server.log", folder / "truth"
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.started: list[subprocess.Popen[bytes]] = []

    def play(self) -> Row:
        try:
            self._before()
            commands = {"logphase": self._logphase()} | (self._peers() if self.peers else {})
            said: dict[str, Said] = {}
            threads = [threading.Thread(target=self._run, args=(name, command, said)) for name, command in commands.items()]
            for thread in threads:
                thread.start()
            if self.scenario.follows:
                time.sleep(1.0)  # a launch is silent at first, which is where the old line misleads
                self._start([*self._server(self.scenario.plays), "--log", str(self.log)])
            for thread in threads:
                thread.join()
            return self._judge(said)
        finally:
            self._clear()

    def _before(self) -> None:
        if self.scenario.stale or self.scenario.old:
            first = self._start([*self._server("normal", mine=False), "--log", str(self.folder / "first.log")])
            end = time.monotonic() + LIMIT_S
            while READY_LINE not in _text(self.folder / "first.log") and time.monotonic() < end:
                time.sleep(0.02)
            if self.scenario.old:
                _kill(first.pid)
                first.wait()
                shutil.copyfile(self.folder / "first.log", self.log)

    def _server(self, plays: str, *, mine: bool = True) -> list[str]:
        server = [sys.executable, str(FAKE), plays, "--port", str(self.port), "--lifetime", "25"]
        return [*server, "--truth", str(self.truth), *self.scenario.server] if mine else server

    def _logphase(self) -> list[str]:
        logphase = [sys.executable, "-m", "logphase"]
        if self.scenario.follows:
            return [*logphase, "watch", *self.scenario.options, "--format", "plain", str(self.log)]
        server = self._server(self.scenario.plays)
        return [*logphase, "run", "--log", str(self.log), "--detach", "--format", "plain", *self.scenario.options, "--", *server]

    def _peers(self) -> dict[str, list[str]]:
        health = f"http://127.0.0.1:{self.port}/health"
        waits_for, waits_on = shutil.which("wait-for-it"), shutil.which("wait-on")
        return {
            "curl | grep ok": ["sh", "-c", f"until curl -s {health} | grep -q ok; do sleep 0.2; done"],
            "curl -f": ["sh", "-c", f"until curl -sf -o /dev/null {health}; do sleep 0.2; done"],
            "wait-for-it": [waits_for, "-q", "-t", "0", f"127.0.0.1:{self.port}"]
            if waits_for
            else [sys.executable, "-c", WAIT_FOR_IT, str(self.port)],
            "wait-on": [waits_on, f"http-get://127.0.0.1:{self.port}/health"] if waits_on else [sys.executable, "-c", WAIT_ON, health],
            "grep": ["sh", "-c", f"until grep -qs '{READY_LINE}' {self.log}; do sleep 0.2; done"],
        }

    def _start(self, command: list[str]) -> subprocess.Popen[bytes]:
        nothing = subprocess.DEVNULL
        child = subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True)
        self.started.append(child)
        return child

    def _run(self, name: str, command: list[str], said: dict[str, Said]) -> None:
        out = subprocess.PIPE
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True, cwd=ROOT)
        try:
            text, _ = child.communicate(timeout=LIMIT_S)
            said[name] = Said(child.returncode, time.time(), text.decode("utf-8", "replace"))
        except subprocess.TimeoutExpired:
            _kill(child.pid)
            text, _ = child.communicate()
            said[name] = Said(None, time.time(), text.decode("utf-8", "replace"))

    def _judge(self, said: dict[str, Said]) -> Row:
        what, _, at = _text(self.truth).strip().partition(" ")
        moment = float(at or "nan")
        for name, cell in said.items():
            cell.after_s = cell.at - moment
            if name == "logphase":
                in_time = cell.after_s >= -EARLY_S and (not self.scenario.soon or cell.after_s <= SOON_S)
                cell.right = cell.code == self.scenario.code and in_time and self.scenario.state in cell.text.lower()
            else:
                cell.right = cell.code == 0 and what == "ready" and cell.after_s >= -EARLY_S
        return Row(self.scenario, what, said)

    def _clear(self) -> None:
        for child in self.started:
            _kill(child.pid)
            child.wait()
        for line in _text(Path(f"{self.log}.launches.jsonl")).splitlines():
            _kill(int(json.loads(line)["pid"]))


def _kill(session: int) -> None:
    try:
        os.killpg(session, signal.SIGKILL)
    except ProcessLookupError:
        return


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _cell(name: str, said: Said) -> str:
    mark = "+" if said.right else "-"
    if said.code is None:
        return f"{mark} still waits"
    word = f"exit {said.code}" if name == "logphase" else "ready" if said.code == 0 else f"exit {said.code}"
    return f"{mark} {word} {said.after_s:+.1f}s"


def main() -> int:
    """Print the table; ends with 1 when logphase is wrong about any of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="titles to play; all by default")
    names = parser.parse_args().names
    ways = (*PEERS, "logphase")
    rows = []
    print(f"{'scenario':<32}{'truth':<8}" + "".join(f"{way:<16}" for way in ways))
    for scenario in SCENARIOS:
        if names and scenario.title not in names:
            continue
        row = play(scenario)
        rows.append(row)
        print(f"{scenario.title:<32}{row.truth:<8}" + "".join(f"{_cell(way, row.cells[way]):<16}" for way in ways), flush=True)
    counts = [sum(row.cells[way].right for row in rows) for way in ways]
    print(f"{f'right, of {len(rows)}':<40}" + "".join(f"{count:<16}" for count in counts))
    if len(rows) == len(SCENARIOS):
        counts = [sum(row.cells[way].right for row in rows[:7]) for way in ways]
        print(f"{'right, of the first 7':<40}" + "".join(f"{count:<16}" for count in counts))
    used = [f"{tool}: {'the program' if shutil.which(tool) else 'a stand-in'}" for tool in ("wait-for-it", "wait-on")]
    print("+ right, - wrong; seconds after the truth. " + ", ".join(used) + f". Every way was stopped after {LIMIT_S:g} s.")
    return int(not all(row.cells["logphase"].right for row in rows))


if __name__ == "__main__":
    sys.exit(main())
