"""Replaying: the same bytes, at the pace at which they were written."""

from __future__ import annotations

import io
import time
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from logphase.cli.replay import _play
from logphase.replay import Piece, pieces

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Sample


def test_pieces_are_the_log(sample: Sample) -> None:
    """Joined they are the log, byte for byte, and their moments never go back."""
    found = list(pieces(str(sample.log)))

    assert sample.log.read_bytes() == b"".join(piece.data for piece in found)
    assert all(one.at_s <= other.at_s for one, other in pairwise(found))
    assert 0.0 == found[0].at_s


def written(folder: Path, text: str, arrivals: str = "") -> list[tuple[float, str]]:
    """The pieces of a log, as moment and text."""
    log = folder / "server.log"
    log.write_bytes(text.encode())
    if arrivals:
        log.with_name("server.log.arrivals").write_text(arrivals)
    return [(piece.at_s, piece.data.decode()) for piece in pieces(str(log))]


def test_arrivals_tell_the_pace(tmp_path: Path) -> None:
    """The file beside the log knows when each part came."""
    assert [(0.0, "one\n"), (2.5, "two\n"), (4.0, "three")] == written(tmp_path, "one\ntwo\nthree", "100.0\t4\n102.5\t8\n104.0\t13\n")


def test_stamps_tell_the_pace(tmp_path: Path) -> None:
    """A line without a stamp comes with the one before it."""
    log = "[2026-11-30 01:00:00 TP0] Load weight begin. avail mem=1.00 GB\nnothing\n[2026-11-30 01:00:07 TP0] Load weight end.\nlast"

    assert [0.0, 7.0, 7.0] == [at for at, _ in written(tmp_path, log)]


def test_bars_tell_their_own_time(tmp_path: Path) -> None:
    """The states of a bar come when its clock says, although there is no newline between them."""
    states = ["0/3 [00:00<?, ?it/s]", "1/3 [00:02<00:04, 2.0s/it]", "2/3 [00:04<00:02, 2.0s/it]"]
    bars = "\r".join(f"Loading safetensors checkpoint shards: {state}" for state in states)
    log = f"[2026-11-30 01:00:00 TP0] Load weight begin. avail mem=1.00 GB\n{bars}\n[2026-11-30 01:00:07 TP0] Load weight end.\n"

    assert [0.0, 2.0, 4.0, 7.0] == [at for at, _ in written(tmp_path, log)]


@pytest.mark.parametrize("content", ["", "no stamp\nat all\n", "\x00\xff\r\r\n"])
def test_a_log_without_stamps_comes_at_once(tmp_path: Path, content: str) -> None:
    """There is no pace to keep."""
    assert {0.0} >= {at for at, _ in written(tmp_path, content)}


def test_playing_keeps_the_pace() -> None:
    """At ten times the speed half a second takes 50 ms."""
    out, begun = io.BytesIO(), time.monotonic()
    _play([Piece(b"a", 0.0), Piece(b"b", 0.5)], out, 10.0)

    assert b"ab" == out.getvalue()
    assert 0.05 <= time.monotonic() - begun < 0.5
