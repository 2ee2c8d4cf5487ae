"""Startups from public reports, and some made ones, each held to what its text proves.

A case is a folder of `cases/` with `log.txt` and `expect.json`: accepted states and phases (best first), the ready line, a text that the
cause must hold and texts that it must not, ranks, phases with status and duration, the bar at the end, ranks that fell silent, and words
that must be said. A key that is absent, or null where that is not a statement, asks nothing.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.reports import document

CASES = sorted(path.parent for path in (Path(__file__).parent / "cases").glob("*/expect.json"))
UNSEEN = {"state": "unseen", "phase": None, "cause": None}
NOTHING: dict[str, Any] = {"engine": None, "ready": None, "ranks": [], "phases": [], "warnings": [], "verdict": UNSEEN}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case_is_judged_as_its_text_proves(case: Path) -> None:
    """Of a log from a public report nothing is said that its text does not prove, and what it proves is said."""
    want = json.loads((case / "expect.json").read_text(encoding="utf-8"))
    startups = document(case / "log.txt", *as_of(want))["startups"]
    low, high = want["startups"] if isinstance(want["startups"], list) else [want["startups"]] * 2
    judged = (startups if low < high else startups[-1:]) or [NOTHING]

    assert low <= len(startups) <= high
    assert [] == min((complaints(want, startup) for startup in judged), key=len)


def test_every_case_is_whole() -> None:
    """A folder of `cases/` holds a log and what is expected of it, and nothing else."""
    folders = [path for path in (Path(__file__).parent / "cases").iterdir() if path.is_dir()]

    assert [] == [folder.name for folder in folders if {"log.txt", "expect.json"} != {path.name for path in folder.iterdir()}]


def as_of(want: dict[str, Any]) -> list[str]:
    """The moment that a case asks about, as options."""
    moment = want.get("as_of")
    if moment is None:
        return []
    return ["--as-of", moment if isinstance(moment, str) else f"+{moment['after_last_line_s']}s"]


def complaints(want: dict[str, Any], startup: dict[str, Any]) -> list[str]:
    """What is said of a startup and should not be, or the other way round."""
    verdict, ready = startup["verdict"], startup["ready"]
    found = []
    if want.get("engine") and startup["engine"] != want["engine"]:
        found.append(f"engine {startup['engine']}, not {want['engine']}")
    asked = [key for key in ("state", "phase") if want.get(key) is not None]
    found += [f"{key} {verdict[key]}, not {want[key]}" for key in asked if verdict[key] not in want[key]]
    if want.get("ready") is False and ready:
        found.append(f"ready at line {ready['line']}, although it was not")
    if want.get("ready") and (ready or {}).get("line") not in listed(want["ready_line"]):
        found.append(f"ready {ready}, not at line {want['ready_line']}")
    if "cause" in want:
        found += of_cause(want["cause"], verdict["cause"], verdict["state"])
    ranks = {tag.casefold() for tag in startup["ranks"]}
    found += [f"no rank {tags}" for tags in want.get("ranks") or [] if not ranks & set(tags.casefold().split("|"))]
    found += [
        f"{ids}: want {wanted}, got {[(phase['status'], phase['duration_s']) for phase in named(startup, ids.split('|'))]}"
        for ids, wanted in (want.get("phases") or {}).items()
        if not any(fits(phase, wanted) for phase in named(startup, ids.split("|")))
    ]
    return found + of_progress(want, startup) + of_words(want, startup)


def of_cause(want: dict[str, Any] | None, cause: dict[str, Any] | None, state: str) -> list[str]:
    """The first cause, not a louder line that follows from it; where nothing failed there is none."""
    if want is None:
        return [] if cause is None or state in ("stalled", "stopped") else [f"a cause where nothing failed: {cause['text']}"]
    if cause is None:
        return [] if want.get("optional") else [f"no cause, want {want['contains']}"]
    found = [] if any(text in cause["text"] for text in listed(want["contains"])) else [f"cause {cause['text']}, want {want['contains']}"]
    return found + [f"cause names {loud}, which only follows" for loud in want.get("not", []) if loud in cause["text"]]


def of_progress(want: dict[str, Any], startup: dict[str, Any]) -> list[str]:
    """The bar in which the log ends, and the ranks that are behind."""
    found = []
    bar = want.get("progress")
    if bar:
        bars = [phase["progress"] for phase in named(startup, listed(bar["phase"])) if phase["progress"]]
        if not any(state["done"] in listed(bar["done"]) and state["total"] == bar["total"] for state in bars):
            found.append(f"progress {bars}, want {bar}")
    silent: set[str] = set()
    for phase in named(startup, want.get("phase") or []):
        states = {tag: rank["status"] for tag, rank in phase["ranks"].items()}
        silent |= {tag.casefold() for tag in phase["missing"]}
        silent |= {tag.casefold() for tag, state in states.items() if state != "done" and "done" in states.values()}
    return found + [f"{tags} not missing" for tags in want.get("missing_ranks") or [] if not silent & set(tags.casefold().split("|"))]


def of_words(want: dict[str, Any], startup: dict[str, Any]) -> list[str]:
    """One of some words stands where a person reads first."""
    if not want.get("must_say"):
        return []
    verdict = startup["verdict"]
    said = [verdict.get("summary", "")[:300], (verdict["cause"] or {}).get("remedy"), *verdict.get("warnings", []), *startup["warnings"]]
    text = " ".join(filter(None, said)).casefold()
    return [] if any(word in text for word in want["must_say"]) else [f"says none of {want['must_say']}"]


def named(startup: dict[str, Any], ids: list[str]) -> list[dict[str, Any]]:
    """The phases with one of these ids."""
    return [phase for phase in startup["phases"] if phase["id"] in ids]


def fits(phase: dict[str, Any], want: dict[str, Any]) -> bool:
    """Whether status and duration are as wanted."""
    if "status" in want and phase["status"] not in listed(want["status"]):
        return False
    if "duration_s" not in want:
        return True
    seconds = phase["duration_s"]
    return seconds is not None and any(abs(seconds - right) <= want["tolerance_s"] + 1e-9 for right in listed(want["duration_s"]))


def listed(value: Any) -> list[Any]:  # noqa: ANN401 - a key of an expectation: one value or a list
    """A list of one, or the list that it is."""
    return value if isinstance(value, list) else [value]
