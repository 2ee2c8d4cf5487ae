"""A sample log -> logs of any size: the same bytes for the same arguments, written as a stream.

    generate.py KIND SIZE OUT [--boots N] [--startup LOG]

mix       a startup, then traffic; N boots share the size
headless  traffic only, torn at the first byte: the head was rotated away
warning   `--log-level warning`: bars without a record, then warnings and nothing else
worker    a node of rank 1: its startup without bars or HTTP, its dummy health server, then its batches
"""

from __future__ import annotations

import argparse
import random
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLE_LOGS = Path(__file__).parent.parent / "sample_logs"
KINDS = ("mix", "headless", "warning", "worker")
READY = b"The server is fired up and ready to roll!"
STAMP = re.compile(rb"(?<=\[)\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
OF_A_RANK = re.compile(rb"\[[^]]+ TP\d+\] (?!Prefill batch|Decode batch|max_total_num_tokens=)")
HOLE = b"@@@@@@@@@@@@@@@@@@@"  # as long as a stamp, so that filling it in moves nothing
BLOCK = 64 * 1024  # about 350 lines: one second of a busy server
POOL = 64
MOMENT = "%Y-%m-%d %H:%M:%S"
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def startup_of(log: Path) -> bytes:
    """The log up to its first ready line."""
    data = log.read_bytes()
    at = data.find(READY)
    return data[: data.index(b"\n", at) + 1] if at >= 0 else b""


def default_startup() -> Path:
    """The real sample of more than one rank that holds the most text before its ready line."""
    real = (log for log in sorted(SAMPLE_LOGS.glob("*.log")) if not log.name.startswith("made-"))
    return max(real, key=lambda log: len(startup_of(log)) * (b" TP1]" in startup_of(log)))


def prefill(chance: random.Random, tag: str) -> str:
    return (
        f"[@{tag}] Prefill batch, #new-seq: {chance.randint(1, 9)}, #new-token: {chance.randint(20, 8192)}, "
        f"#cached-token: {chance.randint(0, 900)}, token usage: {chance.random():.2f}, #running-req: {chance.randint(0, 48)}, "
        f"#queue-req: {chance.randint(0, 9)}, #pending-token: 0, cuda graph: True, "
        f"input throughput (token/s): {chance.random() * 9e3:.2f}\n"
    )


def decode(chance: random.Random, tag: str) -> str:
    return (
        f"[@{tag}] Decode batch, #running-req: {chance.randint(1, 48)}, #token: {chance.randint(100, 90000)}, "
        f"token usage: {chance.random():.2f}, accept len: {1 + chance.random():.2f}, cuda graph: True, "
        f"gen throughput (token/s): {chance.random() * 6e3:.2f}, #queue-req: {chance.randint(0, 9)}\n"
    )


def access(chance: random.Random) -> str:
    path = chance.choice(["POST /generate", "POST /v1/chat/completions", "GET /health"])
    client = f"10.0.{chance.randint(0, 9)}.{chance.randint(1, 254)}:{chance.randint(30000, 60000)}"
    return f'[@] INFO:     {client} - "{path} HTTP/1.1" 200 OK\n'


def warning(chance: random.Random) -> str:
    retracted = f"KV cache pool is full. Retract requests. #retracted_reqs: {chance.randint(1, 4)}"
    ratio = f"#new_tokens_gained: {chance.randint(100, 9000)}, #new_token_ratio: {chance.random():.4f} -> {chance.random():.4f}"
    truncated = f"Truncated. len(req.origin_input_ids)={chance.randint(33000, 90000)} max_req_input_len=32762"
    return f"[@ TP0] {chance.choice([f'{retracted}, {ratio}', truncated])}\n"


def line(kind: str, chance: random.Random) -> str:
    if kind == "warning":
        return warning(chance)
    if kind == "worker":
        rank = chance.randint(8, 15)
        return chance.choice([prefill, decode])(chance, f" DP{rank} TP{rank}")
    if chance.random() < 0.35:
        return access(chance)
    return chance.choice([prefill, decode])(chance, " TP0")


def blocks(kind: str) -> list[bytes]:
    """Pieces of traffic with a hole for the time, different enough that no cache learns them by heart."""
    chance = random.Random(kind)
    pool = []
    for _ in range(POOL):
        text = ""
        while len(text) < BLOCK:
            text += line(kind, chance)
        pool.append(text.encode().replace(b"[@", b"[" + HOLE))
    return pool


def stamp(moment: datetime) -> bytes:
    return moment.strftime(MOMENT).encode()


def moved(startup: bytes, to: datetime) -> tuple[bytes, datetime]:
    """The startup as if it had begun at `to`, and its last moment."""
    found = [datetime.strptime(match.group().decode(), MOMENT) for match in STAMP.finditer(startup)]  # noqa: DTZ007 (naive as in the log)
    shift = to - found[0]
    stamps = iter([stamp(moment + shift) for moment in found])
    return STAMP.sub(lambda _: next(stamps), startup), max(found) + shift


def worker_startup(startup: bytes) -> bytes:
    """What node 1 prints of the same startup: its own ranks, no bar, no HTTP, no word that it is ready."""
    ours = b"".join(text for text in startup.splitlines(keepends=True) if OF_A_RANK.match(text))
    ours = re.sub(rb" TP(\d+)\]", lambda match: b" TP%d]" % (int(match[1]) + 8), ours)
    first, last = STAMP.findall(startup)[0], STAMP.findall(ours)[-1]
    arguments = b"server_args=ServerArgs(model_path='/srv/models/target', tp_size=16, nnodes=2, node_rank=1)"
    health = b"Dummy health check server started in background thread at 0.0.0.0:30000"
    return b"[%s] %s\n%s[%s] %s\n" % (first, arguments, ours, last, health)


def warning_startup(startup: bytes) -> bytes:
    """Of a startup under `--log-level warning` the bars remain."""
    return b"".join(text for text in startup.splitlines(keepends=True) if not text.startswith(b"["))


def head(kind: str, startup: bytes) -> bytes:
    make = {"mix": bytes, "worker": worker_startup, "warning": warning_startup, "headless": lambda _: b"gth: 0, #queue-req: 0\n"}
    return make[kind](startup)


def stream(kind: str, size: int, startup: bytes, boots: int = 1) -> Iterator[bytes]:
    """The log in pieces; it ends with the block that reaches `size`."""
    pool = blocks(kind)
    moment = datetime(2026, 3, 1, 8, 0, 0)  # noqa: DTZ001 (naive as in the log)
    written = turn = 0
    for boot in range(1, boots + 1):
        text = head(kind, startup)
        if STAMP.search(text):
            text, moment = moved(text, moment + timedelta(seconds=60))
        yield text
        written += len(text)
        while written < size * boot // boots:
            moment += timedelta(seconds=1)
            block = pool[turn % POOL].replace(HOLE, stamp(moment))
            turn += 1
            yield block
            written += len(block)


def generate(kind: str, size: int, out: BinaryIO, startup: bytes, boots: int = 1) -> None:
    out.writelines(stream(kind, size, startup, boots))


def bytes_of(text: str) -> int:
    """`20M` -> 20971520."""
    return int(float(text[:-1]) * UNITS[text[-1].upper()]) if text[-1].upper() in UNITS else int(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("size", type=bytes_of, metavar="SIZE", help="such as 20M or 1G")
    parser.add_argument("out", type=Path)
    parser.add_argument("--boots", type=int, default=1, help="startups in the log (default: 1)")
    parser.add_argument("--startup", type=Path, help="log to take the startup from (default: the longest real one of sample_logs)")
    args = parser.parse_args()
    startup = startup_of(args.startup or default_startup())
    if not startup:
        parser.error("the log has no ready line: name another one with --startup")
    with args.out.open("wb", buffering=1 << 20) as out:
        generate(args.kind, args.size, out, startup, args.boots)


if __name__ == "__main__":
    main()
