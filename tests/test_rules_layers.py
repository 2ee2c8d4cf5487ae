"""Rule files in layers: bundled, the user's own over them, what is given over these; and what is kept of them."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

import pytest

import logphase
from logphase import rulefiles, rules
from logphase.errors import RuleError

if TYPE_CHECKING:
    from pathlib import Path

RULE = """
[[rule]]
id = "{name}"
phase = "any"
edge = "note"
contains = "plugin {name} "
pattern = '^plugin {name} loaded'
"""
TINY = """
engine = "tiny"
claims = ["tiny: starting"]
[[header]]
id = "tiny"
pattern = '^(?P<time>\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d) [A-Z]+ '
[[rule]]
id = "tiny-ready"
phase = "serving"
edge = "ready"
contains = "tiny: ready"
pattern = '^tiny: ready'
"""
LOG = "2026-01-02 03:04:05 INFO tiny: starting\n2026-01-02 03:04:19 INFO tiny: ready\n"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without rules and without anything kept."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def user_file(home: Path, text: str, name: str = "mine.toml") -> Path:
    path = home / "config" / "logphase" / "rules" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def given(home: Path, text: str) -> str:
    path = home / "given.toml"
    path.write_text(text, "utf-8")
    return str(path)


def ids(known: rules.RuleSet) -> list[str]:
    return [rule.id for rule in known.rules]


def test_upper_layers_are_tried_first(home: Path) -> None:
    """What is given comes before the user's own rules, these before the bundled ones."""
    user_file(home, RULE.format(name="own"))

    assert ["given", "own"] == ids(rules.load("sglang", given(home, RULE.format(name="given"))))[:2]
    assert ids(rules.load("sglang"))[1:] == ids(rules.load_bundled("sglang"))


def test_a_rule_replaces_one_of_its_id_in_its_place(home: Path) -> None:
    """The order of the others does not change, and the set says what was replaced."""
    known = rules.load("sglang", given(home, RULE.format(name="server-args")))
    rule = next(rule for rule in known.rules if rule.id == "server-args")

    assert ids(rules.load_bundled("sglang")) == ids(known)
    assert "^plugin server-args loaded" == rule.pattern
    assert "--rules" == rule.layer
    assert {"server-args"} == set(known.replaced)


def test_off_takes_away(home: Path) -> None:
    """Rules, headers and wrappers can be switched off by id."""
    known = rules.load("sglang", given(home, 'off = ["server-args", "gpu-tag", "pm2"]'))

    assert "server-args" not in ids(known)
    assert "gpu-tag" not in {header.id for header in known.headers}
    assert "pm2" not in {wrapper.id for wrapper in known.wrappers}


def test_a_phase_inherits_what_is_not_said(home: Path) -> None:
    """A file may give a phase more patience, and nothing else of it changes."""
    known = rules.load("sglang", given(home, '[[phase]]\nid = "weights"\npatience_s = 9999'))
    bundled = rules.load_bundled("sglang").phases["weights"]

    assert bundled._replace(patience_s=9999, where="") == known.phases["weights"]._replace(where="")


def test_a_file_is_for_its_engine(home: Path) -> None:
    """A file that names an engine says nothing about another one."""
    path = given(home, 'engine = "vllm"\n' + RULE.format(name="mine"))

    assert "mine" not in ids(rules.load("sglang", path))
    assert "mine" in ids(rules.load("vllm", path))


@pytest.mark.parametrize("layer", ["user", "folder", "given"])
def test_a_new_engine_is_a_file(home: Path, layer: str) -> None:
    """An engine that only a file describes is chosen by its own words, whichever layer it is in."""
    path = given(home, TINY) if layer == "given" else None
    if layer != "given":
        user_file(home, TINY, "tiny.toml" if layer == "user" else "tiny/engine.toml")
    log = home / "tiny.log"
    log.write_text(LOG, "utf-8")

    timeline = logphase.analyze(str(log), rules=path)

    assert "tiny" in rules.available(path)
    assert "tiny" == timeline.engine
    assert timeline.startups[0].ready is not None


def test_unknown_engine_and_missing_file() -> None:
    """What is not there is said, with what is."""
    with pytest.raises(RuleError, match="no engine called 'nope'"):
        rules.load("nope")
    with pytest.raises(RuleError, match="no rule file at /nowhere"):
        rules.load("sglang", "/nowhere")


def test_what_is_read_is_kept_and_read_again(home: Path) -> None:
    """The second reading takes the kept tables, without examples; a changed file is read anew."""
    path = user_file(home, RULE.format(name="one") + "examples = ['plugin one loaded']")
    assert "examples" not in rulefiles.layers(None)[0].content["rule"][0]
    (kept,) = (home / "cache" / "logphase").glob("rules-*.json")
    kept.write_text(kept.read_text("utf-8").replace('"one"', '"kept"'), "utf-8")
    assert "kept" == rulefiles.layers(None)[0].content["rule"][0]["id"]
    path.write_text(RULE.format(name="two"), "utf-8")
    os.utime(path, (1, 1))

    assert "two" == rulefiles.layers(None)[0].content["rule"][0]["id"]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"made_of": []}'])
def test_a_broken_cache_is_no_problem(home: Path, content: str) -> None:
    """What cannot be used of what was kept is read from the files."""
    user_file(home, RULE.format(name="one"))
    rulefiles.layers(None)
    for kept in (home / "cache" / "logphase").iterdir():
        kept.write_text(content, "utf-8")

    assert "one" == rulefiles.layers(None)[0].content["rule"][0]["id"]


def test_a_cache_that_cannot_be_written_is_no_problem(home: Path) -> None:
    """Where nothing can be kept everything is read."""
    (home / "cache").write_text("a file", "utf-8")
    user_file(home, RULE.format(name="one"))

    assert "one" == rulefiles.layers(None)[0].content["rule"][0]["id"]


def test_bundle_and_files_give_equal_rules(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules of an installed logphase are those of the checkout, but for their examples and where they stand."""
    for name in ("sglang", "vllm", "common"):
        (home / "rules" / name).mkdir(parents=True)
    (home / "rules" / rulefiles.BUNDLE).write_text(rulefiles.bundle(rulefiles.home()), "utf-8")
    expected = [rules.load(engine) for engine in rules.bundled()]
    monkeypatch.setattr(rulefiles, "home", lambda: home / "rules")

    assert expected == [rules.assemble(known.engine, rules.tables(known.engine)) for known in expected]


def test_a_hundred_rules_are_read_quickly(home: Path) -> None:
    """A file of 100 rules costs less than 50 ms, the first time too."""
    path = given(home, "".join(RULE.format(name=f"r{number}") for number in range(100)))
    rules.load("sglang")
    start = time.perf_counter()

    known = rules.load("sglang", path)

    assert time.perf_counter() - start < 0.25  # 50 ms on a quiet machine
    assert 100 == sum(rule.layer == "--rules" for rule in known.rules)


def test_kept_tables_are_json(home: Path) -> None:
    """What is kept says what it was made of."""
    path = user_file(home, RULE.format(name="one"))
    rulefiles.layers(None)
    (kept,) = (home / "cache" / "logphase").glob("rules-*.json")

    assert str(path.resolve()) == json.loads(kept.read_text("utf-8"))["made_of"][0][0]
