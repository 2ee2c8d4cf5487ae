"""Reading finished logs: plain, compressed, piped, with arrival times; searching a huge one; positions between two calls."""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from logphase.errors import SourceError
from logphase.sources import Change, FileTail, Position, count_lines, find_last_launch, read, resume
from logphase.sources.chunk import CHUNK_SIZE

if TYPE_CHECKING:
    from pathlib import Path

TEXT = b"".join(b"%d a line of a log\n" % number for number in range(200_000))


def content(path: Path, **options: int) -> bytes:
    return b"".join(chunk.data for chunk in read(path, **options))


@pytest.mark.parametrize("size", [1, 1000, 1 << 20])
def test_a_plain_log_is_read_whole(tmp_path: Path, size: int) -> None:
    """Every byte comes once, in chunks no larger than asked for, with its offset and without a time."""
    log = tmp_path / "server.log"
    log.write_bytes(TEXT[: 3000 * size])
    chunks = list(read(log, size))
    assert TEXT[: 3000 * size] == b"".join(chunk.data for chunk in chunks)
    assert all(len(chunk.data) <= max(size, 1 << 16) for chunk in chunks)
    assert all(TEXT[chunk.offset : chunk.offset + len(chunk.data)] == chunk.data for chunk in chunks)
    assert {None} == {chunk.at for chunk in chunks}


def test_a_growing_log_is_read_to_its_end_at_the_start(tmp_path: Path) -> None:
    """What is written while the log is read belongs to the next call."""
    log = tmp_path / "server.log"
    log.write_bytes(TEXT)
    parts = []
    for chunk in read(log):
        parts.append(chunk.data)
        with log.open("ab") as file:
            file.write(b"late\n")
    assert TEXT == b"".join(parts)


def test_an_empty_log_yields_nothing(tmp_path: Path) -> None:
    """An empty file is no error."""
    log = tmp_path / "server.log"
    log.touch()
    assert [] == list(read(log))


def test_reading_can_begin_in_the_middle(tmp_path: Path) -> None:
    """A start offset skips what was read before; one behind the end yields nothing."""
    log = tmp_path / "server.log"
    log.write_bytes(TEXT)
    assert TEXT[1234:] == content(log, start=1234)
    assert b"" == content(log, start=len(TEXT) + 10)


def test_gzip_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    """A compressed log is expanded whatever its name; several members and padding are one log."""
    log = tmp_path / "server.log"
    log.write_bytes(gzip.compress(TEXT) + gzip.compress(b"more\n") + bytes(512))
    assert TEXT + b"more\n" == content(log)


def test_zstd_is_expanded(tmp_path: Path) -> None:
    """A zstd log is read with what this Python has; several frames are one log."""
    zstandard = pytest.importorskip("zstandard")
    log = tmp_path / "server.log"
    log.write_bytes(zstandard.compress(TEXT) + zstandard.compress(b"more\n"))
    assert TEXT + b"more\n" == content(log)


def test_missing_zstd_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any zstd the error names the package and the way round it."""
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    log = tmp_path / "server.log.zst"
    log.write_bytes(b"\x28\xb5\x2f\xfd....")
    with pytest.raises(SourceError) as caught:
        content(log)
    assert "pip install zstandard" in caught.value.hint


@pytest.mark.parametrize("keep", [100, 5000, 100_000])
def test_a_cut_gzip_gives_what_it_has(tmp_path: Path, keep: int) -> None:
    """All that could be expanded comes first, then the damage is named."""
    log = tmp_path / "server.log.gz"
    log.write_bytes(gzip.compress(TEXT)[:keep])
    chunks = list(read(log))
    data = b"".join(chunk.data for chunk in chunks)
    assert data
    assert TEXT.startswith(data)
    assert (Change.DAMAGED, "the gzip data ends early: the file was cut") == (chunks[-1].change, chunks[-1].reason)


def test_damage_in_the_middle_costs_only_the_rest(tmp_path: Path) -> None:
    """Flipped bytes end the log with a reason, not with a traceback."""
    log = tmp_path / "server.log.gz"
    data = bytearray(gzip.compress(TEXT))
    data[len(data) // 2 : len(data) // 2 + 64] = bytes(64)
    log.write_bytes(data)
    chunks = list(read(log))
    assert Change.DAMAGED is chunks[-1].change
    assert sum(len(chunk.data) for chunk in chunks) > 0


def test_gzip_that_is_none_is_an_error(tmp_path: Path) -> None:
    """A file with gzip's first bytes and nothing sound behind them cannot be read at all."""
    log = tmp_path / "server.log.gz"
    log.write_bytes(b"\x1f\x8b not gzip at all")
    with pytest.raises(SourceError, match="gzip data is damaged"):
        list(read(log))


