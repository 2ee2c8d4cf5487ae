"""Watching, without a clock, a file or a terminal: what ends it, what does not, and what is said meanwhile."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from logphase import testimony
from logphase.analyzer import Analyzer
from logphase.live import Ending, Frame, Watch
from logphase.replay import Piece, pieces
from logphase.sources import Change, Chunk
from logphase.testimony import Says
from logphase.verdict import State, judge
from tests.conftest import SAMPLE_LOGS

WALL = 1_800_000_000.0
KIMI = SAMPLE_LOGS / "kimi-k2.5-tp8-eagle3.log"
READY = "no-graphs"
REAL_LOGS = [Path(name) for name in os.environ.get("LOGPHASE_REAL_LOGS", "").split(":") if name]
LOGS = sorted([*SAMPLE_LOGS.glob("*.log"), *(path for folder in REAL_LOGS for path in folder.glob("*/server.log"))])
SPEED = 50.0
VLLM = b"(EngineCore pid=7) INFO 05-21 06:33:40 [gpu_model_runner.py:2602] Starting to load model a...\n"
WARNING = b"/x/sglang/launch_server.py:55: UserWarning: 'python -m sglang.launch_server' is still supported\n"
OLD = b"[2026-01-01 00:00:00] Init torch distributed begin.\n[2026-01-01 00:00:01] Load weight begin. avail mem=7.0 GB\n"


def live(data: bytes, at: float = WALL) -> Chunk:
    """Bytes that arrive while the file is watched."""
    return Chunk(data, at, "server.log", live=True)


def old(data: bytes) -> Chunk:
    """Bytes that were in the file before."""
    return Chunk(data, None, "server.log")


def change(what: Change, reason: str = "") -> Chunk:
    """What happened to the file."""
    return Chunk(b"", WALL, "server.log", what, reason, live=True)


def sample(name: str) -> bytes:
    """A sample log's bytes."""
    return (SAMPLE_LOGS / f"{name}.log").read_bytes()


def until(name: str, text: bytes) -> tuple[bytes, bytes]:
    """A sample log up to the line that holds a text, and from there on."""
    data = sample(name)
    at = data.rindex(b"\n", 0, data.index(text)) + 1
    return data[:at], data[at:]


@dataclass
class Played:
    """A log replayed through a Watch: its last frame, and the bytes that were read until then."""

    frame: Frame
    read: bytes
    late_s: float  # from the deciding bytes to the end


def play(parts: list[Piece]) -> Played:
    """Replay at SPEED on a clock that only exists here: ticks at every arrival and every 0.25 s, as the follower gives them."""
    watch = Watch(started=WALL)
    read, wall = b"", WALL
    frame = watch.tick(WALL)
    for piece in parts:
        due = WALL + piece.at_s / SPEED
        while wall + 0.25 < due and frame.final is None:
            wall += 0.25
            frame = watch.tick(wall)
        if frame.final is not None:
            break
        wall = due
        watch.feed(live(piece.data, wall))
        read += piece.data
        frame = watch.tick(wall)
        if frame.final is not None:
            break
    arrived = wall
    for _ in range(4):
        if frame.final is None:
            wall += 0.25
            frame = watch.tick(wall)
    if frame.final is None:
        watch.close()
        frame = watch.tick(wall)
    return Played(frame, read, wall - arrived)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_replayed_log_ends_as_the_report_on_what_was_read(path: Path) -> None:
    """At 50 times its pace a log gets the verdict, phases and evidence that a report on the bytes read until then gives."""
    played = play(list(pieces(str(path))))
    analyzer = Analyzer()
    analyzer.feed(played.read)
    if played.frame.final is Ending.INPUT_ENDED or not played.read.endswith(b"\n"):
        analyzer.close()
    startups = analyzer.timeline().startups
    if not startups:
        assert (Ending.INPUT_ENDED, State.UNSEEN) == (played.frame.final, played.frame.verdict.state)
        return
    expected, startup = judge(startups[-1]), played.frame.startup

    assert startup is not None
    assert expected.state is played.frame.verdict.state
    assert expected.phase == played.frame.verdict.phase
    assert [one.line for one in expected.evidence] == [one.line for one in played.frame.verdict.evidence]
    assert expected.cause == played.frame.verdict.cause
    assert [(phase.id, phase.status) for phase in startups[-1].phases] == [(phase.id, phase.status) for phase in startup.phases]
    if played.frame.final is Ending.READY:
        assert played.late_s <= 0.2
    if played.frame.final is Ending.FAILED:
        assert played.late_s <= 1.0


