"""Logs of several hosts become one startup: on one clock, with the ranks of all, and the host that held up the rest."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from logphase.analyzer import Analyzer
from logphase.cli import cli
from logphase.hints import hints
from logphase.nodes import Part, merge, one_launch
from logphase.verdict import State, judge
from tests.nodes_made import log

if TYPE_CHECKING:
    from pathlib import Path

    from logphase.timeline import Phase, Startup

RANKS = tuple(f"TP{rank}" for rank in range(16))


def read(text: str) -> Startup:
    """The startup of a log."""
    analyzer = Analyzer()
    analyzer.feed(text.encode())
    analyzer.close()
    return analyzer.timeline().startups[-1]


def merged(first: str, other: str) -> Startup:
    """Two nodes' logs as one startup; the worker is named first, which must not matter."""
    return merge([Part(1, "node1.log", read(other)), Part(0, "node0.log", read(first))])


def phase(startup: Startup, name: str) -> Phase:
    return next(phase for phase in startup.phases if phase.id == name)


def test_ranks_of_both_hosts_are_side_by_side() -> None:
    """The startup is ready by the first node's word, has the ranks of both, and each phase runs from first begin to last end."""
    startup = merged(log(0), log(1, slow_s=60))
    weights = phase(startup, "weights")

    assert RANKS == startup.ranks == tuple(weights.ranks)
    assert (State.READY, 266.0) == (judge(startup).state, startup.ready and startup.ready.after_s)
    assert (163.5, "TP15", 63.5) == (weights.duration_s, weights.slowest, weights.spread_s)
    assert [(0, "node0.log", RANKS[:8]), (1, "node1.log", RANKS[8:])] == [(node.rank, node.source, node.ranks) for node in startup.nodes]
    assert () == startup.warnings


@pytest.mark.parametrize("ahead", [7.0, -40.0, 3600.0, -18000.0])
def test_clocks_apart_are_told_and_corrected(ahead: float) -> None:
    """What must end on both hosts at once tells the difference of the clocks; another zone is a difference like any other."""
    plain, startup = merged(log(0), log(1)), merged(log(0), log(1, ahead_s=ahead))

    assert (ahead, ("dist-init", "kv-cache")) == (startup.nodes[1].ahead_s, startup.nodes[1].ahead_from)
    assert plain.phases == startup.phases
    assert f"{abs(ahead):.1f} s {'ahead of' if ahead > 0 else 'behind'} node 0's" in startup.warnings[0]


def test_explained_and_gaps_make_up_the_whole() -> None:
    """What no host's phase explains is a gap; together they are the time to ready."""
    startup = merged(log(0), log(1, late_s=25, slow_s=60))

    assert startup.explained is not None
    assert abs(startup.explained * 266.0 + sum(gap.duration_s for gap in startup.gaps) - 266.0) < 0.01


def test_worker_that_began_first_begins_the_startup() -> None:
    """Times count from the host that started first."""
    startup = merged(log(0, late_s=25), log(1))

    assert (20.0, 45.0) == (phase(startup, "dist-init").ranks["TP8"].start_s, phase(startup, "dist-init").ranks["TP0"].start_s)
    assert startup.ready is not None
    assert 266.0 == startup.ready.after_s


@pytest.mark.parametrize(
    ("late", "slow", "expected"),
    [(25.0, 0.0, ["came to the meeting of all ranks 25.0 s"]), (0.0, 60.0, ["ended its loading 60.0 s"]), (0.0, 0.0, [])],
)
def test_host_that_held_up_the_rest_is_named(late: float, slow: float, expected: list[str]) -> None:
    """Who came late, and who loaded slowly; nobody where all were level."""
    found = [hint.title for hint in hints(merged(log(0), log(1, late_s=late, slow_s=slow))) if hint.id == "node-behind"]

    assert len(expected) == len(found)
    assert all(title.startswith(f"Node 1 held up the rest: it {words}") for title, words in zip(found, expected, strict=True))


def test_cause_on_the_worker_is_the_startups() -> None:
    """A worker's failure is the first cause, on its rank, and its file is named."""
    head = log(0).split("[2026-06-01 12:02:41")[0]
    startup = merged(head, log(1, fails=True))
    verdict = judge(startup)

    assert (State.CRASHED, "weights", "TP11") == (verdict.state, verdict.phase, verdict.cause and verdict.cause.rank)
    assert "The first cause stands in node1.log." in startup.warnings


def test_same_tags_on_both_hosts_are_told_apart() -> None:
    """Two hosts that print the same tags keep their ranks apart by their node."""
    startup = merged(log(0), log(0))

    assert ("node0 TP0", "node1 TP0") == (startup.ranks[0], startup.ranks[8])
    assert set(startup.ranks) == set(phase(startup, "weights").ranks)


