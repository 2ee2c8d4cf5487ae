"""The page of a comparison in a real browser: it draws the comparison's numbers, asks for nothing, and a log cannot act in it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

import logphase
from logphase.cli import cli
from tests.browser.test_page import hostile_log
from tests.conftest import SAMPLE_LOGS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.chromium import Browser
    from tests.browser.conftest import Pages

GRAPHS, EAGER, RANKS = (SAMPLE_LOGS / name for name in ("target-graphs.log", "no-graphs.log", "tp2-eagle3.log"))


def page_of(pages: Pages, *logs: Path) -> Path:
    """The page that compares logs."""
    page = pages.folder / "comparison.html"
    result = CliRunner().invoke(cli, ["compare", *map(str, logs), "-o", str(page), "--force"])

    assert (0, None) == (result.exit_code, result.exception), result.output
    return page


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
@pytest.mark.parametrize("logs", [(GRAPHS, EAGER), (GRAPHS, EAGER, RANKS), (GRAPHS, SAMPLE_LOGS / "bad-model-path.log")], ids=len)
def test_a_page_is_whole_and_alone(browser: Browser, pages: Pages, logs: tuple[Path, ...], width: int, dark: bool) -> None:  # noqa: FBT001
    """No complaint, no request but the page itself, every figure drawn, and nothing wider than the screen."""
    page = page_of(pages, *logs)
    seen = browser.open(page, width=width, dark=dark)

    assert [] == seen.complaints
    assert [page.as_uri()] == seen.requests
    assert 2 == browser.evaluate("document.querySelectorAll('.plot .main-svg .cartesianlayer').length")
    assert width == browser.evaluate("document.documentElement.scrollWidth")


def test_the_bars_are_the_medians(browser: Browser, pages: Pages) -> None:
    """Each bar of the stacked figure is the comparison's median of that phase."""
    browser.open(page_of(pages, GRAPHS, EAGER))
    drawn = browser.evaluate("document.getElementById('plot-stacked').data.map(trace => [trace.meta, trace.x])")
    comparison = logphase.compare([str(GRAPHS), str(EAGER)])

    assert [[row.id, [sample.median or 0.0 for sample in row.samples]] for row in (*comparison.phases, comparison.gaps)] == drawn


def test_pairs_are_the_startups_phases(browser: Browser, pages: Pages) -> None:
    """Begin and end of every bar along the time are those of the report."""
    browser.open(page_of(pages, GRAPHS, RANKS))
    drawn = browser.evaluate(
        "document.getElementById('plot-pairs').data.map(one => one.y.map((name, at) => [name, one.base[at], one.x[at]]))"
    )
    for log, bars in zip((GRAPHS, RANKS), drawn, strict=True):
        phases = logphase.analyze(str(log)).startups[-1].phases
        told = [(one.id, one.start_s, (one.end_s or 0.0) - (one.start_s or 0.0)) for one in phases if one.id not in ("serving", "shutdown")]
        assert [name for name, _, _ in told] == [name for name, _, _ in bars]
        assert [figure for _, *figures in told for figure in figures] == pytest.approx(
            [figure for _, *figures in bars for figure in figures]
        )


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_hostile_log_is_inert(browser: Browser, pages: Pages, dark: bool) -> None:  # noqa: FBT001
    """What a log or its name holds is text: nothing runs, nothing is fetched, no element comes from it."""
    page = page_of(pages, GRAPHS, pages.log("<img src=x onerror=alert(9)>.log", hostile_log()))
    seen = browser.open(page, dark=dark)
    browser.evaluate("document.querySelectorAll('*').forEach(one => one.dispatchEvent(new MouseEvent('mouseover')))")

    assert ([], [], [page.as_uri()]) == (seen.complaints, seen.dialogs, seen.requests)
    assert browser.evaluate("window.pwned === undefined")
    assert 0 == browser.evaluate("document.querySelectorAll('img, iframe, object, embed, link, form, base, [onerror], [onload]').length")
    assert "<script>window.pwned=1</script>" in browser.evaluate("document.body.innerText")
    assert "sk-verysecret123" not in page.read_text(encoding="utf-8")


def test_a_page_reads_without_sight(browser: Browser, pages: Pages) -> None:
    """One first heading, no level skipped, figures with a text, tables with captions and heads."""
    browser.open(page_of(pages, GRAPHS, RANKS))
    levels = browser.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(one => Number(one.tagName[1]))")

    assert 1 == levels.count(1)
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert browser.evaluate("[...document.querySelectorAll('.plot')].every(one => one.role === 'img' && one.ariaLabel)")
    assert browser.evaluate("[...document.querySelectorAll('table')].every(one => one.caption && one.querySelector('th[scope]'))")
