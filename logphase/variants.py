"""What a user names -> Variant: globs, `NAME=GLOB`, groups by an argument; many logs are read by several processes.

Law of this file: it reads, and judges nothing. A log that cannot be read or holds no startup is told, never left out in silence.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from logphase.comparison import compare_variants
from logphase.errors import LogphaseError, SourceError
from logphase.flags import plain
from logphase.launch_record import recorded
from logphase.logs import STDIN, changed, choose, expand
from logphase.rules import load
from logphase.samples import TESTED, Spread
from logphase.sides import Run, Variant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from logphase.comparison import Comparison
    from logphase.launch_record import LaunchRecord
    from logphase.timeline import Startup

MANY = 8  # logs from which on more than one process is worth its start
AT_ONCE = 4  # logs that a process takes at a time
LEAST = 2  # sides of a comparison
NOT_GIVEN = "not given"
HISTORY = "history:"
_ENTRIES = re.compile(rf"{HISTORY}(\d{{1,15}}(?:,\d{{1,15}})*)")


class Job(NamedTuple):
    """A log to read, and which of its startups."""

    path: str
    which: str | int
    engine: str | None
    rules: str | None


class Log(NamedTuple):
    """What a log held: plain values that a process can hand over. `failure`: message and hint, where it could not be read."""

    path: str
    runs: tuple[Run, ...] = ()
    warnings: tuple[str, ...] = ()
    failure: tuple[str, str] | None = None


class Named(NamedTuple):
    """A side as the user named it: paths, or names of entries as `history:12`."""

    name: str
    paths: tuple[str, ...]


def named(argument: str) -> Named:
    """A path, a glob, `history:12,15`, or `NAME=` one of these."""
    given = re.fullmatch(r"([^=/\\]+)=(.+)", argument, re.DOTALL)
    if given is None or argument == STDIN or os.path.lexists(argument):
        return Named(argument, _meant(argument))
    return Named(given[1], _meant(given[2]))


def _meant(text: str) -> tuple[str, ...]:
    """The files or entries that a text means."""
    entries = _ENTRIES.fullmatch(text)
    if entries is None or os.path.lexists(text):
        return tuple(expand([text]))
    return tuple(dict.fromkeys(f"{HISTORY}{int(number)}" for number in entries[1].split(",")))


def told_apart(sides: Iterable[Named]) -> list[Named]:
    """Sides with names of their own: the second of a name is `name (2)`."""
    seen: Counter[str] = Counter()
    made = []
    for side in sides:
        seen[side.name] += 1
        made.append(side._replace(name=side.name if seen[side.name] == 1 else f"{side.name} ({seen[side.name]})"))
    return made


def read_all(jobs: Sequence[Job], processes: int | None = None, progress: Callable[[int], None] | None = None) -> dict[str, Log]:
    """Read logs, by path. `processes`: None for as many as there are processors; `progress` is told how many are done."""
    found: dict[str, Log] = {}
    for log in _logs(jobs, _processors() if processes is None else processes):
        found[log.path] = log
        if progress is not None:
            progress(len(found))
    return found


def _processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _logs(jobs: Sequence[Job], processes: int) -> Iterator[Log]:
    if processes == 1 or len(jobs) < MANY or any(job.path == STDIN for job in jobs):
        yield from map(read_log, jobs)
        return
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    pool = ProcessPoolExecutor(min(processes, len(jobs)), get_context("spawn"), _deaf)
    try:
        yield from pool.map(read_log, jobs, chunksize=AT_ONCE)
    except BrokenProcessPool as error:
        raise LogphaseError("a process that read logs was killed", "Is memory short? Compare fewer logs at once.") from error
    finally:
        pool.shutdown(cancel_futures=True)  # whoever pressed Ctrl-C does not wait for the rest


def _deaf() -> None:
    """Ctrl-C is for the process that asked."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)


def read_log(job: Job) -> Log:
    """Read one log to its end; what is wrong with it is part of the answer."""
    from logphase.analyzer import Analyzer
    from logphase.sources import read

    if job.path.startswith(HISTORY) and not os.path.lexists(job.path):
        return _remembered(job.path)
    warnings = []
    try:
        analyzer = Analyzer(rules=job.rules, engine=job.engine, reference=changed(job.path))
        for chunk in read(job.path):
            if chunk.reason:
                warnings.append(f"{job.path}: {chunk.reason}")
            analyzer.feed(chunk.data, chunk.at, chunk.launched)
        analyzer.close()
        timeline = analyzer.timeline()
        chosen = choose(timeline, job.which, job.path)
    except SourceError as error:
        return Log(job.path, failure=(error.message, error.hint))
    records = recorded(job.path)
    startups = timeline.startups
    runs = tuple(_run(startups[at], job.path, _of(records, at, len(startups))) for at in chosen)
    return Log(job.path, runs, tuple(warnings))


def _remembered(name: str) -> Log:
    """An entry of the history as a log that held this startup."""
    from logphase.history import restore
    from logphase.recollection import place
    from logphase.store import HistoryError, Store

    path = place()
    if path is None:
        return Log(name, failure=(f"{name}: history is switched off", "Name a log instead."))
    try:
        with Store(path) as store:
            found = store.entries([int(name.removeprefix(HISTORY))])
    except HistoryError as error:
        return Log(name, failure=(error.message, error.hint))
    if not found:
        return Log(name, failure=(f"{name}: there is no such entry", "See what is kept: logphase history list"))
    return Log(name, (Run(restore(found[0]), name),))


