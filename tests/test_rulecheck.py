"""The check of rules: the bundled ones pass, and every kind of mistake is found, with its place and a remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from logphase import patterns, rulecheck, rules
from logphase.rulecheck import Check
from logphase.ruleproblems import fired
from tests.rule_lines import read
from tests.rule_mutants import mutants

if TYPE_CHECKING:
    from pathlib import Path

    from logphase.ruleproblems import Problem

MUTANTS = 100
CAUGHT = 0.95
GOOD = r"""
[[rule]]
id = "plugin-loaded"
phase = "any"
edge = "note"
contains = "my_plugin: "
pattern = '^my_plugin: loaded (?P<modules>\d+) modules'
types = { modules = "int" }
examples = ['[2026-01-02 03:04:05] my_plugin: loaded 3 modules']
"""
TAKES = r"""
[[rule]]
id = "memory-pool"
phase = "any"
edge = "note"
contains = "Memory pool"
pattern = '^Memory pool'
examples = ['[2026-01-02 03:04:05] Memory pool is new']
"""
FATAL = GOOD.replace('"note"', '"fatal"')


def problems(tmp_path: Path, text: str) -> list[Problem]:
    """What the check says of a file over SGLang's rules."""
    file = tmp_path / "mine.toml"
    file.write_text(text, "utf-8")
    return list(rulecheck.check_files([str(file)], ["sglang"]).problems)


def test_bundled_rules_pass() -> None:
    """Nothing is wrong with the rules that come with logphase."""
    report = rulecheck.check()

    assert () == report.problems
    assert {"sglang", "vllm"} <= set(report.engines)
    assert report.examples > report.rules


def test_good_file_passes(tmp_path: Path) -> None:
    """A sound rule is none of the check's business."""
    assert [] == problems(tmp_path, GOOD)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x = [", "not valid TOML"),
        ("format = 7", "format 7 is not known"),
        ("colour = 'red'", "unknown key 'colour'"),
        ("rule = 3", "no list of tables"),
        (GOOD.replace('id = "plugin-loaded"\n', ""), "'id' is missing"),
        (GOOD.replace("plugin-loaded", "Plugin_Loaded"), "lower-case words"),
        (GOOD.replace("plugin-loaded", "something-else"), "no word of its id"),
        (GOOD.replace("plugin-loaded", "plugin-begin"), "its id ends as if"),
        (GOOD + GOOD, "this id is taken"),
        (GOOD.replace('"note"', '"nope"'), "no edge"),
        (GOOD.replace('phase = "any"', 'phase = "nope"'), "phase 'nope' is not defined"),
        (GOOD.replace('"int"', '"integer"'), "types 'integer' is not known"),
        (GOOD.replace("types = { modules", "types = { moduls"), "the pattern has no such group"),
        (GOOD.replace('"int"', '"list"').replace("modules = ", "loaded_gb = ").replace("<modules>", "<loaded_gb>"), "which has no type"),
        (GOOD + 'colour = "red"', "unknown key 'colour'"),
        (GOOD + 'scope = "never"', "scope 'never' is not known"),
        (GOOD + 'since = "soon"', "'soon' is no version"),
        (GOOD + 'since = "0.5.9"\nuntil = "0.5.1"', "newer than until"),
        (GOOD + 'since = "99.0.0"', "newer than tested_with"),
        (GOOD + "provisional = true", "provisional is said of a fatal line"),
        (GOOD + "inference = true", "inference is said of a ready line"),
        (GOOD + 'opens = "warmup"', "opens names a phase"),
        (FATAL, "a fatal rule without remedy"),
        (FATAL, "a fatal rule without counterexamples"),
        (FATAL + "strength = 9", "strength 9"),
        (GOOD + "counterexamples = ['my_plugin: loaded 3 modules']", "a counterexample fires it"),
        (GOOD.replace("'^my", "'my"), "does not start with ^"),
        (GOOD.replace("'^my", "'^.*my"), "begins with anything"),
        (GOOD.replace("loaded (", "loaded (?:(?:a+)+ )?("), "can run away"),
        (GOOD.replace("loaded (", r"(?:\S* )?(?:\w* ?){0,60}loaded ("), "can run away"),
        (GOOD.replace("loaded (", "[a-z]*.*("), "anything may stand in the middle"),
        (GOOD.replace("modules'\ntypes", "modules.*'\ntypes"), "ends with anything"),
        (GOOD.replace("(?P<modules>", "((?P<modules>"), "no regular expression"),
        (GOOD.replace('contains = "my_plugin: "', 'contains = "my_plugins"'), "the pattern fits lines without any text of contains"),
        (GOOD.replace('"my_plugin: "', '["my_plugin: ", "other"]'), "'other' stands in no line"),
        (GOOD.replace('"my_plugin: "', '""'), "contains holds an empty text"),
        (GOOD.replace("3 modules'", "three modules'"), "its example does not fire it"),
        (GOOD.replace("(?P<modules>", "(?:(?P<size>x))?(?P<modules>"), "no example fills its group size"),
        (GOOD.replace("examples = ['[2026-01-02 03:04:05] my_plugin: loaded 3 modules']", "examples = []"), "no example"),
        (GOOD + "[[fingerprint]]\nrule = 'nope'\nsince = '0.5.1'", "no rule is called 'nope'"),
        (GOOD + "[[fingerprint]]\nrule = 'plugin-loaded'", "neither since nor until"),
        (GOOD + "[[fingerprint]]\nrule = 'plugin-loaded'\npattern = 'seven'\nsince = '0.5.1'", "found in no example"),
        ("[[phase]]\nid = 'weights'\nwhy = ''", "no why"),
        ("[[phase]]\nid = 'weights'\npast = ['nope']", "'nope' is no other phase"),
        ("[[phase]]\nid = 'weights'\npatience_s = -1", "no number above 0"),
        ("[[header]]\nid = 'mine'\npattern = '^<mine> '\nexamples = ['<yours> x']", "its example is taken by no header"),
        ("[[wrapper]]\nid = 'mine'\npattern = '^<mine> '\nexamples = ['<yours> x']", "its example is peeled by no wrapper"),
        (TAKES, "takes a line that kv-pool-end"),
    ],
)  # fmt: skip
def test_mistake_is_found(tmp_path: Path, text: str, reason: str) -> None:
    """Each kind of mistake is told, with the file, a line in it, and what to write instead."""
    found = [problem for problem in problems(tmp_path, text) if reason in problem.reason]

    assert [] != found
    assert all(problem.file.endswith("mine.toml") and problem.hint for problem in found)


