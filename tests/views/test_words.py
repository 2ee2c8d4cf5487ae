"""Words that every view for people uses."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logphase.views.words import count, lines, moment, one_line, quote, ranks, seconds, spoken, visible


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.0, "0.00 s"), (403.974, "403.97 s"), (999.99, "999.99 s"), (1004.0, "16 min 44 s"), (3600.0, "1 h"), (7500.0, "2 h 5 min")],
)
def test_durations_of_a_table(value: float, expected: str) -> None:
    """Hundredths of a second, and larger units from 1,000 s on."""
    assert expected == seconds(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(3.44, "3.4 s"), (44.4, "44 s"), (120.0, "2 min"), (404.0, "6 min 44 s"), (3599.9, "1 h"), (3629, "1 h"), (7199, "2 h")],
)
def test_durations_of_a_sentence(value: float, expected: str) -> None:
    """No more digits than one would say."""
    assert expected == spoken(value)


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ([], ""),
        (["TP0"], "TP0"),
        (["TP0", "TP1"], "TP0, TP1"),
        (["TP0", "TP1", "TP2", "TP5"], "TP0-TP2, TP5"),
        ([f"DP{index // 2} TP{index % 2 * 3}" for index in range(8)], "DP0 TP0 … DP3 TP3"),
        (["a\x1b", "b"], "a\\x1b, b"),
    ],
)
def test_rank_lists_are_short(tags: list[str], expected: str) -> None:
    """Neighbours become a range, long lists their first and last tag."""
    assert expected == ranks(tags)


@given(st.text(st.characters(codec=None, categories=["L", "N", "P", "S", "Z", "C"]), max_size=60))
def test_a_quoted_text_is_one_harmless_line(text: str) -> None:
    """Nothing that a terminal would obey is left, whatever the text."""
    categories = {unicodedata.category(char) for char in quote(text, hide=True)}

    assert not categories & {"Cc", "Cf", "Cs", "Zl", "Zp"}


def test_control_characters_are_written_out() -> None:
    """Escapes, bidi marks and surrogates are shown as what they are."""
    assert "\\x1b[31m \\u202e\\x9b\\udcff\\U000e0001 é" == visible("\x1b[31m\t\u202e\x9b\udcff\U000e0001 é")


def test_small_words() -> None:
    """Lines, counts, moments and cut texts read well."""
    expected = ("line 7", "lines 7-12", "1 rank", "1,024 ranks", "2026-02-26T14:22:03", "2026-02-26T14:22:03.250", "ab…", "a b")
    actual = (lines(7, 7), lines(7, 12), count(1, "rank"), count(1024, "rank"), moment(1772115723.0), moment(1772115723.25))

    assert expected == (*actual, one_line("abcdef", limit=3), one_line("a\r\nb\n"))
