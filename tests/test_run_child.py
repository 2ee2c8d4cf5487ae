"""A command of its own session: its output byte for byte, its arrivals, its end, and what is recorded beside its log."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from pathlib import Path

import pytest

from logphase import launch_record
from logphase.child import ArrivalsFile, Child, Ended
from logphase.errors import LogphaseError
from logphase.service import Service
from logphase.sources.arrivals import LAUNCHES, Arrivals

PYTHON = sys.executable


def wait(child: Child, limit_s: float = 10.0) -> Ended:
    """Wait until a child has ended."""
    end = time.monotonic() + limit_s
    while (ended := child.ended()) is None and time.monotonic() < end:
        time.sleep(0.005)
    assert ended is not None
    return ended


def test_the_output_is_kept_byte_for_byte(tmp_path: Path) -> None:
    """Both streams land in the log in their order, behind what it held, whatever bytes they are."""
    log = tmp_path / "server.log"
    log.write_bytes(b"before\n")
    script = "import os; os.write(1, b'\\xff\\x00\\r50%'); os.write(2, b'\\x1b[1mend')"

    child = Child([PYTHON, "-c", script], str(log))

    assert 0 == wait(child).code
    assert 7 == child.offset
    assert b"before\n\xff\x00\r50%\x1b[1mend" == log.read_bytes()


@pytest.mark.parametrize(
    ("script", "code", "told"),
    [
        ("raise SystemExit(3)", 3, "ended with exit code 3"),
        ("import os; os.kill(os.getpid(), 9)", -9, "was killed by SIGKILL"),
        ("import os; os.kill(os.getpid(), 15)", -15, "was killed by SIGTERM"),
    ],
)
def test_exit_code_and_signal_are_known(tmp_path: Path, script: str, code: int, told: str) -> None:
    """How a command ended is told in a sentence."""
    ended = wait(Child([PYTHON, "-c", script], str(tmp_path / "log")))

    assert code == ended.code
    assert told == str(ended)


def test_a_command_that_is_none_leaves_no_log_of_its_own(tmp_path: Path) -> None:
    """A slip of the finger leaves no empty file behind, and an old log as it was."""
    (tmp_path / "old").write_text("before\n")
    for name in ("new", "old"):
        with pytest.raises(LogphaseError):
            Child(["no-such-command-here"], str(tmp_path / name))

    assert ["old"] == [path.name for path in tmp_path.iterdir()]
    assert "before\n" == (tmp_path / "old").read_text()


def test_a_command_that_is_none_and_a_log_that_cannot_be(tmp_path: Path) -> None:
    """What cannot be started is an error with a remedy."""
    with pytest.raises(LogphaseError, match="no-such-command-here: no such command"):
        Child(["no-such-command-here"], str(tmp_path / "log"))
    with pytest.raises(LogphaseError, match="No such file or directory"):
        Child([PYTHON], str(tmp_path / "absent" / "log"))


@pytest.mark.parametrize("kind", ["device", "fifo", "folder"])
def test_a_log_that_is_no_file_is_refused(tmp_path: Path, kind: str) -> None:
    """A device never ends, a pipe waits for its reader: neither is opened, and nothing is launched."""
    log = tmp_path / "log"
    if kind == "device":
        log.symlink_to("/dev/full")
    elif kind == "fifo":
        os.mkfifo(log)
    else:
        log.mkdir()

    with pytest.raises(LogphaseError, match="is no file that can be read again"):
        Child(["touch", str(tmp_path / "launched")], str(log))
    assert not (tmp_path / "launched").exists()


def test_it_has_a_session_of_its_own(tmp_path: Path) -> None:
    """A closed terminal or a Ctrl-C for logphase does not reach the command by itself."""
    child = Child(["sleep", "30"], str(tmp_path / "log"))
    try:
        assert child.pid == os.getsid(child.pid) == os.getpgid(child.pid)
        assert os.getsid(0) != child.pid
    finally:
        child.stop(1.0)


def test_what_a_command_leaves_behind_is_found_and_ended(tmp_path: Path) -> None:
    """A child that forks and ends leaves its session; stopping ends that too."""
    child = Child(["sh", "-c", "sleep 60 & exit 0"], str(tmp_path / "log"))

    assert 0 == wait(child).code
    assert 1 == len(child.rest())
    child.stop(0.5)
    assert [] == child.rest()


def test_a_command_that_does_not_go_is_killed(tmp_path: Path) -> None:
    """Stopping asks first, and does not wait for ever."""
    log = tmp_path / "log"
    child = Child([PYTHON, "-u", "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); print('up'); time.sleep(60)"], str(log))
    end = time.monotonic() + 5
    while not log.read_bytes() and time.monotonic() < end:
        time.sleep(0.01)

    child.stop(0.2)

    assert -9 == wait(child).code


def test_signals_reach_the_command(tmp_path: Path) -> None:
    """SIGTERM goes to the command, which can end in its own way."""
    log = tmp_path / "log"
    script = "import signal, sys, time; signal.signal(15, lambda *_: sys.exit(7)); print('up', flush=True); time.sleep(60)"
    child = Child([PYTHON, "-c", script], str(log))
    end = time.monotonic() + 5
    while not log.read_bytes() and time.monotonic() < end:
        time.sleep(0.01)

    child.pass_on(signal.SIGTERM)

    assert 7 == wait(child).code


# --- arrivals


def test_arrivals_are_read_back(tmp_path: Path) -> None:
    """What is written beside the log gives each byte its time again."""
    log = tmp_path / "server.log"
    log.write_bytes(b"onetwo")
    file = ArrivalsFile(str(log), 0, 100.0)
    file.add(101.5, 3)
    file.add(102.25, 6)
    file.close()

    assert b"100.000000\t0\n101.500000\t3\n102.250000\t6\n" == Path(f"{log}.arrivals").read_bytes()
    arrivals = Arrivals(str(log))
    assert [(b"one", 101.5, None), (b"two", 102.25, None)] == list(arrivals.cut(b"onetwo", 0))
    arrivals.close()


def test_a_full_disk_costs_the_arrivals_and_nothing_else(tmp_path: Path) -> None:
    """Times that cannot be written are told as a trouble; keeping them never ends the server that is watched."""
    log = tmp_path / "server.log"
    Path(f"{log}.arrivals").symlink_to("/dev/full")
    file = ArrivalsFile(str(log), 0, 100.0)
    for size in range(3):
        file.add(101.0, size)
        file.flush()
    file.close()

    assert f"{log}.arrivals: No space left on device" == file.trouble


def test_a_word_that_is_no_utf_8_is_recorded(tmp_path: Path) -> None:
    """A command's bytes and a note's line separators stay one line of JSON."""
    log = str(tmp_path / "server.log")
    record = launch_record.begin(["serve", "\udcff"], 100.0, 0, 1, {}, note="a\u2028b")
    launch_record.keep(log, record)
    launch_record.keep(log, record)

    (found,) = launch_record.recorded(log)
    assert ("serve", "\udcff") == found.command


def test_arrivals_go_on_in_a_log_that_goes_on(tmp_path: Path) -> None:
    """A second launch appends to both; a log whose first part nobody saw arrive gets no times at all."""
    log = tmp_path / "server.log"
    log.write_bytes(b"one")
    ArrivalsFile(str(log), 3, 100.0).close()
    assert not Path(f"{log}.arrivals").exists()

    Path(f"{log}.arrivals").write_bytes(b"90.0\t3\n")
    ArrivalsFile(str(log), 3, 100.0).close()
    assert b"90.0\t3\n100.000000\t3\n" == Path(f"{log}.arrivals").read_bytes()


# --- the record


def test_the_record_holds_what_the_log_does_not(tmp_path: Path) -> None:
    """The command, chosen variables and a note are kept without secrets; unchosen variables are not kept."""
    log = str(tmp_path / "server.log")
    environment = {"SGLANG_LOG_MS": "1", "NCCL_DEBUG": "INFO", "HOME": "/root", "MINE": "x", "SGLANG_API_KEY": "topsecret"}
    command = ["sglang", "serve", "--api-key", "sk-topsecret99", "--hf-token=hf_Abcdefgh12345", "--port", "30000"]

    record = launch_record.begin(command, 1796001102.71, 5, 77, environment, also=["MINE"], note="cold cache, --api-key topsecret")
    launch_record.Keeper(log, record, ["/bin/sh"]).end(1796001200.0, -9, "stopped")
    (line,) = Path(log + LAUNCHES).read_text().splitlines()
    held = json.loads(line)

    assert "topsecret" not in line
    assert "hf_Abcdefgh12345" not in line
    assert ["sglang", "serve", "--api-key", "***", "--hf-token=***", "--port", "30000"] == held["command"]
    assert {"SGLANG_LOG_MS": "1", "NCCL_DEBUG": "INFO", "MINE": "x", "SGLANG_API_KEY": "***"} == held["environment"]
    assert (5, 77, -9, "stopped", 1) == (held["offset"], held["pid"], held["exit_code"], held["state"], held["format"])


def test_each_launch_has_its_line(tmp_path: Path) -> None:
    """A log that is appended to has a record for each launch."""
    log = str(tmp_path / "server.log")
    for pid in (1, 2):
        launch_record.keep(log, launch_record.begin(["x"], 100.0, 0, pid, {}))

    assert [1, 2] == [json.loads(line)["pid"] for line in Path(log + LAUNCHES).read_text().splitlines()]


def test_versions_are_asked_of_the_commands_own_interpreter(tmp_path: Path) -> None:
    """A Python and a script name theirs; a shell has none."""
    script = tmp_path / "sglang"
    script.write_text(f"#!{PYTHON}\n")
    script.chmod(0o755)

    assert PYTHON == launch_record.interpreter([PYTHON, "-m", "sglang.launch_server"])
    assert PYTHON == launch_record.interpreter([str(script)])
    assert launch_record.interpreter(["/bin/sh", "-c", "x"]) is None
    assert {} == launch_record.versions(["/bin/sh"])
    assert isinstance(launch_record.versions([PYTHON]), dict)


# --- systemd


def test_the_service_manager_hears_status_and_ready(tmp_path: Path) -> None:
    """Each message is one datagram; more time is asked for only while there is progress, and ready is said once."""
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(path)
        manager.settimeout(1.0)
        environment = {"NOTIFY_SOCKET": path, "HOME": "/"}
        service = Service(environment)

        service.status("Load weights,\n 3/12 shards", moves=True)
        service.status("Load weights,\n 3/12 shards", moves=True)
        service.ready("Ready after 60 s")
        service.ready("Ready after 60 s")
        service.stopping("Stopped")

        assert {"HOME": "/"} == environment
        assert b"STATUS=Load weights, 3/12 shards\nEXTEND_TIMEOUT_USEC=60000000" == manager.recv(500)
        assert b"READY=1\nSTATUS=Ready after 60 s" == manager.recv(500)
        assert b"STOPPING=1\nSTATUS=Stopped" == manager.recv(500)


def test_without_a_service_manager_nothing_happens(tmp_path: Path) -> None:
    """No variable, or a socket that is gone, is no error."""
    Service({}).ready("x")
    Service({"NOTIFY_SOCKET": str(tmp_path / "gone")}).ready("x")
