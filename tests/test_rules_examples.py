"""Every bundled rule shows lines that fire it, and it alone; what must not fire it does not.

Rules that all engines share (`rules/common/`) stand behind an engine's own, which may take their lines. So what they show is held to
the first engine, whose lines they were written from; with another one, its own rule may be the one that fires.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from logphase import rules
from logphase.events import Matcher
from logphase.lines import LineSplitter
from logphase.records import RecordParser
from logphase.rules import Edge, Rule, RuleSet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from logphase.records import Record

ENGINES = rules.available()
SHARED = "common/"  # where a shared rule stands


class Shown(NamedTuple):
    """A line that a rule shows, with the engine whose rules it is held to."""

    engine: str
    rule: Rule
    line: str
    name: str


def all_rules() -> Iterator[tuple[str, Rule]]:
    """Each rule of each engine, those that all engines share once for each."""
    for engine in ENGINES:
        for rule in rules.load(engine, examples=True).rules:
            yield engine, rule


def shown(field: str) -> list[Shown]:
    """Every example, or every counterexample."""
    return [
        Shown(engine, rule, line, f"{engine}-{rule.id}-{number}")
        for engine, rule in all_rules()
        for number, line in enumerate(getattr(rule, field), 1)
    ]


def fired(engine: str, line: str, *, foreign: bool = False) -> list[Rule]:
    """The rules that a line fires, through splitter, parser and matcher; `foreign`: with a header that the engine does not know."""
    known = rules.load(engine)
    matcher = Matcher(known)
    parser, records = messages(known, line)
    events = [matcher.feed(record, anywhere=foreign and not parser.headed) for record in records]
    return [known_rule(known, event.rule.id) for event in events if event is not None]


def fitting(engine: str, line: str) -> set[str]:
    """All rules whose pattern fits, those too that come too late."""
    known = rules.load(engine)
    matcher = Matcher(known)
    _, records = messages(known, line)
    return {rule.id for record in records for rule in matcher.candidates(record.message) if rule.match(record.message)}


def messages(known: RuleSet, line: str) -> tuple[RecordParser, list[Record]]:
    """The records of a line that stands alone in a log, and who parsed them."""
    splitter, parser = LineSplitter(), RecordParser(known)
    splitter.feed(f"{line}\n".encode(), None)
    records: list[Record] = []
    while (found := splitter.pop()) is not None:
        records += parser.feed(found)
    return parser, [*records, *parser.close()]


def known_rule(known: RuleSet, name: str) -> Rule:
    return next(rule for rule in known.rules if rule.id == name)


def own(example: Shown) -> bool:
    """Whether what is shown is held to this engine's rules."""
    return example.engine == ENGINES[0] or not example.rule.where.startswith(SHARED)


EXAMPLES = shown("examples")
each_example = pytest.mark.parametrize("example", list(filter(own, EXAMPLES)), ids=lambda example: example.name)


@each_example
def test_example_fires_its_rule(example: Shown) -> None:
    """An example, header and all, fires the rule that shows it and no other one."""
    assert {example.rule.id} == {rule.id for rule in fired(example.engine, example.line)}


@each_example
def test_example_is_claimed_by_no_other_rule(example: Shown) -> None:
    """A line that two rules want is a mistake, unless the later one is a fallback, shared, or says that the line is not its own."""
    others = fitting(example.engine, example.line) - {example.rule.id}
    known = rules.load(example.engine, examples=True)
    rivals = [known_rule(known, name) for name in sorted(others)]

    shared = example.rule.where.startswith(SHARED)
    strict = [rival for rival in rivals if not rival.fallback and (shared or not rival.where.startswith(SHARED))]

    assert [] == [rival.id for rival in strict if example.line not in rival.counterexamples]


@pytest.mark.parametrize("example", [example for example in EXAMPLES if not own(example)], ids=lambda example: example.name)
def test_shared_example_fires_with_every_engine(example: Shown) -> None:
    """A shared rule's example fires it with another engine's rules too, or one of that engine's own with the same effect."""
    assert [] != [rule for rule in fired(example.engine, example.line, foreign=True) if rule.edge is example.rule.edge]


@pytest.mark.parametrize("example", list(filter(own, shown("counterexamples"))), ids=lambda example: example.name)
def test_counterexample_does_not_fire_its_rule(example: Shown) -> None:
    """A line that looks like a rule's, and is not, leaves the rule alone."""
    assert example.rule.id not in {rule.id for rule in fired(example.engine, example.line)}


@pytest.mark.parametrize("engine", ENGINES)
def test_every_rule_shows_what_it_must(engine: str) -> None:
    """Every rule has an example, one that decides has counterexamples, and one that names a failure says what to do."""
    known = rules.load(engine, examples=True)
    deciding = (Edge.READY, Edge.WORKER_READY, Edge.FATAL)

    assert [] == [rule.id for rule in known.rules if not rule.examples]
    assert [] == [rule.id for rule in known.rules if rule.edge in deciding and not rule.counterexamples]
    assert [] == [rule.id for rule in known.rules if rule.edge is Edge.FATAL and not rule.remedy]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_example_holds_a_text_of_its_rule(engine: str) -> None:
    """The fast path looks for a rule's text first, so an example without it would never be seen."""
    known = rules.load(engine, examples=True)

    assert [] == [rule.id for rule in known.rules for line in rule.examples if not any(text in line for text in rule.contains)]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_rule_is_of_a_phase_that_exists(engine: str) -> None:
    """A rule's phase, and the one that it opens, is one of its engine's."""
    known = rules.load(engine)
    phases = {*known.phases, "any", "open", ""}

    assert [] == [rule.id for rule in known.rules if {rule.phase, rule.opens} - phases]


@pytest.mark.parametrize("engine", ENGINES)
def test_headers_and_wrappers_fit_their_examples(engine: str) -> None:
    """What stands before a message shows a line, and fits it."""
    known = rules.load(engine, examples=True)
    wrappers = [wrapper for wrapper in known.wrappers if wrapper.pattern]

    assert [] == [part.id for part in (*known.headers, *known.wrappers) if not part.examples]
    assert [] == [part.id for part in (*known.headers, *wrappers) for line in part.examples if not rules.compiled(part.pattern).match(line)]
