"""Where a rule says something is -> Place: file, line and the text there, for whoever has to change it.

TOML keeps no positions once it is read, so the line is found again in the text: the n-th table of its kind, in it the key.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from logphase.rulefiles import Table

_WHERE = re.compile(
    r"^(?P<name>.*?): (?P<kind>header|wrapper|phase|fingerprint|argument|warmth|rule)"
    r'\[(?P<number>\d+)\] "(?P<id>.*?)"(?:\.(?P<key>\w+))?$'
)
_AT = re.compile(r"\(at line (\d+)")


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a rule file; line 0 where the file is all that is known."""

    file: str
    line: int = 0
    text: str = ""


def place(where: str, tables: Sequence[Table], key: str = "", holding: str = "") -> Place:
    """The line of a rule, of its `key`, or of the first line under the key that holds a text."""
    path, lines, start, end, named = _table(where, tables)
    if start == end:
        return Place(path)
    at = _key(lines, start, end, key or named or "id", holding)
    return Place(path, at + 1, lines[at].strip())


def block(where: str, tables: Sequence[Table]) -> tuple[str, int]:
    """A rule as its file has it, comments and all, and the line on which it begins."""
    _, lines, start, end, _ = _table(where, tables)
    while end > start and (not lines[end - 1].strip() or lines[end - 1].startswith("#")):
        end -= 1
    return "\n".join(lines[start:end]), start + 1


def _table(where: str, tables: Sequence[Table]) -> tuple[str, list[str], int, int, str]:
    """The file of what stands at a place, its lines, and from where to where among them; also the key that is named."""
    found = _WHERE.match(where)
    name = found["name"] if found else where
    path = next((table.path for table in tables if table.name == name), name)
    lines = _lines(path) if found else []
    heads = [at for at, line in enumerate(lines) if found and re.match(rf"\s*\[\[\s*{found['kind']}\s*\]\]", line)]
    if found is None or int(found["number"]) >= len(heads):
        return path, lines, 0, 0, ""
    start = heads[int(found["number"])]
    end = next((at for at in range(start + 1, len(lines)) if _is_table(lines[at])), len(lines))
    return path, lines, start, end, found["key"] or ""


def syntax(message: str, path: str) -> Place:
    """The line that an error of the TOML parser names."""
    found = _AT.search(message)
    lines = _lines(path)
    if found is None:
        return Place(path, len(lines), lines[-1].strip() if lines else "")
    line = int(found[1])
    return Place(path, line, lines[line - 1].strip() if line <= len(lines) else "")


@cache
def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text("utf-8", "replace").splitlines()
    except OSError:
        return []


def _is_table(line: str) -> bool:
    return re.match(r"\s*\[\[?\s*[\w.-]+\s*\]\]?\s*(?:#.*)?$", line) is not None


def _key(lines: Sequence[str], start: int, end: int, key: str, holding: str) -> int:
    at = next((at for at in range(start, end) if re.match(rf"\s*{re.escape(key)}\s*=", lines[at])), start)
    if not holding:
        return at
    needle = holding[:60]
    escaped = needle.replace("\\", "\\\\").replace('"', '\\"')
    return next((here for here in range(at, end) if needle in lines[here] or escaped in lines[here]), at)
