"""Measure logphase beside ripgrep, wc, grep and a plain loop on this machine, and write docs/performance.md.

    speed.py --date 2026-01-31 [--rounds 5] [--quick] [--logphase CMD] [--data DIR] [-o FILE]

`--quick` takes a tenth of the sizes: to try the script, not to quote. Made logs stay in `benchmarks/data/` for the next run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from generate import bytes_of
from measure import Contest, floor_mb, run

HERE = Path(__file__).parent
LITERALS = HERE / "literals.txt"
PAGE = HERE.parent / "docs" / "performance.md"
IMPORTS = [sys.executable, "-c", "import click, regex"]
MEMORY_LOGS = [(kind, "1G") for kind in ("headless", "warning", "worker")] + [("mix", size) for size in ("1M", "100M", "1G", "4G")]
HEAD = """# Performance

Written by `benchmarks/speed.py` on {date}; do not edit by hand. Only ratios within one table mean something: seconds move with the
machine and with what else it does.

{machine}

## How it was measured

- Whole processes, from start to exit, output to a file. Files are in the page cache: each is read once before.
- Commands of a table run in turns, {rounds} rounds, in an order that turns too. Seconds are medians; a ratio is the median of the
  ratios of the rounds, against the command of the same round.
- `rg` is `rg -c -a -F -f benchmarks/literals.txt` ({literals} literals), `grep` is `LC_ALL=C grep -c -F -f` of the same file. ripgrep's
  speed depends much on the literals, so a claim names its file. It maps the file: its peak memory is the file.
- Peak memory is the kernel's for the process (`ru_maxrss`), the highest of all rounds. Starting a process costs {floor:.0f} MB in
  this account, so a smaller figure says nothing.
- The logs are made by `benchmarks/generate.py` from a real startup: the same arguments give the same bytes.
  `mix`: 3 startups with their traffic; `headless`: traffic only; `warning`: bars, then warnings only; `worker`: a second node.
"""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a table must show: the ratio of two of its commands, at most or at least a number."""

    who: str
    limit: float
    to: str
    faster: bool = False  # at least `limit` times faster, instead of at most `limit` times as long
    allowance_s: float = 0.0

    def verdict(self, contest: Contest) -> str:
        if self.to not in contest.commands:
            return f"- not measured: `{self.to}` is not installed"
        ratio = 1 / contest.ratio(self.who, self.to) if self.faster else contest.ratio(self.who, self.to, self.allowance_s)
        kept = ratio >= self.limit if self.faster else ratio <= self.limit
        wanted = f"is at least {self.limit:g} times faster than" if self.faster else f"takes at most {self.limit:g} times"
        extra = f" plus {self.allowance_s * 1000:.0f} ms" if self.allowance_s else ""
        return f"- **{'held' if kept else 'missed'}**: `{self.who}` {wanted} `{self.to}`{extra}: {ratio:.2f}"