def test_a_bomb_stays_small(tmp_path: Path) -> None:
    """However much a block expands to, chunks keep their size."""
    log = tmp_path / "server.log.gz"
    log.write_bytes(gzip.compress(bytes(50_000_000)))
    assert max(len(chunk.data) for chunk in read(log)) <= CHUNK_SIZE


def test_what_cannot_be_read_is_explained(tmp_path: Path) -> None:
    """Missing files and directories are errors with a hint, raised at once and not at the first chunk."""
    with pytest.raises(SourceError, match="no such file") as missing:
        read(tmp_path / "absent.log")
    assert "logphase watch" in missing.value.hint
    with pytest.raises(SourceError, match="is a directory") as directory:
        read(tmp_path)
    assert "inside" in directory.value.hint


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_forbidden_log_is_explained(tmp_path: Path) -> None:
    """A log without permission is an error with a hint."""
    log = tmp_path / "server.log"
    log.touch(mode=0)
    with pytest.raises(SourceError, match="permission denied"):
        read(log)


def test_standard_input_is_read() -> None:
    """`-` reads a pipe to its end, and expands it if it is compressed."""
    program = "import sys; from logphase.sources import read; sys.stdout.buffer.write(b''.join(chunk.data for chunk in read('-')))"
    for data in (TEXT, gzip.compress(TEXT), b""):
        done = subprocess.run([sys.executable, "-c", program], input=data, capture_output=True, check=True)
        assert (TEXT if data else b"") == done.stdout


def test_a_fifo_is_read_to_its_end(tmp_path: Path) -> None:
    """Reading a FIFO waits for its writer."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    writer = threading.Timer(0.05, fifo.write_bytes, [b"through a pipe\n"])
    writer.start()
    assert b"through a pipe\n" == content(fifo)
    writer.join()


def test_arrival_times_come_from_the_file_beside_the_log(tmp_path: Path) -> None:
    """Chunks are cut where the writer's reads ended; malformed lines are skipped; what came later has no time."""
    log = tmp_path / "server.log"
    log.write_bytes(b"one\ntwo\nthree\nfour\n")
    (tmp_path / "server.log.arrivals").write_text("100.5\t4\nrubbish\n\n101.25\t8\nnan\t9\n103.0\t14\n")
    expected = [(b"one\n", 100.5), (b"two\n", 101.25), (b"three\n", 103.0), (b"four\n", None)]
    assert expected == [(chunk.data, chunk.at) for chunk in read(log)]


def test_arrival_times_of_another_content_are_not_used(tmp_path: Path) -> None:
    """When the log is shorter than its last arrival says, it was emptied since, and no time is given."""
    log = tmp_path / "server.log"
    log.write_bytes(b"one\n")
    (tmp_path / "server.log.arrivals").write_text("100.5\t4\n101.25\t8\n")
    assert [(b"one\n", None)] == [(chunk.data, chunk.at) for chunk in read(log)]


@pytest.mark.parametrize("start", [0, 1, 499, 50_000, 699_300])
def test_arrival_times_are_found_from_any_start(tmp_path: Path, start: int) -> None:
    """Beginning in the middle of the log begins in the middle of its arrival times."""
    log = tmp_path / "server.log"
    log.write_bytes(bytes(700_000))
    (tmp_path / "server.log.arrivals").write_text("".join(f"{size}.5\t{size}\n" for size in range(7, 700_001, 7)))
    first = next(iter(read(log, start=start)))
    following = (start // 7 + 1) * 7
    assert (following + 0.5, following - start) == (first.at, len(first.data))


@pytest.mark.parametrize("huge", [0, 1 << 60])
def test_newlines_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, huge: int) -> None:
    """The count up to any offset is right, both ways of counting."""
    monkeypatch.setattr("logphase.sources.files._HUGE", huge)
    monkeypatch.setattr("logphase.sources.files.CHUNK_SIZE", 10_000)
    log = tmp_path / "server.log"
    log.write_bytes(TEXT)
    for until in (0, 1, 9_999, 10_000, 123_456, len(TEXT), len(TEXT) + 50_000):
        assert TEXT[:until].count(b"\n") == count_lines(log, until)


MARKERS = (b"server_args=", b"Launching vLLM")


