"""Record -> Event: the rule that a record fits, with its typed values.

A literal that every match of a rule must hold is looked for first, so a pattern only ever sees lines that are likely to fit. The
first rule in file order wins. A traceback behind a line that is known to be harmless is harmless too.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from logphase.literals import finder
from logphase.rules import Edge

if TYPE_CHECKING:
    from collections.abc import Mapping

    from logphase.records import Record
    from logphase.rules import Rule, RuleSet

Value = str | int | float
LARGEST = 1e15  # a figure beyond it is no measurement: sums, dates and databases would break on it
COUNTS = frozenset({"done", "total", "rank_index"})  # groups that are counted with, whether a rule gives their type or not
QUOTES = ('"', "'", "`")
_LOUD = frozenset({Edge.FATAL, Edge.FRAME})


@dataclass(frozen=True, slots=True)
class Event:
    """A record that a rule knows. `values` hold the pattern's named groups, typed."""

    rule: Rule
    record: Record
    values: Mapping[str, Value]

    @property
    def is_bar(self) -> bool:
        """Whether its groups count how much is done, of how much."""
        return all(isinstance(self.values.get(name), int | float) for name in ("done", "total"))

    def moved(self, by: float) -> Event:
        """It as another clock has it: `by` seconds earlier."""
        return replace(self, record=self.record.moved(by))


class Matcher:
    """Feed records, get events. `serving` arms the rules of a server that is up and disarms those of a startup."""

    def __init__(self, rules: RuleSet) -> None:
        self.rules = rules
        self.serving = False
        texts = sorted({text for rule in rules.rules for text in rule.contains})
        self._find = finder(texts)
        number = {text: index for index, text in enumerate(texts)}
        self._users: list[list[int]] = [[] for _ in texts]
        for order, rule in enumerate(rules.rules):
            for text in rule.contains:
                self._users[number[text]].append(order)
        self._harmless: dict[str | None, int] = {}

    def candidates(self, message: str) -> list[Rule]:
        """The rules whose literal stands in the message, in the order in which they are tried."""
        found = self._find(message)
        if not found:
            return []
        return [self.rules.rules[order] for order in sorted({order for index in found for order in self._users[index]})]

    def feed(self, record: Record, *, anywhere: bool = False) -> Event | None:
        """The event of a record, if a rule knows it. `anywhere`: the log's prefix is unknown, so search the whole line."""
        loose = anywhere and record.header is None and not record.bar
        text = record.text if loose else record.message
        for rule in self.candidates(text):
            if not self.armed(rule):
                continue
            found = rule.match(text) or (rule.search(text) if loose else None)
            if found is None or text[: found.start()].rstrip(" (").endswith(QUOTES):
                continue  # somebody else's words about the line
            if rule.edge in _LOUD and self._is_harmless(record):
                return None
            if rule.edge is not Edge.FATAL and (rule.traceback or "Traceback (most recent call last)" in text):
                self._harmless[record.source] = record.line
            return Event(rule, record, typed(rule, found.groupdict()))
        return None

    def armed(self, rule: Rule) -> bool:
        """Whether a rule is looked for now."""
        return not self.serving or rule.scope != "startup"

    def _is_harmless(self, record: Record) -> bool:
        """Whether it continues a record whose traceback is known to do no harm."""
        owner = record.owner
        return record.header is None and owner is not None and self._harmless.get(record.source) == owner.line


def typed(rule: Rule, groups: Mapping[str, str | None]) -> dict[str, Value]:
    """The named groups as the rule's types say; what cannot be read so stays text, groups that did not take part are left out."""
    values: dict[str, Value] = {}
    for name, text in groups.items():
        if text is None:
            continue
        kind = rule.types.get(name, "int" if name in COUNTS else "str")
        values[name] = text
        with suppress(ValueError):
            value = float(text) if kind == "float" else int(text) if kind == "int" else text.count(",") + 1 if kind == "list" else text
            values[name] = value if isinstance(value, str) or abs(value) <= LARGEST else text
    return values
