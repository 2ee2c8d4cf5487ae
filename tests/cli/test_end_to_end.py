"""A small startup through the whole tool, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
LINES = """\
[2026-11-30 01:00:00] server_args=ServerArgs(model_path='/m', api_key='topsecret', tp_size=1)
[2026-11-30 01:00:10] Init torch distributed begin.
[2026-11-30 01:00:12] Init torch distributed ends. elapsed=1.90 s, mem usage=1.21 GB
[2026-11-30 01:00:12] Load weight begin. avail mem=137.33 GB
[2026-11-30 01:00:20] Load weight end. elapsed=8.25 s, type=LlamaForCausalLM, avail mem=135.37 GB, mem usage=2.88 GB.
[2026-11-30 01:00:21] KV Cache is allocated. #tokens: 1123039, K size: 1.00 GB, V size: 1.00 GB
[2026-11-30 01:00:22] max_total_num_tokens=1123039, chunked_prefill_size=8192, max_running_requests=48, context_len=8192
[2026-11-30 01:00:23] INFO:     Uvicorn running on http://127.0.0.1:30000 (Press CTRL+C to quit)
[2026-11-30 01:00:25] INFO:     127.0.0.1:50000 - "POST /generate HTTP/1.1" 200 OK
[2026-11-30 01:00:25] The server is fired up and ready to roll!
""".splitlines()
OUT_OF_MEMORY = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 139.81 GiB"


def logphase(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """Run the tool as a user does."""
    return subprocess.run(
        [sys.executable, "-m", "logphase", *arguments], cwd=ROOT, input=given, capture_output=True, text=True, check=False
    )


def written(folder: Path, lines: list[str], age: float = 0.0) -> str:
    """Write a log that has not changed for `age` seconds."""
    path = folder / "server.log"
    path.write_text("".join(f"{line}\n" for line in lines))
    os.utime(path, (time.time() - age,) * 2)
    return str(path)


@pytest.mark.parametrize(
    ("count", "age", "state", "code"),
    [(10, 0, "ready", 0), (10, 9e6, "ready", 0), (4, 0, "starting", 4), (4, 9e6, "stalled", 3), (0, 0, "unseen", 5)],
)
def test_check_gives_one_line_and_a_code(tmp_path: Path, count: int, age: float, state: str, code: int) -> None:
    """Ready stays ready; a load without a sign of life becomes stalled."""
    done = logphase("check", written(tmp_path, LINES[:count], age))

    assert (code, 1, "") == (done.returncode, done.stdout.count("\n"), done.stderr)
    assert done.stdout.startswith(f"{state}: ")


def test_check_names_the_cause_of_a_crash(tmp_path: Path) -> None:
    """The line that killed the startup stands in the verdict."""
    done = logphase(
        "check", written(tmp_path, [*LINES[:4], f"[2026-11-30 01:00:15] Scheduler hit an exception: {OUT_OF_MEMORY}", OUT_OF_MEMORY])
    )

    assert 1 == done.returncode
    assert "crashed: " in done.stdout
    assert "out of memory" in done.stdout


def test_check_can_be_reproduced(tmp_path: Path) -> None:
    """The same log asked about the same moment gives the same verdict, whatever the wall clock says."""
    path = written(tmp_path, LINES, 9e6)
    codes = [logphase("check", path, "--as-of", as_of).returncode for as_of in ("2026-11-30T01:00:15", "2026-11-30T01:00:30")]

    assert [4, 0] == codes
    assert 3 == logphase("check", written(tmp_path, LINES[:4]), "--as-of", "+5h").returncode


@pytest.mark.parametrize("source", ["file", "stdin"])
def test_report_as_json(tmp_path: Path, source: str) -> None:
    """Figures of the engine come out as it printed them, and its key does not."""
    path = written(tmp_path, LINES) if source == "file" else "-"
    done = logphase("report", path, "--format", "json", given="" if source == "file" else "\n".join(LINES))
    startup = json.loads(done.stdout)["startups"][0]

    assert (0, "") == (done.returncode, done.stderr)
    assert "topsecret" not in done.stdout
    assert (25.0, 10) == (startup["ready"]["after_s"], startup["ready"]["line"])
    assert 8.25 == next(phase for phase in startup["phases"] if phase["id"] == "weights")["duration_s"]


def test_report_as_table(tmp_path: Path) -> None:
    """A person sees the verdict first, and the phases with their share."""
    done = logphase("report", written(tmp_path, LINES), "--color", "never")

    assert 0 == done.returncode
    assert done.stdout.startswith("READY: ")
    assert "8.25 s 33.0 %" in done.stdout
