"""Bytes to lines: equal results in any chunking, whatever the bytes are."""

from __future__ import annotations

import codecs
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logphase.lines import HEAD, HISTORY, Line, LineSplitter, clean

NASTY = [
    b"a", b"bc", b"\n", b"\r", b"\r\n", b"\r\r\n", b"\n\n", b"\x00", b"\x00\x00\x00", b"\xff", b"\xc3\xa9", b"\xe2\x96\x88", b"\xc3",
    b"\x88",     b"\x1b[31m", b"\x1b[0m", b"\x1b]0;title\x07", b"\x1b", b"\t", b" ", b"\xef\xbb\xbf", b"x" * 70, b"[2026-01-02 03:04:05] ",
]  # fmt: skip
CASES = {
    "newlines": b"one\ntwo\n",
    "windows": b"one\r\ntwo\r\n",
    "carriage returns": b"10%\r20%\r30%\nnext\n",
    "both": b"10%\r20%\r\n\r\n\rx\r",
    "no end": b"one\ntwo",
    "a return at the end": b"one\r",
    "empty lines": b"\n\n\r\n\n",
    "nulls": b"\x00\x00one\x00two\n\x00\x00three",
    "a hole": b"\x00" * 3 * HEAD + b"one\ntwo\n",
    "invalid": b"a\xffb\xc3\n\xe2\x96\nc",
    "colours": b"\x1b[33mINFO\x1b[0m text\n\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\\n\x1b(Bx\x1b[2K\n",
    "byte order mark": codecs.BOM_UTF8 + "größe\nzwei\n".encode(),
    "little endian": codecs.BOM_UTF16_LE + "größe ▊\r\nzwei\rdrei\n".encode("utf-16-le"),
    "big endian": codecs.BOM_UTF16_BE + "größe ▊\r\nzwei\rdrei".encode("utf-16-be"),
    "a long line": b"one\n" + b"y" * (HEAD + 5) + b"\nthree\n" + b"z" * (HEAD + 1) + b"\r" + b"w" * HEAD + b"\n\n",
    "a long line cut in a character": b"y" * (HEAD - 1) + "é\n".encode() + b"end\n",
    "one byte": b"x",
    "one newline": b"\n",
    "nothing": b"",
}


def split(*chunks: bytes) -> list[Line]:
    """All lines of what is fed."""
    lines = LineSplitter()
    found = []
    for chunk in chunks:
        lines.feed(chunk)
        while (line := lines.pop()) is not None:
            found.append(line)
    last = lines.close()
    return found if last is None else [*found, last]


def chunked(data: bytes, cuts: list[int]) -> list[bytes]:
    """The data cut at these places."""
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[begin:end] for begin, end in pairwise(places)]


def texts(*chunks: bytes) -> list[tuple[int, str]]:
    return [(line.number, line.text) for line in split(*chunks)]


@pytest.mark.parametrize("data", CASES.values(), ids=CASES.keys())
def test_byte_by_byte(data: bytes) -> None:
    """One byte at a time gives the lines that one piece gives."""
    assert split(data) == split(*(data[index : index + 1] for index in range(len(data))))


@pytest.mark.parametrize("data", CASES.values(), ids=CASES.keys())
@given(cuts=st.lists(st.integers(0, 1 << 20), max_size=6))
@settings(max_examples=8, deadline=None)
def test_chosen_chunks(data: bytes, cuts: list[int]) -> None:
    """Each case gives equal lines however it is cut."""
    assert split(data) == split(*chunked(data, cuts))


@given(parts=st.lists(st.sampled_from(NASTY), max_size=30), cuts=st.lists(st.integers(0, 400), max_size=8))
@settings(max_examples=120, deadline=None)
def test_any_bytes_in_any_chunks(parts: list[bytes], cuts: list[int]) -> None:
    """Made lines give equal results whole, in chunks, and byte by byte."""
    data = b"".join(parts)
    whole = split(data)

    assert whole == split(*chunked(data, cuts))
    assert whole == split(*(data[index : index + 1] for index in range(len(data))))


@given(data=st.binary(max_size=300), cuts=st.lists(st.integers(0, 300), max_size=5))
@settings(max_examples=80, deadline=None)
def test_binary_in_any_chunks(data: bytes, cuts: list[int]) -> None:
    """So does what is no text at all."""
    assert split(data) == split(*chunked(data, cuts))


def test_line_ends() -> None:
    """Newline, return with newline, and a lone return end a segment; only newlines count as lines."""
    found = split(b"a\nb\r\nc\rd\re\nf")

    assert [
        Line(1, "a"),
        Line(2, "b"),
        Line(3, "c", head=True, end=False),
        Line(3, "d", head=False, end=False),
        Line(3, "e", head=False, end=True),
        Line(4, "f"),
    ] == found


def test_return_and_newline_cut_in_half() -> None:
    """A return at the end of a piece waits: a newline may follow."""
    lines = LineSplitter()
    lines.feed(b"one\r")

    assert lines.pop() is None
    lines.feed(b"\ntwo")
    assert Line(1, "one") == lines.pop()
    assert lines.pop() is None
    assert Line(2, "two", end=False) == lines.tail()


def test_tail_shows_the_unfinished_line() -> None:
    """The newest state of a bar can be looked at and comes again when it is complete."""
    lines = LineSplitter()
    lines.feed(b"1/3\r2/3\r")

    assert Line(1, "1/3", end=False) == lines.pop()
    assert lines.pop() is None
    assert Line(1, "2/3", head=False, end=False) == lines.tail()
    assert Line(1, "2/3", head=False, end=False) == lines.tail()
    lines.feed(b"3/3\n")
    assert ["2/3", "3/3"] == [line.text for line in (lines.pop(), lines.pop()) if line]
    assert lines.tail() is None


