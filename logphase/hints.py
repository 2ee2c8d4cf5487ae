"""Startup -> what would make the next one faster or surer, each with its reason and the lines that it rests on.

Law of this file: no hint without evidence in this very log, and none that would be wrong on a start that is fine. Where a figure has
two readings the sentence names both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from logphase.verdict import duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from logphase.timeline import Node, Phase, Poller, Startup

SGLANG = "sglang"
CAPTURES = ("prefill-graph", "target-graph", "draft-prefill-graph", "draft-graph", "extend-graph")
DECODE = ("target-graph", "draft-graph", "extend-graph")
LOADS = ("weights", "draft-weights", "download", "lora")
BEFORE = ("launch", "spawn")
CACHES = "~/.cache, ~/.triton"
GB, GIB = 1e9, 2.0**30  # of a disk, of a GPU

EARLY_SHARE, EARLY_S = 0.5, 15.0  # before the first scheduler line
PAUSE_S, PAUSE_SHARE = 5.0, 0.5  # of a bar that stands still
MANY_SIZES, MANY_SHARE, MANY_S = 16, 0.15, 10.0  # captures of a graph
BEHIND_S, BEHIND_SHARE = 10.0, 0.1  # a rank behind the others
STILL_S, STILL_TIMES, STILL_SHARE = 10.0, 5.0, 0.2  # shard loading that stands still
SLOW_GB_S, SLOW_S, SLOW_SHARE = 2.0, 30.0, 0.15  # shard loading
NODE_S = 5.0  # a node after the others
JIT_S = 30.0  # of DeepGEMM
WARM_UP_S = 5.0
POLLED_S, POLLS = 30.0, 3  # after the server was healthy
PROBE_PERIOD_S, PROBE_FAILURES = 10, 3  # what Kubernetes does unless it is told otherwise
LOCAL = ("127.", "::1", "[::1]", "localhost")


@dataclass(frozen=True, slots=True)
class Hint:
    """What to change: `reason` holds the figures, `action` the flag or the place to look, `lines` the evidence."""

    id: str
    title: str
    reason: str
    action: str
    lines: tuple[int, ...]


def hints(startup: Startup) -> tuple[Hint, ...]:
    """All hints on a startup, in the order in which their phases come."""
    return tuple(replace(hint, lines=tuple(dict.fromkeys(hint.lines))) for find in _ALL for hint in find(startup))


def _before_first_line(startup: Startup) -> Iterator[Hint]:
    found = [phase for phase in map(_by_id(startup), BEFORE) if phase and phase.status == "done" and phase.duration_s]
    total = startup.duration_s
    if startup.ready is None or not found or not total:
        return
    spent = sum(phase.duration_s or 0.0 for phase in found)
    if spent < EARLY_S or spent < EARLY_SHARE * total:
        return
    parts = " and ".join(f"{phase.id} {duration(phase.duration_s)}" for phase in found)
    more = "" if startup.started.source == "process" else " What passed before the log's first stamp comes on top."
    before = "what the job did first, then " if startup.started.source == "process" else ""
    yield Hint(
        "before-first-line",
        f"{100 * spent / total:.0f} % of the time had passed when a scheduler wrote its first line",
        f"{duration(spent)} of {duration(total)}: {parts}.{more}",
        f"That is {before}process start and Python imports, once for the launcher and once for the schedulers: put the image and its "
        "site-packages on a local disk, pull the image beforehand, and keep compiled .pyc files in it. No server flag changes this part.",
        tuple(phase.lines[1] for phase in found),
    )


def _slow_shards(startup: Startup) -> Iterator[Hint]:
    """By the size of the files where it is known, else by what the ranks hold afterwards, unless that may be less than was read."""
    phase = _by_id(startup)("weights")
    if phase is None or phase.status != "done" or not phase.duration_s or phase.duration_s < SLOW_S:
        return
    shards = f"{phase.progress.total} shards, " if phase.progress else ""
    held = phase.values.get("mem_usage_gb")
    if startup.weight_bytes:
        size, about = float(startup.weight_bytes), ""
        told = f"{shards}{size / GB:.1f} GB in {duration(phase.duration_s)} (files as they lie in the model folder now)."
    elif isinstance(held, float) and not _shrunk(startup) and phase.duration_s >= SLOW_SHARE * (startup.duration_s or phase.duration_s):
        number = len(phase.ranks) or 1
        size, about = held * number * GIB, "about "
        ranks = f"each of {number} ranks holds" if number > 1 else "the GPU holds"
        told = f"{shards}{duration(phase.duration_s)}; {ranks} {held:.1f} GB of weights afterwards."
    else:
        return
    rate = size / GB / phase.duration_s
    if rate >= SLOW_GB_S:
        return
    yield Hint(
        "slow-shards",
        f"Weights came in at {about}{rate:.2f} GB/s",
        told,
        "A local NVMe disk reads several GB/s: copy the model there, or warm the page cache before the start (cat the files to /dev/null).",
        phase.lines,
    )


def _shrunk(startup: Startup) -> bool:
    """Whether weights may take less memory than their files have bytes, or were not read at all."""
    given = startup.arguments
    return any(given.get(name) not in (None, "None", "auto", "") for name in ("quantization", "torchao_config", "load_format")) or not given


def _loading_stood_still(startup: Startup) -> Iterator[Hint]:
    phase = _by_id(startup)("weights")
    steps = [] if phase is None else [(a, b) for a, b in pairwise(phase.curve) if a[1] > 0 and b[1] > a[1]]
    if phase is None or len(steps) < 4:  # noqa: PLR2004 - fewer have no usual pace
        return
    usual = median((b[0] - a[0]) / (b[1] - a[1]) for a, b in steps)
    before, after = max(steps, key=lambda step: (step[1][0] - step[0][0]) / (step[1][1] - step[0][1]))
    waited = after[0] - before[0]
    whole = max(phase.curve[-1][0], 1.0)
    if waited < STILL_S or waited / (after[1] - before[1]) < STILL_TIMES * max(usual, 0.1) or waited < STILL_SHARE * whole:
        return
    of = phase.progress.total if phase.progress else "?"
    yield Hint(
        "loading-stood-still",
        f"Shard loading stood still for {duration(waited)}",
        f"Its bar showed {before[1]} of {of} at {duration(before[0])} and {after[1]} at {duration(after[0])}; the usual step took "
        f"{duration(usual)}.",
        "Look at the storage of that moment: a network disk that others used, a cache that filled, one shard on a slower place.",
        phase.lines,
    )


def _straggler(startup: Startup) -> Iterator[Hint]:
    for phase in filter(None, map(_by_id(startup), LOADS)):
        times = {tag: span.duration_s for tag, span in phase.ranks.items() if span.status == "done" and span.duration_s is not None}
        node = next((node for node in startup.nodes if phase.slowest in node.ranks), None)
        others = [value for tag, value in times.items() if tag != phase.slowest and (node is None or tag in node.ranks)]
        if phase.slowest not in times or not others:
            continue
        usual = median(others)
        behind = times[phase.slowest] - usual
        late = sum(value >= usual + BEHIND_S for value in others)
        if behind < BEHIND_S or behind < BEHIND_SHARE * usual:
            continue
        where = f"node {node.rank} ({node.source})" if node else "its node"
        more = f" and {late} more ranks were" if late else " was"
        yield Hint(
            "rank-behind",
            f"{phase.slowest}{more} {'up to ' if late else ''}{duration(behind)} behind the others in {phase.id}",
            f"{phase.title}: {duration(times[phase.slowest])} on {phase.slowest}, {duration(usual)} is the median of the other "
            f"{len(others)}{' of its node' if node else ''}; all ranks wait for the last one.",
            f"Look at {where}: its disk and its page cache (iostat -x 1 while it loads), its CPU and PCIe load.",
            phase.lines if node else phase.ranks[phase.slowest].lines,
        )


def _node_behind(startup: Startup) -> Iterator[Hint]:
    """Which host the others waited for: at the meeting of all ranks, or at the end of loading."""
    for name, what in (("dist-init", "came to the meeting of all ranks"), ("weights", "ended its loading")):
        phase = _by_id(startup)(name)
        if phase is None or len(startup.nodes) < 2:  # noqa: PLR2004 - nobody to be behind
            continue
        times = {node: _when(phase, node, begin=name == "dist-init") for node in startup.nodes}
        known = sorted((time, node.rank) for node, time in times.items() if time is not None)
        if len(known) < len(startup.nodes) or known[-1][0] - known[-2][0] < NODE_S:
            continue
        late = next(node for node in startup.nodes if node.rank == known[-1][1])
        part = "its image, its imports and what runs before the launch" if name == "dist-init" else "its disk and its page cache"
        yield Hint(
            "node-behind",
            f"Node {late.rank} held up the rest: it {what} {duration(known[-1][0] - known[-2][0])} after the last of the others",
            f"{late.source}: {phase.title} {'begun' if name == 'dist-init' else 'ended'} on {len(late.ranks)} ranks "
            f"{duration(known[-1][0])} after the start; the other nodes at {', '.join(duration(time) for time, _ in known[:-1])}.",
            f"Look at that node: {part}.",
            phase.lines,
        )


def _when(phase: Phase, node: Node, *, begin: bool) -> float | None:
    """When the last rank of a host began or ended a phase."""
    spans = [phase.ranks[tag] for tag in node.ranks if tag in phase.ranks]
    moments = [span.start_s if begin else span.end_s for span in spans]
    return max((moment for moment in moments if moment is not None), default=None)


def _deepgemm(startup: Startup) -> Iterator[Hint]:
    phase = _by_id(startup)("kernel-warmup")
    if phase is None or phase.values.get("jit") != "DeepGEMM" or (phase.duration_s or 0.0) < JIT_S:
        return
    yield Hint(
        "deepgemm-jit",
        "DeepGEMM compiled its kernels in this start",
        f"{phase.title} took {duration(phase.duration_s)}, with DeepGEMM's own JIT session in it.",
        "Compile them once with python3 -m sglang.compile_deep_gemm and the arguments of this launch, and keep ~/.cache/deep_gemm on a "
        "volume that outlives the container.",
        phase.lines,
    )


def _pauses(phase: Phase) -> tuple[int, float]:
    """How many steps of a capture's bar held it up, and for how many seconds."""
    held = [b[0] - a[0] for a, b in pairwise(phase.curve) if 0 < b[1] - a[1] <= 2 and b[0] - a[0] >= PAUSE_S]  # noqa: PLR2004
    return len(held), sum(held)