def test_mistake_has_its_line_and_place(tmp_path: Path) -> None:
    """An example that does not fit is shown with the column at which the pattern stopped."""
    found = problems(tmp_path, GOOD.replace("3 modules'", "3 models'"))
    problem = next(problem for problem in found if problem.column is not None)

    assert GOOD.splitlines().index('types = { modules = "int" }') + 2 == problem.line
    assert "my_plugin: loaded 3 models" == problem.snippet
    assert problem.snippet.index("els") == problem.column


def test_an_earlier_rule_that_takes_an_example_is_named(tmp_path: Path) -> None:
    """Of two rules of one layer that fit a line the check names both."""
    other = (
        GOOD.replace("plugin-loaded", "plugin-ready")
        .replace(r"loaded (?P<modules>\d+) modules", "")
        .replace('types = { modules = "int" }', "")
    )

    assert any("plugin-ready" in problem.reason for problem in problems(tmp_path, other + GOOD))


@pytest.mark.parametrize(
    ("pattern", "texts", "way"),
    [
        ("^a(?:b|c)d", ("abd",), "acd"),
        ("^a(?:b|c)d", ("abd", "acd"), None),
        ("^[Ww]atch", ("atch",), None),
        (r"^a\d+b", ("a8b",), "a…b"),
        ("^(?:one )?two", ("one",), "two"),
    ],
)
def test_texts_that_every_match_holds(pattern: str, texts: tuple[str, ...], way: str | None) -> None:
    """A way through a pattern on which no text stands for sure is found, or there is none."""
    assert way == patterns.without(pattern, texts)


@pytest.mark.parametrize("pattern", ["^(a+)+$", r"^(?:\w+\s?)*$", r"^\S*a\S*b\S*c$", "^(aaa|a|aa)+$", "^(?:a|aa){1,200}!"])
def test_patterns_that_run_away(pattern: str) -> None:
    """What a long line can hang is found, by structure or by trying."""
    assert patterns.runaway(pattern) is not None


@pytest.mark.parametrize("pattern", [r"^(?:[\w.]+: ){0,3}x", r"^(?:a\.)*b", r"^\S+ x$", r"^[^|]*\|\d+"])
def test_patterns_that_do_not_run_away(pattern: str) -> None:
    """A repeat that something ends is none."""
    assert patterns.runaway(pattern) is None


@pytest.mark.parametrize("engine", rules.bundled())
def test_every_way_through_a_pattern_is_known(engine: str) -> None:
    """Each rule knows the lines that were made from each way through its pattern."""
    known = rules.load_bundled(engine)
    check = Check(engine, rules.tables(engine, examples=True))

    missed = [(rule, line) for of, rule, line in read() if of == engine and fired(known, line, check.matcher) != (rule,)]

    assert [] == missed


@pytest.mark.parametrize(("engine", "folders"), [("sglang", ("sglang", "common")), ("vllm", ("vllm",))])
def test_mutants_are_caught(engine: str, folders: tuple[str, ...]) -> None:
    """Of rules with one mistake each at least 95 % are caught by the check, or by a line that they no longer know."""
    lines = [(rule, line) for of, rule, line in read() if of == engine]
    missed = []
    for mutant in mutants(rules.tables(engine, examples=True), MUTANTS, folders):
        check = Check(engine, mutant.tables)
        if next(check.problems(), None) is None and all(fired(check.rules, line, check.matcher) == (rule,) for rule, line in lines):
            missed.append(mutant.what)

    assert len(missed) <= (1 - CAUGHT) * MUTANTS, missed
