"""What two startups must share, and what is said when they do not."""

from __future__ import annotations

from dataclasses import replace

import pytest

import logphase
from logphase import rules
from logphase.likeness import Likeness, likeness, nearest
from tests.conftest import SAMPLE_LOGS
from tests.entries_made import ALIKE

OTHERS = {
    "flags": replace(ALIKE, flags={"attention_backend": "triton"}),
    "host": replace(ALIKE, host="node-2"),
    "version": replace(ALIKE, version="0.5.13"),
    "topology": replace(ALIKE, topology={"tp_size": 4}),
    "cold/warm": replace(ALIKE, warmth="cold"),
}


@pytest.mark.parametrize(("part", "other"), OTHERS.items())
def test_each_part_that_differs_is_named(part: str, other: Likeness) -> None:
    """The nearest startup is not an equal one: the part is told, with its value there and here."""
    found = nearest(ALIKE, [(other, 7)])

    assert (7,) == found.numbers
    assert [part] == [name for name, _ in found.differs]
    assert ", here " in found.differs[0][1]
    assert found.distance > 0


def test_the_order_of_nearness() -> None:
    """Another host is nearer than another version, that than other flags, these than other caches, and the topology is the farthest."""
    distances = {part: ALIKE.distance(other) for part, other in OTHERS.items()}

    assert ["host", "version", "flags", "cold/warm", "topology"] == sorted(distances, key=lambda part: distances[part])


def test_equal_ones_win() -> None:
    """An equal startup is taken alone, however many near ones there are."""
    known = [*((other, number) for number, other in enumerate(OTHERS.values())), (ALIKE, 9)]
    found = nearest(ALIKE, known)

    assert ((9,), (), 0.0) == (found.numbers, found.differs, found.distance)


@pytest.mark.parametrize("other", [replace(ALIKE, model="/models/b"), replace(ALIKE, engine="vllm")])
def test_another_model_tells_nothing(other: Likeness) -> None:
    """A startup of another model or engine is no neighbour at all."""
    assert () == nearest(ALIKE, [(other, 1)]).numbers


@pytest.mark.parametrize(
    ("one", "other", "differs"),
    [
        ("0.5.14 to 0.5.15", "0.5.15", False),
        ("0.5.14 or newer", "0.5.15", False),
        ("0.5.12 or older", "0.5.15", True),
        ("0.5.14 to 0.5.15", "0.5.16 or newer", True),
        ("", "0.5.15", False),
        ("0.5.15", "0.5.15.post1", False),
    ],
)
def test_ranges_of_versions_are_compared(one: str, other: str, differs: bool) -> None:  # noqa: FBT001 - a table's column
    """A range that has the version in it does not differ from it; one that is not known differs from nothing."""
    found = replace(ALIKE, version=one).differences(replace(ALIKE, version=other))

    assert differs == ("version" in found)


def test_what_is_not_known_yet_differs_from_nothing() -> None:
    """Before the log tells cold from warm both are near."""
    assert 0.0 == replace(ALIKE, warmth=None).distance(ALIKE)


def test_a_flag_that_only_one_version_has_is_no_difference_between_versions() -> None:
    """A new version lists new arguments; between versions only those count that both have."""
    newer = replace(ALIKE, version="0.5.18", flags={**ALIKE.flags, "new_backend": "auto", "disable_cuda_graph": False})

    assert ["version"] == list(ALIKE.differences(newer))
    assert ["flags"] == list(replace(ALIKE, version="").differences(newer))


def test_false_is_not_given() -> None:
    """A switch that is off and one that is not there are the same, for distance and key."""
    off = replace(ALIKE, flags={**ALIKE.flags, "disable_cuda_graph": False, "lora_paths": None})

    assert (0.0, ALIKE.key) == (ALIKE.distance(off), off.key)


def test_a_startup_is_read() -> None:
    """Model, topology, flags that matter, version and caches of a sample; ports and seeds are no part of it."""
    startup = logphase.analyze(str(SAMPLE_LOGS / "tp2-eagle3.log")).startups[-1]
    found = likeness(startup, rules.load("sglang"), "node-1")

    assert ("sglang", {"tp_size": 2}, "node-1") == (found.engine, found.topology, found.host)
    assert found.model.endswith("target-3b")
    assert "EAGLE3" == found.flags["speculative_algorithm"]
    assert {"port", "random_seed", "model_path", "tp_size"} & {*found.flags} == set()