def launches(size: int, seed: int) -> tuple[bytes, list[int]]:
    """Make a log of a few launches and where their lines begin."""
    chance = random.Random(seed)  # noqa: S311
    text, starts = bytearray(), []
    while len(text) < size:
        text += b"%d Prefill batch, #new-seq: 1\n" % chance.random() * chance.randrange(1, size // 40)
        starts.append(len(text))
        text += b"[2026-11-30 01:37:38] " + b"x" * chance.choice((0, 10, 70_000)) + chance.choice(MARKERS) + b"...\n"
    return bytes(text + b"tail " * chance.randrange(size // 5)), starts


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("fast", [True, False])
def test_the_last_launch_is_found_backwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, fast: bool) -> None:  # noqa: FBT001
    """The offset is the start of the last line with a marker, then of each one before it; the same without the fast search."""
    if not fast:
        monkeypatch.setitem(sys.modules, "ahocorasick_rs", None)
    monkeypatch.setattr("logphase.sources.files.CHUNK_SIZE", 10_000)
    text, starts = launches(200_000, seed)
    log = tmp_path / "server.log"
    log.write_bytes(text)
    found, before = [], None
    while before := find_last_launch(log, MARKERS, before):
        found.append(before)
    assert starts[::-1] == found
    assert [text[:start].count(b"\n") for start in starts] == [count_lines(log, start) for start in starts]


def test_without_a_marker_everything_is_the_startup(tmp_path: Path) -> None:
    """No launch found means the beginning of the file."""
    log = tmp_path / "server.log"
    log.write_bytes(TEXT)
    assert 0 == find_last_launch(log, MARKERS)
    assert 0 == find_last_launch(log, ())


def test_a_position_survives_json(tmp_path: Path) -> None:
    """What was written down is what comes back; anything else is refused without an exception."""
    log = tmp_path / "server.log"
    log.write_bytes(TEXT)
    tail = FileTail(str(log))
    while tail.step() and tail.behind:
        pass
    position = tail.position()
    tail.close()
    assert position is not None
    assert position == Position.parse(json.loads(json.dumps(position.as_dict())))
    assert len(TEXT) == resume(position)
    assert None is Position.parse({"path": "server.log"})
    assert None is Position.parse({**position.as_dict(), "offset": -1})


def test_a_position_is_void_when_the_file_is_another(tmp_path: Path) -> None:
    """A file with the same content under another inode, a shorter one and a missing one are read from the start."""
    log = tmp_path / "server.log"
    log.write_bytes(TEXT)
    tail = FileTail(str(log), offset=None)
    position = tail.position()
    tail.close()
    assert position is not None
    assert len(TEXT) == resume(position)
    log.write_bytes(TEXT[:100])
    assert 0 == resume(position)
    log.rename(tmp_path / "server.log.1")
    assert 0 == resume(position)
    log.write_bytes(TEXT)
    assert 0 == resume(position)


def test_the_first_bytes_of_a_launch_tell_when_it_was_started(tmp_path: Path) -> None:
    """FILE.launches.jsonl cuts the log where a launch's output begins; what is no launch in it is passed over."""
    log = tmp_path / "server.log"
    log.write_bytes(b"one\ntwo\nthree\n")
    noted = ['{"offset": 0, "started": "2026-11-30T10:00:00.500+02:00"}', "rubbish", "[]", '{"offset": "4", "started": "x"}']
    noted += ['{"offset": 8, "started": "2026-11-30T11:00:00+02:00"}', '{"offset": 4, "started": "never"}']
    (tmp_path / "server.log.launches.jsonl").write_text("\n".join(noted) + "\n")

    chunks = [(chunk.data, chunk.launched and (chunk.launched.local - chunk.launched.at, chunk.launched.local % 60)) for chunk in read(log)]

    assert [(b"one\ntwo\n", (7200.0, 0.5)), (b"three\n", (7200.0, 0.0))] == chunks


def test_launches_of_a_longer_log_are_not_this_ones(tmp_path: Path) -> None:
    """A log that was emptied since holds none of the launches that are noted beside it."""
    log = tmp_path / "server.log"
    log.write_bytes(b"new\n")
    (tmp_path / "server.log.launches.jsonl").write_text(
        '{"offset": 0, "started": "2026-11-30T10:00:00Z"}\n{"offset": 9, "started": "2026-11-30T11:00:00Z"}\n'
    )

    assert [None] == [chunk.launched for chunk in read(log)]
