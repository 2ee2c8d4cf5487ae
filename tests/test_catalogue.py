"""The rules know what SGLang prints: every statement of its main path, filled with plausible values, in every wording."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from logphase import rules
from logphase.events import Matcher
from logphase.lines import LineSplitter
from logphase.records import RecordParser
from tests.catalogue_templates import Row, lines, rows

if TYPE_CHECKING:
    from logphase.events import Event

ROWS = rows(Path(__file__).parent / "data" / "catalogue-main-path.tsv")
HEADER = "[2026-11-30 01:37:38 TP0] "
UNSTAMPED = ("tqdm", "raise", "none", "traceback")  # levels that go to stderr as they are
ENOUGH = 0.95

WITHOUT_A_PHASE_OF_THEIR_OWN = {
    "g_register.1": "every capture registers its buffers with these words: the capture that is open has them",
    "g_register.2": "the same",
    "g_register.3": "the same",
    "bar_capture.0": "a bar without description says nothing but its figures: the phase that is open has it",
    "f_sigquit_run": "a signal comes in whatever phase the server is in: the open one has it",
}


def events(line: str) -> list[Event]:
    """What a line alone means."""
    known = rules.load("sglang")
    parser, matcher, splitter = RecordParser(known), Matcher(known), LineSplitter()
    splitter.feed(f"{line}\n".encode(), None)
    found = splitter.pop()
    assert found is not None
    return [event for record in [*parser.feed(found), *parser.close()] if (event := matcher.feed(record)) is not None]


def printed(row: Row) -> list[str]:
    """The row's lines as they stand in a log."""
    header = "" if row.level.startswith(UNSTAMPED) else HEADER
    return [header + line for line in lines(row)]


def phases(line: str) -> set[str]:
    """The phases that a line's rules name."""
    return {event.rule.phase for event in events(line)}


def missed(row: Row) -> list[str]:
    """The row's lines that no rule knows, or that are given to another phase."""
    return [line for line in printed(row) if not (found := phases(line)) or (row.phase != "any" and row.phase not in found)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_statement_is_known_and_has_its_phase(row: Row) -> None:
    """A statement of the main path is matched in every wording and belongs to its phase, or the reason why not is written down."""
    if row.id in WITHOUT_A_PHASE_OF_THEIR_OWN:
        assert all(phases(line) <= {"open", "any"} for line in printed(row))
    else:
        assert [] == missed(row)


def test_nearly_all_statements_have_their_phase() -> None:
    """At least 95 % of the statements are matched and give their phase; exactly the others are listed."""
    others = {row.id for row in ROWS if missed(row)}

    assert WITHOUT_A_PHASE_OF_THEIR_OWN.keys() == others
    assert len(ROWS) - len(others) >= ENOUGH * len(ROWS)
