"""Hand-made startups, one of each kind that a view must show; no engine is needed to build them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from logphase.timeline import Cause, Evidence, Gap, Moment, Phase, Progress, Span, Startup, Timeline
from logphase.verdict import Stall, State, Verdict
from logphase.views import Report

if TYPE_CHECKING:
    from collections.abc import Callable

BEGAN = 1772115723.0  # 2026-02-26 14:22:03

TITLES = {
    "launch": "Start the process",
    "spawn": "Start the schedulers",
    "dist-init": "Set up torch.distributed",
    "weights": "Load weights",
    "kv-cache": "Allocate the KV cache",
    "target-graph": "Capture target graphs",
    "draft-weights": "Load draft weights",
    "draft-graph": "Capture draft graphs",
    "extend-graph": "Capture draft-extend graphs",
    "http": "Open the HTTP server",
    "warmup": "Answer the warm-up request",
    "serving": "Serve",
}


def tp(count: int) -> tuple[str, ...]:
    """Rank tags TP0 and so on."""
    return tuple(f"TP{index}" for index in range(count))


def span(rank: str | None, start: float | None, duration: float | None, status: str = "done") -> Span:
    """A stretch of a phase that the engine timed itself."""
    end = None if start is None or duration is None or status == "open" else start + duration
    return Span(rank, status, start, end, None if status == "open" else duration, "elapsed", (1, 2))


def phase(name: str, start: float | None, durations: dict[str, float] | float | None, **changes: object) -> Phase:
    """A finished phase: one duration for each rank, or one for all."""
    ranks = {rank: span(rank, start, duration) for rank, duration in durations.items()} if isinstance(durations, dict) else {}
    values = list(durations.values()) if isinstance(durations, dict) else [] if durations is None else [durations]
    duration = max(values) if values else None
    made = Phase(
        id=name,
        title=TITLES.get(name, name),
        status="done",
        start_s=start,
        end_s=None if start is None or duration is None else start + duration,
        duration_s=duration,
        duration_from="elapsed" if values else None,
        ranks=ranks,
        spans=(),
        slowest=max(durations, key=lambda rank: durations[rank]) if isinstance(durations, dict) and durations else None,
        spread_s=max(values) - min(values) if len(ranks) > 1 else None,
        missing=(),
        progress=None,
        values={},
        lines=(40, 210),
    )
    return replace(made, **changes)


def startup(phases: tuple[Phase, ...], **changes: object) -> Startup:
    """A startup of a log with one line a second."""
    made = Startup(
        index=1,
        engine="sglang",
        source=None,
        lines=(1, 841),
        started=Moment(BEGAN, 1, "log", 0.0),
        ready=None,
        stopped=None,
        ended=None,
        last_progress=Moment(BEGAN + 300, 95, "log", 300.0),
        last_line=Moment(BEGAN + 300, 99, "log", 300.0),
        arguments={"model_path": "/models/Kimi-K2.5", "tp_size": 8},
        ranks=tp(8),
        phases=phases,
        gaps=(),
        explained=0.97,
        current="weights",
        failed_in=None,
        cause=None,
        ready_evidence=(),
        stop_evidence=(),
        progress_evidence=(),
        warnings=(),
        duration_s=300.0,
    )
    return replace(made, **changes)


def report(*pairs: tuple[Startup, Verdict], **changes: object) -> Report:
    """A report on one log, all startups shown."""
    made = Report(
        timeline=Timeline("sglang", tuple(startup for startup, _ in pairs), 841, looked_for=("server_args=", "Load weight begin")),
        verdicts=tuple(verdict for _, verdict in pairs),
        sources=("server.log",),
        tool="logphase 0.1.0",
        origins=("server.log",) * len(pairs),
        chosen=tuple(range(len(pairs))),
    )
    return replace(made, **changes)


def ready() -> tuple[Startup, Verdict]:
    """The 16-minute start: eight ranks, a draft model, three captures."""
    loads = {rank: 403.97 - 0.6 * index for index, rank in enumerate(tp(8))}
    evidence = (
        Evidence("http-up", 276, None, '[2026-02-26 14:38:10] INFO:     127.0.0.1:49152 - "POST /generate HTTP/1.1" 200 OK'),
        Evidence("fired-up", 277, None, "[2026-02-26 14:38:10] The server is fired up and ready to roll!"),
    )
    phases = (
        phase("launch", None, None, lines=(1, 3)),
        phase("spawn", 0.0, 24.3),
        phase("dist-init", 24.3, {rank: 16.51 - 0.17 * index for index, rank in enumerate(tp(8))}),
        phase("weights", 42.0, loads, progress=Progress(64, 64, "shards"), values={"avail_mem_gb": 57.33, "mem_usage_gb": 79.94}),
        phase("kv-cache", 445.97, 3.4, values={"avail_mem_gb": 12.5}),
        phase("target-graph", 455.0, 183.58),
        phase("draft-weights", 645.2, 34.36),
        phase(
            "draft-graph",
            682.0,
            95.11,
            spans=(span("TP0", 682.0, 30.0), span("TP0", 715.0, 65.11)),
        ),
        phase("extend-graph", 777.2, 73.43),
        phase("http", 842.9, 0.06),
        phase("warmup", 843.0, 124.44),
        phase("serving", 967.4, None, status="open"),
    )
    made = startup(
        phases,
        ready=Moment(BEGAN + 967.4, 277, "log", 967.4),
        last_line=Moment(BEGAN + 5000, 841, "log", 5000.0),
        gaps=(
            Gap("kv-cache", "target-graph", 449.37, 5.63),
            Gap("target-graph", "draft-weights", 638.58, 6.62),
            Gap("http", "warmup", 842.96, 0.04),
        ),
        current="serving",
        ready_evidence=evidence,
        duration_s=967.4,
        warnings=("Overlap scheduler is disabled with this speculative algorithm.",),
    )
    return made, Verdict(State.READY, "serving", "Ready after 16 min 7 s: HTTP is up and the warm-up request was answered.", None, evidence)


def crashed() -> tuple[Startup, Verdict]:
    """Out of memory on one rank while graphs are captured; the second launch of the file."""
    text = (
        "[2026-02-26 14:29:11 TP3] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 3 has a total capacity of "
        "139.81 GiB of which 1.10 GiB is free."
    )
    cause = Cause("cuda-oom", 128, "TP3", text, "Lower --mem-fraction-static (0.85 leaves about 8 GB more) or capture fewer batch sizes.")
    evidence = (
        Evidence("cuda-oom", 128, "TP3", text),
        Evidence("sigquit", 140, None, "[2026-02-26 14:29:12] Received sigquit from a child process. It usually means the child failed."),
    )
    phases = (
        phase("spawn", 0.0, 24.3),
        phase("weights", 42.0, {rank: 403.97 - 0.6 * index for index, rank in enumerate(tp(4))}),
        phase("kv-cache", 445.97, 3.4),
        phase(
            "target-graph",
            455.0,
            None,
            status="failed",
            end_s=470.5,
            progress=Progress(5, 23, "batch sizes", 15.2),
            ranks={"TP3": span("TP3", 455.0, 15.5, "failed")},
        ),
    )
    made = startup(
        phases,
        index=2,
        lines=(76, 140),
        ranks=tp(4),
        failed_in="target-graph",
        cause=cause,
        duration_s=470.5,
        explained=0.95,
        current="target-graph",
    )
    return made, Verdict(State.CRASHED, "target-graph", "Crashed in target-graph: out of GPU memory on TP3.", cause, evidence)


def stalled() -> tuple[Startup, Verdict]:
    """Two ranks never came back from the rendezvous."""
    evidence = (Evidence("dist-begin", 12, "TP6", "[2026-02-26 14:22:28 TP6] Init torch distributed begin."),)
    phases = (
        phase("spawn", 0.0, 24.3),
        phase(
            "dist-init",
            24.3,
            dict.fromkeys(tp(6), 15.0),
            status="open",
            end_s=None,
            duration_s=None,
            slowest=None,
            spread_s=None,
            missing=("TP6", "TP7"),
        ),
    )
    stall = Stall("dist-init", 3600.0, 600.0, "the rules' patience", ("TP6", "TP7"))
    made = startup(phases, current="dist-init", last_line=Moment(BEGAN + 40, 19, "log", 40.0), duration_s=40.0, explained=1.0)
    return made, Verdict(State.STALLED, "dist-init", "Stalled in dist-init: no progress for 1 h.", None, evidence, stall)


def starting() -> tuple[Startup, Verdict]:
    """Loading, some ranks done, two not heard of."""
    done = {rank: span(rank, 42.0, 250.0) for rank in tp(5)}
    going = {"TP5": span("TP5", 42.0, None, "open")}
    evidence = (Evidence("bar", 95, None, "Loading safetensors checkpoint shards:  36% Completed | 23/64 [04:18<07:40, 11.2s/it]"),)
    phases = (
        phase("spawn", 0.0, 24.3),
        phase(
            "weights",
            42.0,
            None,
            status="open",
            ranks=done | going,
            missing=("TP6", "TP7"),
            progress=Progress(23, 64, "shards", 258.0, 11.2, 95),
        ),
    )
    made = startup(phases, gaps=(Gap("spawn", "weights", 24.3, 17.7),), explained=0.94)
    return made, Verdict(State.STARTING, "weights", "Starting: weights, 23 of 64 shards; last progress at 14:27:03.", None, evidence)


def stopped() -> tuple[Startup, Verdict]:
    """Ctrl-C while loading, in a log without clock and ranks."""
    evidence = (Evidence("sigterm", 30, None, "SIGTERM received. signum=None frame=None. Draining requests and shutting down..."),)
    made = startup(
        (phase("weights", None, None, status="open"),),
        started=Moment(None, 1),
        last_line=Moment(None, 31),
        ranks=(),
        arguments={},
        explained=None,
        duration_s=0.0,
        lines=(1, 31),
    )
    return made, Verdict(State.STOPPED, "weights", "stopped by SIGTERM before it was ready", None, evidence)


def wide() -> tuple[Startup, Verdict]:
    """64 ranks on eight nodes, one still loading."""
    tags = tuple(f"DP{index // 8} TP{index % 8}" for index in range(64))
    loads = {tag: 300.0 + index for index, tag in enumerate(tags)}
    late = phase("weights", 42.0, loads)
    late = replace(late, status="open", missing=(tags[-1],), ranks={tag: item for tag, item in late.ranks.items() if tag != tags[-1]})
    phases = (phase("spawn", 0.0, 24.3), phase("dist-init", 24.3, {tag: 15.0 + index / 10 for index, tag in enumerate(tags)}), late)
    until = Moment(BEGAN + 405, 841, "log", 405.0)
    return startup(phases, ranks=tags, last_line=until, duration_s=405.0), Verdict(
        State.STARTING, "weights", "Starting: weights.", None, ()
    )


def hostile() -> tuple[Startup, Verdict]:
    """Every text of the log tries to do something."""
    evil = "\x1b[2J\x1b]0;pwned\x07[bold red]markup[/] \u202eevil\u2066 \x9b31m a\rb\x00 \udcff :smile: --api-key sk-verysecret1"
    cause = Cause("x", 3, "TP0\x1b[0m", evil + "\nsecond line", "Do [red]this[/red]\x1b[31m.")
    made = startup(
        (phase("weights\x1b[1m", 1.0, 2.0, title="T\x9b[31m", status="failed"),),
        arguments={"model_path": evil, "api_key": "sk-verysecret1", "deep": {"hf_token": "abc"}, "odd": float("nan")},
        warnings=(evil,),
        ranks=("TP0\x1b[0m",),
    )
    return made, Verdict(State.CRASHED, "weights", f"Crashed: {evil}", cause, (Evidence("y", 4, "\u202eTP0", evil),))


MADE: dict[str, Callable[..., Report]] = {
    "ready": lambda **changes: report(ready(), **changes),
    "crashed": lambda **changes: report(
        (replace(ready()[0], index=1, lines=(1, 75)), ready()[1]), crashed(), **({"chosen": (1,)} | changes)
    ),
    "stalled": lambda **changes: report(stalled(), **changes),
    "starting": lambda **changes: report(starting(), **changes),
    "stopped": lambda **changes: report(stopped(), **changes),
    "wide": lambda **changes: report(wide(), **changes),
    "hostile": lambda **changes: report(hostile(), **changes),
    "unseen": report,
}


@pytest.fixture
def made() -> dict[str, Callable[..., Report]]:
    """Name -> a function that makes the report of that name, with fields changed as asked."""
    return MADE
