"""Records to events: the first rule that fits, and its typed values."""

from __future__ import annotations

import re

import pytest

from logphase.events import Event, Matcher, typed
from logphase.records import Record
from logphase.rules import Edge, PhaseRule, Rule, RuleSet


def rule(name: str, edge: Edge, contains: str | tuple[str, ...], pattern: str, **more: object) -> Rule:
    texts = (contains,) if isinstance(contains, str) else contains
    return Rule(name, "weights", edge, texts, pattern, **more)  # type: ignore[arg-type]


RULES = RuleSet(
    "small", (), (), (), (), {"weights": PhaseRule("weights", "Weights")},
    (
        rule("begin", Edge.BEGIN, "weights", r"^Begin weights (?P<size_gb>[\d.]+)", types={"size_gb": "float"}),
        rule("loose", Edge.PROGRESS, ("weights", "shards"), r"^(?:Begin )?(?:weights|shards)"),
        rule("known", Edge.NOTE, "harmless", "^harmless", traceback=True),
        rule("error", Edge.FATAL, "Error", r"^\w*Error"),
        rule("frame", Edge.FRAME, "load.py", r"^File .*load\.py"),
        rule("stop", Edge.STOP, "SIGTERM", "^SIGTERM", scope="always"),
        rule("traffic", Edge.SERVING, "Decode", "^Decode", scope="serving"),
    ),
)  # fmt: skip


def record(message: str, line: int = 1, header: str | None = "small", owner: Record | None = None, source: str | None = None) -> Record:
    return Record(line, f"[x] {message}" if header else message, message, header=header, owner=owner, source=source)


def fired(matcher: Matcher, *records: Record) -> list[str | None]:
    found: list[Event | None] = [matcher.feed(each) for each in records]
    return [event.rule.id if event else None for event in found]


def test_the_first_rule_wins() -> None:
    """Rules are tried in file order."""
    assert ["begin", "loose", "loose", None, None] == fired(
        Matcher(RULES), record("Begin weights 3.5 GB"), record("Begin weights"), record("shards"), record("the weights"), record("")
    )


def test_values() -> None:
    """Named groups are typed."""
    event = Matcher(RULES).feed(record("Begin weights 3.5 GB"))

    assert event is not None
    assert {"size_gb": 3.5} == event.values


def test_types() -> None:
    """Each type reads its text; what it cannot read stays text, and what did not take part is left out."""
    typed_rule = rule("r", Edge.BEGIN, "x", "x", types={"a": "int", "b": "float", "c": "list", "d": "int", "f": "float"})
    groups = {"a": "12", "b": "1.5", "c": "1, 2, 4", "d": "many", "e": "text", "f": None}

    assert {"a": 12, "b": 1.5, "c": 3, "d": "many", "e": "text"} == typed(typed_rule, groups)


def test_figures_beyond_measure() -> None:
    """What is no figure that a log can mean stays text, and what is counted with is a number or no bar."""
    typed_rule = rule("r", Edge.PROGRESS, "x", "x", types={"a": "int", "b": "float", "c": "float"})
    digits = "9" * 5000
    groups = {"a": digits, "b": digits, "c": "nan", "done": "3", "total": digits}

    assert {"a": digits, "b": digits, "c": "nan", "done": 3, "total": digits} == typed(typed_rule, groups)
    assert not Event(typed_rule, record("x"), typed(typed_rule, groups)).is_bar


def test_harmless_traceback() -> None:
    """A traceback behind a line that is known to be harmless is harmless, one behind another line is not."""
    note, other = record("harmless warning", 1), record("x", 5)
    trace = [record("File load.py", 2, None, note), record("ValueError: x", 3, None, note)]
    again = [record("File load.py", 6, None, other), record("ValueError: x", 7, None, other)]

    assert ["known", None, None, None, "frame", "error"] == fired(Matcher(RULES), note, *trace, other, *again)


def test_harmless_per_source() -> None:
    """One replica's harmless line does not excuse another's error."""
    note = record("harmless warning", 1, source="a")

    assert ["known", "error"] == fired(Matcher(RULES), note, record("ValueError", 2, None, record("x", 1, source="b"), "b"))


def test_headed_errors_are_not_excused() -> None:
    """A record of its own is judged by itself."""
    note = record("harmless warning", 1)

    assert ["known", "error"] == fired(Matcher(RULES), note, record("ValueError", 2, "small", note))


def test_serving_disarms_the_startup() -> None:
    """While the server is up only the rules for that are armed."""
    matcher = Matcher(RULES)
    matcher.serving = True

    assert [None, "stop", "traffic"] == fired(matcher, record("Begin weights 3"), record("SIGTERM"), record("Decode batch"))


@pytest.mark.parametrize(("header", "bar", "expected"), [(None, False, "begin"), ("small", False, None), (None, True, None)])
def test_anywhere(header: str | None, bar: bool, expected: str | None) -> None:  # noqa: FBT001
    """Where no header is known the words are looked for in the whole line, but for bars."""
    line = Record(1, "prefix | Begin weights 3", "prefix | Begin weights 3", header=header, bar=bar)
    event = Matcher(RULES).feed(line, anywhere=True)

    assert expected == (event.rule.id if event else None)


def test_anywhere_is_off() -> None:
    """Else a pattern stands at the message's start."""
    assert Matcher(RULES).feed(Record(1, "prefix | Begin weights 3", "prefix | Begin weights 3")) is None


def test_candidates_hold_their_text() -> None:
    """A rule whose text is not in the line is never tried."""
    assert ["begin", "loose"] == [found.id for found in Matcher(RULES).candidates("Begin weights")]
    assert [] == Matcher(RULES).candidates("nothing")
    assert re.search("weights", "Begin weights")
