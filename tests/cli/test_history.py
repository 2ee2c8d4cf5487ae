"""`logphase history`, and the commands that fill it."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

import logphase
from logphase.cli import cli
from logphase.cli.remembering import remember
from logphase.recollection import place
from logphase.store import Store
from logphase.views.history import entry_text, listing
from tests.conftest import SAMPLE_LOGS
from tests.entries_made import ALIKE, entry

if TYPE_CHECKING:
    from click.testing import Result

LOG = str(SAMPLE_LOGS / "tp2-eagle3.log")


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("LOGPHASE_HISTORY", str(tmp_path / "history"))
    path = place()
    assert path is not None
    return Store(path)


def run(*words: str, expected: int = 0) -> Result:
    from logphase.errors import LogphaseError

    result = CliRunner().invoke(cli, words)
    if isinstance(result.exception, LogphaseError):
        raise result.exception
    assert expected == result.exit_code, result.output
    return result


def fill(store: Store, *took: float) -> None:
    with store:
        for number, seconds in enumerate(took):
            store.remember(entry(f"entry-{number}", took=seconds, started=1_000_000.0 + number))


def test_report_remembers_what_is_finished(store: Store) -> None:
    """A startup that a report shows is kept once, with its model, without secrets."""
    first, second = run("report", LOG, "--remember"), run("report", LOG, "--remember")

    assert "remembered: 1 of 1 startup\n" in first.stderr
    assert "remembered: 0 of 1 startup, 1 known already\n" in second.stderr
    with store:
        (kept,) = store.entries()
    assert ("ready", str(Path(LOG).resolve())) == (kept.state, kept.source)


def test_watch_and_report_know_the_same_startup(store: Store, tmp_path: Path) -> None:
    """What watch saw and what a report reads later is one startup."""
    text = Path(LOG).read_bytes()
    log = tmp_path / "server.log"
    log.write_bytes(text[: text.index(b"fired up and ready to roll!") + 28])
    run("watch", "--accept-old", "--format", "plain", str(log))
    log.write_bytes(text)
    result = run("report", str(log), "--remember")

    assert "1 known already" in result.stderr
    with store:
        assert 1 == store.count()


def test_without_history_nothing_is_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """LOGPHASE_HISTORY=off: the report is made, and says that nothing is remembered."""
    monkeypatch.setenv("LOGPHASE_HISTORY", "off")
    result = run("report", LOG, "--remember")

    assert "switched off" in result.stderr
    assert not store.path.exists()
    with pytest.raises(Exception, match="switched off"):
        run("history", "list")


@pytest.mark.parametrize("content", [b"no database " * 200, b""])
def test_a_broken_history_breaks_no_report(store: Store, content: bytes) -> None:
    """A damaged file is a warning; an empty one is begun anew."""
    store.path.parent.mkdir()
    store.path.write_bytes(content)
    result = run("report", LOG, "--remember")

    assert "was ready after" in result.stdout
    assert bool(content) == ("Warning: not remembered" in result.stderr)


@pytest.mark.parametrize("command", [["show"], ["forget"], ["list", "-n"], ["backtest", "-n"]])
def test_a_number_beyond_any_database_is_refused(store: Store, command: list[str]) -> None:
    """A number that no entry can have is a usage error."""
    del store

    run(*command, "9" * 20, expected=2)


def test_a_broken_history_breaks_no_watch(store: Store, tmp_path: Path) -> None:
    """A damaged file is one warning, and the verdict comes."""
    store.path.parent.mkdir()
    store.path.write_bytes(b"no database " * 200)
    text = Path(LOG).read_bytes()
    log = tmp_path / "server.log"
    log.write_bytes(text[: text.index(b"fired up and ready to roll!") + 28])
    result = run("watch", "--accept-old", "--format", "plain", str(log))

    assert 1 == result.stderr.count("Warning: not remembered")


def test_an_empty_history_says_how_to_fill_it() -> None:
    """Nothing was seen so far: list says what fills it."""
    assert "--remember" in run("history", "list").stdout
    assert "nothing to judge" in run("history", "backtest").stdout


def test_list_shows_the_newest_last(store: Store) -> None:
    """The newest entries, in a table or as JSON, and how many are left out."""
    fill(store, 30.0, 31.0, 32.0)
    lines = run("history", "list", "-n", "2").stdout.splitlines()
    document = json.loads(run("history", "list", "--format", "json").stdout)

    assert ["entry", "2", "3", "1"] == [line.split()[0] for line in lines]
    assert "52.00 s" in lines[2]
    assert [50.0, 51.0, 52.0] == [one["total_s"] for one in document["entries"]]
    assert 1 == document["format"]


def test_list_by_model(store: Store) -> None:
    """Only entries whose model has the text."""
    fill(store, 30.0)

    assert "models/a" in run("history", "list", "--model", "MODELS").stdout
    assert "empty" in run("history", "list", "--model", "other").stdout


def test_show_tells_phases_and_flags(store: Store) -> None:
    """An entry with its phases, the slowest rank, and what it is compared by."""
    fill(store, 30.0)
    text = run("history", "show", "1").stdout

    for part in ("ready after 50.00 s", "weights", "TP1 30.00 s", "attention_backend=fa3", "tp_size=2", "warm"):
        assert part in text


@pytest.mark.parametrize("command", ["show", "forget"])
def test_an_entry_that_is_not_there_is_an_error(command: str, store: Store) -> None:
    """A number that the history does not have is told, and nothing is done."""
    fill(store, 30.0)
    with pytest.raises(Exception, match="no entry 9"):
        run("history", command, "1", "9")
    with store:
        assert 1 == store.count()


def test_list_gives_way_on_a_narrow_terminal(store: Store) -> None:
    """Columns on the right are left out, the model is cut, what remains is whole; without a width all is there."""
    with store:
        store.remember(entry(likeness=replace(ALIKE, model="/models/a-model-with-a-long-name-of-its-own")))
        (kept,) = store.entries()
    wide, narrow = listing([kept], 1).splitlines(), listing([kept], 1, 64).splitlines()

    assert ["model", "version", "host"] == wide[0].split()[-3:]
    assert ["entry  remembered        state    total  caches  model", "…"] == [narrow[0], narrow[1][-1]]
    assert 64 == len(narrow[1])


def test_show_breaks_long_values_into_lines(store: Store) -> None:
    """A hundred flags are no line of two thousand characters."""
    with store:
        store.remember(entry(likeness=replace(ALIKE, flags={f"flag_number_{at}": at for at in range(1, 100)})))
        (kept,) = store.entries()
    text = entry_text(kept, 80)

    assert 80 >= max(map(len, text.splitlines()))
    assert all(f"flag_number_{at}={at}" in text for at in range(1, 100))


def test_forget_takes_out_what_is_named(store: Store) -> None:
    """The named entries, or all; neither or both is a usage error."""
    fill(store, 30.0, 31.0, 32.0)

    assert "forgotten: 1 startup\n" == run("history", "forget", "2").stderr
    with store:
        assert [1, 3] == [kept.number for kept in store.entries()]
    assert "forgotten: 2 startups\n" == run("history", "forget", "--all").stderr
    run("history", "forget", expected=2)
    run("history", "forget", "1", "--all", expected=2)


def test_export_has_a_row_for_each_phase_and_rank(store: Store, tmp_path: Path) -> None:
    """CSV and Parquet hold the same rows; a file that exists is not overwritten."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    fill(store, 30.0)
    table = list(csv.DictReader(io.StringIO(run("history", "export").stdout)))
    run("history", "export", "-o", str(tmp_path / "history.parquet"))
    frame = pandas.read_parquet(tmp_path / "history.parquet")

    expected = [("launch", ""), ("spawn", ""), ("weights", ""), ("weights", "TP0"), ("weights", "TP1")]
    assert expected == [(row["phase"], row["rank"]) for row in table]
    assert expected == list(zip(frame["phase"], frame["rank"].fillna(""), strict=True))
    assert [29.0, 30.0] == list(frame["duration_s"])[3:]
    with pytest.raises(Exception, match="exists already"):
        run("history", "export", "-o", str(tmp_path / "history.parquet"))


