"""Lines to records: header, rank, owner and time of what was said."""

from __future__ import annotations

import calendar
import json
import time as wall
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logphase import rules
from logphase.lines import Line, LineSplitter
from logphase.records import Record, RecordParser

if TYPE_CHECKING:
    from logphase.rules import Header

SGLANG = rules.load("sglang", examples=True)
ZERO = float(calendar.timegm((2026, 11, 30, 1, 2, 0, 0, 0, 0)))
BAR_1 = "Capturing batches (bs=4 avail_mem=9.9 GB):  33%|███▎      | 1/3 [00:01<00:02,  1.2s/it]"
BAR_2 = "Capturing batches (bs=2 avail_mem=9.9 GB):  66%|██████▋   | 2/3 [00:02<00:01,  1.2s/it]"
EXAMPLES = [(header, text) for header in SGLANG.headers for text in header.examples]


def stamp(second: float, rank: str = "") -> str:
    return f"[2026-11-30 01:02:{second:02}{' ' + rank if rank else ''}] "


def records(*chunks: str | bytes, parser: RecordParser | None = None, at: float | None = None) -> list[Record]:
    """The records of what is fed."""
    parser = parser or RecordParser(SGLANG)
    lines = LineSplitter()
    found = []
    for chunk in chunks:
        lines.feed(chunk.encode() if isinstance(chunk, str) else chunk, at)
        while (line := lines.pop()) is not None:
            found += parser.feed(line)
    last = lines.close()
    if last is not None:
        found += parser.feed(last)
    return [*found, *parser.close()]


def seconds(record: Record) -> float | None:
    return None if record.time is None else round(record.time - ZERO, 3)


@pytest.mark.parametrize(("header", "text"), EXAMPLES, ids=[f"{header.id}-{number}" for number, (header, _) in enumerate(EXAMPLES)])
def test_header_example(header: Header, text: str) -> None:
    """Each header's example is read by that header."""
    assert [header.id] == [record.header for record in records(text)]


def test_fields() -> None:
    """A headed line gives time, rank, level and message."""
    (record,) = records("[2026-11-30 01:02:03.500 DP0 TP1] x\n")

    assert (1, "x", 3.5, "log") == (record.line, record.message, seconds(record), record.time_from)
    assert ("DP0 TP1", "sglang") == (record.rank, record.header)


def test_no_header_belongs_to_the_line_before() -> None:
    """A traceback's lines take time and owner of the record that they continue."""
    found = records("early\n" + stamp(3, "TP1") + "error\nTraceback:\n  File\nValueError: x\n")

    assert [None, 3.0, 3.0, 3.0, 3.0] == [seconds(record) for record in found]
    assert ["near", "log", "near", "near", "near"] == [record.time_from for record in found]
    assert [None, None, 2, 2, 2] == [record.owner.line if record.owner else None for record in found]
    assert [None, "TP1", None, None, None] == [record.rank for record in found]
    assert ["Traceback:", "File", "ValueError: x"] == [record.message for record in found[2:]]


def test_alias() -> None:
    """`[rankN]:` is torch's name of a rank, not a tag."""
    (record,) = records("[rank3]:[W623 15:37:01.823833318 socket.cpp:460] [c10d] waitForInput\n")

    assert (None, 3, "[c10d] waitForInput") == (record.rank, record.alias, record.message)


def test_bar_states_behind_each_other() -> None:
    """States in one line without separator are records of their own, and none has a header."""
    found = records(BAR_1 + BAR_2 + "\n")

    assert [(BAR_1, True), (BAR_2, True)] == [(record.message, record.bar) for record in found]


@pytest.mark.parametrize("between", ["", "\r", "\r\n", "\n", "sglang-1  | ", "(A pid=1) ", "2026-11-30T01:02:03Z ", "0: "])
def test_record_behind_a_bar(between: str) -> None:
    """A record glued behind a bar begins there, with a wrapper of its own or none."""
    found = records(BAR_1 + between + stamp(3, "TP0") + "Prefill\n" + BAR_2 + "\n")

    assert [BAR_1, "Prefill", BAR_2] == [record.message for record in found]
    assert [None, "TP0", None] == [record.rank for record in found]
    assert [True, False, True] == [record.bar for record in found]


