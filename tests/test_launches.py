"""Records to launches: which startup of a log a line belongs to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from logphase import launches as module
from logphase import rules
from logphase.startups import MAX_RANKS
from logphase.walk import Walk

if TYPE_CHECKING:
    import pytest

    from logphase.timeline import Startup, Timeline

SMALL = rules.of_file(str(Path(__file__).with_name("small.toml")))


def stamp(second: float, rank: str = "") -> str:
    minutes, rest = divmod(second, 60)
    return f"[2026-11-30 {1 + int(minutes // 60):02}:{int(minutes % 60):02}:{int(rest):02}{' ' + rank if rank else ''}] "


def read(text: str) -> Timeline:
    walk = Walk(SMALL)
    walk.feed(text.encode(), None)
    walk.close()
    return walk.timeline()


def startups(text: str) -> tuple[Startup, ...]:
    return read(text).startups


def start(at: float, *, args: str = "ServerArgs(model='m', port=1)", rank: str = "", ready: bool = True, source: str = "") -> str:
    """A whole startup of 20 seconds."""
    lines = [
        (0, "", "small_args=" + args),
        (5, rank, "Load begin"),
        (9, rank, "Load end"),
        (10, rank, "Capture begin"),
        (15, rank, "Capture end"),
        (16, "", "Port open"),
        (20, "", "small is ready"),
    ]
    return "".join(source + stamp(at + second, tag) + text + "\n" for second, tag, text in lines[: 7 if ready else 5])


def shape(found: tuple[Startup, ...]) -> list[tuple[tuple[int, int], int | None]]:
    return [(startup.lines, startup.ready.line if startup.ready else None) for startup in found]


def test_one() -> None:
    """A startup from its arguments line to its ready line."""
    (found,) = startups(start(0))

    assert ((1, 7), 7) == (found.lines, found.ready.line if found.ready else None)
    assert ["launch", "spawn", "weights", "graph", "http", "warmup", "serving"] == [phase.id for phase in found.phases]
    assert {"model": "m", "port": 1} == found.arguments


def test_restart_by_arguments() -> None:
    """An arguments line after a startup that was ready begins the next one."""
    assert [((1, 7), 7), ((8, 14), 14)] == shape(startups(start(0) + start(100)))


def test_restart_by_launch() -> None:
    """So do the first words of a new process; the arguments line then belongs to it."""
    text = start(0) + stamp(99) + "small starts\n" + start(100)

    assert [((1, 7), 7), ((8, 15), 15)] == shape(startups(text))


def test_restart_after_a_crash() -> None:
    """The same after one that failed."""
    text = start(0, ready=False) + stamp(17) + "OutOfMemory\n" + start(100)
    first, second = startups(text)

    assert (None, "out-of-memory") == (first.ready, first.cause.rule if first.cause else None)
    assert (14 - 1, None) == (second.ready.line - 0 if second.ready else None, second.cause)


def test_a_ready_line_counts_for_its_own_launch() -> None:
    """A new launch is not ready because an old one was."""
    _, second = startups(start(0) + start(100, ready=False))

    assert second.ready is None


def test_arguments_twice() -> None:
    """The same arguments line again within two seconds is no new launch."""
    line = stamp(0) + "small_args=ServerArgs(model='m')\n"

    assert 1 == len(startups(line + stamp(1) + "small_args=ServerArgs(model='m')\n" + start(1, args="ServerArgs(model='m')")))
    assert 2 == len(startups(line + stamp(50) + "small_args=ServerArgs(model='m')\n"))
    assert 2 == len(startups(line + stamp(1) + "small_args=ServerArgs(model='other')\n"))


def test_a_replica_beside_it() -> None:
    """Arguments that differ only in their place are a replica of the same launch, before its schedulers speak."""
    text = stamp(0) + "small_args=ServerArgs(model='m', port=1)\n" + stamp(5) + "small_args=ServerArgs(model='m', port=2)\n"

    assert 1 == len(startups(text))


def test_nodes() -> None:
    """The arguments of another node belong to the launch, whenever they come."""
    first, second = ("small_args=ServerArgs(model='m', nnodes=2, node_rank=" + str(node) + ")\n" for node in (0, 1))

    assert 1 == len(startups(stamp(0) + first + stamp(4, "TP0") + "Load begin\n" + stamp(20) + second))


def test_sources() -> None:
    """Replicas that a prefix names are startups of their own, however their lines mix."""
    one, two = start(0, source="one | ").splitlines(), start(3, source="two | ", ready=False).splitlines()
    mixed = [line for pair in zip(one, [*two, "two | x", "two | y"], strict=True) for line in pair]
    first, second = startups("\n".join(mixed) + "\n")

    assert ("one", 13) == (first.source, first.ready.line if first.ready else None)
    assert ("two", None) == (second.source, second.ready)
    assert ["launch", "spawn", "weights", "graph"] == [phase.id for phase in second.phases]


def test_late_lines_of_the_old_server() -> None:
    """What the old server says after the new one's first words is the old one's."""
    text = start(0) + stamp(99) + "small starts\n" + stamp(100, "TP0") + "Decode batch\n" + stamp(101) + "SIGTERM\n" + start(110)
    first, second = startups(text)

    assert first.stopped is not None
    assert (10, None) == (first.stopped.line, second.stopped)
    assert ((1, 10), (8, 17)) == (first.lines, second.lines)


def test_without_arguments() -> None:
    """Where the head was rotated away, the first known line begins the startup."""
    (found,) = startups(stamp(3, "TP0") + "Load begin\n" + stamp(5, "TP0") + "Load end\n")

    assert (1, 1, ("TP0",)) == (found.lines[0], found.started.line, found.ranks)


def test_lines_before_it() -> None:
    """The first stamped line of a log is its start, though no rule knows it; it does not become evidence of a startup."""
    (found,) = startups("hello\n" + stamp(0) + "hello\n" + start(10))

    assert (2, 10.0) == (found.started.line, found.phases[0].end_s)
    assert () == startups("hello\n" + stamp(0) + "hello\n")


def test_traffic_alone_is_no_startup() -> None:
    """A server's log without its head is no startup, but it is known to serve."""
    timeline = read((stamp(0) + "Decode batch\n" + stamp(1) + "GET /health\n" + stamp(2) + "POST /generate 200\n") * 10)

    assert ((), True) == (timeline.startups, timeline.traffic)


