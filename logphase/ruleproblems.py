"""Rules under examination -> Problem: where it is, why it is one, and what to write instead.

What every part of the check needs: the rules without those that cannot even be compiled, lines as a log would have them, and the place
in a file of what is wrong. Law of this file: every problem names a line and a remedy.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from logphase import patterns, rules
from logphase.events import Matcher
from logphase.fingerprint import older
from logphase.lines import LineSplitter
from logphase.places import place
from logphase.records import RecordParser
from logphase.warmth import STATES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from logphase.errors import RuleError
    from logphase.records import Record
    from logphase.rulefiles import Table
    from logphase.rules import Fingerprint, Header, Rule, RuleSet, WarmthRule, Wrapper

_VERSION = re.compile(r"\d+(?:\.\d+){1,2}(?:\.?(?:post|rc|dev|a|b)\d+)?")


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong. `snippet` is the text it is about, `column` where in it, counted from 0."""

    file: str
    line: int
    subject: str
    reason: str
    hint: str
    snippet: str = ""
    column: int | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """The problems, and how much was looked at."""

    problems: tuple[Problem, ...]
    engines: tuple[str, ...]
    rules: int
    examples: int


def messages(known: RuleSet, line: str) -> tuple[Record, ...]:
    """The records of a line that stands alone in a log."""
    splitter, parser = LineSplitter(), RecordParser(known)
    splitter.feed(f"{line}\n".encode(), None)
    found: list[Record] = []
    while (piece := splitter.pop()) is not None:
        found += parser.feed(piece)
    return (*found, *parser.close())


def fired(known: RuleSet, line: str, matcher: Matcher | None = None) -> tuple[str, ...]:
    """The rules that a line alone in a log fires; a `matcher` of the same rules saves making one."""
    matcher = matcher or Matcher(known)
    events = [matcher.feed(record) for record in messages(known, line)]
    return tuple(event.rule.id for event in events if event is not None)


