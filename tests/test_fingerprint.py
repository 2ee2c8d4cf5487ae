"""Which version wrote a log, and the alarm when the rules are behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import logphase
from logphase import rules
from logphase.fingerprint import VersionRange, drift, older
from logphase.rules import Edge

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Sample

SGLANG = rules.load("sglang")
NAMES = ("launch", "dist-init", "weights", "kv-cache", "http", "warmup")
SEEN: dict[str, dict[Edge, str]] = {name: {Edge.BEGIN: "0.3.6", Edge.END: "0.3.6"} for name in NAMES}
STARTED = "[2026-11-30 01:00:00] server_args=ServerArgs(model_path='/m', tp_size=1)\n"
LINES = {
    "[2026-11-30 01:00:01] Init parallel begin.": "0.5.21 or newer",
    "[2026-11-30 01:00:01] KV Cache is allocated. #tokens: 1, K size: 1.00 GB, V size: 1.00 GB": "0.5.12 or older",
    "[2026-11-30 01:00:01] Prefill batch. #new-seq: 1, #new-token: 7": "0.5.3 or older",
    "[2026-11-30 01:00:01] Engine startup timings (s): load_weight=29.49": "0.5.17 or newer",
    "[2026-11-30 01:00:01] Init torch distributed ends. elapsed=5.48 s, mem usage=1.21 GB": "0.5.9 to 0.5.20",
    "[2026-11-30 01:00:01] Load weight begin. avail mem=1.00 GB": "",
}


def version(tmp_path: Path, text: str) -> str:
    log = tmp_path / "server.log"
    log.write_text(text, "utf-8")
    return logphase.analyze(str(log)).startups[0].version


@pytest.mark.parametrize(("line", "expected"), LINES.items())
def test_a_wording_gives_the_version_away(tmp_path: Path, line: str, expected: str) -> None:
    """Each wording says from or up to which version it was printed."""
    assert expected == version(tmp_path, "[2026-11-30 01:00:00] Memory pool end.\n" + line + "\n")


def test_wordings_narrow_the_range(tmp_path: Path) -> None:
    """Two wordings leave what both allow; two that exclude each other leave nothing."""
    new, old = "[2026-11-30 01:00:01] Engine startup timings (s): load_weight=1.0\n", "[2026-11-30 01:00:02] Prefill batch. #new-seq: 1\n"

    assert "0.5.17 to 0.5.18" == version(tmp_path, STARTED + new)
    assert "" == version(tmp_path, STARTED + new + old)


def test_a_version_that_the_log_says_is_exact(tmp_path: Path) -> None:
    """An engine that prints its version needs no guess."""
    assert "0.11.0" == version(tmp_path, "(APIServer pid=1) INFO 08-03 13:30:02 [api_server.py:1839] vLLM API server version 0.11.0\n")


@pytest.mark.parametrize(("one", "other"), [("0.5.9", "0.5.10"), ("0.4.10", "0.5"), ("0.9.2", "0.33.0")])
def test_order_of_versions(one: str, other: str) -> None:
    """Versions are ordered by numbers; a post release counts as its release."""
    assert older(one, other)
    assert not older(other, one)
    assert not older(one, f"{one}.post1")


def test_alarm_on_a_newer_version() -> None:
    """A log of a version that the rules were not checked against is named as such."""
    said = drift(SGLANG, VersionRange("9.0.0", "9.0.0", exact=True), SEEN, {}, 0.97, 80.0)

    assert "9.0.0" in said
    assert "logphase rules try" in said


def test_alarm_on_a_missing_phase() -> None:
    """A start that got ready without a phase which every start prints was not understood."""
    assert "Load weights" in drift(SGLANG, VersionRange(), {name: said for name, said in SEEN.items() if name != "weights"}, {}, 0.97, 80.0)


def test_alarm_on_time_that_nothing_explains() -> None:
    """A start whose time known lines do not explain was not understood."""
    assert "41%" in drift(SGLANG, VersionRange(), SEEN, {}, 0.41, 80.0)


@pytest.mark.parametrize(("edge", "half"), [(Edge.BEGIN, "the end of Load weights"), (Edge.END, "the begin of Load weights")])
def test_alarm_on_half_a_phase(edge: Edge, half: str) -> None:
    """A phase that begins without a known end, or ends without a known begin, was not understood."""
    assert half in drift(SGLANG, VersionRange(), {**SEEN, "weights": {edge: "0.3.6"}}, {}, 0.97, 80.0)


def test_no_alarm_where_the_version_prints_no_end() -> None:
    """A begin whose end came with a later version is whole."""
    assert "" == drift(SGLANG, VersionRange("0.4.0", "0.4.3"), {**SEEN, "dist-init": {Edge.BEGIN: "0.3.6"}}, {}, 0.97, 80.0)


@pytest.mark.parametrize(
    "text", ["server_args=", "oad weight end", "Init torch distributed", "Memory pool end", "raph end", "Uvicorn running on"]
)
def test_a_reworded_line_raises_the_alarm(tmp_path: Path, samples: list[Sample], text: str) -> None:
    """Whichever line of a start's main path comes in other words, the report of the start says that the rules may be older."""
    for name in ("target-graphs", "tp2-eagle3", "dp2"):
        data = next(sample.log for sample in samples if sample.name == name).read_text("utf-8")
        log = tmp_path / f"{name}.log"
        log.write_text(data.replace(text, text[::-1]), "utf-8")

        startup = logphase.analyze(str(log)).startups[0]

        assert startup.ready
        assert 1 == sum("older than this log" in warning for warning in startup.warnings)


def test_a_server_that_works_without_having_said_so_raises_the_alarm(tmp_path: Path, samples: list[Sample]) -> None:
    """When the ready sentence comes in other words and requests are answered, the report says so."""
    data = next(sample.log for sample in samples if sample.name == "target-graphs").read_text("utf-8").partition("fired up")[0]
    log = tmp_path / "server.log"
    log.write_text(data + "all set\n" + '[2026-11-30 03:00:00] INFO:     10.0.0.1:5 - "POST /generate HTTP/1.1" 200 OK\n' * 20, "utf-8")

    startup = logphase.analyze(str(log)).startups[0]

    assert startup.ready is None
    assert any("no known line says that it is ready" in warning for warning in startup.warnings)


@pytest.mark.parametrize("seen", [SEEN, {}])
def test_no_alarm_without_a_reason(seen: dict[str, dict[Edge, str]]) -> None:
    """A start that was understood, or is not ready, gives no alarm."""
    assert "" == drift(SGLANG, VersionRange("0.5.14", "0.5.15"), seen, {}, 0.97 if seen else None, 80.0)


def test_no_alarm_on_real_logs(sample: Sample) -> None:
    """No sample log is called newer than the rules."""
    startups = logphase.analyze(str(sample.log)).startups

    assert [] == [warning for startup in startups for warning in startup.warnings if "older than this log" in warning]


def test_the_alarm_is_a_warning_of_the_report(tmp_path: Path, samples: list[Sample]) -> None:
    """A log whose weights are told in unknown words is reported with the alarm, once."""
    text = next(sample.log for sample in samples if sample.name == "target-graphs").read_text("utf-8")
    log = tmp_path / "server.log"
    log.write_text("".join(line for line in text.splitlines(keepends=True) if "oad weight" not in line and "shards" not in line), "utf-8")

    alarms = [warning for warning in logphase.analyze(str(log)).startups[0].warnings if "older than this log" in warning]

    assert 1 == len(alarms)
    assert "Load weights" in alarms[0]