def test_ready_line_ends_it_at_once() -> None:
    """The tick after the ready line's bytes is the last one."""
    before, after = until(READY, b"The server is fired up")
    watch = Watch(started=WALL)
    watch.feed(live(before))

    assert watch.tick(WALL + 1).final is None

    watch.feed(live(after[: after.index(b"\n") + 1], WALL + 2))

    assert watch.pressing
    assert Ending.READY is watch.tick(WALL + 2).final is watch.final


def test_a_failure_waits_for_the_rest_of_its_story() -> None:
    """The first fatal line is rarely the cause: watching ends when its burst is over."""
    before, after = until("out-of-memory", b"OutOfMemoryError")
    watch = Watch(started=WALL)
    watch.feed(live(before + after, WALL + 1))

    assert watch.tick(WALL + 1).final is None
    assert Ending.FAILED is watch.tick(WALL + 1.5).final


@pytest.mark.parametrize("name", ["no-graphs", "out-of-memory", "ctrl-c-in-load", "kimi-k2.5-tp8-eagle3"])
def test_what_was_in_the_file_ends_nothing(name: str) -> None:
    """An old verdict is told and not taken; the next launch's is."""
    watch = Watch(started=WALL, changed=WALL - 900)
    watch.feed(old(sample(name)))
    frame = watch.tick(WALL)

    assert (None, State.UNSEEN) == (frame.final, frame.verdict.state)
    assert "an earlier startup, " in frame.verdict.summary
    assert "waiting for a new one" in frame.verdict.summary

    watch.feed(live(sample("tp2-eagle3"), WALL + 30))
    frame = watch.tick(WALL + 31)

    assert (State.STOPPED, 2) == (frame.verdict.state, frame.startup.index if frame.startup else 0)


def test_old_ready_line_is_told_with_its_moment() -> None:
    """The sentence says since when the earlier startup was ready, and at which line."""
    before, after = until(READY, b"SIGTERM")
    watch = Watch(started=WALL)
    watch.feed(old(before))

    assert "ready since 2026-11-30 01:12:" in watch.tick(WALL).earlier
    assert "In the file is an earlier startup, ready since" in watch.tick(WALL).verdict.summary

    watch.feed(live(after, WALL + 1))
    frame = watch.tick(WALL + 3)

    assert (None, State.UNSEEN) == (frame.final, frame.verdict.state)
    assert "stopped at" in frame.earlier


def test_accept_old_takes_it() -> None:
    """With accept_old what the file holds counts."""
    watch = Watch(started=WALL, accept_old=True)
    watch.feed(old(until(READY, b"SIGTERM")[0]))

    assert Ending.READY is watch.tick(WALL).final


def test_a_witness_that_knows_the_process_takes_it_too() -> None:
    """A process that runs since before the line makes the old verdict its own."""
    watch = Watch(started=WALL, witnesses=[Told(Says.LIVES)])
    watch.feed(old(until(READY, b"SIGTERM")[0]))

    assert Ending.READY is watch.tick(WALL).final


@pytest.mark.parametrize("what", [Change.TRUNCATED, Change.REWRITTEN, Change.ROTATED, Change.RECREATED])
def test_an_old_ready_line_never_counts_after_the_file_began_anew(what: Change) -> None:
    """A restart with `> log` empties the file; the old startup does not become news by that."""
    watch = Watch(started=WALL)
    watch.feed(old(until(READY, b"SIGTERM")[0]))
    watch.feed(change(what))
    watch.feed(live(b"nohup: ignoring input\n"))

    assert watch.tick(WALL + 1).final is None

    watch.feed(live(until("tp2-eagle3", b"SIGTERM")[0], WALL + 2))
    frame = watch.tick(WALL + 2)

    assert (Ending.READY, 97) == (frame.final, frame.startup.ready.line if frame.startup and frame.startup.ready else 0)


