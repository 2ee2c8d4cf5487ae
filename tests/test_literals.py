"""The compiled search and the standard library's give equal answers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logphase import literals, rules
from logphase.walk import NEWS

TEXTS = st.lists(st.text("abA é▊[", min_size=1, max_size=4), min_size=1, max_size=90, unique=True)
LINE = st.text("abA é▊[\n", max_size=60)


def lines_of(block: bytes, positions: list[int]) -> set[int]:
    """The lines that hold these positions: all that a position is used for."""
    return {block.count(b"\n", 0, position) for position in positions}


@given(texts=TEXTS, line=LINE)
@settings(max_examples=150, deadline=None)
def test_finder_twins(texts: list[str], line: str) -> None:
    """Both find the same texts in a line."""
    expected = [index for index, text in enumerate(texts) if text in line]

    assert expected == literals.finder(texts)(line)
    assert expected == literals.finder(texts, compiled=False)(line)


@given(texts=TEXTS, line=LINE)
@settings(max_examples=150, deadline=None)
def test_scanner_twins(texts: list[str], line: str) -> None:
    """Both find the same lines of a block, each with a position where one of the texts begins, in order."""
    block = line.encode()
    expected = {number for number, text in enumerate(line.split("\n")) if any(found in text for found in texts)}
    for compiled in (True, False):
        positions = literals.scanner(texts, compiled=compiled)(memoryview(block))
        assert positions == sorted(positions)
        assert expected == lines_of(block, positions)
        assert all(any(block.startswith(text.encode(), position) for text in texts) for position in positions)


@pytest.mark.parametrize("engine", ["sglang", "vllm"])
def test_the_bundled_rules_twins(engine: str) -> None:
    """So it is with the rules' own texts, over their own examples."""
    texts = sorted({text for rule in rules.load(engine).rules for text in rule.contains})
    examples = [text for rule in rules.load(engine, examples=True).rules for text in (*rule.examples, *rule.counterexamples)]
    fast, slow = literals.finder(texts), literals.finder(texts, compiled=False)
    block = "\n".join(examples).encode()

    assert [fast(text) for text in examples] == [slow(text) for text in examples]
    assert lines_of(block, literals.scanner(texts)(memoryview(block))) == lines_of(
        block, literals.scanner(texts, compiled=False)(memoryview(block))
    )


@pytest.mark.parametrize("compiled", [True, False])
def test_nothing_to_find(compiled: bool) -> None:  # noqa: FBT001
    """No texts, no finds."""
    assert [] == literals.finder([], compiled=compiled)("text")
    assert [] == literals.scanner([], compiled=compiled)(memoryview(b"text"))


@pytest.mark.parametrize("compiled", [True, False])
def test_block_is_free_again(compiled: bool) -> None:  # noqa: FBT001
    """The scanned buffer can grow afterwards: nothing holds on to it."""
    buffer = bytearray(b"one two")
    assert [4] == literals.scanner(["two"], compiled=compiled)(memoryview(buffer))
    buffer += b"x"


def test_without_the_compiled_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it has no wheel the standard library does it."""
    monkeypatch.setattr(literals, "_automaton", None)

    assert [1] == literals.finder(["a", "b"])("xb")
    assert [1] == literals.scanner(["a", "b"])(memoryview(b"xb"))


@pytest.mark.parametrize("engine", rules.bundled())
def test_what_is_looked_for_while_serving_fits_two_automata(engine: str) -> None:
    """More texts would halve the speed at which a log of gigabytes is passed over."""
    armed = [rule for rule in rules.load(engine).rules if rule.scope == "always" and rule.edge in NEWS]

    assert len({text for rule in armed for text in rule.contains}) <= 2 * literals.SET
