"""A stand-in for an SGLang server, in seconds instead of minutes: the same lines at a given pace, the same processes, the same answers.

    python tests/fake_server.py SCENARIO --port 30000 [--log FILE] [--pace 0.05] [--ranks 1] [--truth FILE]

It writes to FILE (appending, as `>> FILE` does) or to stderr, and to the truth file what became of it, and when. HTTP opens only after all
loading, as SGLang's does: /model_info and /v1/models answer 200 at once, /health 503 with an empty body in the warm-up, then 200 with an
empty body and never before 1.00 s.
It listens on 127.0.0.1 only and ends by itself after `--lifetime` seconds. SIGTERM drains and then ends with SIGKILL, as SGLang does.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SCENARIOS = (
    "normal",
    "health-at-once",  # to 0.4.10: /health is 200 as soon as the port opens, before the model has produced anything
    "crash",  # out of memory in the load
    "stall",  # silent for ever in the load
    "dead-scheduler",  # killed in the warm-up without a line; /health as in `health-at-once`
    "bad-argument",
    "port-taken",  # by whoever holds it; the warm-up is answered by the stranger
    "rank-killed",  # the last rank, in the load, without a line
    "proxy",  # answers the server's own warm-up request with 502
    "rotated",  # its log is renamed and begun again while it loads
    "warning",  # --log-level warning: bars and nothing else
    "leaves",  # ends with 0 while it loads
)
SHARDS = 12
HEALTH_S = 1.0
WARMUP = 20  # steps of the pace
UNCAUGHT = """Traceback (most recent call last):
  File "<frozen runpy>", line 198, in _run_module_as_main
  File "<frozen runpy>", line 88, in _run_code
  File "/opt/site/sglang/launch_server.py", line {line}, in <module>
{frames}"""


class Log:
    """What the server writes, by lines and by states of a bar."""

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._open()

    def _open(self) -> None:
        self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644) if self._path else 2

    def write(self, text: str) -> None:
        """Write at once, whole."""
        with self._lock:
            os.write(self._descriptor, text.encode())

    def line(self, text: str, rank: str = "") -> None:
        """Write a stamped line."""
        stamp = time.strftime("%Y-%m-%d %H:%M:%S")
        self.write(f"[{stamp}{' ' if rank else ''}{rank}] {text}\n")

    def rotate(self) -> None:
        """Rename the file and go on in a new one."""
        assert self._path
        Path(self._path).rename(f"{self._path}.1")
        self._open()


class Server:
    """One launch of the stand-in."""

    def __init__(self, scenario: str, port: int, log: Log, pace: float, ranks: int, truth: str | None) -> None:
        self._truth = truth
        self.scenario, self.port, self.log, self.pace, self.ranks = scenario, port, log, pace, ranks
        self.schedulers: list[subprocess.Popen[bytes]] = []
        self.up = False  # the warm-up is over
        self.old_health = scenario in ("health-at-once", "dead-scheduler")

    def truly(self, what: str) -> None:
        """Write down what became of this launch, at the moment."""
        if self._truth:
            Path(self._truth).write_text(f"{what} {time.time():.4f}\n")

    @property
    def tags(self) -> list[str]:
        """The tags of the ranks; one rank alone has none."""
        return [f"TP{rank}" for rank in range(self.ranks)] if self.ranks > 1 else [""]

    def all(self, text: str) -> None:
        """Write a line as every rank."""
        for tag in self.tags:
            self.info(text, tag)

    def info(self, text: str, rank: str = "") -> None:
        """Write a line that --log-level warning hides."""
        if self.scenario != "warning":
            self.log.line(text, rank)

    def wait(self, steps: float = 1) -> None:
        """Let time pass."""
        time.sleep(steps * self.pace)

    def run(self) -> int | None:
        """Start up; the exit code when it ends before it serves."""
        source = "/opt/site/sglang/launch_server.py:55"
        self.log.write(f"{source}: UserWarning: 'python -m sglang.launch_server' \n  Example: sglang serve\n  warnings.warn(\n")
        self.wait(4)
        if self.scenario == "bad-argument":
            frames = "    server_args = prepare_server_args(sys.argv[1:])\nOSError: Repo id must be in the form 'repo_name': '/srv/none'.\n"
            self.truly("failed")
            self.log.write(UNCAUGHT.format(line=67, frames=frames))
            return 1
        level = "warning" if self.scenario == "warning" else "info"
        self.info(
            f"server_args=ServerArgs(model_path='/srv/models/a', host='127.0.0.1', port={self.port}, tp_size={self.ranks}, "
            f"log_level='{level}', api_key=None, skip_server_warmup=False, speculative_algorithm=None)"
        )
        self.spawn()
        self.wait(4)
        self.all("Init torch distributed begin.")
        self.all("Init torch distributed ends. elapsed=0.21 s, mem usage=0.09 GB")
        self.all("Load weight begin. avail mem=139.09 GB")
        began = time.monotonic()
        code = self.load()
        if code is not None:
            return code
        took = time.monotonic() - began
        self.all(f"Load weight end. elapsed={took:.2f} s, type=LlamaForCausalLM, avail mem=133.46 GB, mem usage=5.64 GB.")
        self.all("KV Cache is allocated. dtype: torch.bfloat16, #tokens: 1132162, K size: 60.46 GB, V size: 60.46 GB")
        self.all("Memory pool end. avail mem=11.97 GB")
        self.info("max_total_num_tokens=1132162, chunked_prefill_size=8192, max_running_requests=4096, context_len=32768", self.tags[0])
        return self.open()

    def spawn(self) -> None:
        """Start one process for each rank, with the title that SGLang gives it."""
        for tag in self.tags:
            title = f"sglang::scheduler{'_' if tag else ''}{tag}"
            self.schedulers.append(subprocess.Popen([title, "90"], executable="/bin/sleep", stdin=subprocess.DEVNULL))

    def load(self) -> int | None:
        """Show the bar; fail in it where the scenario says so."""
        for done in range(SHARDS + 1):
            percent = round(100 * done / SHARDS)
            self.log.write(f"\rMulti-thread loading shards: {percent:3d}% Completed | {done}/{SHARDS} [00:00<00:00, 11.32it/s]")
            self.wait()
            if done == SHARDS // 2:
                code = self.fail()
                if code is not None:
                    return code
        self.log.write("\n")
        return None

    def fail(self) -> int | None:
        """What happens in the middle of the load."""
        if self.scenario in ("crash", "rank-killed", "stall", "leaves"):
            self.truly("failed")
        if self.scenario == "crash":
            self.log.line(
                "Scheduler hit an exception: Traceback (most recent call last):\n"
                '  File "/opt/site/sglang/srt/managers/scheduler.py", line 2210, in run_scheduler_process\n'
                "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n",
                self.tags[0],
            )
            self.log.line("Received sigquit from a child process. It usually means the child failed.")
            self.end(signal.SIGKILL)
        elif self.scenario == "rank-killed":
            self.schedulers[-1].kill()  # and is not waited for: a zombie, as under a launcher that is busy elsewhere
            self.forever()
        elif self.scenario == "stall":
            self.forever()
        elif self.scenario == "rotated":
            self.log.rotate()
        elif self.scenario == "leaves":
            self.end(None)
            return 0
        return None

    def open(self) -> int | None:
        """Open the port and warm up."""
        self.info(f"INFO:     Started server process [{os.getpid()}]")
        self.info("INFO:     Waiting for application startup.")
        self.info("INFO:     Application startup complete.")
        try:
            http = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        except OSError:
            told = "[Errno 98] error while attempting to bind on address"
            self.log.line(f"ERROR:    {told} ('127.0.0.1', {self.port}): address already in use")
            self.log.line("INFO:     Waiting for application shutdown.")
            self.truly("failed")
            self.wait(4)
            self.info("The server is fired up and ready to roll!")
            self.forever()
            return None
        Handler.of = self
        threading.Thread(target=http.serve_forever, daemon=True).start()
        self.info(f"INFO:     Uvicorn running on http://127.0.0.1:{self.port} (Press CTRL+C to quit)")
        self.wait(4)
        self.info('INFO:     127.0.0.1:35768 - "GET /model_info HTTP/1.1" 200 OK')
        if self.scenario == "dead-scheduler":
            self.truly("failed")
            self.schedulers[-1].kill()
            self.forever()
        self.wait(WARMUP)
        if self.scenario == "proxy":
            self.truly("failed")
            text = "Initialization failed. warmup error: Traceback (most recent call last):\n"
            self.log.line(f"{text}    assert res.status_code == 200\nAssertionError: res=<Response [502]>, res.text='Bad gateway'\n")
            self.wait(2)
            self.end(signal.SIGKILL)
        self.info("Prefill batch, #new-seq: 1, #new-token: 6, #cached-token: 0, token usage: 0.00, #running-req: 0", self.tags[0])
        self.info('INFO:     127.0.0.1:35690 - "POST /generate HTTP/1.1" 200 OK')
        self.up = True
        self.truly("ready")
        self.info("The server is fired up and ready to roll!")
        self.forever()
        return None

    def forever(self) -> None:
        """Do no more; the alarm or a signal ends it."""
        while True:
            signal.pause()

    def end(self, kill: signal.Signals | None) -> None:
        """Take the children along, and end as SGLang does: by its own SIGKILL."""
        for scheduler in self.schedulers:
            scheduler.kill()
        if kill is not None:
            os.kill(os.getpid(), kill)

    def drain(self, *_: object) -> None:
        """Stop as asked to."""
        self.log.line("SIGTERM received. signum=None frame=None. Draining requests and shutting down...")
        self.log.line("Gracefully exiting... Remaining number of requests 0. Remaining requests remaining_rids=[].")
        self.end(signal.SIGKILL)

    def healthy(self) -> bool:
        """Whether a scheduler answers."""
        return all(scheduler.poll() is None for scheduler in self.schedulers)


class Handler(BaseHTTPRequestHandler):
    """SGLang's endpoints."""

    of: Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Health and information."""
        if self.path in ("/health", "/health_generate"):
            self._health()
        elif self.path in ("/model_info", "/v1/models"):
            self._answer(200, b"{}")
        else:
            self._answer(404, b'{"detail":"Not Found"}')

    def do_HEAD(self) -> None:
        """FastAPI's routes for GET do not take it."""
        self._answer(405, b"")

    def do_POST(self) -> None:
        """Inference: held back until the warm-up is over."""
        self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.path not in ("/generate", "/v1/completions"):
            self._answer(404, b"{}")
            return
        for _ in range(200):
            if self.of.up:
                break
            time.sleep(0.05)
        answer = {"text": " Paris", "choices": [{"text": " Paris"}]}
        self._answer(200 if self.of.up and self.of.healthy() else 500, json.dumps(answer).encode() if self.of.up else b"")

    def _health(self) -> None:
        if self.of.old_health:
            self._answer(200, b"")
            return
        if not self.of.up:
            self._answer(503, b"")
            return
        time.sleep(HEALTH_S)
        self._answer(200 if self.of.healthy() else 503, b"")

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Write uvicorn's access line."""
        del format
        names = {200: "OK", 404: "Not Found", 405: "Method Not Allowed", 500: "Internal Server Error", 503: "Service Unavailable"}
        host, port = self.client_address[:2]
        self.of.info(f'INFO:     {host}:{port} - "{args[0]}" {args[1]} {names.get(int(str(args[1])), "")}')


def main() -> int:
    """Play the scenario of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("scenario", choices=SCENARIOS)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--log")
    parser.add_argument("--pace", type=float, default=0.05)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--truth")
    parser.add_argument("--lifetime", type=int, default=60)
    parser.add_argument("--log-level", default="info", help="taken as SGLang takes it; the scenario decides")
    asked = parser.parse_args()
    server = Server(asked.scenario, asked.port, Log(asked.log), asked.pace, asked.ranks, asked.truth)
    signal.signal(signal.SIGTERM, server.drain)
    signal.signal(signal.SIGALRM, lambda *_: server.end(signal.SIGKILL))
    signal.alarm(asked.lifetime)
    return server.run() or 0


if __name__ == "__main__":
    sys.exit(main())
