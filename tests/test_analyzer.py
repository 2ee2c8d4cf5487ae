"""The walk over a log: quiet where nothing can be news, with the same timeline as if every line were read with care."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logphase import rules
from logphase.analyzer import DECIDE, Analyzer
from logphase.records import RecordParser
from logphase.timeline import Launched
from logphase.walk import Walk

if TYPE_CHECKING:
    from collections.abc import Iterable

    from logphase.lines import Line
    from logphase.timeline import Phase, Startup, Timeline

SMALL = rules.of_file(str(Path(__file__).with_name("small.toml")))
HOUR = 3600


def stamp(second: float, rank: str = "") -> str:
    day, rest = divmod(int(second), 86400)
    return f"[2026-11-{1 + day:02} {rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}{' ' + rank if rank else ''}] "


def bar(done: int, total: int = 4, elapsed: int = 1) -> str:
    return f"shards: {done * 25}%|##  | {done}/{total} [00:{elapsed:02}<00:09, 1.5s/it]"


def start(at: float) -> str:
    return (
        stamp(at) + "small_args=ServerArgs(model='m')\n" + stamp(at + 5, "TP0") + "Load begin\n"
        + "\r".join(bar(done, elapsed=done) for done in range(5)) + "\n"
        + stamp(at + 9, "TP0") + "Load end elapsed=4.25\n" + stamp(at + 16) + "Port open\n" + stamp(at + 20) + "small is ready\n"
    )  # fmt: skip


def traffic(at: float, lines: int, seed: int = 0, *, bars: int = 1) -> str:
    """What a server writes while it serves: stamped, unstamped and long lines, and words of a startup that mean nothing now."""
    chance = random.Random(seed)  # noqa: S311 - made lines
    kinds = [
        lambda second: stamp(second, "TP0") + "Decode batch. #running-req: 12, token usage: 0.35",
        lambda second: stamp(second) + "GET /health 200",
        lambda second: 'INFO:     127.0.0.1:5000 - "POST /v1/completions HTTP/1.1" 200 OK',  # noqa: ARG005
        lambda second: stamp(second) + "Receive: text='" + "word " * chance.randrange(400) + "'",
        lambda second: stamp(second) + "a line that says SIGTERM and Load begin and is neither",
        lambda second: "  continued\r\n\r",  # noqa: ARG005
        lambda second: bar(chance.randrange(4)),  # noqa: ARG005
    ]
    weights = [50, 10, 20, 5, 1, 2, bars]
    return "".join(chance.choices(kinds, weights)[0](at + number * 0.1) + "\n" for number in range(lines))


def chunks_of(data: bytes, seed: int, most: int = 1 << 16) -> Iterable[bytes]:
    chance = random.Random(seed)  # noqa: S311 - cuts
    place = 0
    while place < len(data):
        size = chance.choice([1, 7, 100, 4096, chance.randrange(1, most)])
        yield data[place : place + size]
        place += size


def read(data: str | bytes, chunks: Iterable[bytes] | None = None, *, close: bool = True, ask: bool = False) -> Timeline:
    walk = Walk(SMALL)
    data = data.encode() if isinstance(data, str) else data
    for chunk in [data] if chunks is None else chunks:
        walk.feed(chunk, None)
        if ask:
            walk.timeline()
    if close:
        walk.close()
    return walk.timeline()


def phase(startup: Startup, name: str) -> Phase:
    return next(each for each in startup.phases if each.id == name)


SERVED = start(0) + traffic(30, 12_000)


@pytest.mark.parametrize("seed", range(4))
def test_serving_in_any_chunks(seed: int) -> None:
    """A long serving log gives one timeline however it is cut, and whether somebody asks in between or not."""
    data = (SERVED + start(2000) + traffic(2030, 3000, 1) + stamp(2400) + "SIGTERM\n" + traffic(2401, 500, 2)).encode()
    whole = read(data)

    assert whole == read(data, chunks_of(data, seed))
    assert whole == read(data, chunks_of(data, seed), ask=True)
    assert data.count(b"\n") == whole.lines


def test_restart_behind_traffic() -> None:
    """A restart is found with its line numbers, and what came before it ends there."""
    first, second = read(SERVED + start(2000)).startups
    lines = SERVED.count("\n")

    assert (1, 6) == (first.lines[0], first.ready.line if first.ready else None)
    assert ((lines + 1, lines + 6), lines + 6, 20.0) == (
        second.lines,
        second.ready and second.ready.line,
        second.ready and second.ready.after_s,
    )
    assert 4.25 == phase(second, "weights").duration_s


def test_stop_behind_traffic() -> None:
    """So is a request to stop, with its time."""
    (found,) = read(SERVED + stamp(2000) + "SIGTERM\n" + stamp(2001) + "bye\n").startups

    assert found.stopped is not None
    assert (SERVED.count("\n") + 1, 2000.0) == (found.stopped.line, found.stopped.after_s)
    assert SERVED.count("\n") + 2 == found.last_line.line


def test_an_unstamped_fatal_line_behind_traffic() -> None:
    """A fatal line without stamp takes its neighbour's time and owner, though that one was passed over."""
    text = (
        SERVED
        + stamp(1999, "TP0")
        + "Decode batch\n"
        + stamp(2000, "TP3")
        + "Scheduler: Traceback (most recent call last):\n  File\nOutOfMemory: 2 GB\n"
    )
    (found,) = read(text + traffic(2001, 300)).startups

    assert found.cause is not None
    assert found.ended is not None
    assert ("out-of-memory", SERVED.count("\n") + 4, "TP3") == (found.cause.rule, found.cause.line, found.cause.rank)
    assert 2000.0 == found.ended.after_s