def test_many_startups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the most that are kept, the newest takes the last place and the others are counted."""
    monkeypatch.setattr(module, "MAX_STARTUPS", 50)
    timeline = read("".join(start(30 * number) for number in range(60)))

    assert (50, 10) == (len(timeline.startups), timeline.dropped)
    assert [*range(1, 50), 60] == [startup.index for startup in timeline.startups]
    assert (60 * 7 - 6, 60 * 7) == timeline.startups[-1].lines


def test_most_startups() -> None:
    """Ten thousand are kept."""
    timeline = read("".join(f"{stamp(3 * number % 80000)}small_args=A(a={number})\n" for number in range(10_020)))

    assert (10_000, 20) == (len(timeline.startups), timeline.dropped)


def test_many_ranks() -> None:
    """Ranks beyond the most that are kept are counted in a warning."""
    text = start(0, ready=False) + "".join(f"{stamp(10 + number // 100, f'TP{number}')}Capture begin\n" for number in range(MAX_RANKS + 76))
    (found,) = startups(text)

    assert MAX_RANKS == len(found.ranks)
    assert "TP1023" == found.ranks[-1]
    assert any("76" in warning for warning in found.warnings)


def test_a_new_launch_has_its_own_clock() -> None:
    """The machine's clock may have been set back between two launches: the second one's times are its own."""
    first, second = startups(start(3600) + start(0))

    assert (first.ready and first.ready.after_s, second.ready and second.ready.after_s) == (20.0, 20.0)
    assert {phase.id: phase.start_s for phase in first.phases} == {phase.id: phase.start_s for phase in second.phases}
    assert first.started.time == (second.started.time or 0) + 3600


def test_a_remark_on_a_clock_set_back() -> None:
    """Within a startup the step is told, and no time is negative."""
    lines = start(7200, ready=False).splitlines()[:2] + [stamp(second) + "x" for second in range(100, 110)] + [stamp(112) + "Load end"]
    (found,) = startups("\n".join(lines) + "\n")

    assert any("clock" in warning for warning in found.warnings)
    assert all((phase.duration_s or 0) >= 0 for phase in found.phases)
    assert found.duration_s is not None
    assert 10 <= found.duration_s <= 20
