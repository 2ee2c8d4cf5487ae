"""Startups side by side: the numbers are the reports', the reasons are the flags that changed."""

from __future__ import annotations

import functools
import os
import re
from itertools import pairwise, permutations
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import logphase
from logphase.comparison import CHANGED, Comparison, compare_variants
from logphase.samples import Spread, Verdict
from logphase.sides import Run, Variant
from tests.conftest import SAMPLE_LOGS
from tests.reports import document

if TYPE_CHECKING:
    from collections.abc import Sequence

GRAPHS = SAMPLE_LOGS / "target-graphs.log"
EAGER = SAMPLE_LOGS / "no-graphs.log"
DRAFT = SAMPLE_LOGS / "eagle3-cold.log"
CASES = [(GRAPHS, EAGER), (GRAPHS, DRAFT), (EAGER, SAMPLE_LOGS / "tp2-eagle3.log"), (GRAPHS, SAMPLE_LOGS / "dp2.log")]
REAL_LOGS = os.environ.get("LOGPHASE_REAL_LOGS", "")


@functools.cache
def compared(*logs: Path) -> Comparison:
    """The comparison of logs."""
    return logphase.compare([str(log) for log in logs])


def variant(name: str, *logs: Path) -> Variant:
    """A variant of the last startups of logs."""
    return Variant(name, tuple(Run(logphase.analyze(str(log)).startups[-1], str(log)) for log in logs), tuple(map(str, logs)))


def changed(comparison: Comparison) -> dict[str, tuple[Verdict, tuple[str, ...]]]:
    """The phases that changed, with their reasons."""
    return {
        row.id: (row.changes[0].verdict, row.reason) for row in comparison.phases if row.changes[0] and row.changes[0].verdict in CHANGED
    }


@pytest.mark.parametrize("log", [GRAPHS, EAGER, DRAFT, SAMPLE_LOGS / "kimi-k2.5-tp8-eagle3.log"], ids=lambda log: log.stem)
def test_a_log_does_not_differ_from_itself(log: Path) -> None:
    """compare(A, A): two variants, no argument, no phase, no total that differs."""
    comparison = compared(log, log)

    assert [str(log), f"{log} (2)"] == [side.name for side in comparison.variants]
    assert () == comparison.arguments
    assert {(Verdict.SAME, 0.0)} == {
        (made.verdict, made.delta_s) for row in (*comparison.phases, comparison.gaps, comparison.total) for made in row.changes if made
    }


@pytest.mark.parametrize(("one", "two"), CASES, ids=lambda log: log.stem)
def test_numbers_are_those_of_the_reports(one: Path, two: Path) -> None:
    """Every duration and total is the one that the report of that log states."""
    comparison = compared(one, two)
    for at, log in enumerate((one, two)):
        startup = document(log)["startups"][-1]
        told = {phase["id"]: phase["duration_s"] for phase in startup["phases"] if phase["duration_s"] is not None}
        held = {row.id: round(row.samples[at].median, 3) for row in comparison.phases if row.samples[at].median is not None}

        assert {name: value for name, value in told.items() if name not in ("serving", "shutdown")} == held
        assert startup["ready"]["after_s"] == round(comparison.total.samples[at].median or 0.0, 3)


@pytest.mark.parametrize(("one", "two"), CASES, ids=lambda log: log.stem)
def test_swapping_logs_swaps_signs(one: Path, two: Path) -> None:
    """B against A is A against B with the other sign."""
    there, back = compared(one, two), compared(two, one)
    ahead = {row.id: row.changes[0] for row in (*there.phases, there.total)}
    behind = {row.id: row.changes[0] for row in (*back.phases, back.total)}
    opposite = {Verdict.SLOWER: Verdict.FASTER, Verdict.FASTER: Verdict.SLOWER, Verdict.GONE: Verdict.NEW, Verdict.NEW: Verdict.GONE}

    assert ahead.keys() == behind.keys()
    for name, made in ahead.items():
        other = behind[name]
        assert made is not None
        assert other is not None
        assert made.delta_s == pytest.approx(-(other.delta_s or 0.0))
        assert opposite.get(made.verdict, made.verdict) == other.verdict
    assert {one.name: one.kind for one in there.arguments} == {one.name: one.kind for one in back.arguments}


def test_pooling_is_free_of_order() -> None:
    """The repeats of a variant may come in any order."""
    logs = [GRAPHS, DRAFT, EAGER, SAMPLE_LOGS / "dp2.log"]
    base = variant("base", SAMPLE_LOGS / "tp2-eagle3.log")
    pooled = variant("pooled", *logs)
    first = compare_variants([base, pooled])
    for runs in list(permutations(pooled.runs))[1::5]:
        again = compare_variants([base, Variant("pooled", runs, pooled.sources)])

        assert (first.phases, first.total, first.gaps) == (again.phases, again.total, again.gaps)
        assert (first.arguments, first.notes) == (again.arguments, again.notes)


def test_graphs_against_none() -> None:
    """The flag is named, the captures are gone because of it, what followed from it was not chosen, and loading did not change."""
    comparison = compared(GRAPHS, EAGER)

    assert {"disable_cuda_graph": "chosen", "cuda_graph_config": "derived", "mem_fraction_static": "derived", "random_seed": "auto"} == {
        one.name: one.kind for one in comparison.arguments
    }
    assert {
        "prefill-graph": (Verdict.GONE, ("disable_cuda_graph",)),
        "target-graph": (Verdict.GONE, ("disable_cuda_graph",)),
        "warmup": (Verdict.FASTER, ("disable_cuda_graph",)),
    } == changed(comparison)
    assert comparison.total.changes[0] is not None
    assert Verdict.FASTER == comparison.total.changes[0].verdict


