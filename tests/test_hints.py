"""Hints: each has its evidence, none is given where a start is fine."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from logphase.analyzer import Analyzer
from logphase.cli import cli
from logphase.hints import Hint, hints
from logphase.timeline import Phase, Progress, Span

if TYPE_CHECKING:
    from pathlib import Path

    from logphase.timeline import Startup
    from tests.conftest import Sample

# What a person found in each sample by reading it.
EXPECTED = {
    "dp2": {"before-first-line"},
    "eagle3-cold": {"capture-compiles"},
    "kimi-k2.5-tp8-eagle3": {"slow-shards", "capture-compiles", "many-captures", "slow-warm-up", "polled-on"},
    "log-level-warning": {"only-bars"},
    "no-graphs": {"before-first-line"},
    "skip-warmup": {"before-first-line"},
    "slurm-cancelled": {"slow-shards", "before-first-line", "capture-compiles", "slow-warm-up"},
    "target-graphs": {"slow-warm-up"},
    "tp2-eagle3": {"capture-compiles"},
    "two-launches": {"before-first-line"},
    "v0.5.13-prefill-graphs": {"slow-warm-up"},
}


def read(text: str) -> Startup:
    """The last startup of a log."""
    analyzer = Analyzer()
    analyzer.feed(text.encode())
    analyzer.close()
    return analyzer.timeline().startups[-1]


def found(startup: Startup) -> dict[str, Hint]:
    """Id -> hint."""
    return {hint.id: hint for hint in hints(startup)}


def of_log(log: Path) -> list[set[str]]:
    """The hints' ids of each startup of a log."""
    analyzer = Analyzer()
    analyzer.feed(log.read_bytes())
    analyzer.close()
    return [set(found(startup)) for startup in analyzer.timeline().startups]


def test_sample_has_the_hints_that_a_reader_finds(sample: Sample) -> None:
    """Each sample's last startup has the hints that its text bears out, and no other."""
    assert EXPECTED.get(sample.name, set()) == (of_log(sample.log) or [set()])[-1]


def test_every_hint_has_lines_of_its_startup(sample: Sample) -> None:
    """Each hint names a figure and at least one line within its startup."""
    analyzer = Analyzer()
    analyzer.feed(sample.log.read_bytes())
    analyzer.close()
    for startup in analyzer.timeline().startups:
        for hint in hints(startup):
            assert hint.lines
            assert all(startup.lines[0] <= line <= startup.lines[1] for line in hint.lines)
            assert re.search(r"\d", hint.reason + hint.title)
            assert hint.action


# --- one phase at a time


def a_phase(name: str, duration: float, **changes: object) -> Phase:
    """A phase that has ended."""
    made = Phase(name, name, "done", 0.0, duration, duration, "elapsed", {}, (), None, None, (), None, {}, (10, 20))
    return replace(made, **changes)


def a_span(rank: str, duration: float) -> Span:
    return Span(rank, "done", 0.0, duration, duration, "elapsed", (11, 12))


@pytest.fixture
def start() -> Startup:
    """A startup that is ready after 100 s and has no phase yet."""
    text = (
        "[2026-06-01 12:00:00] server_args=ServerArgs(model_path='/m', cuda_graph_max_bs=None, skip_server_warmup=False)\n"
        "[2026-06-01 12:01:38] INFO:     Uvicorn running on http://0.0.0.0:30000 (Press CTRL+C to quit)\n"
        '[2026-06-01 12:01:40] INFO:     127.0.0.1:4 - "POST /generate HTTP/1.1" 200 OK\n'
        "[2026-06-01 12:01:40] The server is fired up and ready to roll!\n"
    )
    return replace(read(text), phases=())


def test_nothing_to_say_about_a_quick_start(start: Startup) -> None:
    """A start of quick phases gets no hint."""
    phases = (
        a_phase("weights", 4.0, ranks={"TP0": a_span("TP0", 4.0), "TP1": a_span("TP1", 3.0)}, slowest="TP0"),
        a_phase("target-graph", 8.0, curve=((0.0, 0), (1.0, 1), (8.0, 23)), progress=Progress(23, 23, "batches")),
        a_phase("warmup", 1.1),
    )

    assert () == hints(replace(start, phases=phases))


def test_rank_behind_is_named_with_its_distance(start: Startup) -> None:
    """One rank far behind the median of the others is named; ranks that differ by little are not."""
    late = {"TP0": a_span("TP0", 41.0), "TP1": a_span("TP1", 40.0), "TP2": a_span("TP2", 80.0)}
    level = {"TP0": a_span("TP0", 41.0), "TP1": a_span("TP1", 45.0)}

    hint = found(replace(start, phases=(a_phase("weights", 80.0, ranks=late, slowest="TP2"),)))["rank-behind"]
    assert ("TP2 was 39.5 s behind the others in weights", (11, 12)) == (hint.title, hint.lines)
    assert "rank-behind" not in found(replace(start, phases=(a_phase("weights", 45.0, ranks=level, slowest="TP1"),)))