def test_glued_record_has_its_wrappers_source() -> None:
    """The source before a glued record is its own."""
    found = records("(A pid=1) " + BAR_1 + "(B pid=2) " + stamp(3) + "x\n")

    assert [("A pid=1", True), ("B pid=2", False)] == [(record.source, record.bar) for record in found]


def test_record_behind_a_half_bar() -> None:
    """A stamp behind a bar's description begins a record too."""
    found = records("Capturing batches:   0%|" + stamp(3, "TP0") + "x\n")

    assert ["Capturing batches:   0%|", "x"] == [record.message for record in found]


STORY = stamp(3) + "Load weight begin. " + BAR_1 + stamp(4) + "The server is fired up and ready to roll! " + BAR_2


@pytest.mark.parametrize(
    "text",
    [
        stamp(9) + f"Receive: obj=GenerateReqInput(text='{STORY}')",
        stamp(9, "TP0") + STORY,
        "[rank0]: " + STORY,
        "[gpu=0] " + STORY,
        "[01:02:03 TP0] " + STORY,
        "INFO 11-30 01:02:03 logger.py:39] Received request: prompt: '" + STORY + "'",
    ],
)
def test_a_quoted_startup_is_one_record(text: str) -> None:
    """A request that quotes a whole startup is never cut."""
    assert [text] == [record.text for record in records(text + "\n")]


def test_a_quoted_startup_in_json() -> None:
    """Nor does JSON that quotes one give a record with its header."""
    assert [None] == list({record.header for record in records('{"prompt": "' + STORY + '"}\n')})


@pytest.mark.parametrize("wrapper", ["", "sglang-1  | ", "2026-11-30T01:02:09.1Z stderr F ", "(A pid=1) "])
def test_a_quoted_startup_in_the_tail(wrapper: str) -> None:
    """Nor is it taken for a bar while its line is unfinished."""
    parser = RecordParser(SGLANG)

    assert [] == list(parser.bars(Line(1, wrapper + stamp(9) + "Receive: text='" + STORY, end=False)))


@pytest.mark.parametrize(("wrapper", "source"), [("", None), ("sglang-1  | ", "sglang-1"), ("2026-11-30T01:02:09.1Z stderr F ", None)])
def test_a_bar_in_the_tail(wrapper: str, source: str | None) -> None:
    """An unfinished line's bar states can be looked at, below their wrapper, again and again."""
    parser = RecordParser(SGLANG)
    line = Line(1, wrapper + BAR_1 + BAR_2 + "Captu", end=False)
    first, second = list(parser.bars(line)), list(parser.bars(line))

    assert [(BAR_1, source), (BAR_2, source)] == [(record.message, record.source) for record in first]
    assert first == second
    assert [] == list(parser.bars(None))


def test_a_bar_in_a_part() -> None:
    """What waits for its rest is looked at too."""
    parser = RecordParser(SGLANG)
    records("2026-11-30T01:02:03Z stderr P " + BAR_1 + "\n", parser=parser)
    list(parser.feed(Line(1, "2026-11-30T01:02:03Z stderr P " + BAR_1)))

    assert [BAR_1] == [record.message for record in parser.bars(None)]


def test_docker_json_with_returns() -> None:
    """Bars in a JSON line come one by one."""
    log = json.dumps({"log": BAR_1 + "\r" + BAR_2 + "\n", "time": "2026-11-30T01:02:03Z"})

    assert [BAR_1, BAR_2] == [record.message for record in records(log + "\n")]


def test_two_clocks() -> None:
    """The engine's clock wins; the wrapper's is kept, and used, shifted by the time zone, where the engine has none."""
    found = records(
        "2026-11-29T16:02:01.1Z unstamped first\n"
        "2026-11-29T16:02:03.25Z [2026-11-30 01:02:03.200 TP0] Load weight begin\n"
        "2026-11-29T16:02:07.5Z " + BAR_1 + "\n"
        "bare\n"
    )  # fmt: skip

    assert [3.2, 7.5, 7.5] == [seconds(record) for record in found[1:]]
    assert ["outer", "log", "outer", "near"] == [record.time_from for record in found]
    assert "2026-11-29T16:02:03.25Z" == found[1].outer


