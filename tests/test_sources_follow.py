"""Following live: real files, real threads, real events; and the bell with a fake observer."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from logphase.errors import SourceError
from logphase.sources import Change, Chunk, Follower, follow
from logphase.sources.tail import open_tail
from logphase.sources.wakeup import BURST, Wakeup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from watchdog.observers.api import BaseObserver

PATIENCE_S = 10.0


class Collector:
    """Takes chunks in a thread, and waits for what is expected."""

    def __init__(self, follower: Follower) -> None:
        self.chunks: list[Chunk] = []
        self._follower = follower
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        for chunk in self._follower:
            self.chunks.append(chunk)

    @property
    def data(self) -> bytes:
        return b"".join(chunk.data for chunk in self.chunks)

    @property
    def changes(self) -> list[Change]:
        return [chunk.change for chunk in self.chunks if chunk.change]

    def until(self, happened: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not happened():
            assert time.monotonic() < deadline, self.chunks
            time.sleep(0.002)

    def join(self) -> None:
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()


@contextmanager
def following(*paths: Path | str, from_start: bool = True) -> Iterator[Collector]:
    stop = threading.Event()
    with follow(paths, stop=stop, from_start=from_start) as follower:
        collector = Collector(follower)
        try:
            yield collector
        finally:
            stop.set()
            collector.join()


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_lines_arrive_as_they_are_written(tmp_path: Path) -> None:
    """What was there comes first and without a time; what is written arrives live, also a line without its end."""
    log = tmp_path / "server.log"
    log.write_bytes(b"old\n")
    with following(log) as seen:
        seen.until(lambda: seen.data == b"old\n")
        before = time.time()
        append(log, b"new, unfinis")
        seen.until(lambda: seen.data == b"old\nnew, unfinis")
        append(log, b"hed\n")
        seen.until(lambda: seen.data == b"old\nnew, unfinished\n")
    with_data = [chunk for chunk in seen.chunks if chunk.data]
    assert [(None, False, 0), (True, True, 4)] == [(chunk.at and chunk.at >= before, chunk.live, chunk.offset) for chunk in with_data[:2]]


def test_time_passes_without_data(tmp_path: Path) -> None:
    """A tick comes at least every poll, with a time and without a source."""
    log = tmp_path / "server.log"
    log.touch()
    with following(log) as seen:
        seen.until(lambda: len(seen.chunks) > 3)
    times = [chunk.at for chunk in seen.chunks if chunk.is_tick and chunk.at]
    assert len(times) == len(seen.chunks)
    assert max(later - earlier for earlier, later in pairwise(times)) < 2.0


def test_a_log_that_does_not_exist_is_waited_for(tmp_path: Path) -> None:
    """Waiting is said once, even for a directory that is made later."""
    log = tmp_path / "logs" / "server.log"
    with following(log) as seen:
        seen.until(lambda: len(seen.chunks) > 2)
        log.parent.mkdir()
        log.write_bytes(b"here\n")
        seen.until(lambda: seen.data == b"here\n")
        append(log, b"and on\n")
        seen.until(lambda: seen.data == b"here\nand on\n")
    assert [Change.WAITING, Change.APPEARED] == seen.changes


def test_only_what_is_new_can_be_asked_for(tmp_path: Path) -> None:
    """Without the old content, the first byte is the first that is written."""
    log = tmp_path / "server.log"
    log.write_bytes(b"old\n")
    with following(log, from_start=False) as seen:
        seen.until(lambda: len(seen.chunks) > 0)
        append(log, b"new\n")
        seen.until(lambda: seen.data == b"new\n")


def test_an_offset_begins_in_the_middle(tmp_path: Path) -> None:
    """An offset for a path is where its old content begins."""
    log = tmp_path / "server.log"
    log.write_bytes(b"first launch\nsecond launch\n")
    with follow(log, offsets={str(log): 13}) as follower:
        assert (b"second launch\n", 13, False) == ((first := next(follower)).data, first.offset, first.live)


def test_a_rotated_log_is_followed(tmp_path: Path) -> None:
    """The old file is finished before the new one begins."""
    log = tmp_path / "server.log"
    log.write_bytes(b"one\n")
    with following(log) as seen:
        seen.until(lambda: seen.data == b"one\n")
        writer = log.open("ab")
        log.rename(tmp_path / "server.log.1")
        writer.write(b"two\n")
        writer.close()
        log.write_bytes(b"three\n")
        seen.until(lambda: seen.data == b"one\ntwo\nthree\n")
    assert Change.ROTATED in seen.changes


def test_a_link_that_moves_is_followed(tmp_path: Path) -> None:
    """A link that names another file is a rotation, and the other directory is watched then."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    link = tmp_path / "current.log"
    (tmp_path / "a" / "x.log").write_bytes(b"one\n")
    link.symlink_to(tmp_path / "a" / "x.log")
    with following(link) as seen:
        seen.until(lambda: seen.data == b"one\n")
        (tmp_path / "b" / "x.log").write_bytes(b"two\n")
        (tmp_path / "new").symlink_to(tmp_path / "b" / "x.log")
        (tmp_path / "new").rename(link)
        seen.until(lambda: seen.data == b"one\ntwo\n")
        append(tmp_path / "b" / "x.log", b"three\n")
        seen.until(lambda: seen.data == b"one\ntwo\nthree\n")
    assert [Change.ROTATED] == seen.changes


