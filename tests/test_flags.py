"""What differs between the arguments of launches, who chose it, and what it can explain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from logphase import flags, rules
from logphase.analyzer import Analyzer
from logphase.rulecheck import check_files

if TYPE_CHECKING:
    from pathlib import Path

SGLANG = rules.load("sglang")
PLAIN = {"model_path": "m", "disable_cuda_graph": False, "mem_fraction_static": 0.903, "random_seed": 1, "tp_size": 1, "port": 8000}


def kinds(*launches: dict[str, object], commands: list[list[str]] | None = None) -> dict[str, str]:
    """The differing arguments with their kind."""
    return {found.name: found.kind for found in flags.differences(launches, SGLANG, commands)}


def test_the_same_arguments_do_not_differ() -> None:
    """A launch differs in nothing from itself."""
    assert () == flags.differences([PLAIN, dict(PLAIN)], SGLANG)


def test_chosen_derived_and_auto_are_told_apart() -> None:
    """A flag is chosen, a fraction that follows from it is derived, a seed is chance."""
    other = PLAIN | {"disable_cuda_graph": True, "mem_fraction_static": 0.91, "random_seed": 2}

    assert {"disable_cuda_graph": "chosen", "mem_fraction_static": "derived", "random_seed": "auto"} == kinds(PLAIN, other)


def test_a_derived_argument_alone_was_chosen() -> None:
    """When nothing that it follows from has changed, somebody set it."""
    assert {"mem_fraction_static": "chosen"} == kinds(PLAIN, PLAIN | {"mem_fraction_static": 0.8})


def test_a_recorded_command_decides() -> None:
    """What the command names was chosen, in full or shortened; what it does not name was not."""
    other = PLAIN | {"tp_size": 2, "mem_fraction_static": 0.85}
    without = [["sglang"], ["sglang", "--tp", "2"]]
    given = [["sglang"], ["sglang", "--tp=2", "--mem-fraction", "0.85"]]

    assert {"tp_size": "chosen", "mem_fraction_static": "derived"} == kinds(PLAIN, other, commands=without)
    assert {"tp_size": "chosen", "mem_fraction_static": "chosen"} == kinds(PLAIN, other, commands=given)


def test_what_a_version_does_not_have_was_not_chosen() -> None:
    """A name that is missing in a line that lists all of them is another version's, not a choice."""
    whole = {f"argument_{number}": number for number in range(flags.WHOLE)}

    assert {"enable_new": "derived"} == kinds(whole, whole | {"enable_new": False})
    assert {"max_model_len": "chosen"} == kinds({"model": "m"}, {"model": "m", "max_model_len": 4096})


def test_reasons_are_chosen_ones_only() -> None:
    """A phase that a derived value can explain is explained by what it follows from."""
    found = flags.differences([PLAIN, PLAIN | {"disable_cuda_graph": True, "mem_fraction_static": 0.91, "random_seed": 2}], SGLANG)

    assert ("disable_cuda_graph",) == flags.reasons(found, "target-graph")
    assert ("disable_cuda_graph",) == flags.reasons(found, "kv-cache")
    assert () == flags.reasons(found, "spawn")


def test_an_argument_without_a_table_is_unknown() -> None:
    """Of a chosen argument that no table names nothing is claimed."""
    found = flags.differences([PLAIN, PLAIN | {"flux_capacitor": 88}], SGLANG)

    assert ("flux_capacitor",) == flags.unknown(found)
    assert () == flags.reasons(found, "weights")


def test_both_forms_of_the_arguments_line_matter_alike() -> None:
    """The dataclass and the dict form give the same arguments that matter."""
    forms = (
        "server_args=ServerArgs(model_path='m', tp_size=2, random_seed=3, disable_cuda_graph=True, api_key=None, cuda_graph_bs=[1, 2])",
        "server_args={'model_path': 'm', 'tp_size': 2, 'random_seed': 4, 'disable_cuda_graph': True, 'cuda_graph_bs': [1, 2]}",
    )
    expected = {"cuda_graph_bs": "[1,2]", "disable_cuda_graph": True, "model_path": "m", "tp_size": 2}
    for form in forms:
        analyzer = Analyzer(engine="sglang")
        analyzer.feed(f"[2026-01-02 03:04:05] {form}\n".encode(), None)

        assert expected == flags.matters(analyzer.timeline().startups[0], SGLANG)


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ('name = "x"\nexplains = "sleeping"', "phase 'sleeping' is not defined"),
        ('name = "x"\nkind = "guessed"', "kind 'guessed' is not known"),
        ('name = "x"\nderived_from = "tp_size"', "derived_from is said of a derived one"),
        ('name = "x"\nkind = "derived"\nderived_from = "y"', "nothing is said of 'y'"),
        ('name = ["x", "xy"]\nkind = "derived"\nderived_from = "x*"', "'x*' follows from itself"),
        ('name = "x"\n[[argument]]\nname = ["y", "x"]', "'x' has a table already"),
    ],
)
def test_the_check_tells_what_is_wrong_with_a_table(tmp_path: Path, table: str, reason: str) -> None:
    """A table that cannot work is named with its line."""
    file = tmp_path / "own.toml"
    file.write_text(f'engine = "sglang"\n[[argument]]\n{table}\n', "utf-8")

    problems = check_files([str(file)]).problems

    assert [reason] == [problem.reason for problem in problems]
    assert problems[0].line > 1


def test_a_users_table_counts_before_the_bundled_one(tmp_path: Path) -> None:
    """What a layer above says of an argument is what holds."""
    file = tmp_path / "own.toml"
    file.write_text('engine = "sglang"\n[[argument]]\nname = "tp_size"\nexplains = "lora"\n', "utf-8")
    found = flags.differences([{"tp_size": 1}, {"tp_size": 2}], rules.load("sglang", str(file)))

    assert ("tp_size",) == flags.reasons(found, "lora")
    assert () == flags.reasons(found, "weights")