def test_loading_that_stood_still_is_found_in_the_curve(start: Startup) -> None:
    """A bar that waits in its middle is a stall of the storage; one that waits for its first shard, or is slow throughout, is not."""
    stall = ((0.0, 0), (2.0, 1), (4.0, 2), (6.0, 3), (46.0, 4), (48.0, 5), (50.0, 6))
    first = ((0.0, 0), (40.0, 1), (42.0, 2), (44.0, 3), (46.0, 4), (48.0, 5))
    slow = tuple((20.0 * step, step) for step in range(8))

    assert "stood still for 40.0 s" in found(replace(start, phases=(a_phase("weights", 50.0, curve=stall),)))["loading-stood-still"].title
    for curve in (first, slow):
        assert "loading-stood-still" not in found(replace(start, phases=(a_phase("weights", 140.0, curve=curve),)))


def test_slow_shards_need_a_size(start: Startup) -> None:
    """A rate is told only where the size of the files is known, and only when it is slow."""
    weights = replace(start, phases=(a_phase("weights", 300.0, progress=Progress(64, 64, "shards")),))

    assert "slow-shards" not in found(weights)
    assert "Weights came in at 0.20 GB/s" == found(replace(weights, weight_bytes=60_000_000_000))["slow-shards"].title
    assert "slow-shards" not in found(replace(weights, weight_bytes=660_000_000_000))


@pytest.mark.parametrize(
    ("held", "arguments", "seconds", "told"),
    [
        (74.21, {"load_format": "auto"}, 100.0, "about 1.59 GB/s"),
        (74.21, {"load_format": "auto"}, 60.0, None),  # quick enough
        (74.21, {"load_format": "dummy"}, 100.0, None),  # not read
        (74.21, {"quantization": "fp8"}, 100.0, None),  # the files may be larger
        (2.0, {"load_format": "auto"}, 15.0, None),  # too short to matter
    ],
)
def test_a_rate_without_files_is_read_from_what_the_ranks_hold(
    start: Startup, held: float, arguments: dict[str, object], seconds: float, told: str | None
) -> None:
    """Memory that weights take tells about how much was read, unless they were made smaller or never read."""
    ranks = {f"TP{at}": a_span(f"TP{at}", seconds) for at in range(2)}
    weights = a_phase("weights", seconds, ranks=ranks, values={"mem_usage_gb": held})
    given = replace(start, phases=(weights,), arguments=arguments)

    assert told == (found(given)["slow-shards"].title.removeprefix("Weights came in at ") if "slow-shards" in found(given) else None)


def test_deepgemm_is_told_only_where_it_ran(start: Startup) -> None:
    """A long kernel warm-up is DeepGEMM's only when its lines say so."""
    assert "deepgemm-jit" not in found(replace(start, phases=(a_phase("kernel-warmup", 600.0),)))
    assert "deepgemm-jit" in found(replace(start, phases=(a_phase("kernel-warmup", 600.0, values={"jit": "DeepGEMM"}),)))


def test_deepgemm_session_is_read_from_the_log() -> None:
    """The session's own line is what makes a kernel warm-up DeepGEMM's."""
    startup = read("[2026-06-01 12:00:00 TP0] Entering DeepGEMM JIT Pre-Compile session. It may take a long time.\n")

    assert {"kernel-warmup": "DeepGEMM"} == {phase.id: phase.values.get("jit") for phase in startup.phases}


@pytest.mark.parametrize("argument", ["cuda_graph_max_bs", "cuda_graph_max_bs_decode"])
def test_flag_for_fewer_captures_is_the_versions_own(start: Startup, argument: str) -> None:
    """The flag is one that this launch's arguments have; without any there is no hint."""
    capture = a_phase("target-graph", 52.0, curve=((0.0, 0), (1.0, 1), (52.0, 52)), values={"batch_sizes": 52})

    hint = found(replace(start, phases=(capture,), arguments={argument: None}))["many-captures"]
    assert "target-graph 52 in 51.0 s: 51 % of the start" in hint.reason
    assert hint.action.startswith(f"--{argument.replace('_', '-')} N ")
    assert "many-captures" not in found(replace(start, phases=(capture,), arguments={}))


def test_compiling_is_no_reason_for_fewer_captures(start: Startup) -> None:
    """Where one capture takes the time, a kernel is compiled: fewer of them would not help."""
    capture = a_phase("target-graph", 60.0, curve=((0.0, 0), (55.0, 1), (60.0, 52)), progress=Progress(52, 52, "batches"))

    assert {"capture-compiles"} == set(found(replace(start, phases=(capture,), arguments={"cuda_graph_max_bs": None})))


# --- polls


