"""Regular expression -> Pattern: what every match of it holds, where it stops to fit a line, and whether a line can make it run away.

A rule is only as good as its pattern, and most mistakes in one can be proven without a log. The tree comes from the standard library's
own parser, so that what is judged is what runs. Law of this file: it says what is so; what that means for a rule is `rulecheck`'s.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MANY = 20_000  # ways through a pattern that are followed
ENDLESS = 32  # a repeat from so many rounds on
FEW = 4  # characters of a set that are tried one by one
GAP = "\0"  # anything, in a way through a pattern
LIMIT_S = 0.25  # of one match: a good pattern takes a thousandth of it
HOSTILE = 60_000
END = "\n!"  # neither the line's end nor anything of it
UNITS = ("a", "0", " ", ".", "-", "a0", " a", "A ", "a.", "a: ", "/a", "[a]", "0:", "0/0 ", "| ", "a=0, ", "'", "\t")

_tree = import_module("re._parser")


@cache
def parsed(pattern: str) -> Any:  # noqa: ANN401 - the library's own tree
    """The pattern's tree.

    Raises:
        re.error: it is no pattern.
    """
    re.compile(pattern)  # what the parser lets through and the compiler does not
    return _tree.parse(pattern)


@cache
def without(pattern: str, texts: tuple[str, ...]) -> str | None:
    """A way through the pattern on which none of the texts stands for sure, with `…` for what may be anything; None if there is none."""
    for coarse in (False, True):
        ways = _ways(parsed(pattern), texts, coarse=coarse)
        if ways is not None:
            return min(ways, key=len).replace(GAP, "…") if ways else None
    return None


@cache
def spelled(pattern: str) -> tuple[str, ...]:
    """Texts that the pattern spells out, on any way through it."""
    ways = _ways(parsed(pattern), (), coarse=False) or _ways(parsed(pattern), (), coarse=True) or set()
    return tuple(sorted(ways))


def _ways(items: Any, texts: tuple[str, ...], *, coarse: bool) -> set[str] | None:  # noqa: ANN401
    """All ways through a sequence that hold none of the texts; None when there are too many."""
    ways: set[str] = {""}
    for operation, argument in items:
        parts = _parts(operation, argument, coarse=coarse)
        if parts is None or len(ways) * len(parts) > MANY:
            return None
        ways = {_joined(way, part) for way in ways for part in parts}
        ways = {way for way in ways if not any(text in way for text in texts)}
    return ways


def _joined(way: str, part: str) -> str:
    return way + part.removeprefix(GAP) if way.endswith(GAP) else way + part


def _parts(operation: Any, argument: Any, *, coarse: bool) -> set[str] | None:  # noqa: ANN401, PLR0911 - one for each kind of item
    name = str(operation)
    if name == "LITERAL":
        return {chr(argument)}
    if name == "IN":
        plain = all(str(kind) == "LITERAL" for kind, _ in argument)
        return {chr(code) for _, code in argument} if plain and len(argument) <= FEW and not coarse else {GAP}
    if name == "BRANCH":
        return _union([_ways(branch, (), coarse=coarse) for branch in argument[1]])
    if name in ("SUBPATTERN", "ATOMIC_GROUP"):
        return _ways(argument[-1] if name == "SUBPATTERN" else argument, (), coarse=coarse)
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        least, most, body = argument
        inner = _ways(body, (), coarse=coarse)
        if least == 0:
            return inner and {"", *inner} if int(most) == 1 and not coarse else {GAP}
        return inner and {way if int(most) == 1 else _joined(way, GAP) for way in inner}
    if name in ("AT", "ASSERT", "ASSERT_NOT"):
        return {""}
    return {GAP}


def _union(sets: Sequence[set[str] | None]) -> set[str] | None:
    found: set[str] = set()
    for each in sets:
        if each is None:
            return None
        found |= each
    return found


def loose(pattern: str) -> bool:
    """Whether a repeat of anything, without limit, stands before something else."""
    return _loose(parsed(pattern))


def _loose(items: Any) -> bool:  # noqa: ANN401
    listed = list(items)
    for number, (operation, argument) in enumerate(listed):
        last = all(str(name) == "AT" for name, _ in listed[number + 1 :])
        if (
            str(operation) in ("MAX_REPEAT", "MIN_REPEAT")
            and int(argument[1]) >= ENDLESS**3
            and [str(name) for name, _ in argument[2]] == ["ANY"]
            and not last
        ):
            return True
        if any(_loose([*below, *(() if last else ((_END, None),))]) for below in _below(operation, argument)):
            return True
    return False


_END = "something else"


def trails(pattern: str) -> bool:
    """Whether the pattern ends with anything, which no group keeps: it says nothing."""
    return _trails(parsed(pattern))


def _trails(items: Any) -> bool:  # noqa: ANN401
    if not len(items):
        return False
    operation, argument = items[-1]
    name = str(operation)
    if name == "BRANCH":
        return any(_trails(branch) for branch in argument[1])
    if name == "SUBPATTERN":
        return argument[0] is None and _trails(argument[-1])
    return name.endswith("REPEAT") and int(argument[1]) >= ENDLESS**3 and [str(kind) for kind, _ in argument[2]] == ["ANY"]


# --- running away


@dataclass(frozen=True, slots=True)
class Runaway:
    """Why a pattern can take forever: its `part`, or a `line` that did it."""

    reason: str
    line: str = ""


@cache
def runaway(pattern: str, lines: tuple[str, ...] = ()) -> Runaway | None:
    """Whether a line can make a pattern take forever: by its structure, then by trying; `lines` are some that it fits."""
    nested = next(_nested(parsed(pattern)), None)
    if nested is not None:
        return Runaway("a repeat of a part that repeats by itself, with nothing between that ends it")
    if len(list(_endless(parsed(pattern)))) < 2 and not _uneven(parsed(pattern)):  # noqa: PLR2004 - two that can share a text
        return None
    slow = next((line for line in hostile(pattern, lines) if _slow(pattern, line)), None)
    return Runaway(f"a line of {len(slow)} characters takes more than {LIMIT_S} s", f"{slow[:40]}…{slow[-10:]}") if slow else None


def _slow(pattern: str, line: str) -> bool:
    try:
        _strict(pattern).match(line, timeout=LIMIT_S)
    except TimeoutError:
        return True
    return False


@cache
def _strict(pattern: str) -> Any:  # noqa: ANN401 - a pattern of the regex package
    import regex

    return regex.compile(pattern)


def hostile(pattern: str, lines: Sequence[str]) -> Iterator[str]:
    """Lines that begin as the pattern wants and then go on and on, up to an end that nothing fits."""
    heads = {way.partition(GAP)[0] for way in spelled(pattern)[:4]} | {""}
    for head in sorted(heads):
        for unit in UNITS:
            yield head + unit * (HOSTILE // len(unit)) + END
    for line in lines[:3]:
        for place in _turns(line)[:24]:
            yield line[:place] + line[place] * 6000 + END
            yield line[:place] + (line[max(0, place - 4) : place + 1] * 6000)[:24000] + END


def _turns(line: str) -> list[int]:
    """Where a run of letters, digits or spaces begins."""
    return [found.start() for found in re.finditer(r"[A-Za-z_]+|\d+|\s+|[^\w\s]", line)]


def _nested(items: Any) -> Iterator[object]:  # noqa: ANN401
    """Endless repeats whose body holds another one, and no character that ends it."""
    for operation, argument in items:
        if str(operation) in ("MAX_REPEAT", "MIN_REPEAT") and int(argument[1]) >= ENDLESS:
            inner = set().union(*_endless(argument[2]))
            if inner and not any(kind.isdisjoint(inner) for kind in _demanded(argument[2])):
                yield argument
        for below in _below(operation, argument):
            yield from _nested(below)


def _below(operation: Any, argument: Any) -> list[Any]:  # noqa: ANN401
    """The sequences inside an item."""
    name = str(operation)
    if name == "BRANCH":
        return list(argument[1])
    if name == "SUBPATTERN" or name.endswith("REPEAT"):
        return [argument[-1]]
    if name in ("ASSERT", "ASSERT_NOT"):
        return [argument[1]]
    return [argument] if name == "ATOMIC_GROUP" else []


def _endless(items: Any) -> Iterator[set[int]]:  # noqa: ANN401
    """The characters of each endless repeat in a sequence."""
    for operation, argument in items:
        if str(operation) in ("MAX_REPEAT", "MIN_REPEAT") and int(argument[1]) >= ENDLESS:
            yield set().union(*map(characters, argument[2]))
        for below in _below(operation, argument):
            yield from _endless(below)


def _uneven(items: Any) -> bool:  # noqa: ANN401
    """Whether an endless repeat's body can be of more than one length, so that a text has many ways through it."""
    for operation, argument in items:
        if str(operation) in ("MAX_REPEAT", "MIN_REPEAT") and int(argument[1]) >= ENDLESS:
            least, most = argument[2].getwidth()
            if least != most:
                return True
        if any(_uneven(below) for below in _below(operation, argument)):
            return True
    return False


