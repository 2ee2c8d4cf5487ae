"""What holds for every log: sample logs of the repository, and real logs and cases where a folder of them exists.

The folder is `../shared` beside the checkout, or LOGPHASE_SHARED. LOGPHASE_CUTS is the number of cuts in each log (default 30).
"""

from __future__ import annotations

import os
import random
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from logphase.analyzer import Analyzer
from logphase.verdict import State, judge

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from logphase.timeline import Startup, Timeline

ROOT = Path(__file__).parent.parent
SHARED = Path(os.environ.get("LOGPHASE_SHARED", ROOT.parent / "shared"))
CUTS = int(os.environ.get("LOGPHASE_CUTS", "30"))
SMALL = 30_000  # bytes of a log that is fed byte by byte
LARGEST = 2_000_000  # bytes of a log that are read here


def found_logs() -> list[Path]:
    """All logs that there are."""
    shared = [*SHARED.glob("real-logs/*/*.log"), *SHARED.glob("cases/*/log*.txt"), *SHARED.glob("cases/*/*.log")]
    found = {log.read_bytes(): log for log in [*shared, *(ROOT / "sample_logs").glob("*.log")]}
    return sorted(found.values())


LOGS = found_logs()
each_log = pytest.mark.parametrize("log", LOGS, ids=[f"{log.parent.name}-{log.stem}" for log in LOGS])


@cache
def content(log: Path) -> bytes:
    return log.read_bytes()[:LARGEST]


def read(chunks: Iterable[bytes], *, close: bool = True) -> Timeline:
    analyzer = Analyzer()
    for chunk in chunks:
        analyzer.feed(chunk)
    if close:
        analyzer.close()
    return analyzer.timeline()


@cache
def whole(log: Path) -> Timeline:
    return read([content(log)])


def cuts_of(data: bytes, seed: str) -> list[int]:
    """After every line of a small log, after some of a larger one's, and at random bytes."""
    chance = random.Random(seed)  # noqa: S311 - cuts
    ends = [index + 1 for index, byte in enumerate(data) if byte == 0x0A]
    lines = ends if len(ends) <= 3 * CUTS else chance.sample(ends, CUTS)
    return sorted({*lines, *(chance.randrange(len(data) + 1) for _ in range(CUTS))})


def in_pieces(data: bytes, cuts: list[int]) -> Iterator[bytes]:
    for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
        yield data[begin:end]


@pytest.mark.skipif(not SHARED.is_dir(), reason="no folder of real logs: set LOGPHASE_SHARED")
def test_there_are_real_logs() -> None:
    """The folder that was named holds logs."""
    assert [log for log in LOGS if SHARED in log.parents]


@each_log
def test_chunks(log: Path) -> None:
    """In one piece and in random chunks: equal timelines."""
    data = content(log)

    assert whole(log) == read(in_pieces(data, cuts_of(data, "chunks")))


@each_log
def test_byte_by_byte(log: Path) -> None:
    """One byte at a time: the same."""
    data = content(log)
    if len(data) > SMALL:
        pytest.skip(f"larger than {SMALL} bytes")

    assert whole(log) == read(data[index : index + 1] for index in range(len(data)))


@each_log
def test_cut(log: Path) -> None:
    """However a log is cut: never ready before its line, no phase is lost, no time negative, the sums are right; asking changes nothing."""
    data = content(log)
    ready = {startup.index: startup.ready.line for startup in whole(log).startups if startup.ready}
    growing = Analyzer()
    seen: dict[int, set[str]] = {}
    place = 0
    for cut in cuts_of(data, log.name):
        growing.feed(data[place:cut])
        place = cut
        line = data.count(b"\n", 0, cut) + 1
        for startup in growing.timeline().startups:
            sound(startup)
            early = startup.ready is not None and (startup.index not in ready or startup.ready.line != ready[startup.index])
            assert not early, f"ready at line {startup.ready and startup.ready.line} of {line} read, truly at {ready.get(startup.index)}"
            assert judge(startup).state is not State.READY or line >= ready[startup.index]
            phases = {phase.id for phase in startup.phases if phase.status != "failed"}
            lost = seen.get(startup.index, set()) - {phase.id for phase in startup.phases}
            assert not lost, f"{lost} were there before line {line}"
            seen[startup.index] = phases
    growing.feed(data[place:])
    growing.close()

    assert whole(log) == growing.timeline()
    assert all(seen.get(startup.index, set()) <= {phase.id for phase in startup.phases} for startup in whole(log).startups)


def sound(startup: Startup) -> None:
    """No time is negative, no end lies before its begin, and explained time and gaps are the whole."""
    moments = [startup.ready, startup.stopped, startup.ended, startup.last_progress, startup.last_line]
    times: list[float | None] = [moment.after_s for moment in moments if moment is not None]
    for phase in startup.phases:
        for span in (phase, *phase.ranks.values(), *phase.spans):
            times += [span.start_s, span.end_s, span.duration_s]
            assert span.start_s is None or span.end_s is None or span.start_s <= span.end_s + 1e-6
        times.append(phase.spread_s)
    for gap in startup.gaps:
        times += [gap.start_s, gap.duration_s]
    assert all(time is None or time >= 0 for time in times)
    assert startup.lines[0] <= startup.lines[1]
    if startup.explained is not None and startup.duration_s is not None:
        assert 0.0 <= startup.explained <= 1.0
        explained = startup.explained * startup.duration_s + sum(gap.duration_s for gap in startup.gaps)
        assert startup.duration_s == pytest.approx(explained, abs=0.01)


@each_log
def test_cut_and_ended(log: Path) -> None:
    """A log that ends at a cut is sound too, and the same cut gives the same, closed or not, but for the last line."""
    data = content(log)
    for cut in cuts_of(data, log.name)[:: max(1, CUTS // 4)]:
        ended = read([data[:cut]])
        for startup in ended.startups:
            sound(startup)
        growing = Analyzer()
        growing.feed(data[:cut])
        waits = growing.walk.lines.tail() is not None or any(growing.walk.records._unwrapper.look(None))
        assert waits or ended == growing.timeline()