def test_numbers_count_newlines_only() -> None:
    """The number is the one that an editor shows."""
    assert [(1, "a"), (1, "b"), (2, "c"), (2, ""), (3, "d")] == texts(b"a\rb\nc\r\r\nd")


def test_nulls() -> None:
    """NULs vanish, a hole of them before the first line too, and no line is counted for them."""
    assert [(1, "onetwo"), (2, "three")] == texts(b"\x00" * (5 * HEAD) + b"one\x00two\n\x00\x00three")


def test_a_hole_takes_no_memory() -> None:
    """What was truncated under its writer begins with as many NULs as the old file had bytes."""
    lines = LineSplitter()
    for _ in range(200):
        lines.feed(b"\x00" * HEAD)
        assert lines.pop() is None
    lines.feed(b"[2026-01-02 03:04:05] begin\n")

    assert Line(1, "[2026-01-02 03:04:05] begin") == lines.pop()
    assert 200 * HEAD + 28 == lines.offset
    assert len(lines._buffer) <= 2 * HISTORY + HEAD


def test_not_utf8() -> None:
    """Bytes that are no UTF-8 leave a mark, the rest of the line stays."""
    assert [(1, "a\ufffdb"), (2, "c\ufffd"), (3, "\ufffd\ufffdx"), (4, "▊")] == texts(b"a\xffb\nc\xe2\x96\n\x88\x8ax\n\xe2\x96\x8a\n")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16(encoding: str) -> None:
    """UTF-16 with its mark reads as UTF-8 does, cut in the middle of a character or not."""
    mark = codecs.BOM_UTF16_LE if encoding == "utf-16-le" else codecs.BOM_UTF16_BE
    data = mark + "10% ▊\r20% 😀\nzwei\r\n".encode(encoding)

    assert [(1, "10% ▊"), (1, "20% 😀"), (2, "zwei")] == texts(data)
    assert split(data) == split(*(data[index : index + 1] for index in range(len(data))))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\x1b[1;31mERROR\x1b[0m x", "ERROR x"),
        (b"\x1b[38;5;208mx\x1b[m", "x"),
        (b"\x1b[?25l\x1b[2K\x1b[1Gx", "x"),
        (b"\x1b]0;a title\x07x", "x"),
        (b"\x1b]8;;file:///a\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1bPdevice\x1b\\x", "x"),
        (b"\x1b(Bx\x1b=", "x"),
        (b"a\tb\x07\x08\x7f\x0bc", "a\tbc"),
        ("\x9b31m x".encode(), "31m x"),
        (b"\x1b[31", "31"),
        (b"\xef\xbb\xbfx", "x"),
    ],
)
def test_escapes(data: bytes, expected: str) -> None:
    """Terminal escapes and control characters are taken out, a tab stays."""
    assert expected == clean(data)


def test_hostile_escapes_take_no_time() -> None:
    """Many sequences that never end are read in linear time."""
    assert clean(b"\x1b]" * (HEAD // 2)) is not None
    assert clean(b"\x1b[" + b"1" * HEAD) is not None
    assert clean(b"\x1bP" * (HEAD // 2)) is not None


def test_a_long_line_keeps_its_head() -> None:
    """Of a line of 5 MB the head is kept; memory stays flat and the next line has its number."""
    lines = LineSplitter()
    tracemalloc.start()
    try:
        lines.feed(b"first\n[2026-01-02 03:04:05] head ")
        first = lines.pop()
        for _ in range(80):
            lines.feed(b"y" * HEAD)
            assert lines.pop() is None
        tail = lines.tail()
        lines.feed(b"\nlast\n")
        long, last = lines.pop(), lines.pop()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert Line(1, "first") == first
    assert tail is not None
    assert tail.text.startswith("[2026-01-02 03:04:05] head yyy")
    assert long is not None
    assert (2, HEAD) == (long.number, len(long.text))
    assert Line(3, "last") == last
    assert peak < 2_000_000
    assert 6 + 27 + 80 * HEAD + 6 == lines.offset


def test_a_long_line_in_one_piece() -> None:
    """The same in one piece."""
    data = b"y" * 5_000_000 + b"\nnext\n"
    pieces = [data[start : start + 30_000] for start in range(0, len(data), 30_000)]

    assert [(1, "y" * HEAD), (2, "next")] == texts(data)
    assert split(data) == split(*pieces)


def test_skip_passes_over_lines() -> None:
    """Skipped lines are counted and can be looked at again."""
    lines = LineSplitter()
    lines.feed(b"one\ntwo\nthree\nfour")
    lines.pop()

    assert 4 == lines.line_start(7)
    lines.skip(lines.line_start(len(lines.pending)))
    assert 4 == lines.number
    assert lines.at_line_start
    assert b"one\ntwo\nthree\n" == lines.history
    assert b"four" == bytes(lines.pending)
    assert 14 == lines.offset


def test_arrival_goes_with_the_line() -> None:
    """A line carries the moment at which its end arrived."""
    lines = LineSplitter()
    lines.feed(b"one\ntw", 10.0)

    assert Line(1, "one", at=10.0) == lines.pop()
    assert lines.pop() is None
    lines.feed(b"o\n", 11.0)
    assert Line(2, "two", at=11.0) == lines.pop()
