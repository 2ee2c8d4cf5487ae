"""Resuming `check`: the same verdict as a whole reading, from what is new alone, and a whole reading whenever in doubt."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from logphase import kept, resume, skim
from logphase.analyzer import Analyzer
from logphase.cli import cli
from logphase.sources import read
from logphase.verdict import judge
from tests.conftest import SAMPLE_LOGS

if TYPE_CHECKING:
    from collections.abc import Callable

    from logphase.timeline import Timeline

REQUEST = b"[2026-11-30 01:20:%02d] Decode batch, #running-req: %d, #token: 4321, token usage: 0.01, gen throughput (token/s): 123.45\n"
TRAFFIC = b"".join(REQUEST % (second % 60, second) for second in range(6000))  # more than a context
ERROR = b"[2026-11-30 01:21:00] A request failed: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 MiB.\n"


def ready() -> bytes:
    """A startup until it is ready."""
    data = (SAMPLE_LOGS / "target-graphs.log").read_bytes()
    return data[: data.index(b"\n", data.index(b"The server is fired up")) + 1]


def ended() -> bytes:
    """What follows."""
    data = (SAMPLE_LOGS / "target-graphs.log").read_bytes()
    return data[len(ready()) :]


def whole(log: Path) -> Timeline:
    """A reading from the start."""
    analyzer = Analyzer(afterwards=0)
    for chunk in read(log):
        analyzer.feed(chunk.data, chunk.at)
    analyzer.close()
    return analyzer.timeline()


class Reading:
    """Resumed readings of one log, with what they read."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log, self.keep = folder / "server.log", folder / "state.json"
        self.bytes = 0
        original = resume.read

        def counted(*arguments: object, **options: object) -> object:
            for chunk in original(*arguments, **options):  # type: ignore[arg-type]
                self.bytes += len(chunk.data)
                yield chunk

        monkeypatch.setattr(resume, "read", counted)

    def __call__(self) -> Timeline:
        """Read on."""
        self.bytes = 0
        self.last = resume.Reading(str(self.log), self.keep)
        return self.last.timeline(lambda _: None)

    def append(self, data: bytes) -> None:
        """The server writes."""
        with self.log.open("ab") as file:
            file.write(data)


@pytest.fixture
def reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reading:
    """A log that is not there yet."""
    return Reading(tmp_path, monkeypatch)


def test_only_what_is_new_is_read(reading: Reading) -> None:
    """A second call reads the startup and the context again, a third one after a new line little more."""
    reading.append(ready() + TRAFFIC * 4)

    assert whole(reading.log) == reading()
    assert reading.bytes == reading.log.stat().st_size

    reading.append(REQUEST % (1, 1))

    assert whole(reading.log) == reading()
    assert reading.bytes < len(ready()) + 6 * resume.AROUND + 2 * len(REQUEST)


def test_news_after_much_traffic_is_found(reading: Reading) -> None:
    """The stop, and then another launch, come after what was passed over."""
    reading.append(ready() + TRAFFIC * 2)
    reading()
    reading.append(ended())

    assert whole(reading.log) == reading()

    reading.append(TRAFFIC + ready())

    assert whole(reading.log) == reading()
    assert 2 == len(reading().startups)


def test_any_history_of_calls_gives_the_whole_readings_timeline(reading: Reading) -> None:
    """Whatever was written between the calls, in whatever pieces."""
    chance = random.Random(7)  # noqa: S311 - a test's dice
    for _ in range(12):
        part = chance.choice([ready(), ended(), TRAFFIC, TRAFFIC[:100_000], ERROR, b"x\n", b"\r", b"unfinished", b"\n"])
        cut = chance.randrange(len(part) + 1)
        for piece in (part[:cut], part[cut:]):
            reading.append(piece)

            assert whole(reading.log) == reading()


@pytest.mark.parametrize("size", [0, 100, 200_000])
def test_another_content_is_read_whole(reading: Reading, size: int) -> None:
    """Emptied and written again, shorter or longer: nothing of the old one is left."""
    reading.append(ready() + TRAFFIC)
    reading()
    reading.log.write_bytes(TRAFFIC[:size] + (SAMPLE_LOGS / "out-of-memory.log").read_bytes())

    assert whole(reading.log) == reading()