class Bench:
    """The tables of the page, over the made logs."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.logphase: list[str] = args.logphase
        self.rounds: int = args.rounds
        self.shrink = 10 if args.quick else 1
        self.data: Path = args.data
        self.data.mkdir(parents=True, exist_ok=True)

    def log(self, kind: str, size: str) -> Path:
        """The made log, in the page cache."""
        wanted = str(bytes_of(size) // self.shrink)
        path = self.data / f"{kind}-{wanted}.log"
        if not path.exists():
            boots = "3" if kind == "mix" else "1"
            subprocess.run([sys.executable, HERE / "generate.py", kind, wanted, path, "--boots", boots], check=True)
        run(["wc", "-l", str(path)])
        return path

    def report(self, log: Path) -> list[str]:
        return [*self.logphase, "report", "--format", "json", str(log)]

    def check(self, log: Path) -> list[str]:
        return [*self.logphase, "check", str(log)]

    def answer(self, log: Path) -> str:
        """What logphase says about the log, in words: speed counts only with the right answer."""
        done = subprocess.run(self.report(log), capture_output=True, check=True)
        document = json.loads(done.stdout)
        states = [startup["verdict"]["state"] for startup in document["startups"]] or ["unseen"]
        return f"The report says: {', '.join(states)}."

    def peers(self, log: Path) -> dict[str, list[str]]:
        """What is installed of those who only count lines."""
        known = {
            "rg": ["rg", "-c", "-a", "-F", "-f", str(LITERALS), str(log)],
            "wc -l": ["wc", "-l", str(log)],
            "grep": ["grep", "-c", "-a", "-F", "-f", str(LITERALS), str(log)],
        }
        return {name: command for name, command in known.items() if shutil.which(command[0])}

    def table(self, title: str, log: Path, commands: dict[str, list[str]], claims: list[Claim]) -> str:
        answer = self.answer(log)
        contest = Contest(commands).hold(self.rounds)
        rows = [f"## {title}, {log.stat().st_size / 1e6:.0f} MB", "", answer, ""]
        rows += [f"| command | s | x {contest.reference} | peak MB | exit |", "| --- | ---: | ---: | ---: | --- |"]
        for name in commands:
            figures = f"{contest.seconds(name):.3f} | {contest.ratio(name):.2f} | {contest.peak_mb(name):.0f}"
            rows.append(f"| {name} | {figures} | {', '.join(map(str, sorted(contest.codes(name))))} |")
        return "\n".join([*rows, "", *[claim.verdict(contest) for claim in claims], ""])

    def scan(self, kind: str, size: str, limit: float) -> str:
        log = self.log(kind, size)
        commands = {**self.peers(log), "logphase report": self.report(log), "logphase check": self.check(log)}
        return self.table(kind, log, commands, [Claim("logphase report", limit, "rg")])

    def plain_loop(self) -> str:
        log = self.log("mix", "20M")
        commands = {"plain loop": [sys.executable, str(HERE / "naive.py"), str(log)], "logphase report": self.report(log)}
        return self.table("A plain loop", log, commands, [Claim("logphase report", 20, "plain loop", faster=True)])

    def start(self) -> str:
        log = self.log("mix", "1M")
        commands = {"import": IMPORTS, "logphase check": self.check(log), "logphase --help": [*self.logphase, "--help"]}
        claims = [Claim("logphase check", 2, "import", allowance_s=0.05), Claim("logphase --help", 1.5, "import", allowance_s=0.05)]
        return self.table("Start-up (`import` is `python -c 'import click, regex'`)", log, commands, claims)

    def memory(self) -> str:
        rows = ["## Memory of `logphase report`", "", "| log | MB | s | peak MB |", "| --- | ---: | ---: | ---: |"]
        peaks = {}
        for kind, size in MEMORY_LOGS:
            log = self.log(kind, size)
            one = run(self.report(log))
            peaks[kind, size] = one.peak_mb
            rows.append(f"| {kind} | {log.stat().st_size / 1e6:.0f} | {one.wall_s:.2f} | {one.peak_mb:.0f} |")
        most, small, large = max(peaks.values()), peaks["mix", "100M"], peaks["mix", "4G"]
        under = f"- **{'held' if most < 100 else 'missed'}**: peak memory under 100 MB: {most:.0f} MB"
        flat = f"- **{'held' if large <= 1.1 * small else 'missed'}**: flat over forty times the size: {small:.0f} MB, {large:.0f} MB"
        return "\n".join([*rows, "", under, flat, ""])

    def page(self, date: str) -> str:
        head = HEAD.format(
            date=date, machine=machine(), rounds=self.rounds, literals=len(LITERALS.read_text().splitlines()), floor=floor_mb()
        )
        scans = [self.scan("mix", "1G", 1.0), *(self.scan(kind, "1G", 2.5) for kind in ("headless", "warning", "worker"))]
        return "\n".join([head, *scans, self.plain_loop(), self.start(), self.memory()])


def first_line(*command: str) -> str:
    if not shutil.which(command[0]):
        return f"{command[0]}: not installed"
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.partition("\n")[0]


def package(name: str) -> str:
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return f"{name}: not installed"


def machine() -> str:
    """Hardware and versions, as a list."""
    info = Path("/proc/cpuinfo")
    facts = info.read_text().splitlines() if info.exists() else []
    model = next((line.partition(":")[2].strip() for line in facts if line.startswith("model name")), platform.machine())
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    packages = ", ".join(map(package, ("logphase", "ahocorasick_rs", "click", "regex")))
    return (
        f"- {os.cpu_count()} x {model}, {memory_gb:.0f} GB, {platform.system()} {platform.release()}\n"
        f"- CPython {platform.python_version()}; {packages}\n"
        f"- {first_line('rg', '--version')}; {first_line('grep', '--version')}; {first_line('wc', '--version')}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    beside = Path(sys.executable).with_name("logphase")
    parser.add_argument("--date", required=True, help="what the page says it was written on")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a tenth of the sizes")
    parser.add_argument("--logphase", type=shlex.split, default=[str(beside)] if beside.exists() else ["logphase"], metavar="CMD")
    parser.add_argument("--data", type=Path, default=HERE / "data", help="where made logs are kept")
    parser.add_argument("-o", "--output", type=Path, help="page to write (default: docs/performance.md; with --quick stdout only)")
    args = parser.parse_args()
    os.environ["LC_ALL"] = "C"
    page = Bench(args).page(args.date)
    print(page)
    output = args.output or (None if args.quick else PAGE)
    if output:
        output.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