def test_a_rotated_log_goes_on_with_the_same_startup() -> None:
    """Half of a startup before the rotation, half of it after: one startup, ready."""
    data = until(READY, b"SIGTERM")[0]
    half = data.index(b"\n", len(data) // 2) + 1
    watch = Watch(started=WALL)
    watch.feed(live(data[:half]))
    watch.feed(change(Change.ROTATED))
    watch.feed(live(data[half:]))
    frame = watch.tick(WALL + 1)

    assert (Ending.READY, 1) == (frame.final, len(frame.timeline.startups))
    assert any("rotated" in notice for notice in frame.notices)


def test_an_unfinished_old_startup_is_no_stall_until_a_launch_would_have_spoken() -> None:
    """Its silence is from before: a new launch may be importing."""
    watch = Watch(started=WALL, changed=WALL - 7200)
    watch.feed(old(until("kimi-k2.5-tp8-eagle3", b"30/64")[0]))

    assert (None, State.STARTING) == ((frame := watch.tick(WALL + 1)).final, frame.verdict.state)
    assert watch.tick(WALL + 599).final is None
    assert Ending.STALLED is watch.tick(WALL + 601).final


def test_an_empty_file_is_waited_for_as_long_as_a_launch_may_be_silent() -> None:
    """Nothing at all is a launch that imports, until it is a stall."""
    watch = Watch(started=WALL)
    frame = watch.tick(WALL + 500)

    assert (None, State.UNSEEN) == (frame.final, frame.verdict.state)
    assert "may be silent for 10 min" in frame.verdict.summary

    late = watch.tick(WALL + 601)

    assert (Ending.STALLED, State.STALLED, "launch") == (late.final, late.verdict.state, late.verdict.phase)


def test_an_earlier_startup_is_not_waited_behind_for_ever() -> None:
    """No new launch within the patience of a launch is a stall, however much the old server serves."""
    watch = Watch(started=WALL)
    watch.feed(old(until(READY, b"SIGTERM")[0]))
    watch.feed(live(b"[2026-11-30 01:13:00] Decode batch, #running-req: 1, #token: 100\n", WALL + 599))

    assert watch.tick(WALL + 599).final is None
    assert Ending.STALLED is (frame := watch.tick(WALL + 601)).final
    assert "no new launch" in frame.verdict.summary


def test_silence_within_a_phases_patience_is_no_stall() -> None:
    """Kernels are compiled without a line for many minutes; beyond the patience it is a stall that says who is missing."""
    data = until("tp2-eagle3", b"1/58")[0]
    watch = Watch(started=WALL)
    watch.feed(live(data))

    assert State.STARTING is watch.tick(WALL + 1700).verdict.state

    frame = watch.tick(WALL + 1900)

    assert (Ending.STALLED, "prefill-graph") == (frame.final, frame.verdict.phase)
    assert frame.verdict.stall is not None
    assert frame.verdict.stall.budget_from.startswith("the rules: the first size compiles")


def test_the_users_limit_is_over_the_rules() -> None:
    """--stall-after ends it, with `warn` it is shown and nothing ends."""
    data = until("tp2-eagle3", b"1/58")[0]
    for action, ending in (("exit", Ending.STALLED), ("warn", None)):
        watch = Watch(started=WALL, stall_after=60, stall_action=action)
        watch.feed(live(data))

        assert watch.tick(WALL + 50).final is None
        assert (ending, State.STALLED) == ((frame := watch.tick(WALL + 70)).final, frame.verdict.state)
        assert frame.verdict.stall is not None
        assert "--stall-after" == frame.verdict.stall.budget_from


def test_heartbeats_are_no_progress() -> None:
    """Probes keep the file growing and the silence of the phase goes on."""
    watch = Watch(started=WALL)
    watch.feed(live(until("tp2-eagle3", b"1/58")[0]))
    watch.tick(WALL)
    for minute in range(1, 33):
        second = f"{(minute + 37) // 60 + 1:02d}:{(minute + 37) % 60:02d}"
        watch.feed(
            live(
                f'\n[2026-11-30 {second}:50] INFO:     10.0.0.1:1 - "GET /health HTTP/1.1" 503 Service Unavailable\n'.encode(),
                WALL + minute * 60,
            )
        )

    assert State.STALLED is watch.tick(WALL + 32 * 60).verdict.state


def test_timeout_ends_it_and_the_end_of_the_input_too() -> None:
    """124 and 5: the message names the phase."""
    data = until("tp2-eagle3", b"1/58")[0]
    watch = Watch(started=WALL, timeout=100)
    watch.feed(live(data))

    assert watch.tick(WALL + 99).final is None
    assert Ending.TIMEOUT is watch.tick(WALL + 101).final

    watch = Watch(started=WALL)
    watch.feed(live(data))
    watch.close()

    assert Ending.INPUT_ENDED is (frame := watch.tick(WALL + 1)).final
    assert "Capture prefill graphs" in frame.verdict.summary


def test_log_level_warning_is_told_at_once() -> None:
    """No line can prove readiness then: the first bar says so."""
    watch = Watch(started=WALL)
    data = sample("log-level-warning")
    watch.feed(live(data[: data.index(b"12/12") + 40]))

    assert any("--log-level warning" in notice for notice in watch.tick(WALL).notices)


def test_notices_are_kept_in_order_and_said_once() -> None:
    """The same change twice is one notice."""
    watch = Watch(started=WALL)
    watch.feed(change(Change.WAITING, "no such file yet"))
    watch.feed(change(Change.WAITING, "no such file yet"))
    watch.feed(change(Change.APPEARED))

    assert ("no such file yet", "the file is there now") == watch.tick(WALL).notices


@dataclass(frozen=True)
class Told:
    """A witness that always says the same."""

    says: Says
    name: str = "told"

    def ask(self, _: Frame) -> tuple[testimony.Testimony, ...]:
        """Say it."""
        return (testimony.Testimony(self.name, self.says, "so it is"),)


def test_a_launch_behind_yesterdays_log_is_no_stall() -> None:
    """Its first lines have no stamp and the last time that the file told is a day old: what arrived just now is no silence."""
    watch = Watch(started=WALL)
    watch.feed(old(until(READY, b"SIGTERM")[0]))
    lines = until("target-graphs", b"server_args=")[0].replace(b"2026-11-30", b"2026-12-02")
    for line in lines.splitlines(keepends=True):
        watch.feed(live(line, WALL + 5))

        assert State.STALLED is not watch.tick(WALL + 5).verdict.state
    watch.feed(live(b"[2026-12-02 01:11:00] Attention backend not specified. Use fa3 backend by default.\n", WALL + 20))

    assert (None, State.STARTING) == ((frame := watch.tick(WALL + 20)).final, frame.verdict.state)


def test_line_numbers_begin_where_reading_did() -> None:
    """Reading from inside a file numbers its lines as the file has them, whichever engine wrote it."""
    watch = Watch(started=0.0, first_line=1000)
    watch.feed(Chunk(VLLM, 1.0, "a.log", live=True))
    (startup,) = watch.tick(2.0).timeline.startups

    assert ("vllm", 1000) == (startup.engine, startup.lines[0])


def test_a_line_cut_by_a_rewrite_is_not_glued_to_the_new_file() -> None:
    """A file that is written anew while a line had no end begins a new launch with its own first line."""
    watch = Watch(started=0.0)
    watch.feed(Chunk(OLD + b"[2026-01-01 00:00:02] Using mod", 1.0, "a.log", live=True))
    watch.feed(Chunk(WARNING, 2.0, "a.log", Change.REWRITTEN, live=True))
    frame = watch.tick(2.1)

    assert [1, 1] == [startup.lines[0] for startup in frame.timeline.startups]
    assert ("launch", None) == (frame.verdict.phase, frame.final)
