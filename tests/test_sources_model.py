"""FileTail against a model: random histories of what can happen to a log, and exactly what must arrive.

The model knows no fingerprints and no inodes. It says: what was delivered of the open file is a beginning of what that file holds, and the
rest is due; if it is not, the file was replaced, and all of it is due, after a change that says so. Another file that was seen under the
path takes over as soon as it holds something, when the old one is finished. Histories: LOGPHASE_HISTORIES (default 200).
"""

from __future__ import annotations

import errno
import os
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from logphase.sources import Change, FileTail, Position, resume

HISTORIES = int(os.environ.get("LOGPHASE_HISTORIES", "200"))
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import pytest

    from logphase.sources import Chunk
    from logphase.sources.incarnation import Incarnation

STEPS = 30
BANNER = b"nohup: ignoring input\n"


@dataclass(eq=False)
class File:
    """A file's content as it is now."""

    content: bytes = b""


@dataclass
class World:
    """Real files and their model, changed together."""

    folder: Path
    chance: random.Random
    append: bool  # the writer opened with O_APPEND; otherwise someone else's truncation leaves a hole
    links: bool
    named: File | None = None  # what the path names
    written: File | None = None  # what the writer has open
    lines: int = 0
    moved: int = 0
    all_written: list[bytes] = field(default_factory=list)
    writer: int = -1

    @property
    def path(self) -> Path:
        return self.folder / "server.log"

    def text(self) -> bytes:
        """Make text that never comes twice, sometimes longer than the fingerprint."""
        self.lines += 1
        return b"%06d %s" % (self.lines, b"x" * self.chance.choice((0, 5, 40, 300, 1500)))

    # What a writer does.

    def write_line(self) -> None:
        self.write(self.text() + b"\n")

    def write_partial(self) -> None:
        self.write(self.text())

    def write_much(self) -> None:
        self.write(b"".join(self.text() + b"\n" for _ in range(6)))

    def write(self, data: bytes) -> None:
        if self.written is None:
            self.reopen()
        assert self.written is not None
        if not self.append:
            end = os.lseek(self.writer, 0, os.SEEK_CUR)
            self.written.content = self.written.content.ljust(end, b"\0")
        os.write(self.writer, data)
        self.written.content += data
        self.all_written.append(data)

    def reopen(self) -> None:
        """Open the path for writing; create what is not there."""
        self.drop()
        if self.named is None:
            self.named = File()
            if self.links and not self.path.is_symlink():
                self.move_link()
        flags = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if self.append else 0)
        self.writer = os.open(self.path, flags)
        os.lseek(self.writer, 0, os.SEEK_END)
        self.written = self.named

    def restart(self) -> None:
        """`nohup … > log`: the same inode, emptied, and perhaps already longer than before."""
        if self.named is None:
            return
        self.drop()
        flags = os.O_WRONLY | os.O_TRUNC | (os.O_APPEND if self.append else 0)
        self.writer = os.open(self.path, flags)
        self.written = self.named
        self.named.content = b""
        self.write(BANNER)
        for _ in range(self.chance.choice((0, 1, 8))):
            self.write_line()

    def drop(self) -> None:
        if self.writer >= 0:
            os.close(self.writer)
        self.writer, self.written = -1, None

    # What others do to the file.

    def rotate(self) -> None:
        """Rename; the writer goes on in the renamed file until it reopens."""
        if self.named is not None and not self.links:
            self.moved += 1
            self.path.rename(self.folder / f"server.log.{self.moved}")
            self.named = None

    def rotate_create(self) -> None:
        """Rename and create an empty file, as logrotate's `create` does."""
        if self.named is not None and not self.links:
            self.rotate()
            self.path.touch()
            self.named = File()

    def copy_truncate(self) -> None:
        if self.named is not None:
            os.truncate(self.path, 0)
            self.named.content = b""

    def delete(self) -> None:
        if self.named is not None:
            self.path.unlink()
            self.named = None

    def move_link(self) -> None:
        """Let the link name a new, empty file."""
        if not self.links:
            return
        self.moved += 1
        target = self.folder / f"run-{self.moved}.log"
        target.touch()
        link = self.folder / "link"
        link.symlink_to(target)
        link.rename(self.path)
        self.named = File()


