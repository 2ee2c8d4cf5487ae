"""Report -> text or bytes: one module a format.

Law of this folder: a view is a pure function of a `Report`. It never opens, prints or decides; a secret, a control character or an
escape of the log never reaches a person's terminal through it. Registering a format is one line in `FORMATS`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from logphase.timeline import Startup, Timeline
    from logphase.verdict import Verdict

FORMATS: dict[str, str] = {
    "table": "logphase.views.table:render",
    "json": "logphase.views.document:render",
    "csv": "logphase.views.spreadsheet:render",
    "parquet": "logphase.views.parquet:render",
    "markdown": "logphase.views.markdown:render",
    "html": "logphase.views.page:render",
    "perfetto": "logphase.views.trace:render",
    "otlp": "logphase.views.otlp:render",
    "prometheus": "logphase.views.prometheus:render",
    "junit": "logphase.views.junit:render",
    "png": "logphase.views.picture:png",
    "svg": "logphase.views.picture:svg",
}
"""Name of a format -> "module:function"; the function takes a `Report` and gives the whole output as str or bytes."""

NOT_FOR_TERMINALS = frozenset({"html", "parquet", "png"})
"""Formats that nobody can read on a terminal: they want `-o FILE` or a pipe."""

NEEDS_BROWSER = frozenset({"png", "svg"})
"""Formats that a Chromium of this machine draws."""

QUOTING = frozenset({"html"})
"""Formats that quote the log's lines with their neighbours: `Report.quotes` is filled for them."""

LAST_ONLY = frozenset({"table", "markdown", "html", "png", "svg"})
"""Formats for people: of a file with several startups they show the last one, unless others are asked for."""

ORDERS = ("phase", "rank", "blame", "chain")
"""What a table may be ordered by."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a view may show. `verdicts` and `origins` (the file of each) run beside `timeline.startups`; `chosen` are positions in it.

    `quotes`: file -> number of a line -> its text, for the lines that evidence and phases name, and their neighbours.
    """

    timeline: Timeline
    verdicts: tuple[Verdict, ...]
    sources: tuple[str, ...]
    tool: str
    origins: tuple[str, ...]
    chosen: tuple[int, ...]
    redact: bool = True
    by: str = "phase"
    width: int = 80
    color: bool = False
    ascii: bool = False
    quotes: Mapping[str, Mapping[int, str]] = field(default_factory=dict)

    def shown(self) -> list[tuple[Startup, Verdict, str]]:
        """The chosen startups, each with its verdict and the file that it is from."""
        return [(self.timeline.startups[at], self.verdicts[at], self.origins[at]) for at in self.chosen]


def view(name: str) -> Callable[[Report], str | bytes]:
    """The function behind a format; its module is imported only now."""
    module, _, function = FORMATS[name].partition(":")
    return cast("Callable[[Report], str | bytes]", getattr(import_module(module), function))
