"""`logphase run`: what it ends with, what it leaves behind and what it keeps, whatever the command does."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from logphase.recollection import FILE
from logphase.store import Store

ROOT = Path(__file__).parent.parent
FAKE = str(ROOT / "tests" / "fake_server.py")
LIMIT_S = 30.0


@dataclass
class Launched:
    """A `logphase run` at work, in its folder."""

    process: subprocess.Popen[str]
    log: Path

    def end(self) -> tuple[int, str]:
        """Its exit code, and all that it said."""
        out, err = self.process.communicate(timeout=LIMIT_S)
        return self.process.returncode, out + err

    def wait_for(self, text: str) -> None:
        """Wait until the log holds this."""
        end = time.monotonic() + LIMIT_S
        while text not in self.text and time.monotonic() < end and self.process.poll() is None:
            time.sleep(0.01)
        assert text in self.text

    @property
    def text(self) -> str:
        """The log so far."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    @property
    def record(self) -> dict[str, object]:
        """What is kept beside the log."""
        return json.loads(Path(f"{self.log}.launches.jsonl").read_text().splitlines()[-1])

    @property
    def alive(self) -> bool:
        """Whether the command still runs."""
        pid = int(str(self.record["pid"]))
        return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


class Launcher:
    """Starts `logphase run`, and ends what a test left."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: list[Launched] = []

    def __call__(self, *command: str, options: tuple[str, ...] = (), environment: dict[str, str] | None = None) -> Launched:
        """Start it."""
        log = self._folder / "server.log"
        words = [sys.executable, "-m", "logphase", "run", "--log", str(log), "--format", "plain", *options, "--", *command]
        full = {**os.environ, "PYTHONPATH": _path(), **(environment or {})}
        out = subprocess.PIPE
        process = subprocess.Popen(words, stdout=out, stderr=out, text=True, cwd=self._folder, env=full)
        self._made.append(Launched(process, log))
        return self._made[-1]

    def clear(self) -> None:
        """End all."""
        for made in self._made:
            if made.process.poll() is None:
                made.process.kill()
                made.process.communicate()
            if Path(f"{made.log}.launches.jsonl").exists() and made.alive:
                os.killpg(int(str(made.record["pid"])), signal.SIGKILL)


def _path() -> str:
    return os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))


@pytest.fixture
def launch(tmp_path: Path):  # noqa: ANN201 - a fixture of pytest
    """`launch("command", "argument")`."""
    launcher = Launcher(tmp_path)
    yield launcher
    launcher.clear()


@pytest.fixture
def port() -> int:
    """A port that nobody holds."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def fake(scenario: str, port: int, *options: str) -> list[str]:
    """The command of a stand-in server."""
    return [sys.executable, FAKE, scenario, "--port", str(port), "--pace", "0.02", "--lifetime", "20", *options]


# --- the five hard commands


def test_a_command_that_is_killed_is_a_crash_without_a_line(launch: Launcher) -> None:
    """SIGKILL leaves no line, so the signal is the evidence."""
    began = "print('[2026-11-30 01:00:00] Load weight begin. avail mem=139.09 GB', flush=True)"

    code, said = launch(sys.executable, "-c", f"import os; {began}; os.kill(os.getpid(), 9)").end()

    assert 1 == code
    assert "crashed" in said.lower()
    assert "was killed by SIGKILL, and the log has no line about it" in said


def test_a_command_that_ends_early_with_0_has_failed(launch: Launcher) -> None:
    """An exit code of 0 before the server was ready is no success."""
    run = launch(sys.executable, FAKE, "leaves", "--port", "1", "--pace", "0.01")

    code, said = run.end()

    assert 1 == code
    assert "ended with exit code 0, and the log has no line about it" in said
    assert 0 == run.record["exit_code"]


def test_a_command_that_forks_and_detaches_is_watched_on(launch: Launcher, port: int) -> None:
    """The command ends with 0, its server goes on in the background and becomes ready."""
    server = " ".join(fake("normal", port))

    code, said = launch("sh", "-c", f"{server} & exit 0", options=("--detach",)).end()

    assert 0 == code
    assert "of its processes go on" in said


def test_a_command_that_daemonizes_is_watched_on_and_left_running(launch: Launcher, port: int) -> None:
    """A server that has a session of its own is known by the log that it writes."""
    command = f"setsid {sys.executable} {FAKE} normal --port {port} --pace 0.02 --lifetime 10 & exit 0"
    run = launch("sh", "-c", command, options=("--detach",))
    code, said = run.end()

    assert 0 == code, said
    (pid,) = [int(part.split()[0].rstrip(",")) for part in said.split("It goes on: pid ")[1:]]
    server = psutil.Process(pid)
    assert FAKE in server.cmdline()
    server.kill()


