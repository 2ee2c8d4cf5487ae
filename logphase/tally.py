"""bytes -> Tally: how much of a log the rules know, and what the rest looks like.

Lines that no rule knows are put together by shape: numbers, paths and quoted texts masked, so that a wording that came with a new
version of the engine stands out by how often it comes. Law of this file: every record of the log counts once, known or not, and
what a caller passes over is told.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from logphase.events import Matcher
from logphase.lines import LineSplitter
from logphase.records import RecordParser

if TYPE_CHECKING:
    from collections.abc import Iterable

    from logphase.records import Record
    from logphase.rules import Rule, RuleSet

SHAPES = 20_000  # of lines that no rule knows; what comes later counts as one
SHAPE = 160  # characters of a shape
OTHERS = "(other shapes)"
_MASKS = (
    (re.compile(r"'[^']{1,200}'|\"[^\"]{1,200}\""), "'…'"),
    (re.compile(r"(?<![\w.])(?:/[\w.+@=-]+){2,}/?"), "/…"),
    (re.compile(r"\b0x[0-9a-fA-F]+|\b[0-9a-f]{8,}\b"), "#"),
    (re.compile(r"-?\d+(?:[.,:]\d+)*"), "#"),
    (re.compile(r"(?:#[ ,;/|-]*){3,}"), "#… "),
)
_PARTS = re.compile(r"(?P<number>-?\d+\.\d+)|(?P<whole>\d+)|(?P<path>(?<![\w.])(?:/[\w.+@=-]+){2,}/?)")


@dataclass(frozen=True, slots=True)
class Group:
    """Lines of one shape that no rule knows."""

    shape: str
    count: int
    line: int
    text: str
    message: str
    headed: bool


@dataclass(frozen=True, slots=True)
class Tally:
    """What was counted. `hits`: rule id to number of lines; `never`: rules without one; `groups`: most frequent first.

    `passed`: lines that were not looked at.
    """

    records: int
    known: int
    hits: dict[str, int]
    never: tuple[str, ...]
    groups: tuple[Group, ...]
    passed: int = 0

    @property
    def share(self) -> float:
        """Share of the records that a rule knows."""
        return self.known / self.records if self.records else 0.0


class Counting:
    """Feed bytes, close, and take the tally."""

    def __init__(self, rules: RuleSet) -> None:
        self._rules = rules
        self._lines = LineSplitter()
        self._records = RecordParser(rules)
        self._matcher = Matcher(rules)
        self._hits: Counter[str] = Counter()
        self._shapes: dict[str, list[int]] = {}
        self._firsts: dict[str, Record] = {}
        self._number = 0
        self._passed = 0

    def feed(self, data: bytes) -> None:
        """Take bytes."""
        self._lines.feed(data)
        while (line := self._lines.pop()) is not None:
            self._take(self._records.feed(line))

    def skip(self, data: bytes) -> None:
        """Take bytes, and pass over the lines that are whole in them."""
        start, end = data.find(b"\n") + 1, data.rfind(b"\n") + 1
        lines = data.count(b"\n", start, end)
        self.feed(data[:start])
        self._lines.renumber(self._lines.number + lines)
        self._passed += lines
        self.feed(data[end:])

    def close(self) -> Tally:
        """The log has ended."""
        last = self._lines.close()
        if last is not None:
            self._take(self._records.feed(last))
        self._take(self._records.close())
        groups = [_group(name, count, line, self._firsts[name]) for name, (count, line) in self._shapes.items()]
        return Tally(
            self._number,
            self._hits.total(),
            dict(self._hits.most_common()),
            tuple(rule.id for rule in self._rules.rules if rule.id not in self._hits),
            tuple(sorted(groups, key=lambda group: (-group.count, not group.headed, group.line))),
            self._passed,
        )

    def _take(self, records: Iterable[Record]) -> None:
        for record in records:
            self._number += 1
            event = self._matcher.feed(record, anywhere=not self._records.headed)
            if event is not None:
                self._hits[event.rule.id] += 1
                continue
            name = shape(record.message)
            if name not in self._shapes and len(self._shapes) >= SHAPES:
                name = OTHERS
            self._firsts.setdefault(name, record)
            self._shapes.setdefault(name, [0, record.line])[0] += 1


def _group(name: str, count: int, line: int, first: Record) -> Group:
    return Group(name, count, line, first.text, first.message, first.header is not None)


def shape(message: str) -> str:
    """A message with everything masked that differs from line to line."""
    text = message.strip()[: 2 * SHAPE]
    for pattern, mask in _MASKS:
        text = pattern.sub(mask, text)
    return text[:SHAPE]


def stub(group: Group, taken: Iterable[Rule] = ()) -> str:
    """A rule to begin with for a group of lines: it fits the line, what it means is left to say."""
    message = group.message.strip()
    words = re.findall(r"[a-z]+", re.sub(r"[^a-z ]+", " ", message.lower()))[:3] or ["line"]
    name = "-".join(words)
    used = {rule.id for rule in taken}
    while name in used:
        name += "-more"
    head = message[:90]
    pattern = "".join(_pattern(head))
    longest = max(re.split(r"-?\d+(?:\.\d+)?|(?<![\w.])(?:/[\w.+@=-]+){2,}/?", head), key=lambda part: len(part.strip()), default=head)
    return "\n".join(
        (
            "[[rule]]",
            f'id = "{name}"',
            'phase = "any"                          # the phase that it belongs to',
            'edge = "note"                          # begin, progress, end, fatal, warn …: what it does',
            f"contains = {quoted(longest.strip() or head)}",
            f"pattern = {quoted(f'^{pattern}')}",
            f"examples = [{quoted(group.text)}]",
        )
    )


def _pattern(text: str) -> Iterable[str]:
    at = 0
    for found in _PARTS.finditer(text):
        yield re.escape(text[at : found.start()]).replace("\\ ", " ").replace("\\-", "-")
        yield r"-?[\d.]+" if found["number"] else r"\d+" if found["whole"] else r"\S+"
        at = found.end()
    yield re.escape(text[at:]).replace("\\ ", " ").replace("\\-", "-")


def quoted(text: str) -> str:
    """A text as TOML has it: in single quotes where it can."""
    if "'" not in text and text.isprintable():
        return f"'{text}'"
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in escaped) + '"'
