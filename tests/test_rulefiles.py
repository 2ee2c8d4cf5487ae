"""The rule files and the bundle that is made of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from logphase import rulefiles, rules
from logphase.errors import RuleError

if TYPE_CHECKING:
    from pathlib import Path


def test_bundle_holds_what_the_files_hold() -> None:
    """The bundle that a wheel ships has every table of the TOML files, without their examples."""
    made = json.loads(rulefiles.bundle(rulefiles.home()))["tables"]
    read = rulefiles.bundled(examples=True)

    lean = [(table.folder, table.name.rpartition("/")[2], rulefiles.lean(table.content)) for table in read]

    assert lean == [tuple(entry) for entry in made]


def test_rules_without_examples_are_the_same_rules() -> None:
    """What a command loads differs from the files in the examples alone."""
    with_examples = rules.load("sglang", examples=True).rules
    lean = rules.load("sglang").rules

    assert [(rule.id, rule.pattern, rule.edge, rule.remedy) for rule in with_examples] == [
        (rule.id, rule.pattern, rule.edge, rule.remedy) for rule in lean
    ]
    assert all(rule.examples for rule in with_examples)


@pytest.mark.parametrize("head", ["claims = 5", "off = 5", "hints = 5", "tested_with = [1]", "engine = 3"])
def test_a_wrong_head_is_told_with_its_place(tmp_path: Path, head: str) -> None:
    """What stands above the tables of a user's file is checked like what stands in them."""
    file = tmp_path / "mine.toml"
    file.write_text(f"format = 1\n{head}\n", "utf-8")

    with pytest.raises(RuleError, match=r"mine\.toml"):
        rules.load("sglang", str(file))
