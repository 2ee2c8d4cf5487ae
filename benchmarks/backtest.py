"""How good the estimated time left is: recorded runs and made startups, each judged by those before it.

    python benchmarks/backtest.py [RUNS] [--seed 1] [--seeds 20] [--startups 200]

RUNS is a folder of recorded runs (each with a server.log): those that became ready are judged from their log as it was at that moment, by
the runs before them. Targets at 25 % of the way: median absolute error <= 15 %, and the stated range holds the truth in 80 % +- 10 % of
the cases. Where nothing earlier is known there is no estimate: that is counted in its own column, and is no error. A share of the way at
which the arguments are not yet known counts so, too.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from made_startups import startups

from logphase import rules
from logphase.analyzer import Analyzer
from logphase.backtest import SHARES, Guess, Score, backtest, score, scores
from logphase.estimate import estimate
from logphase.history import READY, Entry, entry
from logphase.likeness import likeness, nearest
from logphase.recall import Recalled, pasts
from logphase.sources import read

WIDTH = 26


def recorded(folder: Path) -> list[tuple[Path, Entry]]:
    """The startups of recorded runs that became ready, by the time at which they began."""
    found = []
    for log in sorted(folder.glob("*/server.log")):
        for startup in analyse(log).timeline().startups:
            kept = entry(startup, rules.load(startup.engine), now=0.0, source=str(log), host="recorded")
            if kept is not None and kept.state == READY and kept.total_s:
                found.append((log, kept))
    return sorted(found, key=lambda pair: pair[1].started or 0.0)


def analyse(log: Path, until: float | None = None) -> Analyzer:
    """Read a log to its end, or to a moment on its own clock."""
    analyzer = Analyzer(until=until)
    for chunk in read(str(log)):
        analyzer.feed(chunk.data, chunk.at)
    analyzer.close()
    return analyzer


def on_logs(runs: list[tuple[Path, Entry]]) -> list[Guess]:
    """Judge each run from its log, cut at a share of the way, by the runs before it."""
    guesses = []
    for at, (log, kept) in enumerate(runs):
        for share in SHARES:
            moment = (kept.started or 0.0) + share * (kept.total_s or 0.0)
            startup = analyse(log, moment).timeline().startups[-1]
            wanted = likeness(startup, rules.load(startup.engine), "recorded")
            earlier = [one for _, one in runs[:at]]
            known = [(one.likeness, number) for number, one in enumerate(earlier)] if startup.arguments else []
            found = nearest(wanted, known)
            recalled = Recalled(tuple(earlier[number] for number in found.numbers), found.differs, found.distance, wanted.warmth)
            quiet = max(0.0, moment - (startup.last_line.time or moment))
            told = estimate(startup, quiet, pasts(recalled))
            said = told if told is not None and told.scope == "ready" else None
            guesses.append(Guess(kept, share, (kept.total_s or 0.0) * (1 - share), said, len(found.numbers), not found.differs))
    return guesses


def line(found: Score) -> str:
    """A row of the table."""
    error = "-" if found.error is None else f"{found.error:6.1%}"
    held = "-" if found.held is None else f"{found.held:6.1%}"
    return f"{found.name:{WIDTH}}{found.guesses:7}{found.guesses - found.told:7}{error:>9}{held:>9}"


def show(title: str, found: tuple[Score, ...]) -> None:
    """Print a table."""
    print(f"\n{title}\n{'of the way':{WIDTH}}{'cases':>7}{'none':>7}{'error':>9}{'held':>9}")
    print("\n".join(map(line, found)))


def main() -> None:
    """Print the tables."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("runs", nargs="?", type=Path, help="a folder of recorded runs")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--seeds", type=int, default=1, help="so many seeds, from --seed on")
    options.add_argument("--startups", type=int, default=200)
    asked = options.parse_args()
    real = []
    if asked.runs is not None:
        runs = recorded(asked.runs)
        real = on_logs(runs)
        show(f"{len(runs)} recorded startups that became ready, in {asked.runs}", scores(real))
    quarter = []
    for seed in range(asked.seed, asked.seed + asked.seeds):
        begun = time.perf_counter()
        guesses = backtest(startups(seed, asked.startups))
        both = [guess for guess in (*real, *guesses) if guess.share == 0.25]
        quarter.append(score(f"seed {seed}, at 25%", both))
        if asked.seeds == 1:
            show(f"{asked.startups} made startups, seed {seed} ({time.perf_counter() - begun:.1f} s)", scores(guesses))
    show("Recorded and made together" if real else "Made", tuple(quarter))
    good = sum((one.error or 1) <= 0.15 and 0.7 <= (one.held or 0) <= 0.9 for one in quarter)
    print(f"\n{good} of {len(quarter)} seeds reach the targets: error <= 15 %, held 70 % to 90 %")


if __name__ == "__main__":
    main()
