"""Lines to pieces: what stands in front of a line comes off and is kept."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from logphase import rules
from logphase.lines import Line, LineSplitter
from logphase.records import RecordParser
from logphase.wrappers import PARTIAL, Piece, Unwrapper

if TYPE_CHECKING:
    from logphase.rules import Wrapper

STAMP = "[2026-11-30 01:02:03 TP0] "
BUNDLED = {wrapper.id: wrapper for wrapper in rules.load("sglang", examples=True).wrappers}
EXAMPLES = [(wrapper, text) for wrapper in BUNDLED.values() for text in wrapper.examples]


def unwrapper() -> Unwrapper:
    """All bundled wrappers, and a header that is a bracketed stamp."""
    return Unwrapper(tuple(BUNDLED.values()), lambda text: re.match(r"\[20\d\d-\d\d-\d\d \d\d:\d\d:\d\d[\w ]*\]", text) is not None)


def pieces(data: str) -> list[Piece]:
    """The pieces of what is fed."""
    lines, wrappers = LineSplitter(), unwrapper()
    lines.feed(data.encode())
    found = []
    while (line := lines.pop()) is not None:
        found += wrappers.feed(line)
    last = lines.close()
    if last is not None:
        found += wrappers.feed(last)
    held = wrappers.close()
    return found if held is None else [*found, held]


def cri(text: str, flag: str = "F", second: int = 3) -> str:
    return f"2026-11-30T01:02:{second:02}.673951081Z stderr {flag} {text}\n"


@pytest.mark.parametrize(("wrapper", "text"), EXAMPLES, ids=[f"{wrapper.id}-{number}" for number, (wrapper, _) in enumerate(EXAMPLES)])
def test_example(wrapper: Wrapper, text: str) -> None:
    """Each wrapper's example is peeled by that wrapper first."""
    piece = unwrapper().peel(Piece(1, text, raw=text))

    assert (wrapper.id,) == piece.wrappers[:1]
    assert text == piece.raw


@pytest.mark.parametrize(
    "text", [text for _, text in EXAMPLES if "Load weight begin" in text or "Init torch" in text or "fired up" in text]
)
def test_example_peels_to_the_record(text: str) -> None:
    """Below the wrappers of an example stands the engine's own record."""
    parser = RecordParser(rules.load("sglang"))
    records = list(parser.feed(Line(1, text)))

    assert 1 == len(records)
    assert records[0].message.startswith(("Load weight begin", "Init torch distributed begin", "The server is fired up"))
    assert records[0].time is not None


@pytest.mark.parametrize(
    ("text", "below", "source", "outer"),
    [
        ("sglang-1  | " + STAMP + "x", STAMP + "x", "sglang-1", None),
        ("sglang-1  | 2026-11-30T01:02:03Z " + STAMP + "x", STAMP + "x", "sglang-1", "2026-11-30T01:02:03Z"),
        (cri("0: (Actor pid=7) " + STAMP + "x").strip(), STAMP + "x", "Actor pid=7", "2026-11-30T01:02:03.673951081Z"),
        ("(Actor pid=7, ip=10.0.0.2) " + STAMP + "x", STAMP + "x", "Actor pid=7, ip=10.0.0.2", None),
        (STAMP + "(Actor pid=7) x", STAMP + "(Actor pid=7) x", None, None),
        (" 3: Loading: 1/4 [00:00<00:01, 1it/s]", "Loading: 1/4 [00:00<00:01, 1it/s]", None, None),
        ("    return f(x)", "    return f(x)", None, None),
        ("a | b", "b", "a", None),
        ("", "", None, None),
    ],
)
def test_peel(text: str, below: str, source: str | None, outer: str | None) -> None:
    """Wrappers in wrappers come off until the engine's header stands at the start; the outermost stamp is kept."""
    piece = unwrapper().peel(Piece(1, text))

    assert (below, source, outer) == (piece.text, piece.source, piece.outer)


def test_depth_ends() -> None:
    """Not more than four come off."""
    assert "0: 0: x" == unwrapper().peel(Piece(1, "0: " * 6 + "x")).text


def test_segments_inherit() -> None:
    """Behind a carriage return the wrapper of the line's head holds on."""
    found = pieces("sglang-1  | 1/3\r2/3\r3/3\nsglang-2  | x\n")

    assert [("1/3", "sglang-1"), ("2/3", "sglang-1"), ("3/3", "sglang-1"), ("x", "sglang-2")] == [
        (piece.text, piece.source) for piece in found
    ]


