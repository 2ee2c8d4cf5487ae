"""The arguments line -> a mapping: `ServerArgs(a=1, …)`, `{'a': 1, …}` and `Namespace(…)` alike, cut lines too.

Never evaluated: values are read as Python literals where they are, and kept as text where they are not, or where JSON has no word
for them.
"""

from __future__ import annotations

import ast
import math
import warnings

_OPEN = "([{"
_CLOSE = ")]}"
MOST = 2000  # names that are kept
LARGEST = 1 << 64


def parse(text: str) -> dict[str, object]:
    """Read what stands between the outermost brackets; what a cut line lost is missing, what it holds in part is dropped."""
    start = next((index for index, char in enumerate(text) if char in _OPEN), None)
    if start is None:
        return {}
    separator = ":" if text[start] == "{" else "="
    found: dict[str, object] = {}
    for item in _items(text[start + 1 :])[:MOST]:
        name, value = _pair(item, separator)
        if name:
            found[name] = _value(value)
    return found


def is_whole(text: str) -> bool:
    """Whether the line was not cut: then a name that is missing in it has no value."""
    return text.rstrip()[-1:] in _CLOSE


def _items(text: str) -> list[str]:
    """Cut at the commas that stand in no bracket and no quote; an item that the line's end cut is left out."""
    items: list[str] = []
    depth = 0
    quote = ""
    start = 0
    index = 0
    while index < len(text):
        char = text[index]
        if quote:
            if char == "\\":
                index += 1
            elif char == quote:
                quote = ""
        elif char in "'\"":
            quote = char
        elif char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            depth -= 1
            if depth < 0:
                items.append(text[start:index])
                break
        elif char == "," and depth == 0:
            items.append(text[start:index])
            start = index + 1
        index += 1
    return items


def _pair(item: str, separator: str) -> tuple[str, str]:
    name, found, value = item.strip().partition(separator)
    name = name.strip().strip("'\"")
    return (name, value.strip()) if found and name.isidentifier() else ("", "")


def _value(text: str) -> object:
    if text in ("None", "True", "False"):
        return {"None": None, "True": True, "False": False}[text]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Python, about the text's style
            value: object = ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):  # TypeError: a list as a key
        return text
    return value if _plain(value) else text


def _plain(value: object) -> bool:
    """Whether JSON can hold it, and every reader of JSON can read it."""
    if isinstance(value, dict):
        return all(isinstance(key, str | int) and _plain(item) for key, item in value.items())
    if isinstance(value, list | tuple):
        return all(_plain(item) for item in value)
    if isinstance(value, int):
        return abs(value) < LARGEST
    return value is None or isinstance(value, str) or (isinstance(value, float) and math.isfinite(value))
