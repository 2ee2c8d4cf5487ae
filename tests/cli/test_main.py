"""The group: help, errors, signals."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from logphase import __version__
from logphase.cli import COMMANDS, cli, main

if TYPE_CHECKING:
    from conftest import Run

ROOT = Path(__file__).parent.parent.parent


def command(name: str) -> click.Command:
    """A command, imported."""
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    return found


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_help_line_is_the_commands_own(name: str) -> None:
    """What `logphase --help` shows without importing a command is what the command says of itself."""
    module, _, function = COMMANDS[name][0].partition(":")

    assert getattr(import_module(module), function).short_help == COMMANDS[name][1]
    assert (command(name).help or "").startswith(COMMANDS[name][1])


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_and_option_has_help_and_an_example(run: Run, name: str) -> None:
    """An undocumented option fails the suite."""
    result = run(name, "-h")

    assert 0 == result.exit_code
    assert f"logphase {name}" in result.output.partition("Examples")[2]
    assert "\\b" not in result.output
    assert all(option.help for option in command(name).params if isinstance(option, click.Option))


@pytest.mark.parametrize("name", ["history", "rules"])
def test_groups_list_their_commands_in_whole_sentences(run: Run, name: str) -> None:
    """No help line of a group is cut, and each command of it has an example."""
    group = command(name)
    assert isinstance(group, click.Group)

    assert "..." not in run(name, "--help").output.partition("Commands:")[2]
    for inner in group.commands:
        assert f"logphase {name} {inner}" in run(name, inner, "--help").output.partition("Examples")[2]


def test_help_and_version(run: Run) -> None:
    """The group lists its commands and knows its version."""
    assert "report   Explain a startup" in run("--help").output
    assert f"logphase {__version__}\n" == run("--version").output


@pytest.mark.parametrize(("typed", "told"), [("repotr", "'repotr'. Did you mean 'report'?\n"), ("xyzzy", "'xyzzy'.\n")])
def test_a_command_that_is_nearly_right_is_named(run: Run, typed: str, told: str) -> None:
    """A slip of the finger is told what was meant, any other word is not guessed at."""
    result = run(typed)

    assert 2 == result.exit_code
    assert result.stderr.endswith(told)


@pytest.mark.parametrize("arguments", ["check", "nonsense", "report", "check x --nonsense", "report x --format gif"])
def test_wrong_usage_ends_with_2(run: Run, arguments: str) -> None:
    """What cannot be understood is told on stderr."""
    result = run(*arguments.split())

    assert (2, "") == (result.exit_code, result.stdout)
    assert "Error: " in result.stderr


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--as-of", "yesterday"),
        ("--as-of", "+3 weeks"),
        ("--as-of", "9999999-1-1"),
        ("--startup", "0"),
        ("--startup", "-1"),
        ("--startup", "first"),
    ],
)
@pytest.mark.parametrize("name", ["check", "report"])
def test_bad_values_say_what_is_allowed(run: Run, name: str, option: str, value: str) -> None:
    """A moment or a startup that cannot be read is a usage error with an example."""
    result = run(name, "server.log", option, value)

    assert 2 == result.exit_code
    assert f"Invalid value for '{option}'" in result.stderr
    assert "give" in result.stderr


@pytest.fixture
def inputs(tmp_path: Path) -> dict[str, str]:
    """Inputs that are no log."""
    (tmp_path / "empty.log").touch()
    (tmp_path / "binary.log").write_bytes(bytes(range(256)) * 400)
    (tmp_path / "folder").mkdir()
    (tmp_path / "locked.log").write_text("x\n")
    (tmp_path / "locked.log").chmod(0)
    names = ("empty.log", "binary.log", "folder", "locked.log", "missing.log", "*.nothing", "bad\x1b[31m.log")
    return {name: str(tmp_path / name) for name in names}


@pytest.mark.parametrize("name", ["check", "report"])
@pytest.mark.parametrize("path", ["folder", "locked.log", "missing.log", "*.nothing", "bad\x1b[31m.log"])
def test_unreadable_input_ends_with_2_and_no_traceback(run: Run, inputs: dict[str, str], name: str, path: str) -> None:
    """The message says what and why, and is harmless whatever the file is called."""
    if path == "locked.log" and os.access(inputs[path], os.R_OK):
        pytest.skip("this user may read everything")
    result = run(name, inputs[path])

    assert (2, "") == (result.exit_code, result.stdout)
    assert result.stderr.startswith(f"Error: {Path(inputs[path]).parent}")
    assert "Traceback" not in result.stderr
    assert "\x1b" not in result.stderr


@pytest.mark.parametrize(("name", "code"), [("check", 5), ("report", 0)])
@pytest.mark.parametrize("path", ["empty.log", "binary.log"])
def test_a_file_without_a_startup_is_unseen(run: Run, inputs: dict[str, str], path: str, name: str, code: int) -> None:
    """An empty or binary file holds no startup, and that is all."""
    result = run(name, inputs[path])

    assert code == result.exit_code
    assert result.stdout.casefold().startswith("unseen: ")


@pytest.mark.parametrize("rules", ["missing.toml", "broken.toml"])
def test_bad_rules_end_with_2(run: Run, tmp_path: Path, rules: str) -> None:
    """A rule file that is not there or no TOML is named."""
    (tmp_path / "a.log").write_text("x\n")
    (tmp_path / "broken.toml").write_text("[[rule]\n")
    result = run("check", str(tmp_path / "a.log"), "--rules", str(tmp_path / rules))

    assert (2, "") == (result.exit_code, result.stdout)
    assert rules in result.stderr
    assert "Traceback" not in result.stderr


def test_one_bad_file_does_not_cost_the_others(run: Run, tmp_path: Path) -> None:
    """What can be read is reported, and the exit code says that not all could."""
    (tmp_path / "a.log").write_text("x\n")
    result = run("report", str(tmp_path / "a.log"), str(tmp_path / "missing.log"))

    assert 2 == result.exit_code
    assert result.stdout.startswith("UNSEEN")
    assert "missing.log" in result.stderr


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt(), 130), (click.Abort(), 130), (click.UsageError("no"), 2)])
def test_main_gives_an_exit_code(monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int) -> None:
    """Ctrl-C and usage errors end quietly with their code."""

    def fail(**_: object) -> None:
        raise error

    monkeypatch.setattr(cli, "main", fail)

    assert code == main(["check"])


def test_main_passes_a_commands_code_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code of the command is that of the process."""
    (tmp_path / "a.log").write_text("x\n")
    codes = (main(["check", str(tmp_path / "a.log")]), main(["--version"]), main(["check", str(tmp_path / "b.log")]))

    assert (5, 0, 2) == codes
    assert "Hint: " in capsys.readouterr().err


@pytest.mark.parametrize("arguments", ["check -", "report -", "report - --format json"])
def test_reads_stdin_and_bears_a_reader_that_hangs_up(arguments: str) -> None:
    """`-` is stdin; a closed stdout costs neither a traceback nor the exit code."""
    program = [sys.executable, "-m", "logphase", *arguments.split()]
    child = subprocess.Popen(program, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.close()
    child.stdin.write(b"hello\n")
    child.stdin.close()
    said = child.stderr.read()
    child.stderr.close()

    assert (5 if "check" in arguments else 0, b"") == (child.wait(), said)
