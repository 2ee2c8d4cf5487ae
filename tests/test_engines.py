"""Which engine wrote a log: never two of them, whatever is cut out of it, mixed or written in another encoding."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from logphase import rules
from logphase.analyzer import Analyzer

ROOT = Path(__file__).parent.parent
LOGS = [*sorted((ROOT / "sample_logs").glob("*.log")), *sorted((ROOT / "tests" / "cases").glob("*/log.txt"))]
MADE = 300
CLAIMS = {engine: [claim.encode() for claim in rules.claims(engine)] for engine in rules.bundled()}


def claimed_by(data: bytes) -> list[str]:
    """The engines of whose own texts one stands in a log."""
    return [engine for engine, claims in CLAIMS.items() if any(claim in data for claim in claims)]


def chosen(data: bytes) -> str:
    """The engine whose rules read a log."""
    analyzer = Analyzer()
    analyzer.feed(data)
    return analyzer.timeline().engine


def by_engine() -> dict[str, list[bytes]]:
    """The lines of all logs at hand, by the engine that wrote them; the examples of the rules are lines too."""
    lines = {engine: [line.encode() for rule in rules.load_bundled(engine).rules for line in rule.examples] for engine in CLAIMS}
    for log in LOGS:
        data = log.read_bytes()
        for engine in claimed_by(data):
            lines[engine] += [line for line in data.split(b"\n") if line]
    return lines


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.parent.name if log.name == "log.txt" else log.stem)
def test_no_log_is_claimed_by_two(log: Path) -> None:
    """Of the texts that only one engine writes, a log holds those of one at most."""
    assert len(claimed_by(log.read_bytes())) <= 1


def mangled(chance: random.Random, line: bytes, other: bytes) -> bytes:
    """A line that was torn, glued to another one, renumbered or shuffled."""
    way = chance.randrange(5)
    if way == 0:
        return line[: chance.randrange(len(line) + 1)] + line[chance.randrange(len(line) + 1) :]
    if way == 1:
        return line[: chance.randrange(len(line) + 1)] + other[chance.randrange(len(other) + 1) :]
    if way == 2:
        return re.sub(rb"\d+", lambda _: str(chance.randrange(999)).encode(), line)
    if way == 3:
        return b" ".join(chance.sample(line.split(b" "), line.count(b" ") + 1))
    return line


@pytest.mark.parametrize("engine", rules.bundled())
def test_no_made_log_is_claimed_by_another(engine: str) -> None:
    """Lines of one engine, torn, glued, renumbered and shuffled, never hold a text of another one."""
    chance = random.Random(5)  # noqa: S311 - the same logs each time
    lines = by_engine()[engine]
    own = [line for line in lines if set(claimed_by(line)) <= {engine}]
    for _ in range(MADE):
        data = b"\n".join(mangled(chance, chance.choice(own), chance.choice(own)) for _ in range(40)) + b"\n"

        assert set(claimed_by(data)) <= {engine}


def test_a_mixed_log_has_the_engine_whose_words_come_first() -> None:
    """Where the logs of two engines were put together, one of them is chosen, and it is the same in UTF-16."""
    lines = by_engine()
    first = {engine: next(line for line in lines[engine] if claimed_by(line) == [engine]) for engine in lines}
    for engine, other in (("sglang", "vllm"), ("vllm", "sglang")):
        data = first[engine] + b"\n" + first[other] + b"\n"

        assert engine == chosen(data)
        assert engine == chosen(data.decode().encode("utf-16"))
