"""`logphase watch` as a process: exit codes, how soon it notices, signals, terminals that change and that go."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import pytest
from click.testing import CliRunner

from logphase.cli import cli
from logphase.replay import Piece, pieces
from tests.conftest import ROOT, SAMPLE_LOGS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LIMIT_S = 30.0
SPEED = 40.0
SLACK_S = 0.3  # the machine of a test is busy
COMMAND = [sys.executable, "-m", "logphase", "watch"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "COLUMNS": "", "LINES": ""}
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass
class Writer:
    """Writes a recorded log again, in a thread, and knows when it wrote what."""

    log: Path
    parts: list[Piece]
    speed: float = SPEED
    written: list[tuple[float, int]] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._write)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self._thread.join()

    def _write(self) -> None:
        begun, size = time.time(), 0
        with self.log.open("ab", buffering=0) as file:
            for part in self.parts:
                if self.stop.wait(max(0.0, begun + part.at_s / self.speed - time.time())):
                    return
                file.write(part.data)
                size += len(part.data)
                self.written.append((time.time(), size))

    def when(self, text: bytes) -> float:
        """When the line that holds a text was complete."""
        data = b"".join(part.data for part in self.parts)
        at = data.index(b"\n", data.index(text)) + 1
        return next(moment for moment, size in self.written if size >= at)


def sample(name: str) -> list[Piece]:
    """A sample log as pieces."""
    return list(pieces(str(SAMPLE_LOGS / f"{name}.log")))


def ready_log(name: str = "no-graphs") -> bytes:
    """A sample log until it is ready."""
    data = (SAMPLE_LOGS / f"{name}.log").read_bytes()
    return data[: data.index(b"\n", data.index(b"The server is fired up")) + 1]


def half_log() -> bytes:
    """A startup that loads weights."""
    data = (SAMPLE_LOGS / "kimi-k2.5-tp8-eagle3.log").read_bytes()
    return data[: data.index(b"30/64")]


@pytest.fixture
def watching() -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that are ended when the test is."""
    made: list[subprocess.Popen[str]] = []
    yield made
    for process in made:
        if process.poll() is None:
            process.kill()
        process.communicate()


def watch(log: Path, *options: str, form: str = "jsonl") -> subprocess.Popen[str]:
    """Start it."""
    out = subprocess.PIPE
    return subprocess.Popen([*COMMAND, str(log), "--format", form, *options], stdout=out, stderr=out, text=True, env=ENVIRONMENT)


def wait_for(process: subprocess.Popen[str], text: str) -> str:
    """Read its output up to a line that holds the text."""
    assert process.stdout is not None
    told = ""
    for line in process.stdout:
        told += line
        if text in line:
            return told
    pytest.fail(f"it ended without {text!r}: {told}")


@pytest.mark.parametrize(
    ("name", "code", "decisive", "soon_s"),
    [
        ("no-graphs", 0, b"The server is fired up", 0.2),
        ("tp2-eagle3", 0, b"The server is fired up", 0.2),
        ("out-of-memory", 1, b"OutOfMemoryError", 1.0),
        ("bad-model-path", 1, b"OSError: Repo id", 1.0),
        ("killed-in-load", 1, b"scheduler died", 1.0),
        ("ctrl-c-in-load", 1, b"KeyboardInterrupt", 1.0),
        ("port-in-use", 1, b"address already in use", 1.0),
    ],
)
def test_ends_with_its_code_soon_after_the_line(
    watching: list[subprocess.Popen[str]], tmp_path: Path, name: str, code: int, decisive: bytes, soon_s: float
) -> None:
    """A recorded log, written while it is watched: the right code, within the time that is promised."""
    log = tmp_path / "server.log"
    watching.append(process := watch(log))
    wait_for(process, "no such file yet")
    with Writer(log, sample(name)) as writer:
        process.wait(LIMIT_S)
        ended = time.time()
        out, err = process.communicate()
    end = json.loads(out.splitlines()[-1])

    assert (code, "") == (process.returncode, err)
    assert end["event"] == "end"
    assert end["at"] - writer.when(decisive) <= soon_s + SLACK_S
    assert ended - end["at"] < 1.0