def _first(phase: Phase) -> float:
    """Seconds that a bar waited for its first step."""
    return phase.curve[1][0] - phase.curve[0][0] if len(phase.curve) > 1 and phase.curve[0][1] == 0 else 0.0


def _compiling(startup: Startup) -> Iterator[Hint]:
    found = [
        phase
        for phase in filter(None, map(_by_id(startup), CAPTURES))
        if phase.status == "done" and phase.duration_s and phase.progress and _pauses(phase)[1] >= PAUSE_SHARE * phase.duration_s
    ]
    if not found:
        return
    yield Hint(
        "capture-compiles",
        "Single captures held up the others, as kernels do that are compiled at their first use",
        f"{'; '.join(map(_held, found))}. The bar stood still there and ran on quickly.",
        f"Keep the compilers' caches ({CACHES}) on a volume that outlives the container; a start with warm caches does not wait here.",
        tuple(line for phase in found for line in phase.lines),
    )


def _held(phase: Phase) -> str:
    steps, held = _pauses(phase)
    which = "the first" if steps == 1 and _first(phase) >= PAUSE_S else str(steps)
    total = phase.progress.total if phase.progress else _sizes(phase)
    return f"{phase.id}: {which} of {total} took {duration(held)} of {duration(phase.duration_s)}"