def test_backtest_tells_error_and_range(store: Store) -> None:
    """Startups that are alike predict each other; the first has no estimate, which is counted."""
    fill(store, 30.0, 31.0, 32.0, 30.0, 31.0)
    document = json.loads(run("history", "backtest", "--format", "json").stdout)
    quarter = next(one for one in document["scores"] if one["name"] == "25%")

    assert (5, 5, 4) == (document["startups"], quarter["cases"], quarter["told"])
    assert quarter["median_error"] < 0.1
    assert 1.0 == quarter["range_held"]
    assert "25%, 0 earlier" in run("history", "backtest").stdout


def test_a_model_of_escapes_is_harmless(store: Store) -> None:
    """What a log put into a model's name moves no cursor and starts no formula."""
    from dataclasses import replace

    hostile = entry("hostile")
    with store:
        store.remember(replace(hostile, likeness=replace(hostile.likeness, model="=cmd|'\x1b[2J/\u202eevil")))
    for words in (("list",), ("show", "1"), ("export",), ("list", "--format", "json")):
        shown = run("history", *words).stdout

        assert not {"\x1b", "\u202e"} & {*shown}
    assert "'=cmd" in run("history", "export").stdout


def test_a_startup_that_runs_is_not_remembered() -> None:
    """Only finished startups are kept, or those of which the caller knows that they are over."""
    text = Path(LOG).read_bytes()
    analyzer = logphase.Analyzer()
    analyzer.feed(text[: text.index(b"Capture target verify")], None)
    (startup,) = analyzer.timeline().startups

    assert (0, 0) == remember([(startup, "x")])
    assert (1, 1) == remember([(startup, "x")], failed=True)
