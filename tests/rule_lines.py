"""Pattern -> lines, one for each way through it: what a rule promises to know beside the lines that it shows.

Run as a script it writes `data/rule-lines.tsv`: engine, rule and line. A rule's examples are lines of real logs and of the engine's
source; these here are made from the pattern, so that whoever changes it sees what it no longer knows.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from logphase import patterns, rules
from logphase.events import Matcher
from logphase.rulecheck import fired

if TYPE_CHECKING:
    from collections.abc import Iterator

    from logphase.rules import Rule, RuleSet

FILE = Path(__file__).parent / "data" / "rule-lines.tsv"
HEADERS = {"sglang": ("[2026-11-30 01:37:38 TP0] ", ""), "vllm": ("INFO 11-30 01:37:38 [core.py:77] ", "")}
WORDS = ("x", "RuntimeError", "a.py")
LIKED = "8 x./:-|"


class Walker:
    """Walks through a pattern; `forced` says which alternative of which branch to take."""

    def __init__(self, word: str, *, whole: bool, forced: tuple[int, int] | None = None) -> None:
        self._word, self._whole, self._forced = word, whole, forced
        self._branch = -1
        self.branches: list[int] = []

    def walk(self, items: Any) -> str:  # noqa: ANN401 - the library's own tree
        """A text that takes this way."""
        return "".join(self._item(str(operation), argument) for operation, argument in items)

    def _item(self, name: str, argument: Any) -> str:  # noqa: ANN401, PLR0911
        if name == "LITERAL":
            return chr(argument)
        if name == "BRANCH":
            return self._alternative(argument[1])
        if name == "SUBPATTERN":
            return self.walk(argument[-1])
        if name == "ATOMIC_GROUP":
            return self.walk(argument)
        if name.endswith("REPEAT"):
            return self._repeat(*argument)
        if name == "IN":
            return next((char for char in LIKED if _among(char, argument)), "x")
        return "x" if name in ("ANY", "NOT_LITERAL") else ""

    def _alternative(self, alternatives: list[Any]) -> str:
        self._branch += 1
        mine = self._branch
        self.branches.append(len(alternatives))
        texts = [self.walk(alternative) for alternative in alternatives]
        return texts[self._forced[1] if self._forced and self._forced[0] == mine else 0]

    def _repeat(self, least: int, most: Any, body: Any) -> str:  # noqa: ANN401
        before = self._branch
        text = self.walk(body)
        inside = self._forced is not None and before < self._forced[0] <= self._branch
        if not least and not self._whole and not inside:
            return ""
        words = len(text) == 1 and int(most) > 1 and text in "x8" and _is_word(body)
        return self._word if words else text * max(1, least)


def _is_word(body: Any) -> bool:  # noqa: ANN401
    return str(body[0][0]) == "IN" and _among("x", body[0][1]) and _among("E", body[0][1])


def _among(char: str, kinds: Any) -> bool:  # noqa: ANN401
    return bool(patterns.characters(("IN", kinds)) & {ord(char)})


def ways(pattern: str) -> Iterator[str]:
    """Texts that go through the pattern: for each alternative some, with and without what may be left out."""
    tree = patterns.parsed(pattern)
    counting = Walker("x", whole=False)
    counting.walk(tree)
    forced = [None, *((branch, each) for branch, number in enumerate(counting.branches) for each in range(number))]
    for way in forced:
        yield from dict.fromkeys(Walker(word, whole=whole, forced=way).walk(tree) for whole in (False, True) for word in WORDS)


def lines(engine: str, known: RuleSet, rule: Rule, matcher: Matcher) -> Iterator[str]:
    """Lines that fire the rule and it alone."""
    for text in dict.fromkeys(ways(rule.pattern)):
        if text.isprintable():
            line = next((header + text for header in HEADERS[engine] if fired(known, header + text, matcher) == (rule.id,)), "")
            if line and line.strip() == line:
                yield line


def all_lines() -> Iterator[tuple[str, str, str]]:
    """Engine, rule and line, for all bundled rules; those for all engines once."""
    for engine in HEADERS:
        known = rules.load(engine, examples=True)
        matcher = Matcher(known)
        for rule in known.rules:
            if engine == "sglang" or not rule.where.startswith("common/"):
                yield from ((engine, rule.id, line) for line in _needed(rule, list(lines(engine, known, rule, matcher))))


def _needed(rule: Rule, found: list[str]) -> list[str]:
    """Of lines that differ only in how much is left out, the shortest and the longest."""
    kept: dict[str, list[str]] = {}
    for line in found:
        kept.setdefault(re.sub(r"[^A-Za-z]", "", line)[:40], []).append(line)
    return sorted({line for same in kept.values() for line in (min(same, key=len), max(same, key=len))} - set(rule.examples))


def read() -> list[tuple[str, str, str]]:
    """The lines as the file has them."""
    rows = [row.split("\t", 2) for row in FILE.read_text("utf-8").splitlines()]
    return [(engine, rule, line) for engine, rule, line in rows]


if __name__ == "__main__":
    FILE.write_text("".join(f"{engine}\t{rule}\t{line}\n" for engine, rule, line in all_lines()), "utf-8")