def _many_sizes(startup: Startup) -> Iterator[Hint]:
    """Captures whose number, not a compiler, takes the time."""
    total = startup.duration_s
    if startup.engine != SGLANG or startup.ready is None or not total:
        return
    for names, flags, what in (
        (DECODE, ("cuda_graph_max_bs_decode", "cuda_graph_max_bs"), "batch sizes"),
        (("prefill-graph", "draft-prefill-graph"), ("cuda_graph_max_bs_prefill", "piecewise_cuda_graph_max_tokens"), "token counts"),
    ):
        flag = next((name for name in flags if name in startup.arguments), None)
        found = [phase for phase in map(_by_id(startup), names) if phase and phase.status == "done" and _sizes(phase) >= MANY_SIZES]
        spent = sum(_captured(phase) for phase in found)
        if flag is None or spent < MANY_S or spent < MANY_SHARE * total:
            continue
        graphs = ", ".join(f"{phase.id} {_sizes(phase)} in {duration(_captured(phase))}" for phase in found)
        option = f"--{flag.replace('_', '-')}"
        yield Hint(
            "many-captures",
            f"Graphs of many {what} are captured",
            f"{graphs}: {100 * spent / total:.0f} % of the start, the compiling of kernels not counted.",
            f"{option} N captures fewer of them. It is a trade: what is larger than N then runs without a graph, so take the largest that "
            "you serve.",
            tuple(line for phase in found for line in phase.lines),
        )


def _captured(phase: Phase) -> float:
    """Seconds that grow with the number of captures: what the bar counted, without its first step and the steps that stood still."""
    if not phase.curve:
        return 0.0
    return max(min(phase.duration_s or 0.0, phase.curve[-1][0]) - max(_pauses(phase)[1], _first(phase)), 0.0)


def _sizes(phase: Phase) -> int:
    for name in ("batch_sizes", "token_sizes"):
        number = phase.values.get(name)
        if isinstance(number, int):
            return number
    return phase.progress.total if phase.progress else 0