def test_with_a_draft_against_without() -> None:
    """The draft's phases are new because of the speculative flags; the cold start is told."""
    comparison = compared(GRAPHS, DRAFT)
    found = changed(comparison)

    assert {"draft-init", "draft-weights", "draft-kv-cache", "draft-prefill-graph", "draft-graph"} <= {
        name for name, (verdict, _) in found.items() if verdict is Verdict.NEW
    }
    assert "speculative_algorithm" in found["draft-graph"][1]
    assert () == found["weights"][1]
    assert ("a cold start",) == comparison.otherwise
    assert any(note.startswith("Cold and warm starts are compared") for note in comparison.notes)


def test_shares_are_of_the_totals_difference() -> None:
    """A phase's share is its difference divided by the total's."""
    comparison = compared(GRAPHS, EAGER)
    total = comparison.total.changes[0]
    for row in comparison.phases:
        made = row.changes[0]
        assert made is not None
        assert total is not None
        assert row.shares[0] == pytest.approx((made.delta_s or 0.0) / (total.delta_s or 1.0))


def test_ranks_are_side_by_side() -> None:
    """A phase holds each rank's durations in every variant."""
    row = next(row for row in compared(SAMPLE_LOGS / "tp2-eagle3.log", EAGER).phases if row.id == "weights")

    assert {"TP0": (1, 0), "TP1": (1, 0)} == {tag: tuple(sample.n for sample in samples) for tag, samples in row.ranks.items()}


def test_a_startup_that_is_not_ready_is_told_and_not_pooled() -> None:
    """Among ready ones it is left out; alone it has no total, and what it never came to is unclear, not gone."""
    dead = SAMPLE_LOGS / "killed-in-load.log"
    pooled = compare_variants([variant("a", GRAPHS), variant("b", GRAPHS, dead)])
    alone = compare_variants([variant("a", GRAPHS), variant("b", dead)])
    capture = next(row for row in alone.phases if row.id == "target-graph").changes[0]

    assert 1 == pooled.total.samples[1].n
    assert f"b: 1 of 2 startups did not get ready and are left out: {dead}." in pooled.notes
    assert (None,) == alone.total.changes
    assert capture is not None
    assert (Verdict.UNCLEAR, None) == (capture.verdict, capture.delta_s)
    assert any("only phases that ended are compared" in note for note in alone.notes)


def test_cold_and_warm_are_not_pooled_without_a_word() -> None:
    """A variant of both kinds says so, and which flags its startups differ in."""
    notes = compare_variants([variant("a", GRAPHS), variant("b", GRAPHS, DRAFT)]).notes

    assert any(note.startswith("b pools cold and warm starts (1 cold, 1 warm)") for note in notes)
    assert any(re.match("b pools startups with different .*speculative_algorithm", note) for note in notes)


def test_a_spread_from_history_decides_one_against_one() -> None:
    """With the spread of earlier startups a small difference is no longer unclear."""
    sides = [variant("a", GRAPHS), variant("b", EAGER)]
    weights = {
        mad: next(row for row in compare_variants(sides, spread={"weights": Spread(1.1, mad, 9)}).phases if row.id == "weights").changes[0]
        for mad in (0.001, 1.0)
    }

    assert [(Verdict.SLOWER, "history"), (Verdict.SAME, "history")] == [(made.verdict, made.basis) for made in weights.values() if made]


def test_other_versions_can_explain_anything() -> None:
    """Two versions are told, and their own arguments were not chosen."""
    comparison = compared(GRAPHS, SAMPLE_LOGS / "v0.5.13-prefill-graphs.log")

    assert "another version" in comparison.otherwise
    assert {"derived"} == {one.kind for one in comparison.arguments if not all(one.present)}


def test_the_order_of_phases_is_the_startups() -> None:
    """Rows come as the phases of the longer startup do."""
    for one, two in CASES:
        rows = [row.id for row in compared(one, two).phases]
        for log in (one, two):
            seen = [phase["id"] for phase in document(log)["startups"][-1]["phases"] if phase["id"] in rows]
            places = [rows.index(name) for name in seen]
            assert len(places) == len(set(places))
            assert sum(b > a for a, b in pairwise(places)) >= len(places) - 2


@pytest.mark.skipif(not REAL_LOGS, reason="LOGPHASE_REAL_LOGS names no folder of recorded runs")
@pytest.mark.parametrize(
    ("one", "two", "flags", "phases"),
    [
        ("03-target-graphs", "04-target-nograph", {"disable_cuda_graph"}, {"target-graph": "gone", "prefill-graph": "gone"}),
        ("61-target-graphs", "63-target-nograph", {"disable_cuda_graph"}, {"target-graph": "gone"}),
        ("03-target-graphs", "01-eagle3-cold", {"speculative_algorithm"}, {"draft-graph": "new", "prefill-graph": "slower"}),
        ("61-target-graphs", "68-eagle3-fa3", {"speculative_algorithm"}, {"draft-graph": "new"}),
        ("01-eagle3-cold", "32-metrics-logms-logreq", {"enable_metrics"}, {"weights": "faster", "prefill-graph": "faster"}),
    ],
)
def test_recorded_runs(one: str, two: str, flags: Sequence[str], phases: dict[str, str]) -> None:
    """The flags that were given are named, and the phases that they changed."""
    comparison = compared(*(Path(REAL_LOGS) / name / "server.log" for name in (one, two)))
    found = {name: str(verdict) for name, (verdict, _) in changed(comparison).items()}

    assert set(flags) <= {one.name for one in comparison.arguments if one.kind == "chosen"}
    assert phases.items() <= found.items()
