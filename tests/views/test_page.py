"""The HTML report as text: its policy, its size, its quotes, and what a log may not do to it."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from logphase.views.page import MOST_STARTUPS, render

if TYPE_CHECKING:
    from collections.abc import Callable

    from logphase.views import Report

    Made = dict[str, Callable[..., Report]]

NAMES = ("ready", "crashed", "stalled", "starting", "stopped", "wide", "hostile", "unseen")
LARGEST = 1_600_000


@pytest.mark.parametrize("name", NAMES)
def test_policy_names_the_pages_own_scripts(made: Made, name: str) -> None:
    """Every script that can run has its hash in the policy, and the policy allows nothing else."""
    page = render(made[name]())
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    told = policy[1].replace("&#x27;", "'")
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    hashes = [f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts]

    assert told.startswith("default-src 'none'; ")
    assert hashes == re.findall(r"'sha256-[^']+'", told)
    assert "connect-src" not in told


@pytest.mark.parametrize("name", NAMES)
def test_a_page_fits(made: Made, name: str) -> None:
    """A page is smaller than the limit, and one without figures carries no plotly."""
    size = len(render(made[name]()).encode())

    assert size <= (LARGEST if name != "unseen" else 30_000)


@pytest.mark.parametrize("name", NAMES)
def test_a_page_names_nothing_outside(made: Made, name: str) -> None:
    """Apart from plotly's own text there is no address in the page, and every link stays in it."""
    page = re.sub(r"<script>.*?</script>", "", render(made[name]()), flags=re.DOTALL)

    assert [] == re.findall(r"""(?:src|href|action)\s*=\s*["']?(?!["']?#)[^\s>]+""", page)
    assert "url(" not in page


def test_hostile_text_is_written_out(made: Made) -> None:
    """Control characters and bidi marks are visible, secrets are not."""
    page = render(made["hostile"]())

    assert "\\x1b" in page
    assert "\\u202e" in page
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page)
    assert "sk-verysecret1" not in page


def test_a_statement_is_linked_to_its_quoted_line(made: Made) -> None:
    """Evidence is a link to the line, which stands there with its neighbours."""
    quotes = {"server.log": {line: f"text of line {line}" for line in range(270, 283)}}
    page = render(made["ready"](quotes=quotes))

    assert '<a href="#s1-L277">line 277</a>' in page
    assert 'id="s1-L277"' in page
    assert all(f"text of line {line}" in page for line in range(274, 281))
    assert "text of line 270" not in page


def test_without_quotes_the_evidence_stands_for_itself(made: Made) -> None:
    """A log that could be read only once still has the lines that the verdict rests on."""
    assert 'id="s1-L277"' in render(made["ready"]())


def test_the_summary_comes_first(made: Made) -> None:
    """State, sentence and evidence stand before everything else."""
    page = render(made["crashed"]())
    order = [page.index(text) for text in ('class="state">crashed', "<h1>", "First cause", "What to do: ", 'class="tiles"')]

    assert sorted(order) == order


def test_other_startups_are_named(made: Made) -> None:
    """A page of one startup says which others the log holds."""
    assert "server.log, startup 1" in render(made["crashed"]())


def test_too_many_startups_are_cut_and_counted(made: Made) -> None:
    """A page shows the last ones in full and says so."""
    one = made["ready"]()
    many = MOST_STARTUPS + 5
    startups = tuple(replace(one.timeline.startups[0], index=at + 1) for at in range(many))
    report = replace(
        one,
        timeline=replace(one.timeline, startups=startups),
        verdicts=one.verdicts * many,
        origins=one.origins * many,
        chosen=tuple(range(many)),
    )
    page = render(report)

    assert MOST_STARTUPS == page.count("<article>")
    assert f"Of {many} startups that were asked for, the last {MOST_STARTUPS} are shown in full." in page
