"""`logphase check` with witnesses: one verdict now, of the log and of the world beside it."""

from __future__ import annotations

import os
import socket
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

READY = """[2026-11-30 01:00:00] server_args=ServerArgs(model_path='/m', skip_server_warmup=False)
[2026-11-30 01:00:31] INFO:     Uvicorn running on http://127.0.0.1:31999 (Press CTRL+C to quit)
[2026-11-30 01:00:33] INFO:     127.0.0.1:1 - "POST /generate HTTP/1.1" 200 OK
[2026-11-30 01:00:33] The server is fired up and ready to roll!
"""


@pytest.fixture
def log(tmp_path: Path) -> str:
    """A log that says ready."""
    path = tmp_path / "server.log"
    path.write_text(READY)
    return str(path)


def test_a_pid_that_is_gone_is_a_crash(log: str, run) -> None:  # noqa: ANN001 - a fixture
    """The log says ready, its process is no more: crashed."""
    result = run("check", log, "--pid", "4194300")

    assert 1 == result.exit_code
    assert "crashed: Was ready, then crashed: There is no process 4194300" in result.stdout


def test_a_pid_that_lives_changes_nothing(log: str, run) -> None:  # noqa: ANN001
    """A process without an engine's titles that lives is no evidence against the log."""
    result = run("check", log, "--pid", str(os.getpid()))

    assert 0 == result.exit_code
    assert result.stdout.startswith("ready:")


def test_health_that_says_no_to_a_ready_log_ends_with_1(log: str, run) -> None:  # noqa: ANN001
    """The log's verdict stays, the disagreement is told, and the code is no success."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    result = run("check", log, "--health", f"127.0.0.1:{port}")

    assert 1 == result.exit_code
    assert result.stdout.startswith("ready:")
    assert "The log says ready, but" in result.stderr
    assert "the connection was refused" in result.stderr


def test_witnesses_tell_about_now_only(log: str, run) -> None:  # noqa: ANN001
    """A moment of the past, or another startup, cannot be asked beside the log."""
    assert 2 == run("check", log, "--pid", "1", "--as-of", "+5s").exit_code
    assert 2 == run("check", log, "--canary", "--startup", "1").exit_code
    assert 2 == run("check", log, "--health", "ftp://x").exit_code


def test_without_witnesses_nobody_waits(log: str, run) -> None:  # noqa: ANN001
    """The plain check stays a matter of milliseconds."""
    began = time.monotonic()

    assert 0 == run("check", log).exit_code
    assert time.monotonic() - began < 1.0
