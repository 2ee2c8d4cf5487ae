"""The truth table: logphase is right about every launch of the stand-in server, with its exit code and in time."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from benchmarks.truth_table import SCENARIOS, SOON_S, Row, play

AT_ONCE = 3  # launches are mostly silent: they can wait side by side


@pytest.fixture(scope="module")
def rows() -> dict[str, Future[Row]]:
    """Every scenario, played once."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return {scenario.title: pool.submit(play, scenario, peers=False) for scenario in SCENARIOS}


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.title)
def test_logphase_tells_the_truth(scenario, rows: dict[str, Future[Row]]) -> None:  # noqa: ANN001 - named by the table
    """It ends with the right code and word, never before the truth, and within a second of a line that says so."""
    row = rows[scenario.title].result()
    said = row.cells["logphase"]

    assert (scenario.code, True) == (said.code, scenario.state in said.text.lower()), said.text
    assert said.after_s is not None
    assert said.after_s >= -0.1
    if scenario.soon:
        assert said.after_s <= SOON_S


def test_every_way_is_held_to_the_same_truth() -> None:
    """The stand-in's own word decides what is right: seven of the launches become no server."""
    assert 12 == len(SCENARIOS)
    assert 5 == sum(scenario.code == 0 for scenario in SCENARIOS)
