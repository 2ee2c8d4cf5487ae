"""Fatal lines to the first cause."""

from __future__ import annotations

from logphase.events import Event
from logphase.failures import TOGETHER_LINES, TOGETHER_S, Candidate, Failures
from logphase.records import Record
from logphase.rules import Edge, Rule


def fatal(name: str, line: int, strength: int = 2, *, provisional: bool = False, time: float | None = 0.0) -> Candidate:
    rule = Rule(name, "any", Edge.FATAL, (name,), name, strength=strength, provisional=provisional)
    return Candidate(Event(rule, Record(line, name, name, time), {}), None, None, line, None)


def cause(*candidates: Candidate) -> str | None:
    failures = Failures()
    for candidate in candidates:
        failures.feed(candidate)
    return failures.cause.event.rule.id if failures.cause else None


def test_nothing_failed() -> None:
    """Without a fatal line there is no cause."""
    assert cause() is None
    assert not Failures().certain


def test_the_strongest() -> None:
    """The line that names the cause beats louder ones, before or after it."""
    assert "oom" == cause(fatal("hit", 1, 1), fatal("error", 2, 2), fatal("oom", 3, 3), fatal("sigquit", 4, 1))
    assert "oom" == cause(fatal("oom", 1, 3), fatal("peer", 2, 2))


def test_the_first_among_equals() -> None:
    """Of two causes the earlier one counts."""
    assert "first" == cause(fatal("first", 1, 3), fatal("second", 2, 3))


def test_what_is_far_is_an_echo() -> None:
    """A stronger line long after, in time or in lines, belongs to something else."""
    assert "error" == cause(fatal("error", 1, time=0.0), fatal("oom", 2, 3, time=TOGETHER_S + 1))
    assert "error" == cause(fatal("error", 1), fatal("oom", 2 + TOGETHER_LINES, 3))
    assert "oom" == cause(fatal("error", 1, time=None), fatal("oom", 2, 3, time=1e9))


def test_provisional_is_taken_back() -> None:
    """What was not the end is forgotten when the startup goes on."""
    failures = Failures()
    failures.feed(fatal("retry", 1, 3, provisional=True))
    assert not failures.certain
    assert failures.cause is not None
    failures.forget()
    assert failures.cause is None
    failures.feed(fatal("end", 2))
    failures.forget()
    assert failures.cause is not None
    assert failures.certain


def test_provisional_names_the_cause_of_a_certain_one() -> None:
    """If the end comes, what was provisional can be its cause."""
    assert "oom" == cause(fatal("oom", 1, 3, provisional=True), fatal("sigquit", 2, 1))


def test_many() -> None:
    """A flood of fatal lines takes no memory and does not hide the first."""
    failures = Failures()
    for line in range(1, 5 * TOGETHER_LINES):
        failures.feed(fatal("error", line))

    assert failures.cause is not None
    assert 1 == failures.cause.line
    assert len(failures._candidates) <= TOGETHER_LINES


def test_certain_behind_many_provisional_ones() -> None:
    """A certain line is the cause even where provisional ones have filled the list."""
    failures = Failures()
    for line in range(1, TOGETHER_LINES + 10):
        failures.feed(fatal("retry", line, 1, provisional=True))
    failures.feed(fatal("oom", TOGETHER_LINES + 10, 3))

    assert failures.cause is not None
    assert "oom" == failures.cause.event.rule.id