def test_several_logs_are_followed(tmp_path: Path) -> None:
    """Each chunk says which log it is from."""
    logs = [tmp_path / f"node-{number}.log" for number in range(3)]
    with following(*logs) as seen:
        for log in logs:
            append(log, log.name.encode())
        seen.until(lambda: len(seen.data) == 3 * len("node-0.log"))
    assert {str(log): log.name.encode() for log in logs} == {chunk.source: chunk.data for chunk in seen.chunks if chunk.data}


def test_a_fifo_is_followed_until_its_writer_closes(tmp_path: Path) -> None:
    """A FIFO waits for its first writer, and the iteration ends with the last."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with follow(fifo) as follower:
        seen = Collector(follower)
        seen.until(lambda: len(seen.chunks) > 1)
        with fifo.open("wb", buffering=0) as writer:
            writer.write(b"one\n")
            seen.until(lambda: seen.data == b"one\n")
            writer.write(b"two\n")
        seen.join()
    assert (b"one\ntwo\n", [Change.ENDED]) == (seen.data, seen.changes)


def test_standard_input_is_followed() -> None:
    """A pipe is passed on at once and ends the iteration when it is closed."""
    program = (
        "import sys\nfrom logphase.sources import follow\n"
        "for chunk in follow('-'):\n    sys.stdout.buffer.write(chunk.data or (chunk.change or '').encode()); sys.stdout.buffer.flush()\n"
    )
    child = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin
    assert child.stdout
    child.stdin.write(b"one\n")
    child.stdin.flush()
    assert b"one\n" == child.stdout.readline()
    assert (b"ended", None) == child.communicate()
    assert 0 == child.returncode


def test_what_was_written_before_the_stop_is_read(tmp_path: Path) -> None:
    """Stopping reads to the present end first."""
    log = tmp_path / "server.log"
    log.touch()
    stop = threading.Event()
    with follow(log, stop=stop) as follower:
        assert next(follower).is_tick
        append(log, b"last words\n")
        stop.set()
        assert b"last words\n" == b"".join(chunk.data for chunk in follower)


def test_positions_are_what_was_read(tmp_path: Path) -> None:
    """A follower knows how far it has read each file."""
    log = tmp_path / "server.log"
    log.write_bytes(b"some bytes\n")
    with follow([log, tmp_path / "absent.log"]) as follower:
        next(follower)
        assert {str(log): 11} == {path: position.offset for path, position in follower.positions().items()}


def test_an_observer_that_cannot_even_be_made_is_no_error(tmp_path: Path) -> None:
    """Where the limit of inotify instances is reached, the observer fails while it is made: the log is polled, and the reason is known."""

    def refused() -> BaseObserver:
        raise OSError(errno.EMFILE, "inotify instance limit reached")

    waiter = Wakeup(0.01, refused)
    waiter.arm([str(tmp_path / "server.log")])
    waiter.wait([], 0)
    waiter.close()

    assert "max_user_instances" in waiter.trouble


def test_what_can_never_be_followed_is_refused(tmp_path: Path) -> None:
    """A directory and a compressed log are errors with a hint."""
    (tmp_path / "old.log.gz").write_bytes(b"\x1f\x8b\x08")
    with pytest.raises(SourceError, match="is a directory"):
        follow(tmp_path)
    with pytest.raises(SourceError, match="finished") as caught:
        follow(tmp_path / "old.log.gz")
    assert "logphase report" in caught.value.hint


class Broken:
    """An observer that the kernel refuses."""

    def __init__(self, number: int) -> None:
        self.number = number

    def schedule(self, *_: object, **__: object) -> None:
        """Take anything."""

    def start(self) -> None:
        raise OSError(self.number, os.strerror(self.number))

    def unschedule_all(self) -> None:
        """Nothing to undo."""

    def stop(self) -> None:
        """Nothing to stop."""

    def is_alive(self) -> bool:
        return False


@pytest.mark.parametrize(("number", "words"), [(errno.ENOSPC, "max_user_watches"), (errno.EMFILE, "ulimit"), (errno.ENOSYS, "no inotify")])
def test_without_events_it_polls_and_says_so_once(tmp_path: Path, number: int, words: str) -> None:
    """When inotify is refused the log is followed all the same, and one chunk gives the reason."""
    log = tmp_path / "server.log"
    log.write_bytes(b"one\n")
    stop = threading.Event()
    waiter = Wakeup(0.02, lambda: Broken(number))  # type: ignore[arg-type,return-value]
    with Follower([open_tail(str(log))], waiter, stop, time.time, 0.02) as follower:
        seen = Collector(follower)
        seen.until(lambda: seen.data == b"one\n")
        append(log, b"two\n")
        seen.until(lambda: seen.data == b"one\ntwo\n" and len(seen.chunks) > 5)
        stop.set()
        seen.join()
    reasons = [chunk.reason for chunk in seen.chunks if chunk.change is Change.POLLING]
    assert 1 == len(reasons)
    assert words in reasons[0]


def test_a_busy_log_is_not_watched_until_it_is_quiet_again(tmp_path: Path) -> None:
    """A burst of events drops the watch, a second without new bytes sets it again, and nothing is lost in between."""
    log = tmp_path / "server.log"
    log.touch()
    waiter = Wakeup(0.25)
    stop = threading.Event()
    written = b""
    with Follower([open_tail(str(log))], waiter, stop, time.time, 0.25) as follower:
        seen = Collector(follower)
        seen.until(lambda: waiter._observer is not None)
        for number in range(20 * BURST):
            line = b"%d\n" % number
            append(log, line)
            written += line
            time.sleep(0.001)
        seen.until(lambda: waiter._observer is None)
        seen.until(lambda: seen.data == written)
        seen.until(lambda: waiter._observer is not None)
        append(log, b"after\n")
        seen.until(lambda: seen.data == written + b"after\n")
        stop.set()
        seen.join()


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_closing_early_leaves_nothing_behind(tmp_path: Path) -> None:
    """Descriptors and threads are gone after the close, whether anything was read or not."""
    log = tmp_path / "server.log"
    log.touch()
    with follow(log) as follower:
        next(follower)  # watchdog keeps one descriptor set and one thread for the process, from the first use on
    files, threads = open_files(), threading.active_count()
    for reads in (0, 1):
        with follow(log) as follower:
            for _ in range(reads):
                next(follower)
    assert (files, threads) == (open_files(), threading.active_count())
