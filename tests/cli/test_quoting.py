"""The lines that a report quotes: the right ones, from every kind of input."""

from __future__ import annotations

import gzip
from io import BytesIO
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logphase.cli.quoting import _pick, quotes

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "".join(f"line {number}\n" for number in range(1, 101))
AROUND_50 = {number: f"line {number}" for number in range(47, 54)}


@given(st.lists(st.sampled_from(["a", "", "\r", "long" * 50]), max_size=60), st.lists(st.integers(1, 70), min_size=1), st.integers(1, 50))
def test_cuts_do_not_matter(lines: list[str], keys: list[int], size: int) -> None:
    """Whatever the blocks, a line has the number and text that splitting the whole gives."""
    data = "\n".join(lines).encode()
    blocks = [data[at : at + size] for at in range(0, len(data), size)]
    wanted = sorted(set(keys))
    whole = dict(enumerate(data.split(b"\n"), 1))
    found = dict(_pick(iter(blocks), wanted))

    assert {number: whole[number].replace(b"\r", b"").decode() for number in found} == found
    assert {number for number in wanted if number < len(whole)} <= set(found)


def test_neighbours_come_along(tmp_path: Path) -> None:
    """A line stands among three before and three after it, and the edges of the file are no trouble."""
    log = tmp_path / "a.log"
    log.write_text(TEXT, encoding="utf-8")

    assert AROUND_50 == quotes(str(log), [50])
    assert [1, 2, 3, 4, 97, 98, 99, 100] == list(quotes(str(log), [1, 100]))


@pytest.mark.parametrize("form", ["gzip", "utf-16", "copy"])
def test_every_input_counts_alike(tmp_path: Path, form: str) -> None:
    """A compressed log, UTF-16 and what standard input held are quoted by the same numbers."""
    log = tmp_path / "a.log"
    copy = BytesIO(TEXT.encode()) if form == "copy" else None
    log.write_bytes(gzip.compress(TEXT.encode()) if form == "gzip" else TEXT.encode("utf-16"))

    assert AROUND_50 == quotes("-" if copy else str(log), [50], copy)


def test_a_bar_is_quoted_by_its_ends(tmp_path: Path) -> None:
    """Of a bar that rewrote itself a hundred times the first and the last state are shown."""
    log = tmp_path / "a.log"
    log.write_bytes(b"\r".join(b"bar %d" % at for at in range(100)) + b"\n")

    assert {1: "bar 0 ⏎ … 98 more states … ⏎ bar 99"} == quotes(str(log), [1])


def test_an_endless_line_is_cut(tmp_path: Path) -> None:
    """Of a line of megabytes only the head is kept."""
    log = tmp_path / "a.log"
    log.write_bytes(b"x" * 5_000_000 + b"\nnext\n")
    found = quotes(str(log), [1])

    assert 1 << 16 == len(found[1])
    assert "next" == found[2]


def test_a_log_that_went_away_is_no_error(tmp_path: Path) -> None:
    """The report is made all the same: its evidence has the text."""
    assert {} == quotes(str(tmp_path / "gone.log"), [1])