def test_notice_of_ready_comes_within_a_fifth_of_a_second(watching: list[subprocess.Popen[str]], tmp_path: Path) -> None:
    """Median of five: from the write of the line to the event."""
    delays = []
    for attempt in range(5):
        log = tmp_path / f"{attempt}.log"
        log.write_bytes(b"")
        before = ready_log()
        cut = before.rindex(b"\n", 0, len(before) - 1) + 1
        watching.append(process := watch(log))
        wait_for(process, "nothing was written")
        with log.open("ab", buffering=0) as file:
            file.write(before[:cut])
            time.sleep(0.6 + attempt / 20)
            written = time.time()
            file.write(before[cut:])
        out, _ = process.communicate(timeout=LIMIT_S)
        delays.append(json.loads(out.splitlines()[-1])["at"] - written)

    assert sorted(delays)[2] <= 0.2


def test_waits_behind_an_old_ready_startup_for_the_new_one(watching: list[subprocess.Popen[str]], tmp_path: Path) -> None:
    """`nohup … >> log & logphase watch log`: the old story is told, the new one decides."""
    log = tmp_path / "server.log"
    log.write_bytes(ready_log())
    watching.append(process := watch(log, form="plain"))
    told = wait_for(process, "waiting for a new one")
    time.sleep(0.7)

    assert "an earlier startup, ready since 2026-11-30 01:12:" in told.lower()
    assert process.poll() is None

    with Writer(log, sample("tp2-eagle3"), speed=200):
        out, _ = process.communicate(timeout=LIMIT_S)

    assert 0 == process.returncode, out
    assert "capturing" in out
    assert out.splitlines()[-1].startswith("ready: after ")


def test_accept_old_ends_at_once(tmp_path: Path) -> None:
    """The verdict in the file is taken as it is."""
    log = tmp_path / "server.log"
    log.write_bytes(ready_log())
    done = subprocess.run(
        [*COMMAND, str(log), "--accept-old"], capture_output=True, text=True, env=ENVIRONMENT, timeout=LIMIT_S, check=False
    )

    assert (0, "ready: after 25.0 s: inference worked (line 47)") == (done.returncode, done.stdout.splitlines()[-1])


def test_pipe_ends_with_its_input() -> None:
    """What comes through a pipe is live; its end without a verdict is 5, with one it is that."""
    for data, code, word in ((ready_log(), 0, "ready"), (half_log(), 5, "starting"), (b"", 5, "unseen"), (b"hello\n", 5, "unseen")):
        done = subprocess.run([*COMMAND, "-"], input=data, capture_output=True, env=ENVIRONMENT, timeout=LIMIT_S, check=False)

        assert code == done.returncode
        assert done.stdout.decode().splitlines()[-1].startswith(f"{word}:")


@pytest.mark.parametrize(
    ("options", "code", "word"),
    [
        (("--timeout", "1"), 124, "starting"),
        (("--stall-after", "1"), 3, "stalled"),
        (("--stall-after", "0.5", "--stall-action", "warn", "--timeout", "2"), 124, "stalled"),
    ],
)
def test_limits(tmp_path: Path, options: tuple[str, ...], code: int, word: str) -> None:
    """The user's limits end it, and the last line names the phase."""
    log = tmp_path / "server.log"
    with Writer(log, [Piece(half_log(), 0.0), Piece(b" ", 12.0)]):
        command = [*COMMAND, str(log), *options]
        done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=LIMIT_S, check=False)

    assert code == done.returncode
    assert any(line.startswith(f"{word}:") and "oad" in line for line in done.stdout.splitlines())


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
@pytest.mark.parametrize("form", ["plain", "jsonl"])
def test_signals_leave_the_last_state(watching: list[subprocess.Popen[str]], tmp_path: Path, number: int, code: int, form: str) -> None:
    """An outer limit or a lost connection does not cost the answer."""
    log = tmp_path / "server.log"
    log.write_bytes(half_log())
    watching.append(process := watch(log, form=form))
    wait_for(process, "oading" if form == "plain" else "weights")
    process.send_signal(number)
    out, _ = process.communicate(timeout=LIMIT_S)

    assert code == process.returncode
    assert "29/64 shards" in out.splitlines()[-1]


