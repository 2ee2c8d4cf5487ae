"""Words about a log's lines are not its lines."""

from __future__ import annotations

import pytest

import logphase
from logphase.verdict import State, judge


@pytest.mark.parametrize(
    "said",
    [
        'waiting until the log says "The server is fired up and ready to roll!"',
        "2026/03/01 10:00:00 poller: grep 'The server is fired up and ready to roll!' server.log",
    ],
)
def test_a_quoted_ready_line_is_not_ready(said: str) -> None:
    """A script that quotes the ready line in a log of unknown prefixes makes nothing ready."""
    analyzer = logphase.Analyzer(engine="sglang")
    analyzer.feed(f"2026/03/01 09:59:00 Load weight begin. avail mem=70.0 GB\n{said}\n".encode())
    analyzer.close()

    assert State.READY not in [judge(startup).state for startup in analyzer.timeline().startups]
