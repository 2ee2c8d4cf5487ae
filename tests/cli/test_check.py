"""`logphase check`: one line and an exit code."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from logphase.cli.exit_codes import ExitCode, of_state
from logphase.verdict import State

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import FakeEngine, Run

CODES = {
    State.READY: 0,
    State.CRASHED: 1,
    State.NEVER_STARTED: 1,
    State.STOPPED: 1,
    State.STALLED: 3,
    State.STARTING: 4,
    State.UNSEEN: 5,
}
LAST_LINE = 1772116690.0


@pytest.mark.parametrize("state", State)
def test_every_state_has_the_contracts_code(state: State) -> None:
    """No state is without its exit code."""
    assert CODES[state] == of_state(state)


def test_codes_are_the_contracts() -> None:
    """The numbers are public and do not change."""
    expected = {"READY": 0, "FAILED": 1, "USAGE": 2, "STALLED": 3, "STARTING": 4, "UNSEEN": 5}
    expected |= {"TIMEOUT": 124, "HANGUP": 129, "INTERRUPTED": 130, "TERMINATED": 143}

    assert expected == {code.name: code.value for code in ExitCode}


@pytest.mark.parametrize("state", [state for state in State if state is not State.UNSEEN])
def test_says_the_state_in_one_line_and_ends_with_its_code(run: Run, engine: FakeEngine, state: State) -> None:
    """The line leads with the state and ends with the line number; the secret is masked."""
    result = run("check", engine.log("a.log", state))

    assert f"{state}: because of --api-key *** (line 112)\n" == result.output
    assert CODES[state] == result.exit_code


def test_unseen_says_what_to_do(run: Run, engine: FakeEngine) -> None:
    """A log without a startup ends with 5 and a hint, still in one line."""
    result = run("check", engine.log("a.log"))

    assert result.output.startswith("unseen: no startup evidence in 841 lines. ")
    assert (1, 5) == (result.output.count("\n"), result.exit_code)


def test_judges_as_of_now(run: Run, engine: FakeEngine) -> None:
    """The time for which the file has not changed is silence after the log's last line."""
    path = engine.log("a.log", State.STALLED)
    changed = time.time() - 7200
    os.utime(path, (changed, changed))

    run("check", path)

    assert ([pytest.approx(LAST_LINE + 7200, abs=30)], [True]) == (engine.nows, engine.lives)


@pytest.mark.parametrize(
    ("as_of", "now", "until"),
    [
        ("2026-02-26T14:30:00", 1772116200.0, 1772116200.0),
        ("2026-02-26 14:30:00.5", 1772116200.5, 1772116200.5),
        ("+3600s", LAST_LINE + 3600, None),
        ("+10min", LAST_LINE + 600, None),
        ("+0", LAST_LINE, None),
    ],
)
def test_judges_as_of_a_moment(run: Run, engine: FakeEngine, as_of: str, now: float, until: float | None) -> None:
    """A moment on the log's clock ends the reading there, a distance counts from the last line."""
    run("check", engine.log("a.log", State.STARTING), "--as-of", as_of)

    assert [now] == engine.nows
    assert until == engine.asked[0]["until"]


def test_takes_the_last_startup_unless_told(run: Run, engine: FakeEngine) -> None:
    """An earlier ready startup never answers for a later one; `all` ends with the worst."""
    path = engine.log("a.log", State.READY, State.STARTING)

    assert 4 == run("check", path).exit_code
    assert 0 == run("check", path, "--startup", "1").exit_code
    assert 4 == run("check", path, "--startup", "all").exit_code
    assert 2 == len(run("check", path, "--startup", "all").output.splitlines())


def test_a_startup_that_is_not_there_is_a_usage_error(run: Run, engine: FakeEngine) -> None:
    """The message says how many there are."""
    path = engine.log("a.log", State.READY)
    result = run("check", path, "--startup", "3")

    assert (2, "") == (result.exit_code, result.stdout)
    assert f"Error: {path} holds 1 startup, not a number 3\nHint: Try --startup 1 or --startup all.\n" == result.stderr


def test_a_glob_names_one_file(run: Run, engine: FakeEngine, tmp_path: Path) -> None:
    """A pattern works where one file matches; several are an error that names one."""
    engine.log("a.log", State.READY)
    assert 0 == run("check", str(tmp_path / "*.log")).exit_code

    engine.log("b.log", State.READY)
    result = run("check", str(tmp_path / "*.log"))

    assert 2 == result.exit_code
    assert "2 files match, this command takes one" in result.stderr


def test_secrets_show_when_asked_for(run: Run, engine: FakeEngine) -> None:
    """`--no-redact` quotes the log as it is."""
    assert "topsecret" in run("check", engine.log("a.log", State.READY), "--no-redact").output


def test_engine_and_rules_reach_the_reader(run: Run, engine: FakeEngine) -> None:
    """The user's engine and rules are used for the reading."""
    run("check", engine.log("a.log", State.READY), "--engine", "vllm", "--rules", "mine.toml")

    assert ("vllm", "mine.toml") == (engine.asked[0]["engine"], engine.asked[0]["rules"])


def test_the_state_has_its_colour_when_asked_for(run: Run, engine: FakeEngine) -> None:
    """A pipe gets plain text, `--color always` colours the state's word and nothing else."""
    path = engine.log("a.log", State.READY)

    assert "\x1b[32m\x1b[1mready\x1b[0m: because" in run("check", path, "--color", "always").output
    assert "\x1b" not in run("check", path).output