def test_another_file_under_the_name_is_read_whole(reading: Reading) -> None:
    """Rotated by rename."""
    reading.append(ready() + TRAFFIC)
    reading()
    reading.log.rename(reading.log.with_suffix(".1"))
    reading.append(ready() + TRAFFIC + ended())

    assert whole(reading.log) == reading()
    assert reading.bytes == reading.log.stat().st_size


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:0],
        lambda text: text[:1],
        lambda text: text[: len(text) // 2],
        lambda text: text.replace('"format":1', '"format":2'),
        lambda text: text.replace('"tool":"', '"tool":"9'),
        lambda text: text.replace('"jumps":[[', '"jumps":[[-'),
        lambda text: text.replace('"rules":', '"rules":1'),
        lambda text: json.dumps({**json.loads(text), "jumps": [[5, 10, 1]]}),
        lambda text: json.dumps({**json.loads(text), "jumps": [[0, 10**9, 1]]}),
        lambda text: json.dumps({**json.loads(text), "jumps": "none"}),
        lambda text: json.dumps([text]),
    ],
)
def test_a_damaged_state_is_invisible(reading: Reading, damage: Callable[[str], str]) -> None:
    """Another version's, another rules', half of one: the log is read whole, and a good state is written."""
    reading.append(ready() + TRAFFIC)
    reading()
    good = reading.keep.read_text()
    reading.keep.write_text(damage(good))

    assert whole(reading.log) == reading()
    assert good == reading.keep.read_text()