def spread_of(base: Variant, rules: str | None) -> dict[str, Spread]:
    """How the phases of earlier startups of this kind varied, by history; nothing where there is none.

    Raises:
        HistoryError: the history cannot be read.
    """
    from logphase.recollection import spread

    return {name: Spread(*figures) for name, figures in spread(base.pooled[0].startup, rules).items()}


def _of(records: tuple[LaunchRecord, ...], at: int, startups: int) -> LaunchRecord | None:
    """The record of a startup: they run side by side, or only the last one is known to be the last one's."""
    if len(records) == startups:
        return records[at]
    return records[-1] if records and at == startups - 1 else None


def _run(startup: Startup, path: str, record: LaunchRecord | None) -> Run:
    if record is None:
        return Run(startup, path)
    packages = {f"{name} (package)": version for name, version in record.versions.items()}
    return Run(startup, path, record.command, {**record.environment, **packages})


def sides_of(sides: Sequence[Named], logs: Mapping[str, Log]) -> list[Variant]:
    """The variants of what was read.

    Raises:
        SourceError: none of a side's logs could be read.
    """
    made = []
    for side in sides:
        held = [logs[path] for path in side.paths]
        readable = [log for log in held if log.failure is None]
        if not readable:
            raise SourceError(*(held[0].failure or ("", "")))
        made.append(Variant(side.name, tuple(run for log in readable for run in log.runs), tuple(log.path for log in readable)))
    return made


def grouped(variants: Iterable[Variant], argument: str) -> list[Variant]:
    """All runs by the value of an argument, the smallest value first.

    Raises:
        LogphaseError: no launch has it.
    """
    runs = [run for variant in variants for run in variant.runs]
    if not any(argument in run.startup.arguments for run in runs):
        names = sorted({name for run in runs for name in run.startup.arguments})
        near = [name for name in names if argument.replace("-", "_").strip("_") in name][:5]
        hint = f"Did you mean {', '.join(near)}?" if near else "Its name is that of the arguments line, e.g. tp_size."
        raise LogphaseError(f"no launch has an argument {argument!r}", hint)
    groups: dict[str, list[Run]] = {}
    order: dict[str, tuple[int, float, str]] = {}
    for run in runs:
        value = run.startup.arguments.get(argument)
        text = str(plain(value)) if argument in run.startup.arguments else NOT_GIVEN
        groups.setdefault(text, []).append(run)
        number = float(value) if isinstance(value, int | float) else 0.0
        order[text] = (0 if value is None else 1 if isinstance(value, int | float) else 2, number, text)
    return [
        Variant(f"{argument}={text}", tuple(groups[text]), tuple(dict.fromkeys(run.source for run in groups[text])))
        for text in sorted(groups, key=lambda text: order[text])
    ]


def with_baseline(variants: Sequence[Variant], name: str) -> list[Variant]:
    """The variants with the one of that name (or, of a group, that value) first.

    Raises:
        LogphaseError: there is none.
    """
    named = {text.casefold(): one for one in reversed(variants) for text in (one.name.partition("=")[2], one.name)}
    found = named.get(name.casefold())
    if found is None:
        raise LogphaseError(f"no variant is called {name!r}", f"Variants: {', '.join(one.name for one in variants)}.")
    return [found, *(one for one in variants if one is not found)]


def without_empty(variants: Sequence[Variant]) -> tuple[list[Variant], list[str]]:
    """Those with a startup, and what has to be said of the others.

    Raises:
        SourceError: the first has none, or fewer than two have one.
    """
    kept = [one for one in variants if one.runs]
    empty = [one.name for one in variants if not one.runs]
    if empty and (len(kept) < LEAST or not variants[0].runs):
        raise SourceError(f"no startup is seen in {', '.join(empty)}", f"Ask what is in it: logphase report {empty[0]}")
    if len(kept) < LEAST:
        raise LogphaseError("there is nothing to compare with", "Name a second log, or groups: --by speculative_num_steps.")
    return kept, [f"{name}: no startup is seen; it is left out." for name in empty]


def put_together(
    sides: Sequence[Named],
    logs: Mapping[str, Log],
    *,
    by: str | None = None,
    baseline: str | None = None,
    rules: str | None = None,
    history: bool = False,
) -> Comparison:
    """The comparison of logs that were read; of two engines the baseline's rules say what arguments do.

    `history`: where a side has too few startups for a test, ask the user's history how they vary.

    Raises:
        LogphaseError: nothing to compare with, or a name that there is not.
    """
    made = sides_of(sides, logs)
    if by is not None:
        made = grouped(made, by)
    if baseline is not None:
        made = with_baseline(made, baseline)
    kept, notes = without_empty(made)
    spread: dict[str, Spread] = {}
    if history and min(len(side.pooled) for side in kept) < TESTED:
        try:
            spread = spread_of(kept[0], rules)
        except LogphaseError as error:
            notes.append(f"{error.message}: how earlier startups varied is not known.")
    return compare_variants(kept, load(kept[0].runs[0].startup.engine, rules), spread, notes)
