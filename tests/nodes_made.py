"""Logs of a made launch on two hosts, in the wording of SGLang 0.5.10."""

from __future__ import annotations

import datetime as dt

BEGAN = dt.datetime(2026, 6, 1, 12, 0, 0, tzinfo=dt.UTC)
ADDRESS = "10.0.0.1:5000"


class _Log:
    """Lines of a node in the making, on its own clock."""

    def __init__(self, node: int, ahead_s: float) -> None:
        self.ranks = [f"TP{rank}" for rank in range(8 * node, 8 * node + 8)]
        self.lines: list[str] = []
        self._ahead_s = ahead_s

    def line(self, at: float, message: str, tag: str = "") -> None:
        stamp = BEGAN + dt.timedelta(seconds=at + self._ahead_s)
        self.lines.append(f"[{stamp:%Y-%m-%d %H:%M:%S}{f' {tag}' if tag else ''}] {message}")

    def each(self, at: float, message: str) -> None:
        """The same line from every rank."""
        for tag in self.ranks:
            self.line(at, message, tag)

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


def log(node: int, *, ahead_s: float = 0.0, late_s: float = 0.0, slow_s: float = 0.0, address: str = ADDRESS, fails: bool = False) -> str:
    """One node's log: its clock `ahead_s` ahead, its launch `late_s` late, its shards `slow_s` slower than those of a quick node."""
    made = _Log(node, ahead_s)
    arguments = f"model_path='/models/glm', tp_size=16, pp_size=1, dp_size=1, nnodes=2, node_rank={node}, dist_init_addr='{address}'"
    made.line(late_s, f"server_args=ServerArgs({arguments}, host='0.0.0.0', port=30000, log_level='info', skip_server_warmup=False)")
    made.each(20 + late_s, "Init torch distributed begin.")
    made.each(60, f"Init torch distributed ends. elapsed={40 - late_s:.2f} s, mem usage=1.20 GB")
    made.each(61, "Load weight begin. avail mem=138.00 GB")
    if fails:
        made.line(80, "Scheduler hit an exception: Traceback (most recent call last):", made.ranks[3])
        made.lines += ['  File "/opt/scheduler.py", line 1, in load_model', "    load()"]
        made.lines += ["torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB."]
        return made.text()
    for number, tag in enumerate(made.ranks):
        took = 100 + slow_s + number / 2
        usage = "dtype=torch.bfloat16, avail mem=70.00 GB, mem usage=68.00 GB."
        made.line(61 + took, f"Load weight end. elapsed={took:.2f} s, type=GlmForCausalLM, {usage}", tag)
    made.each(230, "KV Cache is allocated. #tokens: 500000, K size: 20.00 GB, V size: 20.00 GB")
    made.each(230, "Memory pool end. avail mem=25.00 GB")
    made.each(231, "Capture cuda graph begin. This can take up to several minutes. avail mem=24.00 GB")
    made.each(261, "Capture cuda graph end. Time elapsed: 30.00 s. mem usage=2.00 GB. avail mem=22.00 GB.")
    if node:
        made.line(262, "Dummy health check server started in background thread at 0.0.0.0:30000")
    else:
        made.line(262, "max_total_num_tokens=500000, chunked_prefill_size=8192, max_running_requests=48, available_gpu_mem=22.00 GB", "TP0")
        made.line(263, "INFO:     Uvicorn running on http://0.0.0.0:30000 (Press CTRL+C to quit)")
        made.line(266, 'INFO:     127.0.0.1:40002 - "POST /generate HTTP/1.1" 200 OK')
        made.line(266, "The server is fired up and ready to roll!")
    return made.text()
