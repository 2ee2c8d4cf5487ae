"""Logs and neighbours of logs that are made to break their reader."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import logphase
from logphase.cli import main
from logphase.verdict import State, judge

if TYPE_CHECKING:
    from pathlib import Path

ARGUMENTS = "[2026-11-30 01:36:55] server_args=ServerArgs(model_path='/m/a', tp_size=2, {more})\n"
BEGIN = "[2026-11-30 01:37:20 TP{rank}] Load weight begin. avail mem=77.0 GB\n"
END = "[2026-11-30 01:37:30 TP0] Load weight end. elapsed={elapsed} s, type=A, mem usage={elapsed} GB.\n"
BAR = "Loading safetensors checkpoint shards:  50% Completed | {done}/4 [{elapsed}<00:01, {rate}]\n"
DIGITS = "9" * 5000
HOSTILE = {
    "unhashable": ARGUMENTS.format(more="a={{1}, {2}}, b={[]: 1}"),
    "rank": ARGUMENTS.format(more="") + BEGIN.format(rank=DIGITS) + BEGIN.format(rank="\u00b3"),
    "alias": ARGUMENTS.format(more="") + f"[rank{DIGITS}]: RuntimeError: x\n",
    "elapsed": ARGUMENTS.format(more="") + BEGIN.format(rank=0) + END.format(elapsed=DIGITS),
    "bar-elapsed": ARGUMENTS.format(more="") + BEGIN.format(rank=0) + BAR.format(done=2, elapsed="9" * 400 + ":00", rate="1.0it/s"),
    "bar-rate": ARGUMENTS.format(more="") + BEGIN.format(rank=0) + BAR.format(done=2, elapsed="00:01", rate="9" * 400 + "s/it"),
    "bar-done": ARGUMENTS.format(more="") + BEGIN.format(rank=0) + BAR.format(done="9" * 12, elapsed="00:01", rate="0.0it/s"),
}


@pytest.mark.parametrize("form", ["table", "json", "markdown", "html"])
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_log_with_impossible_figures_is_reported(text: str, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Figures that no engine means cost their own place in the report and nothing else."""
    log = tmp_path / "a.log"
    log.write_text(text, encoding="utf-8")

    assert 0 == main(["report", str(log), "--format", form])
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("known", [True, False], ids=["heartbeats", "words"])
def test_progress_before_the_first_stamp_is_no_silence(known: bool, tmp_path: Path) -> None:  # noqa: FBT001
    """A bar whose time nobody knows, and stamped lines that are no progress behind it: nothing has stalled yet."""
    said = "Attention backend not specified. Use fa3 backend by default." if known else "hello"
    stamped = "".join(f"[2026-11-30 01:18:4{second}] {said}\n" for second in (3, 4))
    log = tmp_path / "a.log"
    log.write_text(BAR.format(done=0, elapsed="00:00", rate="?it/s") + stamped, encoding="utf-8")
    (startup,) = logphase.analyze(log).startups

    assert State.STARTING is judge(startup).state
    assert State.STALLED is judge(startup, (startup.last_line.time or 0.0) + 7200).state


def test_a_startup_without_time_has_a_page(tmp_path: Path) -> None:
    """A startup whose lines all have one stamp divides nothing by its length."""
    log = tmp_path / "a.log"
    log.write_text(ARGUMENTS.format(more="") + BEGIN.format(rank=0).replace("37:20", "36:55"), encoding="utf-8")

    assert 0 == main(["report", str(log), "-o", str(tmp_path / "a.html")])


@pytest.mark.parametrize("text", ["a = " + "[" * 5000, "a = " + DIGITS], ids=["deep", "digits"])
def test_toml_that_no_reader_can_hold_is_refused(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A budget and a rule file that nest too deep, or hold an endless number, end with a message."""
    log, toml = tmp_path / "a.log", tmp_path / "a.toml"
    log.write_text(ARGUMENTS.format(more=""), encoding="utf-8")
    toml.write_text(text, encoding="utf-8")

    assert [2, 2] == [main(["compare", str(log), "--fail-over", str(toml)]), main(["report", str(log), "--rules", str(toml)])]
    assert 2 == capsys.readouterr().err.count("not valid TOML")


def test_a_name_that_no_disk_can_hold_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the system refuses about a path is told with its name."""
    log = tmp_path / "a.log"
    log.write_text(ARGUMENTS.format(more=""), encoding="utf-8")

    assert [2, 2] == [main(["report", str(log), option, str(tmp_path / ("x" * 300))]) for option in ("-o", "--rules")]
    assert 2 == capsys.readouterr().err.count("File name too long")


@pytest.mark.parametrize("line", ["[" * 100_000, '{"command": [], "offset": 1e999, "pid": 1}', "[]", "5", "null"], ids=range(5))
def test_a_broken_record_beside_a_log_is_as_if_it_were_not_there(line: str, tmp_path: Path) -> None:
    """What stands in FILE.launches.jsonl cannot end a report."""
    log = tmp_path / "a.log"
    log.write_text(ARGUMENTS.format(more=""), encoding="utf-8")
    (tmp_path / "a.log.launches.jsonl").write_text(line + "\n", encoding="utf-8")

    assert 1 == len(logphase.analyze(log).startups)
    assert 0 == main(["report", str(log)])


@pytest.mark.parametrize("words", ["check -", "report -", "rules explain {log}:1", "watch --format jsonl --timeout 1s {log}"])
def test_closed_streams_change_no_exit_code(words: str, tmp_path: Path) -> None:
    """A cron job without stdout and stderr gets the exit code of one that has them."""
    log = tmp_path / "a.log"
    log.write_text(ARGUMENTS.format(more=""), encoding="utf-8")
    command = [sys.executable, "-m", "logphase", *words.format(log=log).split()]

    def code(closed: str) -> int:
        return subprocess.run(
            ["/bin/sh", "-c", f'exec "$@" < {log} {closed}', "sh", *command], capture_output=True, check=False, timeout=60
        ).returncode

    assert [code("")] * 2 == [code(">&-"), code(">&- 2>&-")]


@pytest.mark.parametrize("words", ["--help", "check --help", "report {log}", "check {log}"])
def test_a_full_disk_behind_stdout_is_told(words: str, tmp_path: Path) -> None:
    """What cannot be written ends with 2 and a sentence."""
    log = tmp_path / "a.log"
    log.write_text(ARGUMENTS.format(more=""), encoding="utf-8")
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        done = subprocess.run(
            [sys.executable, "-m", "logphase", *words.format(log=log).split()],
            stdout=full, stderr=subprocess.PIPE, check=False, timeout=60, text=True,
        )  # fmt: skip

    assert 2 == done.returncode
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