def test_ignored_hangup_stays_ignored(watching: list[subprocess.Popen[str]], tmp_path: Path) -> None:
    """Under nohup it goes on."""
    log = tmp_path / "server.log"
    log.write_bytes(half_log())
    command = ["/bin/sh", "-c", 'trap "" HUP; exec "$@"', "sh", *COMMAND, str(log), "--format", "plain"]
    watching.append(process := subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT))
    wait_for(process, "oading")
    process.send_signal(signal.SIGHUP)
    time.sleep(0.6)

    assert process.poll() is None

    process.terminate()

    assert 143 == process.wait(LIMIT_S)


def test_unreadable_input_is_refused(tmp_path: Path) -> None:
    """A folder, several logs, and a compressed one cannot be followed: 2, and what to type."""
    (tmp_path / "a.log").touch()
    (tmp_path / "b.log").touch()
    for name in (str(tmp_path), str(tmp_path / "*.log")):
        result = CliRunner().invoke(cli, ["watch", name])

        assert 2 == result.exit_code
        assert "Traceback" not in result.output


class Terminal:
    """A terminal of a given size, with a watch in it."""

    def __init__(self, log: Path, width: int = 80, height: int = 24, **environment: str) -> None:
        self.pid, self._end = pty.fork()
        if self.pid == 0:
            os.execve(sys.executable, [*COMMAND, str(log)], {**ENVIRONMENT, **environment})  # noqa: S606 - our own command
        self.resize(width, height)
        self.seen = ""
        self._code: int | None = None

    def resize(self, width: int, height: int) -> None:
        """Change its size, as a user who drags its corner does."""
        fcntl.ioctl(self._end, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def read_until(self, text: str) -> str:
        """What was written until a text is seen."""
        end = time.monotonic() + LIMIT_S
        while text not in ESCAPE.sub("", self.seen):
            assert time.monotonic() < end, self.seen
            if not self._read(1.0):
                pytest.fail(f"it ended without {text!r}: {self.seen}")
        return self.seen

    def _read(self, wait_s: float) -> bool:
        if not select.select([self._end], [], [], wait_s)[0]:
            return True
        try:
            data = os.read(self._end, 65536)
        except OSError:
            return False
        self.seen += data.decode("utf-8", "replace")
        return bool(data)

    def kill(self, number: int) -> None:
        """Send a signal."""
        os.kill(self.pid, number)

    def close(self) -> None:
        """The window is closed: the process gets SIGHUP and its output is gone."""
        os.close(self._end)
        self._end = -1

    def wait(self) -> int:
        """Its exit code."""
        while self._code is None:
            if self._end >= 0 and self._read(0.05) is False:
                self.close()
            pid, status = os.waitpid(self.pid, os.WNOHANG if self._end >= 0 else 0)
            self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code


def test_terminal_gets_a_view_that_stays(tmp_path: Path) -> None:
    """No alternate screen; what was seen last stays, with the verdict."""
    log = tmp_path / "server.log"
    terminal = Terminal(log)
    terminal.read_until("no such file yet")
    with Writer(log, sample("tp2-eagle3")):
        assert 0 == terminal.wait()
    last = ESCAPE.sub("", terminal.seen)

    assert "\x1b[?1049h" not in terminal.seen
    assert "✓ TP0 ✓ TP1" in last
    assert "ready: after 1 min 51 s: inference worked (line 96)" in last[-900:]
    assert "\x1b[?25h" in terminal.seen[-40:]  # the cursor is back


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_leave_the_view(tmp_path: Path, number: int, code: int) -> None:
    """On a terminal too the last state stays."""
    log = tmp_path / "server.log"
    log.write_bytes(half_log())
    terminal = Terminal(log)
    terminal.read_until("29/64 shards")
    terminal.kill(number)

    assert code == terminal.wait()
    assert "29/64 shards" in ESCAPE.sub("", terminal.seen)[-1200:]


def test_closed_terminal_ends_it_quietly(tmp_path: Path) -> None:
    """129, and no traceback although nothing can be written any more."""
    log = tmp_path / "server.log"
    log.write_bytes(half_log())
    terminal = Terminal(log)
    terminal.read_until("29/64 shards")
    terminal.close()

    assert 129 == terminal.wait()


@pytest.mark.parametrize(("width", "height"), [(40, 12), (200, 50), (79, 24)])
def test_resized_terminal_is_drawn_anew(tmp_path: Path, width: int, height: int) -> None:
    """The next drawing has the new width, and no line is longer."""
    log = tmp_path / "server.log"
    log.write_bytes(half_log())
    terminal = Terminal(log, 100, 30)
    terminal.read_until("29/64 shards")
    terminal.resize(width, height)
    before = len(terminal.seen)
    time.sleep(1.6)
    with log.open("ab") as file:
        file.write(b"30/64 [04:08<04:41,  8.28s/it]\r")
    terminal.read_until("30/64 shards")
    terminal.kill(signal.SIGTERM)

    assert 143 == terminal.wait()
    rows = ESCAPE.sub("", terminal.seen[before:]).replace("\r", "\n").split("\n")
    assert max(map(len, rows[-10:])) <= width
    assert "\x1b[J" in terminal.seen[before:]


def test_dumb_terminal_gets_lines(tmp_path: Path) -> None:
    """No cursor to move: one line for each change, without an escape."""
    log = tmp_path / "server.log"
    log.write_bytes(half_log())
    terminal = Terminal(log, TERM="dumb")
    terminal.read_until("starting: loading weights, 29/64 shards")
    terminal.kill(signal.SIGTERM)

    assert 143 == terminal.wait()
    assert "\x1b" not in terminal.seen


def test_no_color_is_respected(tmp_path: Path) -> None:
    """The view moves the cursor and sets no colour."""
    log = tmp_path / "server.log"
    log.write_bytes(half_log())
    terminal = Terminal(log, NO_COLOR="1")
    terminal.read_until("29/64 shards")
    terminal.kill(signal.SIGTERM)

    assert 143 == terminal.wait()
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]", terminal.seen)


