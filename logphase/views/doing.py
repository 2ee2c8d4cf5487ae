"""Frame -> the words that the live views share: what goes on, how long it will take, what a stall means.

Law of this file: plain text, safe on a terminal; what is quoted from the log has gone through `quote`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from logphase.verdict import State
from logphase.views.words import ranks, spoken, visible

if TYPE_CHECKING:
    from logphase.estimate import Estimate
    from logphase.live import Frame
    from logphase.timeline import Phase

_VERBS = {
    "Allocate": "allocating",
    "Capture": "capturing",
    "Compile": "compiling",
    "Download": "downloading",
    "Initialize": "initializing",
    "Launch": "launching",
    "Load": "loading",
    "Open": "opening",
    "Profile": "profiling",
    "Serve": "serving",
    "Start": "starting",
    "Warm": "warming",
}
_TO_LOOK_AT = {
    "launch": "a slow file system under Python's packages, or a download; what it does: py-spy dump --pid PID",
    "spawn": "a slow file system under Python's packages; what the schedulers do: py-spy dump --pid PID",
    "dist-init": "ranks or nodes that never came: their logs, --dist-init-addr, the firewall, NCCL_SOCKET_IFNAME; NCCL_DEBUG=INFO",
    "draft-init": "a rank that died: ps, dmesg; NCCL_DEBUG=INFO tells more",
    "download": "the network and the hub: HF_HUB_ENABLE_HF_TRANSFER, HF_TOKEN, free space in the cache",
    "weights": "the disk under the model (iostat -x 1), the memory (dmesg: an OOM kill), a rank that is gone (nvidia-smi)",
    "draft-weights": "the disk under the draft model (iostat -x 1), a rank that is gone (nvidia-smi)",
    "kv-cache": "the slowest rank's loader: py-spy dump --pid PID",
    "http": "the port: ss -ltnp; what the launcher does: py-spy dump --pid PID",
    "warmup": "the server's own request: what the schedulers do (py-spy dump --pid PID), a proxy in between (NO_PROXY)",
}
_CAPTURE = "compilers at work (ps: ninja, nvcc, cicc, ptxas are no stall), a rank that is gone (nvidia-smi), py-spy dump --pid PID"
QUIET_S = 10.0  # of silence that is explained
_TAGS = 12  # of ranks in a sentence


def doing(phase: Phase) -> str:
    """`loading weights`, `in the warm-up request`."""
    title = visible(phase.title or phase.id)
    verb, _, rest = title.partition(" ")
    if verb in _VERBS:
        return f"{_VERBS[verb]} {rest}".rstrip()
    return f"in {title[:1].lower()}{title[1:]}"


def current(frame: Frame) -> Phase | None:
    """The phase that runs, or ran last."""
    startup = frame.startup
    return next((phase for phase in startup.phases if phase.id == startup.current), None) if startup is not None else None


def bar(phase: Phase) -> str:
    """`29/64 shards`; empty without a bar."""
    done = phase.progress
    return f"{done.done:,}/{done.total:,} {visible(done.unit)}".rstrip() if done is not None else ""


def spent(frame: Frame, phase: Phase) -> float | None:
    """How long a phase took, or has taken until now, or until it failed."""
    if phase.status == "done" or phase.start_s is None or frame.elapsed_s is None:
        return phase.duration_s
    if phase.status == "failed":
        return max(0.0, (phase.end_s if phase.end_s is not None else frame.elapsed_s) - phase.start_s)
    earlier = sum(span.duration_s or 0.0 for span in phase.spans if span.status == "done")
    begun = max((span.start_s or 0.0 for span in phase.spans if span.status == "open"), default=phase.start_s)
    return earlier + max(0.0, frame.elapsed_s - begun)


def patience(frame: Frame) -> str:
    """Why a silence is no stall yet; empty while something comes."""
    startup = frame.startup
    if startup is None or frame.verdict.state is not State.STARTING or startup.waiting_for or frame.quiet_s < QUIET_S:
        return ""
    return f"no progress for {spoken(frame.quiet_s)}; {spoken(startup.budget_s)} are allowed ({visible(startup.budget_from)})"


def left(estimate: Estimate, *, source: bool = False) -> str:
    """`about 6 min left`; with the range and who says so where there is room."""
    whole = "left" if estimate.scope == "ready" else "left in this phase"
    text = f"about {rough(estimate.left_s)} {whole}"
    if not source:
        return text
    low, high = rough(estimate.low_s), rough(estimate.high_s)
    return f"{text} ({low} to {high}; {estimate.source})" if low != high else f"{text} ({estimate.source})"


def rough(seconds: float) -> str:
    """A length of time that nobody knows to the second: `5 s`, `40 s`, `6 min`, `1 h 10 min`."""
    if seconds < 10:
        return f"{max(1, round(seconds))} s"
    step = 5 if seconds < 60 else 10 if seconds < 120 else 60 if seconds < 3600 else 600
    return spoken(float(round(seconds / step) * step))


def still(frame: Frame) -> str:
    """`still loading weights, 29/64 shards, 5 min 10 s, about 6 min left`."""
    phase = current(frame)
    if phase is None:
        return f"still waiting, {spoken(frame.watched_s)}"
    ended = phase.status == "done"
    parts = [f"after {visible(phase.title)}" if ended else doing(phase), "" if ended else bar(phase)]
    time = spent(frame, phase) if not ended else frame.silence_s
    parts.append("" if time is None else spoken(time))
    parts.append(left(frame.estimate) if frame.estimate is not None else "")
    return f"still {', '.join(part for part in parts if part)}"


def stall(frame: Frame) -> list[str]:
    """What a stall means, one statement a line: who has and has not reported, the last sign, what to look at."""
    found, phase = frame.verdict.stall, current(frame)
    if frame.verdict.state is not State.STALLED or found is None:
        return []
    told = [f"silent for {spoken(found.silence_s)}, {spoken(found.budget_s)} are allowed ({visible(found.budget_from)})"]
    if phase is not None and phase.ranks:
        ended = [tag for tag, span in phase.ranks.items() if span.status == "done"]
        told += [f"ended it: {ranks(ended, limit=_TAGS)}"] if ended else []
        begun = [tag for tag, span in phase.ranks.items() if span.status != "done" and tag not in found.missing]
        told += [f"began it: {ranks(begun, limit=_TAGS)}"] if begun else []
    if found.missing:
        told.append(f"not heard of: {ranks(found.missing, limit=_TAGS)}")
    about = _TO_LOOK_AT.get(found.phase) or (_CAPTURE if found.phase.endswith("-graph") or found.phase == "kernel-warmup" else "")
    return [*told, f"look at: {about}"] if about else told