def test_last_line_behind_traffic() -> None:
    """The last line and its time are those of the log, not of what was read with care."""
    text = SERVED + stamp(5000) + "Decode batch\n"
    (found,) = read(text).startups

    assert (text.count("\n"), 5000.0) == (found.last_line.line, found.last_line.after_s)
    assert (1, text.count("\n")) == found.lines


def test_last_lines_without_a_stamp() -> None:
    """Also where many lines at the end have no stamp."""
    text = SERVED + stamp(5000) + "Decode batch\n" + "GET /health\n" * 3000
    (found,) = read(text).startups
    data = text.encode()

    assert text.count("\n") == found.last_line.line
    assert read(data) == read(data, chunks_of(data, 1), ask=True)


def test_quiet_reads_few_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the server serves, lines that hold no armed text are not looked at."""
    seen = 0
    feed = RecordParser.feed

    def counted(self: RecordParser, line: Line) -> object:
        nonlocal seen
        seen += 1
        return feed(self, line)

    monkeypatch.setattr(RecordParser, "feed", counted)
    text = start(0) + "".join(stamp(30 + second) + "Decode batch\n" for second in range(20_000))
    read(text)

    assert seen < 500


def never_ready() -> str:
    """A worker's log, or one whose head and ready line are missing: traffic without an end of the startup."""
    return stamp(0, "TP0") + "Load begin\n" + stamp(3, "TP0") + "Load end\n" + traffic(10, 12_000, bars=0)


def test_never_ready_goes_quiet() -> None:
    """A log that never says ready is not read in full for ever, and still gives equal timelines."""
    walk = Walk(SMALL)
    walk.feed(never_ready().encode(), None)
    data = (never_ready() + stamp(3000) + "Port open\n" + stamp(3001) + "small is ready\n" + traffic(3002, 2000)).encode()
    whole = read(data)

    assert walk._scan is not None
    assert whole.startups[0].ready is not None
    assert never_ready().count("\n") + 2 == whole.startups[0].ready.line
    for seed in range(3):
        assert whole == read(data, chunks_of(data, seed))
        assert whole == read(data, chunks_of(data, seed), ask=True)


def test_never_ready_fails() -> None:
    """And its end is found."""
    (found,) = read(never_ready() + stamp(3000, "TP0") + "Scheduler hit an exception\nOutOfMemory\n").startups

    assert found.cause is not None
    assert ("out-of-memory", "TP0") == (found.cause.rule, found.cause.rank)