def served(*polls: tuple[int, str, int], ready: int = 100) -> Startup:
    """A startup that is ready at second `ready`, with polls: second, client, status."""
    lines = [(0, "server_args=ServerArgs(model_path='/m', skip_server_warmup=False)")]
    lines += [(ready - 20, "INFO:     Uvicorn running on http://0.0.0.0:30000 (Press CTRL+C to quit)")]
    lines += [(ready, 'INFO:     127.0.0.1:4 - "POST /generate HTTP/1.1" 200 OK'), (ready, "The server is fired up and ready to roll!")]
    lines += [(second, f'INFO:     {client}:50123 - "GET /health HTTP/1.1" {status} X') for second, client, status in polls]
    lines.sort(key=lambda line: line[0])
    return read("".join(f"[2026-06-01 12:{at // 60:02}:{at % 60:02}] {line}\n" for at, line in lines))


def waiting(client: str, until: int) -> list[tuple[int, str, int]]:
    """Polls every 10 s: 503 until second 100, 200 afterwards."""
    return [(at, client, 503 if at <= 100 else 200) for at in range(85, until, 10)]


def test_poll_that_went_on_is_told_in_hindsight() -> None:
    """First 200 and last poll are named with their lines."""
    startup = served(*waiting("127.0.0.1", 560))
    hint = found(startup)["polled-on"]

    assert "A poll saw 200 and went on for 7 min 30 s" == hint.title
    assert "its first 200 at 1 min 45 s, after 2 in vain, and asked 45 times more" in hint.reason
    assert 3 == len(hint.lines)


def test_poll_that_stopped_is_not_blamed() -> None:
    """A script that saw the 200 and stopped, and a monitor that never waited, are fine."""
    monitor = [(at, "10.0.0.7", 200) for at in range(110, 900, 10)]

    assert "polled-on" not in found(served(*waiting("127.0.0.1", 120)))
    assert "polled-on" not in found(served(*monitor))


def test_probe_from_outside_that_fails_gets_its_budget() -> None:
    """A probe that was refused from another address is held against Kubernetes' default of 30 s; a script on the machine is not."""
    outside = [(85, "10.0.0.7", 503), (95, "10.0.0.7", 503), (105, "10.0.0.7", 200)]
    local = [(second, "127.0.0.1", status) for second, _, status in outside]

    assert "failureThreshold of at least 15" in found(served(*outside))["probe-budget"].action
    assert "probe-budget" not in found(served(*local))
    assert "probe-budget" not in found(served((25, "10.0.0.7", 503), ready=28))


def test_polls_are_kept_for_each_client() -> None:
    """Metrics scrapes count for nothing; each address has its own first, first healthy and last poll."""
    startup = served(*waiting("127.0.0.1", 150), (120, "10.0.0.9", 200))

    assert [("127.0.0.1", 2, 5), ("10.0.0.9", 0, 1)] == [(poller.client, poller.refused, poller.healthy) for poller in startup.pollers]
    assert [(85.0, 105.0, 145.0), (120.0, 120.0, 120.0)] == [
        (poller.first.after_s, poller.first_healthy and poller.first_healthy.after_s, poller.last.after_s) for poller in startup.pollers
    ]


# --- where they are shown


def test_hints_are_in_the_document_and_in_the_table(samples: list[Sample]) -> None:
    """The same hints stand in JSON and in the table."""
    log = next(sample.log for sample in samples if sample.name == "target-graphs")
    document = json.loads(CliRunner().invoke(cli, ["report", str(log), "--format", "json"]).stdout)
    table = CliRunner().invoke(cli, ["report", str(log)], env={"COLUMNS": "200"}).stdout

    assert ["slow-warm-up"] == [hint["id"] for hint in document["startups"][-1]["hints"]]
    assert "What to change" in table
    assert document["startups"][-1]["hints"][0]["title"] in table


def test_size_of_the_model_is_looked_up_where_it_can_be(tmp_path: Path) -> None:
    """The folder counts when it is here and holds as many shards as the bar counted."""
    model = tmp_path / "model"
    model.mkdir()
    for number in range(4):
        (model / f"model-{number}.safetensors").write_bytes(b"x" * 250_000)
    log = tmp_path / "server.log"
    log.write_text(
        f"[2026-06-01 12:00:00] server_args=ServerArgs(model_path='{model}', tp_size=1)\n"
        "[2026-06-01 12:00:20] Load weight begin. avail mem=78.00 GB\n"
        "Loading safetensors checkpoint shards: 100% Completed | 4/4 [01:38<00:00, 24.5s/it]\n"
        "[2026-06-01 12:02:00] Load weight end. elapsed=100.00 s, type=X, dtype=torch.bfloat16, avail mem=70.00 GB, mem usage=8.00 GB.\n",
        encoding="utf-8",
    )

    def told() -> list[str]:
        document = json.loads(CliRunner().invoke(cli, ["report", str(log), "--format", "json"]).stdout)
        return [hint["title"] for hint in document["startups"][0]["hints"]]

    assert ["Weights came in at 0.00 GB/s"] == told()
    (model / "model-3.safetensors").unlink()
    assert ["Weights came in at about 0.09 GB/s"] == told()
