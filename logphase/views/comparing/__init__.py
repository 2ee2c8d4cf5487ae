"""Comparison -> text or bytes: one module a format, as for a report.

Law of this folder: a view is a pure function of a `Sheet`; what the log or the user named reaches a terminal or a page only made harmless.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from logphase.budget import Breach
    from logphase.comparison import Comparison

FORMATS: dict[str, str] = {
    "table": "logphase.views.comparing.table:render",
    "json": "logphase.views.comparing.document:render",
    "csv": "logphase.views.comparing.spreadsheet:render",
    "parquet": "logphase.views.comparing.spreadsheet:parquet",
    "markdown": "logphase.views.comparing.markdown:render",
    "html": "logphase.views.comparing.page:render",
    "junit": "logphase.views.comparing.junit:render",
}
"""Name of a format -> "module:function"; the function takes a `Sheet`."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """What a view may show. `breaches`: limits that were broken, None where none were asked for."""

    comparison: Comparison
    tool: str
    breaches: tuple[Breach, ...] | None = None
    redact: bool = True
    width: int = 80
    color: bool = False
    ascii: bool = False


def view(name: str) -> Callable[[Sheet], str | bytes]:
    """The function behind a format; its module is imported only now."""
    module, _, function = FORMATS[name].partition(":")
    return cast("Callable[[Sheet], str | bytes]", getattr(import_module(module), function))
