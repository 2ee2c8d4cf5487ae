"""bytes -> Timeline, with the rules of the engine whose words are in the log: what the library gives to its users.

Law of this file: it only chooses the engine, and has `walk` do the work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from logphase import rules as rule_files
from logphase.walk import AFTERWARDS, Walk

if TYPE_CHECKING:
    from logphase.timeline import Launched, Timeline

DECIDE = 1 << 20  # bytes within which an engine's own words are looked for
WINDOW = 1 << 14


class Analyzer:
    """Feed a log's bytes, ask for its timeline.

    `engine` names the rules; without it the first words that only one engine writes choose it. `rules` is a file or folder that adds
    to them. `until` (seconds on the log's clock) leaves out what is later; `reference` (seconds since 1970) completes stamps without
    a date or year. `afterwards`: how many lines are read with care behind a ready one; only who polls is in them.
    """

    def __init__(
        self,
        rules: str | None = None,
        engine: str | None = None,
        until: float | None = None,
        reference: float | None = None,
        afterwards: int = AFTERWARDS,
    ) -> None:
        self._extra, self._until, self._reference, self._afterwards = rules, until, reference, afterwards
        self._walk = self._new(engine or rule_files.available(rules)[0])
        self._decided = self._walk.claimed = engine is not None
        self._held: list[tuple[bytes, float | None, Launched | None]] = []
        self._size = 0
        self._tail = b""
        self._first = 1  # number of the first line

    def _new(self, engine: str) -> Walk:
        return Walk(rule_files.load(engine, self._extra), self._until, self._reference, self._afterwards)

    @property
    def walk(self) -> Walk:
        """The walk with the engine's rules that were chosen."""
        return self._walk

    @property
    def decided(self) -> bool:
        """Whether the engine is settled: no later byte changes whose rules are used."""
        return self._decided

    def begin_file(self, line: int = 1) -> None:
        """What comes next is line `line` of a file that begins, or starts over: what had no end in the one before is complete as it is."""
        self._walk.close()
        self._walk.lines.renumber(line)
        self._first = line

    def feed(self, data: bytes, at: float | None = None, launched: Launched | None = None) -> None:
        """Take bytes, in any pieces.

        `at` is when they arrived (seconds since 1970), None for a finished log. `launched`: these are the first bytes of a process, and
        when that was started: on the wall clock and on its host's own clock without a zone.
        """
        if not self._decided:
            self._decide(data, at, launched)
        self._walk.feed(data, at, launched)

    def close(self) -> None:
        """The log has ended."""
        self._walk.close()

    def timeline(self) -> Timeline:
        """What the log says so far; asking changes nothing."""
        return self._walk.timeline()

    def _decide(self, data: bytes, at: float | None, launched: Launched | None) -> None:
        """Look for an engine's own words; when it is not the one that was guessed, begin again with what was held."""
        text = self._tail + data[: DECIDE - self._size].replace(b"\0", b"")  # UTF-16 has one in each letter
        engine = _claimed(text, self._extra)
        if engine is not None and engine != self._walk.rules.engine:
            self._walk = self._new(engine)
            self._walk.lines.renumber(self._first)
            for held in self._held:
                self._walk.feed(*held)
        self._walk.claimed = engine is not None
        self._held.append((data, at, launched))
        self._size += len(data)
        self._tail = text[-64:]
        if engine is not None or self._size >= DECIDE:
            self._decided = True
            self._held.clear()


def _claimed(text: bytes, extra: str | None) -> str | None:
    """The engine whose own words come first."""
    names = [(claim.encode(), engine) for engine in rule_files.available(extra) for claim in rule_files.claims(engine, extra)]
    for start in range(0, len(text), WINDOW):
        window = text[max(0, start - 64) : start + WINDOW]
        found = [(position, -len(claim), engine) for claim, engine in names if (position := window.find(claim)) >= 0]
        if found:
            return min(found)[2]
    return None