@dataclass
class Reader:
    """What must have been delivered: one entry for each beginning of a file."""

    world: World
    open: File | None = None
    seen: bytes = b""  # of the open file
    successors: list[File] = field(default_factory=list)  # what the path has named since
    segments: list[bytes] = field(default_factory=lambda: [b""])

    def step(self) -> None:
        """Deliver what is due."""
        if self.open is None:
            self.open = self.world.named
        if self.open is not None:
            self.deliver()
            self.look()

    def look(self) -> None:
        named = self.world.named
        if named is not None and named not in (self.open, *self.successors):
            self.successors.append(named)
        while filled := [file for file in self.successors if file.content]:
            self.deliver()
            self.successors = self.successors[self.successors.index(filled[0]) + 1 :]
            self.open, self.seen = filled[0], b""
            self.segments.append(b"")
            self.deliver()

    def deliver(self) -> None:
        assert self.open is not None
        content = self.open.content
        if not content.startswith(self.seen):
            self.segments.append(b"")
            self.seen = b""
        due = content[len(self.seen) :]
        self.segments[-1] += due if self.seen.strip(b"\0") else due.lstrip(b"\0")
        self.seen = content


ACTIONS = (
    World.write_line,
    World.write_line,
    World.write_line,
    World.write_partial,
    World.write_much,
    World.reopen,
    World.rotate,
    World.rotate_create,
    World.copy_truncate,
    World.restart,
    World.delete,
    World.move_link,
)
HARMFUL = (World.copy_truncate, World.restart, World.delete, World.move_link, World.reopen, World.rotate, World.rotate_create)


class Interrupted(FileTail):
    """A tail that lets something happen in the middle of a step."""

    interruption: Callable[[], None] | None = None

    def _look(self, file: Incarnation) -> list[Chunk]:
        if interruption := self.interruption:
            self.interruption = None
            interruption()
        return super()._look(file)


def rotate_at_the_last_moment(world: World) -> None:
    """Write to the old file, rotate, and write to the new one."""
    world.write_line()
    if not world.links:
        world.rotate()
    world.reopen()
    world.write_line()


def look(tail: Interrupted, reader: Reader, segments: list[bytes], *, interrupt: bool) -> None:
    """Let tail and model read; perhaps rotate when the open file has been read and the path has not been looked at yet."""
    if not interrupt or reader.open is None:
        drain(tail, segments)
        reader.step()
        return

    def interruption() -> None:
        reader.deliver()
        rotate_at_the_last_moment(reader.world)

    tail.interruption = interruption
    drain(tail, segments)
    reader.look()


def drain(tail: FileTail, segments: list[bytes]) -> None:
    """Step until there is nothing more, as the follower does."""
    while True:
        for chunk in tail.step():
            if chunk.change is not None and chunk.change.starts_over:
                segments.append(b"")
            segments[-1] += chunk.data
        if not tail.behind:
            return


def play(folder: Path, seed: int, *, polite: bool) -> tuple[list[bytes], list[bytes], list[bytes]]:
    """Play one history; return what arrived, what the model demands, and all that was ever written.

    `polite`: everything is read before anything is done that could lose it.
    """
    chance = random.Random(seed)  # noqa: S311
    world = World(folder, chance, append=chance.random() < 0.7, links=chance.random() < 0.3)
    if chance.random() < 0.7:
        world.write_line()
    reader, arrived = Reader(world), [b""]
    tail = Interrupted(str(world.path), clock=lambda: 0.0, chunk_size=chance.choice((7, 1000, 1 << 20)))
    reader.open = world.named
    try:
        for _ in range(STEPS):
            action = chance.choice(ACTIONS)
            if chance.random() < 0.5 or (polite and action in HARMFUL):
                look(tail, reader, arrived, interrupt=not polite and chance.random() < 0.1)
            action(world)
        look(tail, reader, arrived, interrupt=False)
    finally:
        tail.close()
        world.drop()
    return [part for part in arrived if part], [part for part in reader.segments if part], world.all_written


