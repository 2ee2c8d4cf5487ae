"""What the README and the pages on reports show is what comes out, and what it tells to type works."""

from __future__ import annotations

import re
import shlex
import tomllib
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from logphase.cli import cli
from logphase.rules import load
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

README, *PAGES = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/report.md", "docs/comparing.md"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SHOWN = [
    (command, output)
    for page in (README, *PAGES)
    for language, block in BLOCK.findall(page)
    if language == "console"
    for command, output in [block.split("\n", maxsplit=1)]
    if re.match(r"\$ logphase (?:check|report|compare)(?: sample_logs/\S+)+$", command)
]


def blocks(language: str) -> list[str]:
    return [block for found, block in BLOCK.findall(README) if found == language]


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command.removeprefix("$ ") for command, _ in SHOWN])
def test_pages_show_what_comes_out(command: str, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Output on a page is the command's, to the last character."""
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("COLUMNS", raising=False)
    result = CliRunner().invoke(cli, shlex.split(command)[2:])

    assert output == result.stdout


def test_main_commands_are_shown_with_their_output() -> None:
    """The commands whose output a newcomer wants to see before anything else are shown with it."""
    assert {"report", "check", "compare"} <= {command.split()[2] for command, _ in SHOWN}


def test_readme_library_example_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The Python of the README runs as it stands and tells the verdict."""
    monkeypatch.chdir(ROOT)
    exec(compile(blocks("python")[0], "README.md", "exec"), {})  # noqa: S102 - our own page

    assert capsys.readouterr().out.startswith("ready Ready after 16 min 7 s")


def test_readme_rule_file_is_sound(tmp_path: Path) -> None:
    """The rule file of the README loads, and its example fits its pattern."""
    path = tmp_path / "mine.toml"
    path.write_text(blocks("toml")[0], encoding="utf-8")
    tomllib.loads(path.read_text(encoding="utf-8"))
    rule = next(rule for rule in load("sglang", str(path), examples=True).rules if rule.id == "my-weights-end")

    assert rule.match(rule.examples[0].partition("] ")[2])
