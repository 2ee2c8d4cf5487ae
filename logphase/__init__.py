"""logphase reads an inference server's log: which phase its startup is in, whether it is ready, and which lines prove it.

    import logphase

    timeline = logphase.analyze("server.log")
    verdict = logphase.judge(timeline.startups[-1])
    print(verdict.state, verdict.summary)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from logphase.analyzer import Analyzer
    from logphase.comparison import Comparison
    from logphase.errors import LogphaseError
    from logphase.timeline import Startup, Timeline
    from logphase.verdict import State, Verdict, judge

__version__ = "0.1.0"
__all__ = [
    "Analyzer",
    "Comparison",
    "LogphaseError",
    "Startup",
    "State",
    "Timeline",
    "Verdict",
    "__version__",
    "analyze",
    "compare",
    "judge",
]

_HOMES = {
    "Analyzer": "analyzer",
    "Comparison": "comparison",
    "LogphaseError": "errors",
    "Startup": "timeline",
    "State": "verdict",
    "Timeline": "timeline",
    "Verdict": "verdict",
    "judge": "verdict",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: the start of a command is what its user feels."""
    if name not in _HOMES:
        raise AttributeError(f"module 'logphase' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"logphase.{_HOMES[name]}"), name)


def analyze(path: str, *, engine: str | None = None, rules: str | None = None) -> Timeline:
    """Read a finished or growing log up to its present end.

    Args:
        path: a file (also .gz and .zst), or `-` for standard input.
        engine: the rules to use; by default the log's own words choose them.
        rules: a rule file or folder that adds to them.

    Raises:
        SourceError: the log cannot be read.
        RuleError: a rule file is wrong.
    """
    from logphase.analyzer import Analyzer
    from logphase.sources import read

    analyzer = Analyzer(rules=rules, engine=engine)
    for chunk in read(path):
        analyzer.feed(chunk.data, chunk.at, chunk.launched)
    analyzer.close()
    return analyzer.timeline()


def compare(
    logs: Sequence[str],
    *,
    by: str | None = None,
    baseline: str | None = None,
    startup: str | int = "last",
    engine: str | None = None,
    rules: str | None = None,
    processes: int = 1,
) -> Comparison:
    """Put startups side by side.

    Args:
        logs: the variants, the baseline first: each a path, a glob, or `NAME=GLOB`; the files of a glob are repeats.
        by: an argument by whose values all startups are grouped instead.
        baseline: the name of another variant to measure against, or a value of `by`.
        startup: of a file with several: its number from 1 on, "last" or "all".
        engine: the rules to use; by default each log's own words choose them.
        rules: a rule file or folder that adds to them.
        processes: how many read at once; with more than one the caller's own module must be safe to import anew.

    Raises:
        LogphaseError: a log cannot be read, or there is nothing to compare.
    """
    from logphase import variants

    sides = variants.told_apart(map(variants.named, logs))
    jobs = [variants.Job(path, startup, engine, rules) for path in dict.fromkeys(path for side in sides for path in side.paths)]
    return variants.put_together(sides, variants.read_all(jobs, processes), by=by, baseline=baseline, rules=rules)