def test_nothing_known() -> None:
    """A log of something else is passed over quickly and gives no startup."""
    timeline = read("hello world\n" * 50_000)

    assert ((), 50_000, False) == (timeline.startups, timeline.lines, timeline.traffic)


BARS = stamp(0) + "small_args=A(a=1)\n" + stamp(5, "TP0") + "Load begin\n"


def test_the_tail_is_looked_at() -> None:
    """A bar's newest state counts before its line ends."""
    walk = Walk(SMALL)
    walk.feed((BARS + bar(1) + "\r" + bar(2, elapsed=3)).encode(), None)
    progress = phase(walk.timeline().startups[0], "weights").progress

    assert progress is not None
    assert (2, 4, 3.0, 3) == (progress.done, progress.total, progress.elapsed_s, progress.line)


def test_the_tail_does_not_count_twice() -> None:
    """What was looked at early changes nothing when it comes for good."""
    states = [bar(done, elapsed=done) for done in range(5)]
    text = BARS + "".join("\r" + state for state in states) + stamp(12, "TP0") + "Load end\n"
    data = text.encode()
    single = [data[index : index + 1] for index in range(len(data))]

    assert read(data) == read(data, single, ask=True)
    assert 5 == len(phase(read(data).startups[0], "weights").curve)


def test_the_tail_alone() -> None:
    """A bar that is all that a log holds is evidence, once or many times."""
    data = bar(1).encode()
    walk = Walk(SMALL)
    walk.feed(data, None)

    assert walk.timeline() == walk.timeline()
    assert read(data) == read(data, [data[:20], data[20:]], ask=True)


def test_asking_changes_nothing() -> None:
    """Two answers in a row are equal, and what was asked before is not in the end."""
    data = (start(0) + traffic(30, 50) + start(100)[:200]).encode()
    for cut in range(0, len(data), 37):
        walk = Walk(SMALL)
        walk.feed(data[:cut], None)
        assert walk.timeline() == walk.timeline()
        walk.feed(data[cut:], None)
        walk.close()
        assert read(data) == walk.timeline()


@given(cuts=st.lists(st.integers(0, 100_000), max_size=6), seed=st.integers(0, 5), ask=st.booleans())
@settings(max_examples=30, deadline=None)
def test_chosen_chunks(cuts: list[int], seed: int, ask: bool) -> None:  # noqa: FBT001
    """Startup, traffic, crash, restart: equal in chosen chunks."""
    data = (
        start(0) + traffic(30, 300, seed) + "OutOfMemory\n" + traffic(70, 500, seed + 1) + start(200) + traffic(230, 200, seed + 2)
        + stamp(300) + "small starts\n" + start(310)
    ).encode()  # fmt: skip
    places = [0, *sorted(cut % len(data) for cut in cuts), len(data)]

    assert read(data) == read(data, [data[begin:end] for begin, end in pairwise(places)], ask=ask)