def test_replay_and_watch_work_together(tmp_path: Path) -> None:
    """The two commands of the documentation."""
    log = tmp_path / "server.log"
    source = SAMPLE_LOGS / "eagle3-cold.log"
    replay = [sys.executable, "-m", "logphase", "replay", str(source), "--speed", "60", "-o", str(log)]
    with subprocess.Popen(replay, env=ENVIRONMENT) as player:
        done = subprocess.run([*COMMAND, str(log)], capture_output=True, text=True, env=ENVIRONMENT, timeout=LIMIT_S, check=False)
        player.wait(LIMIT_S)

    assert 0 == done.returncode
    assert source.read_bytes() == log.read_bytes()


@pytest.mark.parametrize("options", [(), ("--force",), ("--append",)])
def test_replay_never_writes_over_a_log_unasked(tmp_path: Path, options: tuple[str, ...]) -> None:
    """An existing file needs --force or --append; the log itself is never written."""
    log, target = tmp_path / "a.log", tmp_path / "b.log"
    log.write_bytes(b"new\n")
    target.write_bytes(b"old\n")
    result = CliRunner().invoke(cli, ["replay", str(log), "-o", str(target), *options])

    assert {(): (2, b"old\n"), ("--force",): (0, b"new\n"), ("--append",): (0, b"old\nnew\n")}[options] == (
        result.exit_code,
        target.read_bytes(),
    )
    assert 2 == CliRunner().invoke(cli, ["replay", str(log), "-o", str(log), "--force"]).exit_code
    assert b"new\n" == log.read_bytes()


def test_demo_shows_a_startup_and_its_report() -> None:
    """The live story, then the table; nothing else is needed."""
    result = CliRunner().invoke(cli, ["demo", "--speed", "1000000", "--format", "plain"])

    assert 0 == result.exit_code
    assert "ready: after 1 min 51 s" in result.output
    assert "READY: after 1 min 51 s" in result.output
    assert "Capture draft graphs" in result.output
