"""Values -> HTML that is safe by construction.

Law of this file: only `el` makes tags. What is not `Html` is text, and text is escaped with every control character and bidi mark
written out, so nothing that a log holds can be markup.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from logphase.views.words import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

_EMPTY = frozenset({"br", "meta", "hr", "col", "wbr"})


class Html(str):
    """Text that is HTML already; made by `el`, `join` and the page's own files."""

    __slots__ = ()


def text(value: str) -> Html:
    """A text as HTML, for content and for attributes."""
    return Html(escape(visible(value)))


def el(tag: str, *children: str | None, **attributes: str | int | bool | None) -> Html:
    """One element. An attribute `cls` is `class`; one that is None or False is left out, one that is True has no value."""
    written = []
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        plain = {"cls": "class"}.get(name, name.rstrip("_").replace("_", "-"))
        written.append(f" {plain}" if value is True else f' {plain}="{text(str(value))}"')
    head = f"<{tag}{''.join(written)}>"
    return Html(head) if tag in _EMPTY else Html(f"{head}{join(children)}</{tag}>")


def join(parts: Iterable[str | None], between: str = "") -> Html:
    """Parts in a row; a part that is None is left out."""
    separator = between if isinstance(between, Html) else text(between)
    return Html(separator.join(part if isinstance(part, Html) else text(part) for part in parts if part is not None))
