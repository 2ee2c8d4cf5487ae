"""The store: what is confirmed is kept, whoever writes beside, and a file that cannot be used is told and left alone."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from logphase.recollection import place
from logphase.store import STEPS, HistoryError, Store
from tests.conftest import ROOT
from tests.entries_made import ALIKE, entry

if TYPE_CHECKING:
    from pathlib import Path

WRITER = """
import sys
from logphase.store import Store
from pathlib import Path
from tests.entries_made import entry
with Store(Path(sys.argv[1])) as store:
    for number in range(int(sys.argv[3])):
        store.remember(entry(f"{sys.argv[2]}-{number}"))
        print(f"{sys.argv[2]}-{number}", flush=True)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "logphase" / "history.sqlite3"


def test_an_entry_comes_back_as_it_was(path: Path) -> None:
    """Every field of an entry survives the store; it gets a number."""
    with Store(path) as store:
        store.remember(entry())
    with Store(path) as store:
        found = store.entries()

    assert [replace(entry(), number=1)] == found


def test_the_same_startup_counts_once(path: Path) -> None:
    """What is remembered twice is kept once, and the second time is told."""
    with Store(path) as store:
        assert [True, False, True] == [store.remember(entry(name)) for name in ("one", "one", "two")]
        assert 2 == store.count()


def test_a_failure_that_turns_out_to_be_ready_counts_as_ready(path: Path) -> None:
    """The later word of the same startup takes the place of the earlier one, never the other way round."""
    with Store(path) as store:
        store.remember(entry(state="failed"))
        store.remember(entry())
        store.remember(entry(state="failed"))

        assert ["ready"] == [kept.state for kept in store.entries()]


def test_forgotten_entries_are_gone_with_their_phases(path: Path) -> None:
    """Nothing of a forgotten startup stays, and its number is not given again."""
    with Store(path) as store:
        for name in ("one", "two"):
            store.remember(entry(name))
        assert 1 == store.forget([2, 7])
        store.remember(entry("three"))
        assert [1, 3] == [kept.number for kept in store.entries()]
    with contextlib.closing(sqlite3.connect(path)) as file:
        assert [(6,)] == file.execute("SELECT count(*) FROM phases").fetchall()


def test_nothing_is_made_by_looking(path: Path) -> None:
    """A history that is not there yet is empty; reading makes no file."""
    with Store(path) as store:
        assert ([], 0, []) == (store.entries(), store.count(), store.alike(ALIKE, 10))
    assert not path.parent.exists()


def test_a_file_of_another_program_is_told_and_left_alone(path: Path) -> None:
    """A damaged store is an error with a remedy, for reading and for writing, and is not touched."""
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no database " * 100)
    with Store(path) as store:
        for ask in (store.count, store.entries, lambda: store.remember(entry())):
            with pytest.raises(HistoryError, match=r"damaged|not a database") as error:
                ask()
            assert f"mv {path}" in error.value.hint
    assert b"no database " * 100 == path.read_bytes()


def test_a_torn_page_is_told(path: Path) -> None:
    """A file that was cut or overwritten inside is an error, never a traceback."""
    with Store(path) as store:
        for number in range(60):
            store.remember(entry(str(number)))
    data = path.read_bytes()
    path.write_bytes(data[:8192] + b"\xff" * (len(data) - 8192))
    with Store(path) as store, pytest.raises(HistoryError):
        store.entries()


def test_a_newer_schema_is_refused(path: Path) -> None:
    """A file of a later logphase is not read wrong and not written to."""
    with Store(path) as store:
        store.remember(entry())
    with contextlib.closing(sqlite3.connect(path)) as file:
        file.execute(f"PRAGMA user_version = {len(STEPS) + 1}")
    with Store(path) as store:
        for ask in (store.count, lambda: store.remember(entry("two"))):
            with pytest.raises(HistoryError, match="of a newer logphase") as error:
                ask()
            assert "LOGPHASE_HISTORY=off" in error.value.hint


def test_a_file_without_schema_is_brought_forward(path: Path) -> None:
    """An empty file, as a process that was killed at the first moment leaves it, becomes a store."""
    path.parent.mkdir(parents=True)
    path.touch()
    with Store(path) as store:
        assert 0 == store.count()
        assert store.remember(entry())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_told(path: Path) -> None:
    """Read-only state: remembering is an error with a remedy, reading goes on."""
    with Store(path) as store:
        store.remember(entry())
    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        with Store(path) as store:
            assert 1 == store.count()
            with pytest.raises(HistoryError):
                store.remember(entry("two"))
    finally:
        path.parent.chmod(0o700)


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    """A file stands where the folder should be: an error that says what to do."""
    (tmp_path / "state").write_text("in the way", "utf-8")
    with Store(tmp_path / "state" / "logphase" / "history.sqlite3") as store, pytest.raises(HistoryError, match="cannot be used"):
        store.remember(entry())


@pytest.mark.parametrize("switch", ["off", "OFF", "0", "no"])
def test_it_can_be_switched_off(switch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """LOGPHASE_HISTORY=off: there is no place."""
    monkeypatch.setenv("LOGPHASE_HISTORY", switch)

    assert place() is None


def test_its_place_can_be_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A folder in LOGPHASE_HISTORY counts over the state folder; a relative state folder counts as none."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert tmp_path / "logphase" / "history.sqlite3" == place()
    monkeypatch.setenv("LOGPHASE_HISTORY", str(tmp_path / "mine"))
    assert tmp_path / "mine" / "history.sqlite3" == place()


def test_many_writers_lose_nothing_that_was_confirmed(path: Path) -> None:
    """Five processes write at once from an absent file on, two are killed on the way: each confirmed entry is there, and the file opens.

    benchmarks/history.py does it with ten processes, a hundred entries each, and a kill each second.
    """
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(number), "12"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        for number in range(5)
    ]
    for victim in writers[:2]:
        assert victim.stdout is not None
        victim.stdout.readline()
        victim.send_signal(signal.SIGKILL)
        time.sleep(0.05)
    said = [writer.communicate()[0] for writer in writers]
    confirmed = {line for text in said for line in text.splitlines()}
    with Store(path) as store:
        kept = {kept.identity for kept in store.entries()}

    assert [0, 0, 0] == [writer.returncode for writer in writers[2:]]
    assert {f"{writer}-{number}" for writer in range(2, 5) for number in range(12)} <= confirmed
    assert confirmed - kept == set()
