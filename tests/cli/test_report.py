"""`logphase report`: which startups, in which form, to which place."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from logphase.verdict import State
from logphase.views import FORMATS, NEEDS_BROWSER

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import FakeEngine, Run


def names(folder: Path) -> list[str]:
    """The files in a folder."""
    return sorted(path.name for path in folder.iterdir())


def test_table_shows_the_last_startup_and_counts_the_others(run: Run, engine: FakeEngine) -> None:
    """The table leads with the verdict and says which startup this is."""
    result = run("report", engine.log("a.log", State.READY, State.STARTING))

    assert 0 == result.exit_code
    assert result.output.startswith("STARTING: because of --api-key ***\n")
    assert "startup 2 of 2, lines 200-212" in result.output
    assert "1 other startup not shown" in result.output
    assert "\x1b" not in result.output


@pytest.mark.parametrize(("which", "indexes"), [((), [1, 2]), (("--startup", "last"), [2]), (("--startup", "1"), [1])])
def test_json_holds_all_startups_unless_told(run: Run, engine: FakeEngine, which: tuple[str, ...], indexes: list[int]) -> None:
    """A script sees every startup; `--startup` chooses."""
    result = run("report", engine.log("a.log", State.CRASHED, State.READY), "--format", "json", *which)
    read = json.loads(result.stdout)

    assert 0 == result.exit_code
    assert indexes == [startup["index"] for startup in read["startups"]]
    assert "topsecret" not in result.stdout


def test_judges_as_of_the_last_line(run: Run, engine: FakeEngine) -> None:
    """The wall clock has no say in a report."""
    run("report", engine.log("a.log", State.STARTING))

    assert [None] == engine.nows


def test_several_logs_are_one_report(run: Run, engine: FakeEngine, tmp_path: Path) -> None:
    """Files come in the order of their names where a glob stands for them, each with its last startup."""
    engine.log("b.log", State.READY, State.READY)
    engine.log("a.log", State.READY, State.READY)
    result = run("report", str(tmp_path / "*.log"))

    places = [result.output.index(text) for text in ("a.log", "b.log")]

    assert sorted(places) == places
    assert 2 == result.output.count("startup 2 of 2")


def test_without_a_startup_the_report_is_made(run: Run, engine: FakeEngine) -> None:
    """An unseen log is no error."""
    result = run("report", engine.log("a.log"))

    assert 0 == result.exit_code
    assert result.output.startswith("UNSEEN: no startup evidence in 841 lines\n")


def test_writes_a_file_whole_and_never_over_another(run: Run, engine: FakeEngine, tmp_path: Path) -> None:
    """The file's ending chooses the form; --force is named where it is needed; nothing else is left in the folder."""
    path = engine.log("a.log", State.READY)
    target = tmp_path / "out.json"
    first = run("report", path, "-o", str(target))
    target.write_text("mine")
    second = run("report", path, "-o", str(target))

    assert (0, "") == (first.exit_code, first.output)
    assert (2, f"Error: {target} exists already\nHint: Overwrite it with --force, or choose another name.\n") == (
        second.exit_code,
        second.stderr,
    )
    assert "mine" == target.read_text()

    assert 0 == run("report", path, "-o", str(target), "--force").exit_code
    assert 1 == json.loads(target.read_text())["format"]
    assert ["a.log", "out.json"] == names(tmp_path)


@pytest.mark.parametrize(("name", "form"), [("a.md", "### "), ("a.prom", "# HELP"), ("a.txt", "READY"), ("a", "READY")])
def test_the_files_ending_chooses_the_form(run: Run, engine: FakeEngine, tmp_path: Path, name: str, form: str) -> None:
    """An ending names its form; text and none mean the table."""
    path = engine.log("a.log", State.READY)

    assert 0 == run("report", path, "-o", str(tmp_path / name)).exit_code
    assert (tmp_path / name).read_text("utf-8").startswith(form)


@pytest.mark.parametrize("words", [("report", "a.log"), ("compare", "a.log", "b.log"), ("history", "export")])
def test_an_ending_that_no_form_has_is_refused(run: Run, tmp_path: Path, words: tuple[str, ...]) -> None:
    """A table is never written into a file that is called something else; the forms that there are are named."""
    result = run(*words, "-o", str(tmp_path / "out.xlsx"))

    assert 2 == result.exit_code
    assert f"Error: {tmp_path / 'out.xlsx'}: no form has the ending .xlsx\nHint: Say which one it is with --format: " in result.stderr
    assert "csv, parquet" in result.stderr
    assert [] == names(tmp_path)


def test_a_failing_view_leaves_no_half_file(run: Run, engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be written leaves the old file as it was."""
    path = engine.log("a.log", State.READY)
    target = tmp_path / "out.json"
    target.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fdopen", full)
    result = run("report", path, "-o", str(target), "--force")

    assert (2, "old") == (result.exit_code, target.read_text())
    assert "No space left on device" in result.stderr
    assert ["a.log", "out.json"] == names(tmp_path)


@pytest.mark.parametrize(
    ("name", "message"),
    [("", "is a folder"), ("none/out.json", "no such folder"), ("a.log", "is the log itself")],
)
def test_refuses_targets_that_cannot_be(run: Run, engine: FakeEngine, tmp_path: Path, name: str, message: str) -> None:
    """A folder, a missing folder and the log itself are refused before anything is read, with --force too."""
    result = run("report", engine.log("a.log", State.READY), "-o", str(tmp_path / name), "--force")

    assert (2, []) == (result.exit_code, engine.asked)
    assert message in result.stderr


def test_a_device_may_be_written_to(run: Run, engine: FakeEngine) -> None:
    """`-o /dev/null` is no overwriting."""
    assert 0 == run("report", engine.log("a.log", State.READY), "-o", os.devnull).exit_code


@pytest.mark.parametrize(
    ("environment", "choice", "colored"), [({}, "auto", False), ({}, "always", True), ({"NO_COLOR": "1"}, "always", True)]
)
def test_colour_is_as_asked(run: Run, engine: FakeEngine, environment: dict[str, str], choice: str, colored: bool) -> None:  # noqa: FBT001 - a case
    """A pipe has no colour unless it is asked for by name."""
    run.environment.update(environment)

    assert colored == ("\x1b[" in run("report", engine.log("a.log", State.READY), "--color", choice).output)


@pytest.mark.parametrize("columns", ["40", "60", "132"])
def test_width_is_the_terminals(run: Run, engine: FakeEngine, columns: str) -> None:
    """COLUMNS is obeyed, down to 60."""
    run.environment["COLUMNS"] = columns
    result = run("report", engine.log("a.log", State.READY))

    assert max(60, int(columns)) >= max(map(len, result.output.splitlines()))


@pytest.mark.parametrize("form", sorted(set(FORMATS) - NEEDS_BROWSER))
@pytest.mark.parametrize("states", [(), (State.READY,), (State.CRASHED, State.STALLED)])
def test_every_format_is_made(run: Run, engine: FakeEngine, form: str, states: tuple[State, ...], tmp_path: Path) -> None:
    """Each format that is offered comes out for any log."""
    target = tmp_path / "out"
    result = run("report", engine.log("a.log", *states), "--format", form, "-o", str(target))

    assert (0, "") == (result.exit_code, result.output)
    assert target.stat().st_size


def test_a_page_is_not_for_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Binary and HTML are refused where a person would have to read them."""
    from logphase.cli.output import refuse_early
    from logphase.errors import LogphaseError

    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)

    with pytest.raises(LogphaseError, match="html is not for a terminal"):
        refuse_early(None, force=False, terminal=False, form="html")