def test_a_command_that_prints_nothing_never_started(launch: Launcher) -> None:
    """Nothing written and an exit code: that is all there is to tell, and it is told."""
    code, said = launch(sys.executable, "-c", "raise SystemExit(3)").end()

    assert 1 == code
    assert "ended with exit code 3, and the log has no line about it" in said


def test_a_command_that_prints_100_mb_in_a_second_loses_nothing(launch: Launcher) -> None:
    """Every byte is kept, the arrivals reach the end, and it does not take long."""
    script = "import os; block = (b'x' * 99 + b'\\n') * 10000; [os.write(1, block) for _ in range(100)]"
    began = time.monotonic()

    run = launch(sys.executable, "-c", script)
    code, _ = run.end()

    assert 1 == code  # it never started a server
    assert 100_000_000 == run.log.stat().st_size
    assert b"\t100000000\n" == Path(f"{run.log}.arrivals").read_bytes()[-11:]
    assert time.monotonic() - began < 20


# --- ready, and after


def test_detach_leaves_a_ready_server_running(launch: Launcher, port: int) -> None:
    """It says where the log and the process are, ends with 0, and the server answers."""
    run = launch(*fake("normal", port), options=("--detach",))

    code, said = run.end()

    assert 0 == code
    assert run.alive
    assert f"pid {run.record['pid']}" in said
    assert str(run.log) in said
    assert "ready" == run.record["state"]


def test_a_startup_that_was_ready_is_remembered(launch: Launcher, port: int, tmp_path: Path) -> None:
    """The history has it as soon as it was ready, with where and how long; a note and the environment stay beside the log."""
    run = launch(*fake("normal", port), options=("--detach",), environment={"LOGPHASE_HISTORY": str(tmp_path), "LOGPHASE_HOST": "gpu-7"})
    code, _ = run.end()
    with Store(tmp_path / FILE) as store:
        (kept,) = store.entries()

    assert 0 == code
    assert ("ready", "gpu-7", str(run.log)) == (kept.state, kept.likeness.host, kept.source)
    assert {"spawn", "weights"} <= {phase.id for phase in kept.phases}


def test_without_detach_it_stays_until_the_server_has_ended_well(launch: Launcher, port: int) -> None:
    """A graceful stop ends with signal 9 and is an end all the same."""
    run = launch(*fake("normal", port))
    run.wait_for("fired up")
    time.sleep(0.5)
    assert run.process.poll() is None
    os.kill(int(str(run.record["pid"])), signal.SIGTERM)

    code, _ = run.end()

    assert 0 == code
    assert (-9, "stopped") == (run.record["exit_code"], run.record["state"])


def test_a_server_that_dies_after_it_was_ready_has_crashed(launch: Launcher, port: int) -> None:
    """Ready is no pardon: a kill without a line is a crash."""
    run = launch(*fake("normal", port))
    run.wait_for("fired up")
    time.sleep(0.3)
    os.killpg(int(str(run.record["pid"])), signal.SIGKILL)

    code, said = run.end()

    assert 1 == code
    assert "was killed by SIGKILL" in said


def test_a_server_that_failed_and_hangs_is_ended(launch: Launcher, port: int) -> None:
    """A port that is taken leaves SGLang hanging with its memory: what was launched is ended, detached or not."""
    with socket.create_server(("127.0.0.1", port)):
        run = launch(*fake("port-taken", port), options=("--detach",))
        code, said = run.end()

    assert 1 == code
    assert "crashed" in said.lower()
    assert not run.alive


def test_a_stall_ends_with_3_and_ends_the_server(launch: Launcher, port: int) -> None:
    """Silence beyond the user's own limit."""
    run = launch(*fake("stall", port), options=("--stall-after", "1"))

    code, said = run.end()

    assert 3 == code
    assert "stalled" in said.lower()
    assert not run.alive


def test_the_time_limit_ends_with_124(launch: Launcher, port: int) -> None:
    """A startup that takes too long is ended, and its phase is named."""
    code, said = launch(*fake("stall", port), options=("--timeout", "1.5")).end()

    assert 124 == code
    assert "weights" in said.lower()


def test_a_second_signal_kills_and_says_so(launch: Launcher) -> None:
    """Who does not want to wait any longer is not told of an out-of-memory killer."""
    deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); print('Load weight begin. avail mem=7 GB', flush=True); time.sleep(60)"
    run = launch(sys.executable, "-c", deaf)
    run.wait_for("Load weight begin")
    run.process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    run.process.send_signal(signal.SIGTERM)

    code, said = run.end()

    assert 143 == code
    assert "out-of-memory" not in said


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)])
def test_a_signal_is_passed_on_and_the_last_state_is_told(launch: Launcher, port: int, number: signal.Signals, code: int) -> None:
    """The server is asked to end with the same signal, and nothing is left behind."""
    run = launch(*fake("stall", port))
    run.wait_for("Load weight begin")
    run.process.send_signal(number)

    ended, said = run.end()

    assert code == ended
    assert "weights" in said.lower()
    assert not run.alive