def test_the_wrapper_gives_fractions() -> None:
    """A stamp of whole seconds takes its fraction from the wrapper where both agree on the second, and else stays as it is."""
    found = records(
        "2026-11-29T16:02:03.25Z [2026-11-30 01:02:03] a\n"
        "2026-11-29T16:02:04.75Z [2026-11-30 01:02:04] b\n"
        "2026-11-29T16:02:09.75Z [2026-11-30 01:02:05] c\n"
    )  # fmt: skip

    assert [3.25, 4.75, 5.0] == [seconds(record) for record in found]


def test_arrival() -> None:
    """Lines that nothing stamps take the moment of their arrival, on the log's own clock once that is known."""
    parser = RecordParser(SGLANG)
    zone = 3600.0

    def feed(text: str, at: float) -> Record:
        (record,) = parser.feed(Line(1, text, at=ZERO + zone + at))
        return record

    assert (3600.5, "arrival") == (seconds(feed("x", 0.5)), feed("x", 0.5).time_from)
    assert (1.0, "log") == (seconds(feed(stamp(1) + "x", 1.25)), "log")
    assert (7.0, "arrival") == (seconds(feed(BAR_1, 7.25)), feed(BAR_1, 7.25).time_from)
    assert 7.0 == seconds(feed(stamp(7) + "x", 8.25))
    assert 8.0 == seconds(feed("x", 8.25))


def test_no_clock() -> None:
    """Without any clock there is no time."""
    assert [None, None] == [record.time for record in records("[gpu=0] a\n" + BAR_1 + "\n")]


def test_restart() -> None:
    """After a new launch the clock may be behind."""
    parser = RecordParser(SGLANG)
    records("[2026-11-30 05:02:03] x\n", parser=parser)
    (first,) = records(stamp(3) + "x\n", parser=parser)
    moved = parser.restart(first)

    assert 3.0 == (seconds(first) or 0.0) - moved
    assert [3.0, 4.0] == [seconds(record) for record in records(stamp(3) + "x\n" + stamp(4) + "x\n", parser=parser)]
    (unstamped,) = records("launch\n", parser=parser)
    assert 0.0 == parser.restart(unstamped)
    assert -3600.0 + 4 == seconds(records("[2026-11-30 00:02:04] x\n", parser=parser)[0])


@pytest.mark.parametrize(
    "text",
    [
        "1" * 60000 + "/]<",
        "1/" * 30000 + "<]",
        "1/1 [1" * 10000 + "<]",
        "[2" * 30000,
        "(" * 60000 + "a pid=",
        " " * 60000 + "x",
        "a-" * 30000,
    ],
)
def test_hostile_lines_take_no_time(text: str) -> None:
    """A line made to be slow is not."""
    begun = wall.perf_counter()
    records(text + "\n")

    assert wall.perf_counter() - begun < 1.5


@given(
    parts=st.lists(
        st.sampled_from(
            [BAR_1, BAR_2, "\n", "\r", "\r\n", stamp(3, "TP0") + "x", stamp(4) + "y", "0: ", "sglang-1  | ", "(A pid=1) ", "Traceback",
             "2026-11-30T01:02:03Z stderr P ", "2026-11-30T01:02:04Z stdout F ", "[rank1]: z", '{"log":"1/3', '\\r2/3\\n"}']
        ),
        max_size=20,
    ),
    cuts=st.lists(st.integers(0, 2000), max_size=6),
)  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_equal_in_any_chunks(parts: list[str], cuts: list[int]) -> None:
    """Records do not depend on how the bytes came, nor on looking at the tail in between."""
    data = "".join(parts).encode()
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    chunks = [data[begin:end] for begin, end in pairwise(places)]
    parser, lines, looked = RecordParser(SGLANG), LineSplitter(), []
    for chunk in chunks:
        lines.feed(chunk)
        while (line := lines.pop()) is not None:
            looked += parser.feed(line)
        list(parser.bars(lines.tail()))
    last = lines.close()
    looked += [] if last is None else parser.feed(last)

    assert records(data) == [*looked, *parser.close()]
