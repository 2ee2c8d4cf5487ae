"""The live views: frames of hand-made startups, compared whole; no thread, no clock, no terminal."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from rich.cells import cell_len

from logphase.estimate import Estimate
from logphase.live import Ending, Frame
from logphase.timeline import Evidence, Moment, Progress, Timeline
from logphase.verdict import State, Verdict, judge
from logphase.views import doing
from logphase.views.plain import PlainLines
from logphase.views.screen import lines
from logphase.views.stream import Events
from tests.views.conftest import BEGAN, crashed, phase, ready, span, stalled, startup, tp

if TYPE_CHECKING:
    from collections.abc import Callable

    from logphase.timeline import Startup
    from tests.conftest import Expectations

EXPECT = Path(__file__).parent / "expect"
WALL = 1_800_000_000.0
SIZES = [(80, 24), (200, 50)]
EDGES = [(1, 1), (20, 5), (40, 8), (60, 15), (79, 24), (300, 100)]


def framed(found: Startup | None, verdict: Verdict, **changes: object) -> Frame:
    """A frame of a startup, 12 s after its last line."""
    timeline = Timeline("sglang", () if found is None else (found,), 99)
    elapsed = None if found is None or found.last_line.after_s is None else found.last_line.after_s + 12.0
    return replace(Frame(WALL, timeline, found, verdict, None, elapsed, 12.0, 400.0, quiet_s=12.0), **changes)


def loading(count: int = 8, done: int = 29) -> Startup:
    """Half of the shards are loaded; the first ranks have ended."""
    tags = tp(count)
    spans = {tag: span(tag, 42.0, 250.0) if index < count // 4 else span(tag, 42.0, None, "open") for index, tag in enumerate(tags[:-1])}
    text = "Loading safetensors checkpoint shards:  45% Completed | 29/64 [04:58<05:58, 10.2s/it]"
    running = phase("weights", 42.0, None, status="open", end_s=None, ranks=spans, progress=Progress(done, 64, "shards", 258.0))
    return startup(
        (phase("launch", 0.0, 21.1), phase("spawn", 21.1, 18.6), phase("dist-init", 39.7, 2.0), running),
        ranks=tags,
        budget_s=1200.0,
        budget_from="the rules: repacking prints nothing for up to 20 minutes",
        progress_evidence=(Evidence("shards", 99, None, text),),
    )


def starting() -> Frame:
    """Loading, with an estimate and a note."""
    found = loading()
    left = Estimate(358.0, 300.0, 460.0, "phase", "the bar's recent rate")
    notes = ("server.log: no such file yet", "the file is there now")
    return framed(found, judge(found, BEGAN + 312, live=True), estimate=left, notices=notes)


def waiting() -> Frame:
    """An old startup is in the file."""
    text = "In the file is an earlier startup, ready since 2026-02-26 14:38:10, line 277; waiting for a new one."
    return framed(
        None, Verdict(State.UNSEEN, None, text, None, ()), earlier="an earlier startup, ready since 2026-02-26 14:38:10, line 277"
    )


def many(count: int) -> Callable[[], Frame]:
    """So many ranks."""

    def made() -> Frame:
        found = loading(count)
        return framed(found, judge(found, BEGAN + 312, live=True))

    return made


def of(pair: tuple[Startup, Verdict], final: Ending) -> Frame:
    """The last frame."""
    return framed(pair[0], pair[1], final=final)


FRAMES: dict[str, Callable[[], Frame]] = {
    "starting": starting,
    "waiting": waiting,
    "ready": lambda: of(ready(), Ending.READY),
    "crashed": lambda: of(crashed(), Ending.FAILED),
    "stalled": lambda: of(stalled(), Ending.STALLED),
    "ranks-64": many(64),
    "ranks-200": many(200),
}


@pytest.mark.parametrize(("width", "height"), SIZES, ids=str)
@pytest.mark.parametrize("name", FRAMES)
def test_screen_is_what_was_accepted(name: str, width: int, height: int, expectations: Expectations) -> None:
    """Each kind of frame, whole."""
    shown = lines(FRAMES[name](), width - 1, height - 1, source="server.log")

    expectations.hold(EXPECT / f"screen-{name}-{width}.txt", "".join(f"{line.plain.rstrip()}\n" for line in shown))


@pytest.mark.parametrize(("width", "height"), EDGES, ids=str)
@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("plain", [False, True], ids=["unicode", "ascii"])
def test_screen_fits(name: str, width: int, height: int, plain: bool) -> None:  # noqa: FBT001 - a parameter
    """No line is wider than the screen and there are not more of them, whatever its size; ASCII stays ASCII."""
    shown = lines(FRAMES[name](), width, height, source="a/long/" * 40 + "server.log", ascii=plain)

    assert 0 < len(shown) <= height
    assert max(line.cell_len for line in shown) <= max(width, 40)
    assert not plain or all(line.plain.isascii() for line in shown)


def test_screen_shows_what_matters_on_the_smallest_terminal() -> None:
    """State, phase that runs, and what is left stay when there is room for eight lines."""
    text = "\n".join(line.plain for line in lines(starting(), 79, 8))

    assert text.startswith("starting")
    assert "Load weights" in text
    assert "29/64 shards" in text
    assert "about 6 min left in this phase" in text


HOSTILE = "\x1b[31mred\x1b]0;title\x07 \u202eevil\r\n<b>[bold]hi[/bold]</b> api_key='sk-abcdefghijklmnopqrstuvwx' 漢字漢字" * 20


def test_hostile_text_does_nothing() -> None:
    """Escapes are written out, markup stays text, secrets are hidden, wide characters count as two columns."""
    found = replace(loading(), ranks=("TP0", "\x1b[2J"), progress_evidence=(Evidence("x", 99, None, HOSTILE),))
    frame = framed(found, judge(found, BEGAN + 312, live=True), notices=(HOSTILE,))
    shown = lines(frame, 79, 23, source="server\x1b[2J.log")
    text = "\n".join(line.plain for line in shown)

    assert max(cell_len(line.plain) for line in shown) <= 79
    assert text.replace("\n", "").isprintable()
    assert "sk-abcdef" not in text
    assert "[bold]" in "\n".join(PlainLines().feed(frame))
    assert "sk-abcdef" not in "\n".join([*PlainLines().feed(frame), *Events().feed(frame)])


def test_pipe_gets_a_line_for_each_change_and_one_every_half_minute() -> None:
    """The story of a load: begin, heartbeats, the end with its time, and what comes then."""
    plain, told = PlainLines(), []
    for second in range(0, 100, 5):
        found = loading(done=second)
        frame = framed(found, judge(found, live=True), wall=WALL + second, elapsed_s=312.0 + second)
        told += [f"{second} {line}" for line in plain.feed(frame)]
    done = startup((phase("weights", 42.0, 400.0), phase("kv-cache", 442.0, None, status="open", end_s=None)), current="kv-cache")
    told += plain.feed(framed(done, judge(done, live=True), wall=WALL + 100))
    pair = ready()
    told += plain.feed(framed(*pair, wall=WALL + 101, final=Ending.READY))

    assert [
        "0 starting: loading weights, 0/64 shards (5 min 12 s since the start)",
        "30 still loading weights, 30/64 shards, 5 min",
        "60 still loading weights, 60/64 shards, 5 min 30 s",
        "90 still loading weights, 90/64 shards, 6 min",
        "done: Load weights, 6 min 40 s",
        "starting: allocating the KV cache (5 min 12 s since the start)",
        "done: Allocate the KV cache, 3.4 s",
        "ready: after 16 min 7 s: HTTP is up and the warm-up request was answered (line 277)",
    ] == told


def test_heartbeat_says_what_is_left() -> None:
    """The sentence of the contract."""
    assert "still loading weights, 29/64 shards, 4 min 30 s, about 6 min left in this phase" == doing.still(starting())


def test_stall_says_who_and_what_to_look_at() -> None:
    """Phase, silence, budget and its source, ranks, and where to look."""
    told = PlainLines().feed(of(stalled(), Ending.STALLED))

    assert told[0].startswith("stalled: ")
    assert any(line.startswith("  silent for ") and "are allowed (" in line for line in told)
    assert any(line.startswith("  not heard of: ") for line in told)
    assert any(line.startswith("  look at: ") for line in told)


def test_failure_says_what_to_do() -> None:
    """The remedy follows the cause."""
    told = PlainLines().feed(of(crashed(), Ending.FAILED))

    assert told[-1].startswith("  Lower --mem-fraction-static")


def events(*frames: Frame) -> list[dict[str, Any]]:
    """The events of frames, as objects."""
    stream = Events()
    return [json.loads(line) for frame in frames for line in stream.feed(frame)]


def test_events_tell_state_progress_notice_and_end() -> None:
    """One object for each; the bar at most once a second; the end once."""
    first = starting()
    assert first.startup is not None
    moved = loading(done=30)
    quick = replace(first, startup=moved, wall=WALL + 0.2)
    slow = replace(first, startup=moved, wall=WALL + 1.2)
    pair = ready()
    end = framed(*pair, wall=WALL + 2, final=Ending.READY)
    told = events(first, quick, slow, end, end)

    assert ["notice", "notice", "state", "progress", "state", "end"] == [event["event"] for event in told]
    assert {"done": 29, "total": 64, "unit": "shards"} == told[2]["progress"]
    assert {"s": 358.0, "range_s": [300.0, 460.0], "until": "phase", "source": "the bar's recent rate"} == told[2]["left"]
    assert ("ready", "ready", None) == (told[-1]["state"], told[-1]["ending"], told[-1]["left"])


def test_events_tell_a_witness_as_one() -> None:
    """Evidence beside the log has no line."""
    found = loading()
    verdict = Verdict(State.READY, "serving", "Ready: the canary was answered.", None, (Evidence("witness:canary", 0, None, "200"),))

    assert [{"witness": "canary", "text": "200"}] == events(framed(found, verdict, final=Ending.READY))[0]["evidence"]


@pytest.mark.parametrize("seconds", [0.0, 3.2, 9.9, 14.0, 59.0, 61.0, 118.0, 121.0, 3599.0, 3700.0, 90000.0])
def test_rough_times_are_short(seconds: float) -> None:
    """What nobody knows to the second is not told to the second."""
    assert len(doing.rough(seconds)) <= len("25 h 10 min")


def test_unstamped_startup_has_a_screen() -> None:
    """Without any time there are dashes."""
    found = replace(loading(), last_line=Moment(None, 99), last_progress=Moment(None, 99))

    assert lines(framed(found, judge(found, live=True)), 79, 23)[0].plain.endswith("watched for 6 min 40 s")


def test_a_verdict_is_said_once() -> None:
    """When the verdict becomes final and nothing else is new, its lines do not come a second time; whoever interrupts is told again."""
    frame = framed(*crashed())
    plain = PlainLines()
    first = plain.feed(frame)

    assert any(line.startswith("crashed: ") for line in first)
    assert [] == plain.feed(replace(frame, final=Ending.FAILED))
    assert first[-1:] == plain.feed(replace(frame, final=Ending.TERMINATED))[-1:]
