"""Values -> words: durations, rank lists, moments and quoted log text, as every view for people writes them.

Law of this file: what comes out is one line, safe on any terminal.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from logphase.redact import redact

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_TENTHS, _MINUTES, _LONG, _HOURS = 9.95, 120, 999.995, 3600  # seconds from which a duration is written otherwise
_PLAIN = re.compile(r"[ -~]*+")


def visible(text: str) -> str:
    r"""The text with every control character, bidi mark and lone surrogate written out, as `\x1b`; a tab is a space."""
    if _PLAIN.fullmatch(text):
        return text
    return "".join(_written_out(char) if unicodedata.category(char) in _UNSAFE else char for char in text)


def _written_out(char: str) -> str:
    if char == "\t":
        return " "
    return char.encode("unicode_escape").decode("ascii")


def one_line(text: str, *, limit: int | None = None) -> str:
    """The text on one line, cut to `limit` characters."""
    line = " ".join(part for part in re.split(r"[\r\n\u2028\u2029]+", text.strip("\r\n")) if part)
    return line if limit is None or len(line) <= limit else line[: limit - 1] + "…"


def quote(text: str, *, hide: bool, limit: int | None = 1000) -> str:
    """A line of the log for a terminal: without secrets, on one line, with nothing in it that a terminal would obey."""
    return one_line(visible(one_line(redact(text) if hide else text)), limit=limit)


def seconds(value: float) -> str:
    """A duration in a table: `403.97 s`, and in larger units where it is long."""
    return f"{value:.2f} s" if value < _LONG else spoken(value)


def spoken(value: float) -> str:
    """A duration in a sentence: `3.4 s`, `44 s`, `6 min 44 s`, `10 min`, `2 h 5 min`."""
    whole = round(value)
    if whole < _MINUTES:
        return f"{value:.1f} s" if value < _TENTHS else f"{whole} s"
    unit, smaller = ("min", "s") if whole < _HOURS else ("h", "min")
    larger, rest = divmod(whole if whole < _HOURS else round(value / 60), 60)
    return f"{larger} {unit} {rest} {smaller}" if rest else f"{larger} {unit}"


def moment(time: float) -> str:
    """A moment on the log's clock, in ISO 8601; milliseconds only where it has them."""
    millis = round(time * 1000)
    stamp = datetime.fromtimestamp(millis // 1000, UTC).replace(tzinfo=None).isoformat()
    return f"{stamp}.{millis % 1000:03d}" if millis % 1000 else stamp


def lines(first: int, last: int) -> str:
    """`line 7`, `lines 7-12`."""
    return f"line {first}" if first == last else f"lines {first}-{last}"


def count(number: int, noun: str) -> str:
    """`1 rank`, `8 ranks`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def ranks(tags: Sequence[str], *, limit: int = 4) -> str:
    """Rank tags as one text: neighbours as `TP0-TP7`; of more than `limit` pieces the first and the last tag."""
    pieces = list(_runs(tags))
    if len(pieces) <= limit:
        return ", ".join(pieces)
    return f"{visible(tags[0])} … {visible(tags[-1])}"


def _runs(tags: Iterable[str]) -> Iterable[str]:
    first = last = ""
    for tag in map(visible, tags):
        if first and _follows(last, tag):
            last = tag
            continue
        if first:
            yield _run(first, last)
        first = last = tag
    if first:
        yield _run(first, last)


def _run(first: str, last: str) -> str:
    if first == last:
        return first
    return f"{first}, {last}" if _follows(first, last) else f"{first}-{last}"


def _follows(before: str, tag: str) -> bool:
    head, number = _numbered(before)
    return number is not None and _numbered(tag) == (head, number + 1)


def _numbered(tag: str) -> tuple[str, int | None]:
    found = re.fullmatch(r"(.*?)(\d{1,9})", tag, re.DOTALL)
    return (found[1], int(found[2])) if found else (tag, None)
