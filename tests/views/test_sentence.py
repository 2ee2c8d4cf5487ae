"""The one sentence of a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from logphase.timeline import Timeline
from logphase.views.sentence import sentence, unseen

if TYPE_CHECKING:
    from collections.abc import Callable

    from logphase.views import Report


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ready", "ready: after 16 min 7 s: HTTP is up and the warm-up request was answered (line 277)"),
        ("crashed", "crashed: in target-graph: out of GPU memory on TP3 (line 128)"),
        ("stalled", "stalled: in dist-init: no progress for 1 h (line 12)"),
        ("starting", "starting: weights, 23 of 64 shards; last progress at 14:27:03 (line 95)"),
        ("stopped", "stopped: by SIGTERM before it was ready (line 30)"),
        ("wide", "starting: weights"),
    ],
)
def test_sentence_leads_with_the_state_and_ends_with_the_line(made: dict[str, Callable[..., Report]], name: str, expected: str) -> None:
    """A script may cut at the colon, a person may jump to the line."""
    startup, verdict, _ = made[name]().shown()[-1]

    assert expected == sentence(startup, verdict)


def test_sentence_hides_secrets_and_escapes(made: dict[str, Callable[..., Report]]) -> None:
    """What the log put into a summary stays harmless, and secrets show only when asked for."""
    startup, verdict, _ = made["hostile"]().shown()[0]

    assert "crashed: \\x1b[2J\\x1b]0;pwned\\x07[bold red]markup[/]" in sentence(startup, verdict)
    assert "verysecret" not in sentence(startup, verdict)
    assert "verysecret" in sentence(startup, verdict, hide=False)


@pytest.mark.parametrize(
    ("lines", "traffic", "said"),
    [(0, False, "the input is empty"), (841, True, "only requests"), (841, False, "no startup evidence in 841 lines")],
)
def test_unseen_says_why(lines: int, traffic: bool, said: str) -> None:  # noqa: FBT001 - a case
    """An empty input, a log that holds only traffic, and a foreign text are told apart."""
    assert said in unseen(Timeline(None, (), lines, traffic))[0]
