"""The table for people, compared whole at fixed widths."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len

from logphase.views import FORMATS, NEEDS_BROWSER, ORDERS, view
from logphase.views.table import render

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from logphase.views import Report

    Made = dict[str, Callable[..., Report]]

    class Expectations(Protocol):
        def hold(self, file: Path, actual: str) -> None: ...


EXPECT = Path(__file__).parent / "expect"
NAMES = ["ready", "crashed", "stalled", "starting", "stopped", "wide", "hostile", "unseen"]


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("name", NAMES)
def test_table_is_as_expected(made: Made, expectations: Expectations, name: str, width: int) -> None:
    """Each kind of startup looks as its file in `expect/` says."""
    expectations.hold(EXPECT / f"{name}-{width}.txt", render(made[name](width=width)))


@pytest.mark.parametrize("by", ["rank", "blame", "chain"])
@pytest.mark.parametrize("name", ["ready", "starting", "wide"])
def test_orders_are_as_expected(made: Made, expectations: Expectations, name: str, by: str) -> None:
    """The other orders of the table look as their files say."""
    expectations.hold(EXPECT / f"{name}-by-{by}.txt", render(made[name](width=80, by=by)))


def test_the_chain_shows_its_figures_whole(made: Made) -> None:
    """At 80 columns it is the title that gives way, never an offset or a duration."""
    rows = [line for line in render(made["ready"](width=80, by="chain")).splitlines() if " @" in line]

    assert rows
    assert not [row for row in rows if "…" in row]
    assert all(re.search(r"@[\d.]+ s( |$)", row) for row in rows)


@pytest.mark.parametrize("by", ORDERS)
@pytest.mark.parametrize("width", [1, 60, 61, 79, 80, 99, 100, 119, 120, 200])
@pytest.mark.parametrize("name", NAMES)
def test_no_line_is_wider_than_asked(made: Made, name: str, width: int, by: str) -> None:
    """Nothing overflows, at any width from 60 columns up, in any order; less counts as 60."""
    text = render(made[name](width=width, by=by))

    assert max(60, width) >= max(cell_len(line) for line in text.split("\n"))
    assert text.endswith("\n")
    assert not any(line != line.rstrip() for line in text.split("\n"))


@pytest.mark.parametrize("color", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_nothing_of_the_log_reaches_the_terminal_raw(made: Made, name: str, color: bool) -> None:  # noqa: FBT001 - a case
    """Without colour no control character is there at all; with colour only colours are."""
    text = render(made[name](color=color)).replace("\n", "")
    categories = {unicodedata.category(char) for char in text if char != "\x1b"}

    assert not categories & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert color == ("\x1b[" in text)
    assert "\x1b[2J" not in text
    assert "\x1b]" not in text
    assert "verysecret" not in text


def test_ascii_where_a_terminal_has_no_more(made: Made) -> None:
    """Bars and marks have a plain form."""
    text = render(made["starting"](ascii=True))

    assert text.isascii()
    assert 80 >= max(map(len, render(made["ready"](ascii=True)).split("\n")))
    assert "> weights > 258.00 s" in text


def test_missing_figures_are_dashes(made: Made) -> None:
    """A log without clock still gives a table."""
    row = next(line for line in render(made["stopped"]()).split("\n") if "▸" in line)

    assert ["▸", "weights", "-", "-", "open"] == row.split()


def test_every_format_resolves() -> None:
    """A format that is offered has its function."""
    assert all(callable(view(name)) for name in FORMATS)


@pytest.mark.parametrize("form", sorted(set(FORMATS) - NEEDS_BROWSER))
@pytest.mark.parametrize("name", NAMES)
def test_every_format_shows_every_startup(made: Made, name: str, form: str) -> None:
    """No view fails on any kind of startup, the empty timeline included."""
    assert view(form)(made[name]())