def test_parts_are_joined() -> None:
    """A record that the runtime cut is put together and has the first part's line."""
    found = pieces(cri(STAMP + "Load wei", "P") + cri("ght be", "P") + cri("gin.") + cri(STAMP + "next"))

    assert [(1, STAMP + "Load weight begin."), (4, STAMP + "next")] == [(piece.line, piece.text) for piece in found]


def test_a_header_in_parts() -> None:
    """Even where the cut goes through the stamp."""
    found = pieces(cri("[2026-11-30 01:0", "P") + cri("2:03 TP0] x"))

    assert [STAMP + "x"] == [piece.text for piece in found]


def test_a_part_at_the_end() -> None:
    """The part whose rest never came is a piece too."""
    assert [STAMP + "Load wei"] == [piece.text for piece in pieces(cri(STAMP + "Load wei", "P"))]


def test_bars_in_parts() -> None:
    """Bar states that stand in a part behind carriage returns come at once; only the last one waits for its rest."""
    found = pieces(cri("1/3\r2/3\r3/", "P") + cri("3\rdone") + cri("x"))

    assert ["1/3", "2/3", "3/3", "done", "x"] == [piece.text for piece in found]


def test_parts_without_end_stay_small() -> None:
    """A record of parts keeps its head only."""
    found = pieces("".join(cri("y" * 1000, "P") for _ in range(300)) + cri("z"))

    assert [PARTIAL] == [len(piece.text) for piece in found]


def test_a_part_keeps_its_own_time() -> None:
    """A record in parts was said when its first part was, what stands behind a return when the part came that holds it."""
    found = pieces(cri("1/3", "P", 3) + cri("\r2/", "P", 40) + cri("3", "F", 41))

    assert [("1/3", "03", 1), ("2/3", "40", 2)] == [(piece.text, (piece.outer or "")[17:19], piece.line) for piece in found]


def docker(log: str) -> str:
    return json.dumps({"log": log, "stream": "stderr", "time": "2026-11-30T01:02:03.123456789Z"}) + "\n"


def test_docker_json() -> None:
    """The message's own newline is its end, its returns cut it as bytes would be cut, and parts are joined."""
    found = pieces(docker("1/3\r2/3\r3/") + docker("3\n") + docker(STAMP + "x\r\n") + docker("\n"))

    assert ["1/3", "2/3", "3/3", STAMP + "x"] == [piece.text for piece in found]
    assert {"2026-11-30T01:02:03.123456789Z"} == {piece.outer for piece in found}


def test_json_holds_escapes() -> None:
    """What JSON had escaped is cleaned like any other line."""
    found = pieces(docker("\x1b[33m" + STAMP + "\x1b[0mx\x00\x07y\n"))

    assert [STAMP + "xy"] == [piece.text for piece in found]


def test_json_with_several_lines() -> None:
    """A logger's message of several lines gives several pieces."""
    found = pieces(json.dumps({"asctime": "2026-11-30 01:02:03,1", "message": "Traceback\n  File\nError: x"}) + "\n")

    assert ["Traceback", "  File", "Error: x"] == [piece.text for piece in found]


@pytest.mark.parametrize(
    "text",
    [
        '{"log":',
        '{"log": 5}',
        '{"log": null, "time": 3}',
        '["log":]',
        '{"msg": {"a": 1}}',
        "{" * 5000 + '"log":',
        "[" * 60000 + '"log":',
        '"log":',
    ],
)
def test_not_json(text: str) -> None:
    """What only looks like JSON stays as it is, however deep."""
    assert [text] == [piece.text for piece in pieces(text + "\n")]


def test_json_time_that_is_a_number() -> None:
    """A stamp that is no text is left out."""
    found = pieces('{"msg": "x", "ts": 1767225600.5}\n')

    assert [("x", None)] == [(piece.text, piece.outer) for piece in found]


def test_prefix_alone() -> None:
    """A prefix alone on its line says whose the next line is."""
    parser = RecordParser(rules.load("sglang"))
    lines = [
        "(A pid=1) " + STAMP + "one", "(B pid=2) " + STAMP + "two",
        "(A pid=1) ", STAMP + "three", "(B pid=2)", STAMP + "four",
    ]  # fmt: skip
    records = [record for number, line in enumerate(lines, 1) for record in parser.feed(Line(number, line))]

    assert [("one", "A pid=1"), ("two", "B pid=2"), ("three", "A pid=1"), ("four", "B pid=2")] == [
        (record.message, record.source) for record in records
    ]