def test_launches_are_told_apart() -> None:
    """Another meeting place, the same node twice, or a start on another day is another launch."""
    head = read(log(0))

    assert one_launch(head, read(log(1)))
    assert not one_launch(head, read(log(1, address="10.0.0.9:5000")))
    assert not one_launch(head, head)
    assert not one_launch(head, read(log(1, ahead_s=90_000 + 1800)))


# --- the command


def reported(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(cli, ["report", *arguments, "--format", "json"])

    assert (0, None) == (result.exit_code, result.exception), result.output
    return json.loads(result.stdout)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Two nodes' logs."""
    paths = (tmp_path / "node0.log", tmp_path / "node1.log")
    for node, path in enumerate(paths):
        path.write_text(log(node, ahead_s=7.0 * node), encoding="utf-8")
    return str(paths[0]), str(paths[1])


def test_report_merges_what_belongs_together(files: tuple[str, str]) -> None:
    """The arguments in the logs tell that two files are one launch, in whatever order they are named."""
    head, worker = files
    document = reported(worker, head)

    assert [(head, list(RANKS))] == [(startup["file"], startup["ranks"]) for startup in document["startups"]]
    nodes = document["startups"][0]["nodes"]
    assert [(0, head, 0.0), (1, worker, 7.0)] == [(node["rank"], node["file"], node["ahead_s"]) for node in nodes]


def test_report_takes_the_users_word(tmp_path: Path) -> None:
    """With --node files are merged that do not say themselves which nodes they are."""
    paths = [tmp_path / "a.log", tmp_path / "b.log"]
    for node, path in enumerate(paths):
        path.write_text(log(node).split("\n", 1)[1], encoding="utf-8")
    document = reported("--node", f"1={paths[1]}", "--node", f"0={paths[0]}")

    assert [list(RANKS)] == [startup["ranks"] for startup in document["startups"]]


def test_strangers_stay_apart(files: tuple[str, str], tmp_path: Path) -> None:
    """A file of another launch is reported beside the merged one."""
    other = tmp_path / "other.log"
    other.write_text(log(1, address="10.9.9.9:1"), encoding="utf-8")

    assert [16, 8] == [len(startup["ranks"]) for startup in reported(*files, str(other))["startups"]]


@pytest.mark.parametrize(("value", "told"), [("worker.log", "names no node"), ("1=", "names no node"), ("x=a.log", "names no node")])
def test_wrong_node_is_a_usage_error(value: str, told: str) -> None:
    """A --node without number or file says how it is written."""
    result = CliRunner().invoke(cli, ["report", "--node", value])

    assert 2 == result.exit_code
    assert told in result.output


def test_report_without_a_log_is_a_usage_error() -> None:
    """Neither a LOG nor a --node: the command says what is missing."""
    result = CliRunner().invoke(cli, ["report"])

    assert (2, True) == (result.exit_code, "Missing argument 'LOG...'" in result.output)


def test_table_names_the_nodes(files: tuple[str, str]) -> None:
    """The table tells which files are which nodes, and says of none that it holds no startup."""
    result = CliRunner().invoke(cli, ["report", *files], env={"COLUMNS": "200"})

    assert "2 nodes (0:" in result.stdout
    assert "No startup seen" not in result.stdout


def test_a_node_joins_those_that_are_named(files: tuple[str, str]) -> None:
    """With --node for one log, the other log's arguments still say that it belongs to the same launch."""
    head, worker = files

    assert [0, 1] == [node["rank"] for node in reported("--node", f"0={head}", worker)["startups"][0]["nodes"]]


def test_a_node_without_another_is_refused(files: tuple[str, str]) -> None:
    """One log is no launch on several hosts, and the same log is not two nodes."""
    head, _ = files
    alone = CliRunner().invoke(cli, ["report", "--node", f"0={head}"])
    twice = CliRunner().invoke(cli, ["report", "--node", f"0={head}", "--node", f"1={head}"])

    assert (2, 2) == (alone.exit_code, twice.exit_code)
    assert "names" in alone.output
    assert "--node 1=worker.log" in alone.output
    assert "is named as node 0 and as node 1" in twice.output


def test_a_node_whose_others_are_missing_says_so(files: tuple[str, str], tmp_path: Path) -> None:
    """Of several logs, one of a launch on two hosts says that its other node is not among them; a worker's log alone says nothing."""
    stranger = tmp_path / "stranger.log"
    stranger.write_text(log(1, address="10.9.9.9:1"), encoding="utf-8")
    both = reported(files[0], str(stranger))

    assert [1, 1] == [sum("This is node" in text for text in one["warnings"]) for one in both["startups"]]
    assert not any("This is node" in text for text in reported(files[1])["startups"][0]["warnings"])
