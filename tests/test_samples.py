"""What logphase says about each sample log, held to its expectation file, and to what was measured beside the real ones.

`NAME.expect` is written by `--accept` and read by people. `data/real-runs.json` is not: it holds what was recorded beside a run (arrival
of its ready line), what the engine printed itself (seconds of a phase, for each rank) and what was done to it.
"""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import ROOT, SAMPLE_LOGS, Expectations, Sample, sample_logs
from tests.reports import document

if TYPE_CHECKING:
    from collections.abc import Iterator

RUNS = json.loads((ROOT / "tests" / "data" / "real-runs.json").read_text(encoding="utf-8"))
PRINTED_S = 0.02  # how near we come to a figure that the engine printed
GAP_S = 1.0  # shorter ones are in the report


def test_sample_is_as_expected(sample: Sample, expectations: Expectations) -> None:
    """A sample log's facts are those of its expectation file."""
    expectations.hold(sample.expect, "".join(f"{fact}\n" for fact in facts(document(sample.log))))


def test_every_sample_has_an_expectation_and_a_row() -> None:
    """A log without expectation, an expectation without log, and a log that the README does not explain are mistakes."""
    names = {sample.name for sample in sample_logs()}
    table = (SAMPLE_LOGS / "README.md").read_text(encoding="utf-8")

    assert names == {path.stem for path in SAMPLE_LOGS.glob("*.expect")}
    assert names >= {path.name.removesuffix(".log.arrivals") for path in SAMPLE_LOGS.glob("*.arrivals")}
    assert [] == sorted(name for name in names if f"| `{name}` |" not in table)


@pytest.mark.parametrize("name", sorted(RUNS))
def test_real_run_is_what_was_measured(name: str) -> None:
    """Of a real run the state, the ready line and the seconds of each phase and rank are those that were recorded."""
    run = RUNS[name]
    startup = document(SAMPLE_LOGS / f"{name}.log")["startups"][-1]

    assert run["state"] == startup["verdict"]["state"]
    assert run.get("ready_line") == (startup["ready"] or {}).get("line")
    assert run.get("cause_line") == (startup["verdict"]["cause"] or {}).get("line")
    assert run["ranks"] == startup["ranks"]
    assert [] == list(misjudged(run, startup))


def misjudged(run: dict[str, Any], startup: dict[str, Any]) -> Iterator[str]:
    """Phases and moments that are not as they were."""
    phases = {phase["id"]: phase for phase in startup["phases"]}
    for name, (seconds, tolerance) in run["phases"].items():
        found = phases[name]["duration_s"] if name in phases else None
        if found is None or abs(found - seconds) > tolerance:
            yield f"{name}: {found} s, truth {seconds} s"
    for name, ranks in run.get("rank_durations", {}).items():
        found = {tag: span["duration_s"] for tag, span in phases[name]["ranks"].items()}
        if ranks.keys() != found.keys() or any(abs(found[tag] - ranks[tag]) > PRINTED_S for tag in ranks):
            yield f"{name}: {found}, truth {ranks}"
    yield from (f"{name} was not there" for name in run.get("absent", []) if name in phases)
    if "ready_epoch" in run:
        ready = dt.datetime.fromisoformat(startup["ready"]["time"]).replace(tzinfo=dt.UTC).timestamp()
        if not -0.05 <= run["ready_epoch"] - ready <= 1.05:  # a stamp tells the second only
            yield f"ready {run['ready_epoch'] - ready} s before its line arrived"


def facts(report: dict[str, Any]) -> Iterator[str]:
    """One fact a line, for people who read a difference."""
    yield f"startups   {len(report['startups'])}"
    for startup in report["startups"]:
        yield ""
        yield from facts_of(startup)


def facts_of(startup: dict[str, Any]) -> Iterator[str]:
    verdict, ready, cause = startup["verdict"], startup["ready"], startup["verdict"]["cause"]
    started, explained = startup["started"], startup["explained"]
    yield f"startup    {startup['index']}, {startup['engine']}, lines {startup['lines'][0]} to {startup['lines'][1]}"
    yield f"state      {verdict['state']}"
    yield f"phase      {verdict['phase']}"
    yield f"started    {started['time']}, from {started['from']}, line {started['line']}"
    yield f"ready      {seconds(ready['after_s'])}, line {ready['line']}" if ready else "ready      no"
    yield f"cause      {cause['rule']}, line {cause['line']}, rank {cause['rank'] or '-'}" if cause else "cause      none"
    if cause:
        yield f"           {cause['text'][:100]}"
    yield from (f"evidence   {evidence['rule']}, line {evidence['line']}" for evidence in verdict["evidence"])
    yield f"ranks      {' '.join(startup['ranks']) or '-'}"
    yield f"explained  {'-' if explained is None else f'{100 * explained:.0f} %'}"
    for phase in startup["phases"]:
        yield phase_fact(phase)
    for gap in startup["gaps"]:
        if gap["duration_s"] >= GAP_S:
            yield f"gap        {seconds(gap['duration_s'])} at {seconds(gap['start_s'])}, after {gap['after']}, before {gap['before']}"
    yield from (f"warning    {warning}" for warning in startup["warnings"])


def phase_fact(phase: dict[str, Any]) -> str:
    lines, bar = phase["lines"], phase["progress"]
    parts = [
        f"{phase['id']:<19} {phase['status']:<6} {seconds(phase['duration_s'])} by {phase['duration_from'] or '-'}",
        f"lines {lines[0]} to {lines[1]}",
        f"ranks {' '.join(sorted(phase['ranks']))}" if phase["ranks"] else "",
        f"{len(phase['spans'])} spans" if phase["spans"] else "",
        f"slowest {phase['slowest']} by {seconds(phase['spread_s'])}" if phase["slowest"] else "",
        f"{bar['done']} of {bar['total']} {bar['unit']}" if bar else "",
        f"missing {' '.join(phase['missing'])}" if phase["missing"] else "",
    ]
    return f"  {', '.join(filter(None, parts))}"


def seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f} s"