def _demanded(items: Any) -> Iterator[set[int]]:  # noqa: ANN401
    """The characters of each item that a sequence cannot do without."""
    for operation, argument in items:
        name = str(operation)
        if name in ("LITERAL", "IN", "NOT_LITERAL"):
            yield characters((operation, argument))
        elif name == "SUBPATTERN" or (name in ("MAX_REPEAT", "MIN_REPEAT") and argument[0] > 0 and int(argument[1]) < ENDLESS):
            yield from _demanded(argument[-1])


_CLASSES = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_NOT_WORD": r"\W",
}
_ALL = frozenset(range(128))


def characters(item: Any) -> set[int]:  # noqa: ANN401, PLR0911 - one for each kind of item
    """The ASCII characters that an item of a tree may begin with; all of them where that is hard to say."""
    operation, argument = item
    name = str(operation)
    if name == "LITERAL":
        return {argument}
    if name == "NOT_LITERAL":
        return set(_ALL - {argument})
    if name == "RANGE":
        return set(range(argument[0], argument[1] + 1))
    if name == "CATEGORY":
        return {code for code in _ALL if re.match(_CLASSES[str(argument)], chr(code))}
    if name == "IN":
        inside = set().union(*(characters(each) for each in argument if str(each[0]) != "NEGATE"))
        return set(_ALL - inside) if str(argument[0][0]) == "NEGATE" else inside
    if name.startswith(("AT", "ASSERT")):
        return set()
    below = _below(operation, argument)
    return set().union(*(characters(each) for items in below for each in items)) if below else set(_ALL)


# --- where it stops, and whether it is found


def finds(pattern: str, line: str) -> bool:
    """Whether a pattern is found anywhere in a line."""
    return _strict(pattern).search(line, timeout=LIMIT_S) is not None


def stops_at(pattern: str, line: str) -> int | None:
    """The column at which the pattern stops to fit a line; None when it fits, or fits from no start."""
    strict = _strict(pattern)
    if strict.match(line, timeout=LIMIT_S):
        return None
    low, high = 0, len(line)
    while low < high:  # what fits in part fits in each shorter part
        middle = (low + high + 1) // 2
        if strict.match(line[:middle], partial=True, timeout=LIMIT_S):
            low = middle
        else:
            high = middle - 1
    return low