class Examination:
    """The rules of one engine, and what is asked of every part of them."""

    def __init__(self, engine: str, tables: Sequence[Table]) -> None:
        self.tables = tables
        self.refused: list[RuleError] = []
        whole = rules.assemble(engine, tables, self.refused)
        parts: list[Header | Wrapper | Rule] = [*whole.headers, *whole.wrappers, *whole.rules]
        self.broken = [part for part in parts if not compiles(part.pattern)]
        self.rules = whole._replace(
            headers=tuple(part for part in whole.headers if part not in self.broken),
            wrappers=tuple(part for part in whole.wrappers if part not in self.broken),
            rules=tuple(part for part in whole.rules if part not in self.broken),
        )
        self.first = engine == rules.DEFAULT_ENGINE  # whose lines the examples of rules for all engines are
        self._for_all = frozenset(table.name for table in tables if rules.for_all(table))
        self.matcher = Matcher(self.rules)
        self.by_id = {rule.id: rule for rule in self.rules.rules}

    def problem(self, where: str, reason: str, hint: str, key: str = "", text: str = "", column: int | None = None) -> Problem:
        found = place(where, self.tables, key, text)
        subject = re.sub(r'^.*"(.*?)".*$', r"\1", where) if '"' in where else ""
        return Problem(found.file, found.line, subject, reason, hint, text or found.text, column)

    def shared(self, where: str) -> bool:
        return re.split(r": (?:rule|wrapper)\[", where)[0] in self._for_all

    def versions(self, where: str, since: str, until: str) -> Iterator[Problem]:
        for key, value in (("since", since), ("until", until)):
            if value and not is_version(value):
                yield self.problem(where, f"{value!r} is no version", "For example: 0.5.9.", key)
        newest = self.rules.tested_with[-1] if self.rules.tested_with else ""
        if since and until and older(until, since):
            yield self.problem(where, f"since {since} is newer than until {until}", "Swap them.", "until")
        if newest and since and older(newest, since):
            yield self.problem(
                where,
                f"since {since} is newer than tested_with {newest}",
                "Check the other rules against that version too, and raise tested_with.",
                "since",
            )

    def pattern(self, where: str, pattern: str, examples: Sequence[str]) -> Iterator[Problem]:
        """What is wrong with a pattern."""
        try:
            patterns.parsed(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            at = getattr(error, "pos", None)
            yield self.problem(
                where,
                f"no regular expression: {getattr(error, 'msg', error)}",
                "Try it with python -c 'import re; re.compile(…)'.",
                "pattern",
                pattern,
                at,
            )
            return
        if not pattern.startswith("^"):
            yield self.problem(
                where,
                "the pattern does not start with ^",
                f"A message is matched from its start: '^{pattern[:20]}…'.",
                "pattern",
                pattern,
                0,
            )
        if re.match(r"\^?(?:\((?:\?:|\?P<\w+>)?)*\.[*+]", pattern):
            yield self.problem(
                where,
                "the pattern begins with anything",
                "Leave the leading .* out, or say what may stand there: [\\w.]+ or .{0,80}",
                "pattern",
                pattern,
                pattern.index("."),
            )
        if re.match(pattern, ""):
            yield self.problem(where, "the pattern fits an empty line", "Make something in it required.", "pattern", pattern)
        if patterns.loose(pattern):
            yield self.problem(
                where,
                "anything may stand in the middle, however long",
                "Say what may stand there, or limit it: .{0,80}",
                "pattern",
                pattern,
            )
        if patterns.trails(pattern):
            yield self.problem(
                where, "the pattern ends with anything", "Leave the .* out: a pattern need not fit the whole message.", "pattern", pattern
            )
        away = patterns.runaway(pattern, tuple(examples))
        if away is not None:
            yield self.problem(
                where,
                f"the pattern can run away: {away.reason}",
                "Limit repeats, as {0,80}, and let no two of them next to each other fit the same.",
                "pattern",
                away.line or pattern,
            )

    def misfit(self, where: str, pattern: str, line: str, reason: str) -> Problem:
        """An example that does not fit, with the place at which the pattern stopped."""
        records = messages(self.rules, line)
        texts = [line] if ": rule[" not in where else [record.message for record in records] or [line]
        stops = [(patterns.stops_at(pattern, text), text) for text in texts]
        column, text = max(((at if at is not None else -1, text) for at, text in stops), default=(-1, line))
        fits = any(at is None for at, _ in stops)
        hint = (
            "The pattern fits: is it the text of contains that is missing, or the scope?"
            if fits
            else "The pattern stops to fit at the mark: correct it, or the example."
        )
        return self.problem(where, reason, hint, "examples", text, None if column < 0 else column)


def compiles(pattern: str) -> bool:
    """Whether a pattern is one."""
    try:
        patterns.parsed(pattern)
    except re.error:
        return False
    return True


def is_version(text: str) -> bool:
    """Whether a text is a version, as 0.5.9 or 0.5.8.post1."""
    return _VERSION.fullmatch(text) is not None


def warmth_problems(of: Examination) -> Iterator[Problem]:
    """Every sign of a cold or a warm start names a wording that its rule's examples have, or a figure of a phase."""
    for entry in of.rules.warmths:
        if entry.state not in STATES:
            yield of.problem(entry.where, f"state {entry.state!r} is not known", f"{', '.join(STATES)}.", "state")
        measured = (entry.first_step_s > 0) + (entry.gb_per_s > 0)
        if entry.rule:
            yield from wording_problems(of, entry)
        elif entry.phase not in of.rules.phases or measured != 1:
            yield of.problem(
                entry.where,
                "it names neither a rule nor a figure of a phase",
                f'rule = "…" with a pattern, or phase = "…" with first_step_s or gb_per_s. Phases: {", ".join(of.rules.phases)}.',
                "phase",
            )


def wording_problems(of: Examination, entry: WarmthRule | Fingerprint) -> Iterator[Problem]:
    rule = of.by_id.get(entry.rule)
    if rule is None:
        yield of.problem(entry.where, f"no rule is called {entry.rule!r}", "Name the rule whose line tells it.", "rule")
    elif entry.pattern and compiles(entry.pattern) and not any(patterns.finds(entry.pattern, line) for line in rule.examples):
        yield of.problem(entry.where, f"it is found in no example of {rule.id}", "Give that rule an example with this wording.", "pattern")