@pytest.mark.parametrize("filler", ["x", "Decode batch ", "POST /generate 200 ", "Load begin ", "SIGTERM "])
def test_long_lines_in_quiet(filler: str) -> None:
    """Lines longer than what is kept give equal timelines too, while quiet or not."""
    long = stamp(40, "TP0") + filler * (200_000 // len(filler)) + "\n"
    for text in (start(0) + traffic(30, 100), never_ready()):
        data = (text + long + traffic(50, 20) + "y" * 100_000 + "SIGTERM\n" + filler + "z" * 100_000 + "\n" + stamp(60) + "bye\n").encode()
        whole = read(data)
        for size in (1000, 65_536, 70_000):
            assert whole == read(data, [data[place : place + size] for place in range(0, len(data), size)])


def test_one_huge_piece() -> None:
    """Many finds in one piece are walked in linear time."""
    text = start(0) + (stamp(30) + "a line that says SIGTERM and is none\n") * 30_000
    (found,) = read(text).startups

    assert found.stopped is None
    assert text.count("\n") == found.lines[1]


def test_memory_stays_flat() -> None:
    """What is kept does not grow with the log."""
    walk = Walk(SMALL)
    walk.feed(start(0).encode(), None)
    block = traffic(30, 2000).encode()
    for _ in range(30):
        walk.feed(block, None)

    assert len(walk.lines._buffer) < 4 * len(block)
    assert len(walk._hits) < 1000


def test_until() -> None:
    """What is later than the moment is not read."""
    walk = Walk(SMALL)
    whole = read(start(0)).startups[0]
    assert whole.started.time is not None
    limited = Walk(SMALL, until=whole.started.time + 10)
    limited.feed((start(0) + SERVED).encode(), None)
    (found,) = limited.timeline().startups

    assert walk.timeline().startups == ()
    assert (None, "done") == (found.ready, phase(found, "weights").status)
    assert 9.0 == found.last_line.after_s


def test_until_in_traffic() -> None:
    """Also while quiet."""
    started = read(start(0)).startups[0].started.time
    assert started is not None
    limited = Walk(SMALL, until=started + 500)
    limited.feed((SERVED + stamp(2000) + "SIGTERM\n").encode(), None)
    (found,) = limited.timeline().startups

    assert found.stopped is None
    assert found.last_line.after_s is not None
    assert found.last_line.after_s <= 500


def test_arrival_times() -> None:
    """Unstamped lines take the moment of their arrival on the log's own clock, whatever the time zone is."""
    walk = Walk(SMALL)
    base = read(start(0)).startups[0].started.time
    assert base is not None
    zone = 2 * HOUR
    for second, text in [
        (0.5, stamp(0) + "small_args=A(a=1)\n"),
        (5.5, stamp(5, "TP0") + "Load begin\n"),
        (9.5, "OutOfMemory\n"),
    ]:
        walk.feed(text.encode(), base + zone + second)
    (found,) = walk.timeline().startups

    assert found.ended is not None
    assert 9.0 == found.ended.after_s


def test_arrival_before_the_first_stamp() -> None:
    """What arrives before the first stamp lies before it on the same clock, in any time zone."""
    base = read(start(0)).startups[0].started.time
    assert base is not None
    for zone in (0, 9 * HOUR, -5 * HOUR):
        walk = Walk(SMALL)
        walk.feed(b"small starts\n", base + zone - 10)
        walk.feed(start(0).encode(), base + zone + 0.25)
        (found,) = walk.timeline().startups

        assert found.ready is not None
        assert found.ready.after_s == pytest.approx(30, abs=0.5)


def test_unknown_prefix() -> None:
    """Where no header fits, the words are looked for anywhere in the line."""
    text = start(0).replace("[2026", "<2026").replace("] ", "> ")
    (found,) = read(text).startups

    assert found.ready is not None
    assert 6 == found.ready.line


def test_engine_is_chosen() -> None:
    """The first words of one engine choose its rules, in whatever pieces they come, and the default stands where none speaks."""
    claim = rules.claims("vllm")[0]
    data = f"hello\n{claim}\nmore\n".encode()
    for pieces in ([data], [data[index : index + 1] for index in range(len(data))]):
        analyzer = Analyzer()
        for piece in pieces:
            analyzer.feed(piece)
        assert "vllm" == analyzer.timeline().engine
    assert "sglang" == Analyzer().timeline().engine
    assert "sglang" == Analyzer(engine="sglang").timeline().engine


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_engine_is_chosen_in_utf_16_too(encoding: str) -> None:
    """A text that chooses the engine is found in whatever encoding a log is, in any pieces."""
    data = f"hello\n{max(rules.claims('vllm'), key=len)}\nmore\n".encode(encoding)
    for pieces in ([data], [data[index : index + 1] for index in range(len(data))]):
        analyzer = Analyzer()
        for piece in pieces:
            analyzer.feed(piece)
        assert "vllm" == analyzer.timeline().engine


def test_engine_is_chosen_in_time() -> None:
    """Words that come too late do not choose it, in one piece or in many."""
    claim = rules.claims("vllm")[0]
    data = b"hello\n" * (DECIDE // 4) + claim.encode() + b"\n"
    chosen = set()
    for size in (len(data), 1 << 16):
        analyzer = Analyzer()
        for place in range(0, len(data), size):
            analyzer.feed(data[place : place + size])
        chosen.add(analyzer.timeline().engine)

    assert {"sglang"} == chosen


def test_values_are_frozen() -> None:
    """A timeline does not change when more is fed."""
    walk = Walk(SMALL)
    walk.feed((BARS + bar(1) + "\n").encode(), None)
    before = walk.timeline()
    kept = replace(before)
    walk.feed((bar(2) + "\n" + stamp(9, "TP0") + "Load end\n").encode(), None)

    assert kept == before
    assert before != walk.timeline()
    assert "open" == phase(before.startups[0], "weights").status


@pytest.mark.parametrize("arrived", [True, False])
def test_a_noted_start_comes_before_the_first_line(arrived: bool) -> None:  # noqa: FBT001
    """A startup begins when its process was started, if that was noted: on the log's clock, with and without arrival times."""
    base = read(start(0)).startups[0].started.time
    assert base is not None
    zone = 2 * HOUR
    walk = Walk(SMALL)
    walk.feed(start(0).encode(), base + zone + 0.25 if arrived else None, Launched(base + zone - 9.75, base - 9.75))
    (found,) = walk.timeline().startups
    (launch,) = [phase for phase in found.phases if phase.id == "launch"]

    assert "process" == found.started.source
    assert found.ready is not None
    assert found.ready.after_s == pytest.approx(30, abs=0.3)
    assert launch.duration_s == pytest.approx(10, abs=0.3)


def test_a_noted_start_is_known_before_the_first_stamp() -> None:
    """Lines without a stamp do not hide when the process was started, though the zone is known only later."""
    base = read(start(0)).startups[0].started.time
    assert base is not None
    walk = Walk(SMALL)
    walk.feed(b"small starts\n", base + 9 * HOUR - 10, Launched(base + 9 * HOUR - 20, 0.0))
    walk.feed(start(0).encode(), base + 9 * HOUR + 0.25)
    (found,) = walk.timeline().startups

    assert found.ready is not None
    assert found.ready.after_s == pytest.approx(40, abs=0.5)


@pytest.mark.parametrize("off", [-HOUR, 5, 30 * HOUR])
def test_a_noted_start_of_another_launch_does_not_count(off: float) -> None:
    """A note that is younger than the first line, or far older, is of another content under the same name."""
    base = read(start(0)).startups[0].started.time
    assert base is not None
    walk = Walk(SMALL)
    walk.feed(start(0).encode(), None, Launched(0.0, base + off if off == 5 else base - abs(off) - 1))
    (found,) = walk.timeline().startups

    assert ("log", base) == (found.started.source, found.started.time)


def test_a_noted_start_is_of_its_own_launch() -> None:
    """In a log that is appended to, each launch begins with its own process."""
    base = read(start(0)).startups[0].started.time
    assert base is not None
    walk = Walk(SMALL)
    walk.feed(start(0).encode(), None, Launched(0.0, base - 3))
    walk.feed(start(500).encode(), None, Launched(0.0, base + 496))
    walk.feed(start(900).encode(), None)

    assert [base - 3, base + 496, base + 900] == [found.started.time for found in walk.timeline().startups]


def test_asking_often_is_cheap() -> None:
    """The startups that are over are made once, not at every look, and are what a fresh look at the whole makes of them."""
    walk = Walk(SMALL)
    for number in range(6):
        walk.feed((start(number * 100) + stamp(number * 100 + 30) + "SIGTERM\n").encode(), None)
        seen = walk.timeline().startups
    fresh = read("".join(start(number * 100) + stamp(number * 100 + 30) + "SIGTERM\n" for number in range(6))).startups

    assert fresh == seen
    assert all(one is other for one, other in zip(seen[:4], walk.timeline().startups, strict=False))


@pytest.mark.parametrize("zone", [8 * HOUR, -5 * HOUR, 0])
def test_a_wrapper_in_another_zone(zone: int) -> None:
    """Lines that only a wrapper stamps, before the engine's first stamp, are put on the engine's clock."""
    found = Walk(rules.load("sglang"))
    base = datetime(2026, 8, 3, 10, 15, 30, tzinfo=UTC)
    warned = "/sglang/launch_server.py:56: UserWarning: 'python -m sglang.launch_server' is still supported"
    lines = [f"{base - timedelta(seconds=10):%Y-%m-%dT%H:%M:%S.%fZ} stderr F {warned}\n"]
    lines += [
        f"{base + timedelta(seconds=at):%Y-%m-%dT%H:%M:%S.%fZ} stderr F [{base + timedelta(seconds=at - zone):%Y-%m-%d %H:%M:%S}] {text}\n"
        for at, text in [(0, "server_args=ServerArgs(model_path='/m', tp_size=1)"), (5, "Load weight begin. avail mem=70.00 GB")]
    ]
    found.feed("".join(lines).encode(), None)
    (startup,) = found.timeline().startups

    assert [0.0, 10.0] == [startup.phases[0].start_s, startup.phases[0].end_s]
    assert 15.0 == startup.last_line.after_s


def of_sglang(text: str, reference: float | None = None) -> Startup:
    """The only startup of a log."""
    analyzer = Analyzer(reference=reference)
    analyzer.feed(text.encode())
    analyzer.close()
    (startup,) = analyzer.timeline().startups
    return startup


@pytest.mark.parametrize("reference", [None, 1780000000.0])
@pytest.mark.parametrize("early", ["11-26 14:23:", "14:23:"])
def test_the_year_of_the_first_lines_is_that_of_the_first_full_date(reference: float | None, early: str) -> None:
    """Stamps without a year, or without a date, before a full one: start, phases, readiness and stop lie on one clock."""
    found = of_sglang(
        f"[{early}34] server_args=ServerArgs(model_path='/m', tp_size=1)\n"
        f"[{early}40] Load weight begin. avail mem=78.47 GB\n"
        f"[{early}50] Load weight end. elapsed=10.00 s, type=X, avail mem=60.00 GB, mem usage=18.00 GB.\n"
        f"[{early}58] The server is fired up and ready to roll!\n"
        "[2024-11-26 14:25:34] SIGTERM received. signum=None frame=None. Draining requests and shutting down...\n",
        reference,
    )

    assert found.ready is not None
    assert found.stopped is not None
    assert [1732631014.0, 1732631038.0, 1732631134.0] == [found.started.time, found.ready.time, found.stopped.time]
    assert [24.0, 120.0] == [found.ready.after_s, found.stopped.after_s]
    assert [6.0] == [phase.start_s for phase in found.phases if phase.id == "weights"]


def test_a_failure_before_the_first_full_date_stays_where_it_was() -> None:
    """What failed before the year was known is told on the same clock as the start."""
    found = of_sglang(
        "[11-26 14:23:34] server_args=ServerArgs(model_path='/m', tp_size=1)\n"
        "[11-26 14:23:40] Scheduler hit an exception: Traceback (most recent call last):\n"
        "RuntimeError: no\n"
        "[2024-11-26 14:23:50] Received sigquit from a child process. It usually means the child failed.\n",
        1780000000.0,
    )

    assert found.ended is not None
    assert (6.0, 1732631020.0) == (found.ended.after_s, found.ended.time)


def test_a_running_bars_own_clock_tells_how_far_the_startup_has_come() -> None:
    """While a bar runs no line has a stamp; the bar says how long it has run, and when it did its newest step."""
    found = of_sglang(
        "[2024-11-26 14:23:34 TP0] Load weight begin. avail mem=78.47 GB\n"
        "Loading safetensors checkpoint shards:  25% Completed | 1/4 [01:00<03:00, 60.00s/it]\n"
        "Loading safetensors checkpoint shards:  50% Completed | 2/4 [02:00<02:00, 60.00s/it]\n"
        "Loading safetensors checkpoint shards:  50% Completed | 2/4 [02:30<02:30, 60.00s/it]\n"
    )

    assert (150.0, 150.0, 120.0) == (found.duration_s, found.last_line.after_s, found.last_progress.after_s)
    assert 1.0 == found.explained