def test_a_startup_that_is_too_long_to_be_read_again_leaves_no_state(reading: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the log is read whole each time."""
    monkeypatch.setattr(resume, "MOST_READ", 1000)
    reading.append(ready() + TRAFFIC)

    assert whole(reading.log) == reading()
    assert not reading.keep.exists()


def test_utf16_and_compressed_logs_leave_no_state(reading: Reading) -> None:
    """Their offsets are not those of the text."""
    reading.log.write_bytes("\ufeff".encode("utf-16-le") + (ready() + TRAFFIC).decode("utf-8", "replace").encode("utf-16-le"))

    assert whole(reading.log) == reading()
    assert not reading.keep.exists()


def test_small_logs_need_no_state_and_large_ones_have_a_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The place is in the user's cache, one for each real file."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    log, link = tmp_path / "server.log", tmp_path / "link.log"
    log.write_bytes(b"x")
    link.symlink_to(log)

    assert kept.place(str(log)) is None
    assert kept.place(str(tmp_path / "absent")) is None

    os.truncate(log, kept.SMALL)

    assert kept.place(str(log)) == kept.place(str(link))
    assert tmp_path / "cache" / "logphase" / "check" == kept.place(str(log)).parent  # type: ignore[union-attr]


def test_check_keeps_its_state_where_it_is_told(tmp_path: Path) -> None:
    """`--state FILE` is written, read, and never over something else; a place that cannot be written is no trouble."""
    log, keep = tmp_path / "server.log", tmp_path / "state.json"
    log.write_bytes(ready() + TRAFFIC)
    for place in (keep, keep, tmp_path / "no" / "folder", Path("/proc/nothing")):
        result = CliRunner().invoke(cli, ["check", str(log), "--state", str(place)])

        assert (0, "ready: after 41.0 s: inference worked (line 79)\n") == (result.exit_code, result.output)

    assert kept.State.parse(keep.read_text()) is not None

    keep.write_text("my notes")
    result = CliRunner().invoke(cli, ["check", str(log), "--state", str(keep)])

    assert (2, "my notes") == (result.exit_code, keep.read_text())


@pytest.fixture
def looking_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking ahead and jumping pay from little on."""
    monkeypatch.setattr(resume, "SKIM", 300_000)
    monkeypatch.setattr(resume, "LEAP", 100_000)
    monkeypatch.setattr(skim, "SMALL", 1000)
    monkeypatch.setattr(skim, "BLOCK", 10_000)
    monkeypatch.setattr("logphase.sources.files.CHUNK_SIZE", 50_000)


def chunks(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Read in small blocks."""
    original = resume.read
    monkeypatch.setattr(resume, "read", lambda path, chunk_size=size, *, start=0: original(path, min(size, chunk_size), start=start))


def answer(timeline: Timeline) -> tuple[object, ...]:
    """What `check` says of it."""
    last = timeline.startups[-1]
    return (len(timeline.startups), last.index, judge(last), last.ready, last.stopped, last.ended)


@pytest.mark.usefixtures("looking_ahead")
@pytest.mark.parametrize("parts", [["T"], ["T", "e", "T"], ["T", "s", "T", "r", "T"], ["T", "x", "T"], ["e", "T", "T", "s"]], ids="".join)
def test_first_call_that_jumps_says_the_same(reading: Reading, monkeypatch: pytest.MonkeyPatch, parts: list[str]) -> None:
    """Traffic with an error, a stop, another launch: the answer and its line numbers are those of the whole reading, from less bytes."""
    chunks(monkeypatch, 50_000)
    reading.append(ready() + TRAFFIC[:200_000])
    for part in parts:
        reading.append({"T": TRAFFIC * 2, "e": ERROR, "s": ended(), "r": ready(), "x": b"one more line, with no end"}[part])

    assert answer(whole(reading.log)) == answer(reading())
    assert reading.bytes < reading.log.stat().st_size

    reading.append(TRAFFIC + ended() + ready())

    assert answer(whole(reading.log)) == answer(reading())


@pytest.mark.usefixtures("looking_ahead")
def test_news_that_comes_while_it_is_read_has_its_line_number(reading: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines that were jumped over are counted after all."""
    chunks(monkeypatch, 50_000)
    reading.append(ready() + TRAFFIC * 3)
    original = resume.positions
    grown: list[bytes] = []

    def slow(path: str, begin: int, end: int, texts: list[str]) -> list[int] | None:
        found = original(path, begin, end, texts)
        if not grown:
            grown.append(ended())
            reading.append(grown[0])
        return found

    monkeypatch.setattr(resume, "positions", slow)
    timeline = reading()

    assert grown
    assert answer(whole(reading.log)) == answer(timeline)


@pytest.mark.parametrize("block", [7, 64, 1000])
def test_skimming_misses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    """Texts at every place of a block and across its end, with pieces that the sample holds too."""
    monkeypatch.setattr(skim, "BLOCK", block)
    monkeypatch.setattr(skim, "SMALL", 0)
    texts = ["CUDA error", "Killed", "out of memory", "\u00e9chec total", "ab"]
    chance = random.Random(3)  # noqa: S311 - a test's dice
    log = tmp_path / "server.log"
    log.write_bytes(
        b" ".join(chance.choice([*(text.encode() for text in texts), b"Kil", b"memory", b"x" * 20, b"CUDA erro"]) for _ in range(400))
    )
    data = log.read_bytes()
    expected = {at for text in texts for at in range(len(data)) if data.startswith(text.encode(), at)}

    assert sorted(expected) == skim.positions(str(log), 0, len(data), texts)
    assert sorted(at for at in expected if at >= 100) == skim.positions(str(log), 100, len(data), texts)
    assert skim.positions(str(log), 0, len(data) + 1, texts) is None


def test_answer_stands_until_news_comes(reading: Reading) -> None:
    """What was told is told again while only traffic is added; a stop, other rules or another question ask anew."""
    reading.append(ready() + TRAFFIC)
    asked = kept.question(None, None)

    assert kept.unchanged(str(reading.log), reading.keep, asked) is None

    reading()
    reading.last.tell("ready", "ready: so it is", asked)
    for more in (b"", TRAFFIC[:100], TRAFFIC[:-7], TRAFFIC * 2, b"un", b"finished\n"):
        reading.append(more)

        assert ("ready", "ready: so it is") == kept.unchanged(str(reading.log), reading.keep, asked)
    assert kept.unchanged(str(reading.log), reading.keep, kept.question("vllm", None)) is None

    reading.append(b"[2026-11-30 01:30:00] SIGTERM rec")

    assert kept.unchanged(str(reading.log), reading.keep, asked) is not None

    reading.append(b"eived. signum=None frame=None. Draining requests and shutting down...\n")

    assert kept.unchanged(str(reading.log), reading.keep, asked) is None
    assert whole(reading.log) == reading()


def test_answer_of_a_startup_that_runs_is_not_kept(reading: Reading) -> None:
    """It depends on the time."""
    reading.append(ready()[:20_000])
    reading()
    reading.last.tell("starting", "starting: so it is", "")

    assert kept.unchanged(str(reading.log), reading.keep, "") is None


def test_check_answers_from_its_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second call neither loads rules nor reads the startup; --no-redact and --startup do."""
    log, keep = tmp_path / "server.log", tmp_path / "state.json"
    log.write_bytes(ready() + TRAFFIC)
    command = ["check", str(log), "--state", str(keep)]
    first = CliRunner().invoke(cli, command)

    assert 0 == first.exit_code

    with monkeypatch.context() as patch:
        patch.setattr("logphase.resume.Reading.timeline", None)

        assert first.output == CliRunner().invoke(cli, command).output

    assert first.output == CliRunner().invoke(cli, [*command, "--no-redact"]).output
    assert first.output == CliRunner().invoke(cli, [*command, "--startup", "1"]).output
