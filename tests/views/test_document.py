"""The JSON document keeps the shape of format 1."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from logphase.timeline import Evidence
from logphase.views.document import document, render

if TYPE_CHECKING:
    from collections.abc import Callable

    from logphase.views import Report

    Made = dict[str, Callable[..., Report]]

STARTUP = "index engine lines started ready verdict arguments ranks phases gaps explained warnings hints".split()  # noqa: SIM905
PHASE = (
    "id title status start_s end_s duration_s duration_from ranks spans slowest spread_s missing progress values lines".split()  # noqa: SIM905
)
NAMES = ["ready", "crashed", "stalled", "starting", "stopped", "wide", "hostile", "unseen"]


def parsed(report: Report) -> dict[str, Any]:
    """The document as a script reads it."""
    return json.loads(render(report).encode("utf-8"))


@pytest.mark.parametrize("name", NAMES)
def test_fields_stand_in_the_contracts_order(made: Made, name: str) -> None:
    """Every startup of every kind has all fields of format 1, in order."""
    read = parsed(made[name]())

    assert ["format", "tool", "sources", "unseen", "startups"] == list(read)
    for startup in read["startups"]:
        assert STARTUP == list(startup)
        assert ["state", "phase", "summary", "cause", "evidence"] == list(startup["verdict"])[:5]
        assert all(list(phase) == PHASE for phase in startup["phases"])


def test_ready_startup_whole(made: Made) -> None:
    """Times are naive ISO with milliseconds only where there are any, seconds have three decimals."""
    startup = parsed(made["ready"]())["startups"][0]

    assert {"time": "2026-02-26T14:22:03", "from": "log", "line": 1} == startup["started"]
    assert {"after_s": 967.4, "time": "2026-02-26T14:38:10.400", "line": 277} == startup["ready"]
    assert {"after": "kv-cache", "before": "target-graph", "start_s": 449.37, "duration_s": 5.63} == startup["gaps"][0]
    weights = startup["phases"][3]
    assert {"status": "done", "start_s": 42.0, "end_s": 444.77, "duration_s": 402.77} == weights["ranks"]["TP2"]
    assert ("TP0", 4.2, {"done": 64, "total": 64, "unit": "shards"}) == (weights["slowest"], weights["spread_s"], weights["progress"])
    assert [{"rank": "TP0", "start_s": 682.0, "end_s": 712.0, "duration_s": 30.0}] == startup["phases"][7]["spans"][:1]


def test_cause_and_stall(made: Made) -> None:
    """A crash names its cause, a stall its figures beside the contract's fields."""
    cause = parsed(made["crashed"]())["startups"][-1]["verdict"]["cause"]
    stall = parsed(made["stalled"]())["startups"][0]["verdict"]["stall"]

    assert ["rule", "line", "rank", "text", "remedy"] == list(cause)
    assert ("cuda-oom", 128, "TP3") == (cause["rule"], cause["line"], cause["rank"])
    assert {
        "phase": "dist-init",
        "silence_s": 3600.0,
        "budget_s": 600.0,
        "budget_from": "the rules' patience",
        "missing": ["TP6", "TP7"],
    } == stall


def test_unknown_is_null(made: Made) -> None:
    """A log without clock has null where a time would stand."""
    startup = parsed(made["stopped"]())["startups"][0]

    assert (None, None, None) == (startup["started"]["time"], startup["ready"], startup["explained"])
    assert (None, None, None) == tuple(startup["phases"][0][name] for name in ("start_s", "end_s", "duration_s"))


def test_unseen_says_what_was_looked_for(made: Made) -> None:
    """Without a startup the document holds the texts that were looked for and a hint."""
    read = parsed(made["unseen"]())

    assert [] == read["startups"]
    assert ["server_args=", "Load weight begin"] == read["unseen"]["looked_for"]
    assert "--log-level warning" in read["unseen"]["hint"]


def test_hostile_text_is_valid_and_inert(made: Made) -> None:
    """Secrets are gone, the cause is one line, and no character that a terminal obeys stands in the output."""
    text = render(made["hostile"]())
    startup = json.loads(text.encode("utf-8"))["startups"][0]

    assert "verysecret" not in text
    assert not {unicodedata.category(char) for char in text.replace("\n", "")} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert "\n" not in startup["verdict"]["cause"]["text"]
    assert {"api_key": "***", "deep": {"hf_token": "***"}, "odd": None} == {
        name: startup["arguments"][name] for name in ("api_key", "deep", "odd")
    }


def test_secrets_stay_when_asked_for(made: Made) -> None:
    """`--no-redact` shows the log as it is."""
    assert "verysecret" in render(made["hostile"](redact=False))


def test_long_causes_are_cut(made: Made) -> None:
    """A cause holds at most 1,000 characters."""
    report = made["crashed"]()
    startup, verdict, _ = report.shown()[0]

    assert verdict.cause is not None
    long = replace(verdict, cause=replace(verdict.cause, text="x" * 5000))
    read = document(replace(report.timeline, startups=(startup,)), [long], ["a.log"], tool="logphase")

    assert 1000 == len(read["startups"][0]["verdict"]["cause"]["text"])  # type: ignore[index]


def test_several_files_name_theirs(made: Made) -> None:
    """With more than one source every startup says which file it is from."""
    report = made["crashed"](sources=("a.log", "b.log"), origins=("a.log", "b.log"), chosen=(0, 1))

    assert ["a.log", "b.log"] == [startup["file"] for startup in parsed(report)["startups"]]


def test_a_witness_is_named_instead_of_a_line(made: Made) -> None:
    """What was seen beside the log is evidence with the witness's name, and without a line."""
    report = made["ready"]()
    verdict = replace(report.verdicts[-1], evidence=(Evidence("witness:canary", 0, None, "POST /generate was answered"),))
    read = parsed(replace(report, verdicts=(*report.verdicts[:-1], verdict)))

    assert [{"witness": "canary", "text": "POST /generate was answered"}] == read["startups"][-1]["verdict"]["evidence"]