def _slow_warm_up(startup: Startup) -> Iterator[Hint]:
    phase = _by_id(startup)("warmup")
    if phase is None or phase.status != "done" or (phase.duration_s or 0.0) <= WARM_UP_S:
        return
    yield Hint(
        "slow-warm-up",
        f"The warm-up request took {duration(phase.duration_s)}",
        "HTTP was up by then, and readiness waited for nothing else.",
        f"What takes so long in it is mostly the compiling of kernels at their first use: keep the caches ({CACHES}) on a volume. "
        "--skip-server-warmup would only move the wait to the first user's request.",
        phase.lines,
    )


def _polled_on(startup: Startup) -> Iterator[Hint]:
    for poller in startup.pollers:
        healthy, ready = poller.first_healthy, startup.ready
        if ready is None or healthy is None or poller.healthy < POLLS or None in (healthy.after_s, poller.last.after_s):
            continue
        on = (poller.last.after_s or 0.0) - (healthy.after_s or 0.0)
        if on < POLLED_S or not poller.refused:  # one that never waited is a monitor
            continue
        yield Hint(
            "polled-on",
            f"A poll saw 200 and went on for {duration(on)}",
            f"Ready after {duration(ready.after_s)}; the health poll from {poller.client} got its first 200 at "
            f"{duration(healthy.after_s)}, after {poller.refused} in vain, and asked {poller.healthy - 1} times more.",
            "If a script waits by it, test the status code (curl -sf): the body of a 200 is empty, so no text in it can ever match. "
            "`logphase watch LOG` ends by itself. A liveness probe, which must go on, needs no change.",
            (ready.line, healthy.line, poller.last.line),
        )


def _probe_kills(startup: Startup) -> Iterator[Hint]:
    """Only where a probe from outside was seen to fail."""
    budget = PROBE_PERIOD_S * PROBE_FAILURES
    for poller in startup.pollers:
        until = startup.ready.after_s if startup.ready else startup.stopped.after_s if startup.stopped else None
        if _is_local(poller) or not poller.refused or until is None or until <= budget:
            continue
        if poller.first_healthy is not None and poller.first.line >= poller.first_healthy.line:  # refused later, not while it started
            continue
        failures = -(-int(1.5 * until) // PROBE_PERIOD_S)
        end = "until it was ready" if startup.ready else "until it was stopped"
        yield Hint(
            "probe-budget",
            "A probe with default limits would not outlast this start",
            f"{poller.client} asked for health and was refused {poller.refused} times; it took {duration(until)} {end}. Kubernetes gives "
            f"up after {budget} s ({PROBE_FAILURES} failures, {PROBE_PERIOD_S} s apart) unless it is told otherwise.",
            f"If that was a Kubernetes probe: give the container a startupProbe with periodSeconds {PROBE_PERIOD_S} and failureThreshold "
            f"of at least {failures}, and a timeoutSeconds above 1.",
            (poller.first.line,),
        )


def _is_local(poller: Poller) -> bool:
    return poller.client.startswith(LOCAL)


def _only_bars(startup: Startup) -> Iterator[Hint]:
    bars = [phase for phase in startup.phases if phase.progress is not None]
    spoken = any(span.duration_from == "elapsed" for phase in startup.phases for span in (*phase.ranks.values(), *phase.spans))
    spoken = spoken or any(phase.duration_from == "elapsed" for phase in startup.phases)
    if len(bars) < 2 or spoken or startup.arguments or startup.ranks or startup.ready:  # noqa: PLR2004 - one bar may be an excerpt
        return
    quiet = "--log-level warning: take --log-level info"
    level = quiet if startup.engine == SGLANG else "a log level above info: take VLLM_LOGGING_LEVEL=INFO"
    yield Hint(
        "only-bars",
        "The log holds nothing but progress bars",
        f"{len(bars)} bars and no line of the engine's own: no line can prove that it is ready.",
        f"If this is the whole log, the server runs with {level}, or ask the server itself: `logphase check LOG --canary`.",
        tuple(phase.lines[0] for phase in bars),
    )


def _by_id(startup: Startup) -> Callable[[str], Phase | None]:
    """A function that finds a phase of this startup by its id."""
    found = {phase.id: phase for phase in startup.phases}
    return found.get


_ALL: tuple[Callable[[Startup], Iterator[Hint]], ...] = (
    _before_first_line,
    _slow_shards,
    _loading_stood_still,
    _straggler,
    _node_behind,
    _deepgemm,
    _compiling,
    _many_sizes,
    _slow_warm_up,
    _polled_on,
    _probe_kills,
    _only_bars,
)