def own(parts: list[bytes]) -> bytes:
    """Leave out the banner: a restart that has written nothing else, after one that had not either, cannot be seen."""
    return b"".join(parts).replace(BANNER, b"")


def histories(base: Path) -> Iterator[tuple[int, Path]]:
    """Give each history a folder of its own, for as long as it lasts."""
    for seed in range(HISTORIES):
        folder = base / str(seed)
        folder.mkdir()
        yield seed, folder
        wipe(folder)


def wipe(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()


def test_every_history_delivers_what_the_model_demands(tmp_path: Path) -> None:
    """Whatever happens to the file, what can be read arrives once and in order, and each new beginning is announced."""
    for seed, folder in histories(tmp_path):
        arrived, demanded, _ = play(folder, seed, polite=False)
        assert demanded == arrived, f"history {seed}"


def test_polite_histories_lose_and_double_nothing(tmp_path: Path) -> None:
    """When everything is read before the file is rotated, truncated or deleted, every byte ever written arrives exactly once."""
    for seed, folder in histories(tmp_path):
        arrived, _, written = play(folder, seed, polite=True)
        assert own(written) == own(arrived), f"history {seed}"


def test_a_position_is_resumed_only_in_unchanged_content(tmp_path: Path) -> None:
    """After any history, resuming goes on at the position if the file still begins with what was read, else at its start."""
    for seed, folder in histories(tmp_path):
        chance = random.Random(seed)  # noqa: S311
        world = World(folder, chance, append=True, links=False)
        world.write_much()
        tail = FileTail(str(world.path), clock=lambda: 0.0)
        drain(tail, [b""])
        position, before = tail.position(), world.named
        assert position is not None
        assert before is not None
        content = before.content
        for _ in range(chance.randrange(4)):
            chance.choice(ACTIONS)(world)
        unchanged = world.named is before and before.content.startswith(content)
        expected = len(content) if unchanged else 0
        assert expected == resume(position), f"history {seed}"
        assert position == Position.parse(position.as_dict())
        tail.close()
        world.drop()


def test_changes_are_named(tmp_path: Path) -> None:
    """Each way to begin anew has its own name."""
    log = tmp_path / "server.log"
    tail = FileTail(str(log), clock=lambda: 0.0)
    changes: list[Change] = []

    def look() -> None:
        changes.extend(chunk.change for chunk in tail.step() if chunk.change)

    look()
    look()
    log.write_text("one\n")
    look()
    log.write_text("a\n")
    look()
    log.write_text("another\n")
    look()
    log.rename(tmp_path / "server.log.1")
    look()
    look()
    log.write_text("two\n")
    look()
    log.unlink()
    log.write_text("three\n")
    look()
    tail.close()
    expected = ["waiting", "appeared", "truncated", "rewritten", "removed", "rotated", "recreated"]
    assert expected == changes


def test_a_lost_mount_is_said_once_and_read_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the system can no longer read the open file, that is said once; afterwards the path is read from its start."""
    log = tmp_path / "server.log"
    log.write_bytes(b"one\n")
    tail = FileTail(str(log), clock=lambda: 0.0)
    tail.step()

    def stale(*_: object) -> bytes:
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))

    with monkeypatch.context() as lost:
        lost.setattr(os, "pread", stale)
        assert [Change.UNREADABLE] == [chunk.change for _ in range(3) for chunk in tail.step()]
    chunks = tail.step()
    tail.close()
    assert [(Change.APPEARED, b""), (None, b"one\n")] == [(chunk.change, chunk.data) for chunk in chunks]
