"""Which of many texts occur in a line, and where in a block they stand.

A compiled automaton does it where its wheel can be had; elsewhere the standard library gives the same answers, slower.
A test holds the two equal.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

try:
    import ahocorasick_rs as _automaton
except ImportError:  # no wheel for this platform
    _automaton = None  # type: ignore[assignment]

SET = 45  # texts in one automaton: with more it loses its vector path, so larger sets are searched in turns


def finder(texts: Sequence[str], *, compiled: bool = True) -> Callable[[str], list[int]]:
    """A function that gives the indexes of all `texts` in a line, sorted, each once."""
    if compiled and _automaton is not None:
        automaton = _automaton.AhoCorasick(texts)
        found = automaton.find_matches_as_indexes
        return lambda line: sorted({match[0] for match in found(line, overlapping=True)})
    numbered = list(enumerate(texts))
    return lambda line: [index for index, text in numbered if text in line]


def scanner(texts: Sequence[str], *, compiled: bool = True) -> Callable[[memoryview], list[int]]:
    """A function that gives the positions in a block of bytes at which one of `texts` stands: enough to find each line that holds one."""
    literals = sorted({text.encode() for text in texts})
    if not literals:
        return lambda _: []
    if compiled and _automaton is not None:
        searches = [
            _automaton.BytesAhoCorasick(
                literals[start : start + SET],
                matchkind=_automaton.MATCHKIND_LEFTMOST_FIRST,
                implementation=_automaton.Implementation.NoncontiguousNFA,
            ).find_matches_as_indexes
            for start in range(0, len(literals), SET)
        ]
        return lambda block: sorted(match[1] for search in searches for match in search(block))
    pattern = re.compile(b"|".join(re.escape(literal) for literal in literals))
    return lambda block: [found.start() for found in pattern.finditer(block)]