# --- what it keeps


def test_the_time_from_exec_to_the_first_line_is_known(launch: Launcher, port: int) -> None:
    """The first entry of the arrivals is the start itself, before the first byte."""
    run = launch(*fake("bad-argument", port))
    run.end()

    first, second, *_ = (line.split("\t") for line in Path(f"{run.log}.arrivals").read_text().splitlines())

    assert "0" == first[1]
    assert float(first[0]) < float(second[0])


def test_note_and_environment_are_kept_and_secrets_are_not(launch: Launcher, port: int) -> None:
    """What the log does not hold is beside it."""
    environment = {"SGLANG_LOG_MS": "1", "MY_OWN": "7", "NCCL_SECRET_TOKEN": "topsecret"}
    command = [*fake("bad-argument", port)]
    run = launch(*command, options=("--note", "cold cache", "--record-env", "MY_OWN"), environment=environment)
    run.end()

    assert "cold cache" == run.record["note"]
    kept = run.record["environment"]
    assert isinstance(kept, dict)
    assert ("1", "7", "***") == (kept["SGLANG_LOG_MS"], kept["MY_OWN"], kept["NCCL_SECRET_TOKEN"])


def test_a_second_launch_goes_behind_the_first(launch: Launcher, port: int) -> None:
    """An old ready line in the same log counts for nothing."""
    first = launch(*fake("normal", port), options=("--detach",))
    first.end()
    os.killpg(int(str(first.record["pid"])), signal.SIGKILL)
    size = first.log.stat().st_size

    second = launch(*fake("bad-argument", port))
    code, said = second.end()

    assert 1 == code
    assert "never" in said.lower()
    assert size == second.record["offset"]


# --- witnesses


def test_a_canary_that_fails_is_told_and_ends_with_1(launch: Launcher, port: int) -> None:
    """The log says ready, the one real request fails: both are said."""
    run = launch(*fake("normal", port), options=("--detach", "--canary", "--health", f"http://127.0.0.1:{port + 1}/health"))

    code, said = run.end()

    assert 1 == code
    assert "The log says ready, but one real request got nothing: the connection was refused: they disagree." in said


def test_a_stale_server_is_found_before_the_load_is_paid_for(launch: Launcher, port: int) -> None:
    """Who holds the port that the command names is told while the model still loads."""
    with socket.create_server(("127.0.0.1", port)):
        run = launch(*fake("stall", port), options=("--timeout", "2"))
        code, said = run.end()

    assert 124 == code
    assert f"port {port} is held by" in said


# --- systemd


def test_the_service_manager_is_told_and_the_server_is_not_its_speaker(launch: Launcher, port: int, tmp_path: Path) -> None:
    """STATUS while it starts, READY when inference worked; the command does not inherit the socket."""
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(path)
        manager.settimeout(5.0)
        run = launch(*fake("normal", port), options=("--detach",), environment={"NOTIFY_SOCKET": path})
        code, _ = run.end()
        manager.settimeout(0.0)
        heard = []
        while True:
            try:
                heard.append(manager.recv(2000).decode())
            except BlockingIOError:
                break

    assert 0 == code
    assert heard[0].startswith("STATUS=")
    assert any("EXTEND_TIMEOUT_USEC=" in message for message in heard)
    assert 1 == sum(message.startswith("READY=1\n") for message in heard)
    assert "NOTIFY_SOCKET" not in Path(f"/proc/{run.record['pid']}/environ").read_text()


# --- usage


def test_what_cannot_be_launched_is_an_error_with_a_remedy(launch: Launcher) -> None:
    """No such command: one line, what to type, and 2."""
    code, said = launch("no-such-command-here").end()

    assert 2 == code
    assert "no-such-command-here: no such command" in said
    assert "Traceback" not in said


def test_a_startup_begins_with_its_process(launch: Launcher, port: int) -> None:
    """The time from exec to the first line is told, by `run` and by a later report of its log."""
    command = f"sleep 1.5; exec {sys.executable} {FAKE} normal --port {port} --pace 0.01 --lifetime 20"
    launched = launch("sh", "-c", command, options=("--detach",))
    code, said = launched.end()
    report = [sys.executable, "-m", "logphase", "report", str(launched.log), "--format", "json"]
    done = subprocess.run(report, capture_output=True, check=True, env={**os.environ, "PYTHONPATH": _path()})
    (startup,) = json.loads(done.stdout)["startups"]
    phase = startup["phases"][0]

    assert 0 == code, said
    assert ("process", "launch") == (startup["started"]["from"], phase["id"])
    assert 1.4 < phase["duration_s"] < 6
