"""Cold and warm starts, told apart from the log."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import logphase
from logphase.rulecheck import check
from logphase.warmth import Warmth, warmth

if TYPE_CHECKING:
    from collections.abc import Sequence

STARTED = "[2026-11-30 01:00:00] server_args=ServerArgs(model_path='/m', tp_size=1)\n"
VLLM = "(EngineCore pid=271) INFO 08-03 13:30:39 [monitor.py:40] Starting torch.compile\n"
SAID = {
    "[2026-11-30 01:00:01 TP0] generating GPU P2P access cache in /root/a.json": "cold",
    "[2026-11-30 01:00:01 TP0] reading GPU P2P access cache from /root/a.json": "warm",
    "[2026-11-30 01:00:01 TP0] No presharded checkpoint at /m; doing first-time load and dump.": "cold",
    "[2026-11-30 01:00:01 TP0] [Autotuner]: Loaded 18 configs from /root/a.json": "warm",
    "[2026-11-30 01:00:01 TP0] [Autotuner]: Autotuning process starts ...": None,
    "DeepGEMM warmup:  42%|████▏     | 6881/16384 [02:12<03:03, 51.90it/s]": "cold",
    "DeepGEMM warmup: 100%|██████████| 65536/65536 [00:05<00:00, 11112.46it/s]": None,
    "[2026-11-30 01:00:01 TP0] Compiling a graph for dynamic shape takes 4.31 s": None,
    "[2026-11-30 01:00:01 TP0] Entering DeepGEMM JIT Pre-Compile session. It may take a long time (typically 10-20 mins)": None,
}
SAID_BY_VLLM = {
    "Directly load the compiled graph(s) for dynamic shape from the cache, took 2.312 s": "warm",
    "Compiling a graph for compile range (1, 2048) takes 14.77 s": "cold",
    "vLLM's torch.compile cache is disabled.": "cold",
    "Dynamo bytecode transform time: 4.53 s": None,
}
BAR = "Capturing batches (bs={0} avail_mem=9.00 GB):  {1}%|█| {1}/4 [00:{2:02}<00:09,  1.00s/it]"


def told(tmp_path: Path, lines: Sequence[str]) -> Warmth:
    log = tmp_path / "server.log"
    log.write_text("\n".join(lines) + "\n", "utf-8")
    return warmth(logphase.analyze(str(log)).startups[-1])


def captured(first_s: int) -> list[str]:
    begin = "[2026-11-30 01:00:01] Capture cuda graph begin. This can take up to several minutes. avail mem=9.00 GB"
    bars = "\r".join(BAR.format(8, done, 0 if done == 0 else first_s + done) for done in range(5))
    return [STARTED.strip(), begin, bars]


def loaded(seconds: float, gb: float = 6.0) -> list[str]:
    end = f"[2026-11-30 01:00:09] Load weight end. elapsed={seconds:.2f} s, type=A, avail mem=9.00 GB, mem usage={gb:.2f} GB."
    return [STARTED.strip(), "[2026-11-30 01:00:01] Load weight begin. avail mem=138.25 GB", end]


@pytest.mark.parametrize(("line", "expected"), SAID.items())
def test_a_line_of_sglang_tells_it(tmp_path: Path, line: str, expected: str | None) -> None:
    """What only a cold or only a warm start prints tells which it is; what both print tells nothing."""
    assert expected == told(tmp_path, [STARTED.strip(), line]).state


@pytest.mark.parametrize(("line", "expected"), SAID_BY_VLLM.items())
def test_a_line_of_vllm_tells_it(tmp_path: Path, line: str, expected: str | None) -> None:
    """Graphs from the cache are warm, graphs that are compiled are cold."""
    assert expected == told(tmp_path, [VLLM.strip(), f"(EngineCore pid=271) INFO 08-03 13:30:47 [backends.py:164] {line}"]).state


@pytest.mark.parametrize(("first_s", "expected"), [(2, None), (20, "cold")])
def test_a_long_first_capture_is_cold(tmp_path: Path, first_s: int, expected: str | None) -> None:
    """A bar that stands at 0 for long compiles, though no line says so; one that moves at once says nothing."""
    assert expected == told(tmp_path, captured(first_s)).state


@pytest.mark.parametrize(("seconds", "expected"), [(1.1, "warm"), (4.1, None), (0.1, None)])
def test_weights_from_the_page_cache_are_warm(tmp_path: Path, seconds: float, expected: str | None) -> None:
    """Only what no disk can give speaks for the page cache; a slow load can have other reasons, and a short one is too short to tell."""
    assert expected == told(tmp_path, loaded(seconds)).state


def test_the_cold_sign_counts(tmp_path: Path) -> None:
    """Where kernels were compiled and weights came from the page cache, the start is cold, and both lines are told."""
    found = told(tmp_path, [*loaded(1.1), *captured(20)[1:]])

    assert "cold" == found.state
    assert ["the first capture compiled kernels (Capture target graphs: 21.0 s)"] == [sign.what for sign in found.signs]
    assert [3] == [sign.evidence.line - 1 for sign in found.signs]
    assert ["weights were read as fast as from the page cache (Load weights: 5.5 GB/s)"] == [sign.what for sign in found.against]


def test_nothing_said_is_no_answer(tmp_path: Path) -> None:
    """A log without signs gives no state."""
    assert Warmth(None) == told(tmp_path, [STARTED.strip()])


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ("state = 'hot'\nwhat = 'a'\nphase = 'weights'\ngb_per_s = 3", "'hot' is not known"),
        ("state = 'cold'\nwhat = 'a'\nrule = 'nope'", "no rule is called 'nope'"),
        ("state = 'cold'\nwhat = 'a'\nrule = 'p2p-cache'\npattern = 'seven'", "found in no example"),
        ("state = 'cold'\nwhat = 'a'\nphase = 'weights'", "neither a rule nor a figure"),
    ],
)
def test_a_wrong_sign_is_told(tmp_path: Path, table: str, reason: str) -> None:
    """The check of rule files names what is wrong with a sign."""
    file = tmp_path / "mine.toml"
    file.write_text(f"format = 1\nengine = 'sglang'\n[[warmth]]\n{table}\n", "utf-8")

    assert any(reason in problem.reason for problem in check(str(file)).problems)


@pytest.mark.skipif("LOGPHASE_REAL_LOGS" not in os.environ, reason="LOGPHASE_REAL_LOGS names no folder of recorded runs")
def test_recorded_runs() -> None:
    """The run on a bare machine is cold, and no run that its record calls warm is told cold."""
    states = {}
    for run in sorted(Path(os.environ["LOGPHASE_REAL_LOGS"]).glob("*/run.json")):
        startups = logphase.analyze(str(run.with_name("server.log"))).startups
        states[run.parent.name] = (json.loads(run.read_text("utf-8"))["what"], warmth(startups[-1]).state if startups else None)

    assert ["cold"] * sum("no compile cache" in what for what, _ in states.values()) == [
        state for what, state in states.values() if "no compile cache" in what
    ]
    assert "cold" not in [state for name, (_, state) in states.items() if "warm" in name]
