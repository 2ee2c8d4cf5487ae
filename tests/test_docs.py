"""The pages say what is so: every command, every exit code, every link."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from logphase.cli import COMMANDS
from logphase.cli.exit_codes import ExitCode

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "rules").rglob("*.md"), *(ROOT / "sample_logs").glob("*.md")])
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_readme_shows_every_command(command: str) -> None:
    """A command that the README does not show does not exist for its reader."""
    assert f"logphase {command}" in README.read_text(encoding="utf-8")


@pytest.mark.parametrize("code", list(ExitCode), ids=str)
def test_readme_lists_every_exit_code(code: ExitCode) -> None:
    """Scripts rely on the exit codes, so each has a row in the README's table."""
    rows = [line for line in README.read_text(encoding="utf-8").splitlines() if line.startswith("|")]

    assert any(re.match(rf"\|.*\b{int(code)}\b", row) for row in rows)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    """A relative link names a file of the checkout."""
    links = LINK.findall(page.read_text(encoding="utf-8"))

    assert [] == [link for link in links if not (page.parent / link).exists()]


def test_decisions_are_numbered_and_listed() -> None:
    """Decisions count up from 1, and their index lists each once."""
    index = (ROOT / "docs" / "decisions" / "README.md").read_text(encoding="utf-8")

    assert [f"{number:04d}" for number in range(1, len(DECISIONS) + 1)] == [page.name[:4] for page in DECISIONS]
    assert [page.name for page in DECISIONS] == LINK.findall(index)
