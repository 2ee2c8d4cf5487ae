"""Report -> JUnit XML: a suite for each startup, a test for its verdict and one for each phase.

Law of this file: a startup passes when it was ready; a phase fails only where the startup failed in it, and is skipped while it runs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from logphase.verdict import State
from logphase.views import measures
from logphase.views.sentence import unseen
from logphase.views.words import moment, quote, visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from logphase.timeline import Phase, Startup
    from logphase.verdict import Verdict
    from logphase.views import Report

_NOT_XML = re.compile("[^\t\n -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_DEAD = frozenset({State.CRASHED, State.NEVER_STARTED})


@dataclass(frozen=True, slots=True)
class _Suite:
    """A suite as XML, and what it counts."""

    text: str
    tests: int
    failures: int
    skipped: int
    seconds: float


def render(report: Report) -> str:
    """The document as text."""
    suites = [_suite(report, *shown) for shown in report.shown()]
    if not report.timeline.startups:
        said, advised = unseen(report.timeline)
        failed = _test("startup", "logphase", 0.0, element("failure", {"type": "unseen", "message": said}, advised))
        suites = [_made({"name": ", ".join(report.sources)}, [failed], 0.0)]
    counts = _counts(sum(suite.tests for suite in suites), sum(suite.failures for suite in suites), sum(suite.skipped for suite in suites))
    totals = {"name": report.tool, **counts, "time": _seconds(sum(suite.seconds for suite in suites))}
    body = "\n".join(suite.text for suite in suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{element("testsuites", totals, body, raw=True)}\n'


def _suite(report: Report, startup: Startup, verdict: Verdict, origin: str) -> _Suite:
    name = f"{origin} startup {startup.index}"
    phases = [phase for phase in startup.phases if phase.id not in measures.AFTER]
    tests = [_test("startup", name, 0.0, _verdict(report, startup, verdict))]
    tests += [_test(phase.id, name, phase.duration_s or 0.0, _phase(phase)) for phase in phases]
    stamp = {} if startup.started.time is None else {"timestamp": moment(startup.started.time)}
    return _made({"name": name} | stamp, tests, measures.total(startup))


def _made(facts: dict[str, str], tests: Sequence[str], seconds: float) -> _Suite:
    failures, skipped = (sum(f"<{word}" in test for test in tests) for word in ("failure", "skipped"))
    facts |= _counts(len(tests), failures, skipped) | {"time": _seconds(seconds)}
    return _Suite(element("testsuite", facts, "\n".join(tests), raw=True), len(tests), failures, skipped, seconds)


def _verdict(report: Report, startup: Startup, verdict: Verdict) -> str:
    """Nothing where it passes; a startup that was ready and was then stopped on request has passed."""
    if startup.ready is not None and verdict.state not in _DEAD:
        return ""
    facts = {"type": verdict.state.value, "message": quote(verdict.summary, hide=report.redact)}
    cause = verdict.cause
    told = [f"line {cause.line}: {quote(cause.text, hide=report.redact)}", cause.remedy] if cause else []
    rest = [item for item in verdict.evidence if cause is None or item.line != cause.line]
    told += [f"line {item.line}: {quote(item.text, hide=report.redact)}" for item in rest]
    return element("failure", facts, "\n".join(filter(None, told)))


def _phase(phase: Phase) -> str:
    where = f"lines {phase.lines[0]} to {phase.lines[1]}"
    if phase.status == "failed":
        return element("failure", {"type": "failed", "message": f"{phase.title} failed"}, where)
    if phase.status == "done":
        return ""
    done = f", {phase.progress.done} of {phase.progress.total} {phase.progress.unit}" if phase.progress else ""
    return element("skipped", {"message": f"{phase.title} has not ended{done}"}, "")


def _test(name: str, suite: str, seconds: float, body: str) -> str:
    return element("testcase", {"name": name, "classname": suite, "time": _seconds(seconds)}, body, raw=True)


def _counts(tests: int, failures: int, skipped: int) -> dict[str, str]:
    return {"tests": str(tests), "failures": str(failures), "errors": "0", "skipped": str(skipped)}


def _seconds(value: float) -> str:
    return f"{value:.3f}"


def element(name: str, attributes: Mapping[str, str], body: str, *, raw: bool = False) -> str:
    """An element; `raw`: its body is XML already."""
    facts = "".join(f" {key}={quoteattr(_valid(value))}" for key, value in attributes.items())
    inner = body if raw else escape("\n".join(_valid(line) for line in body.split("\n")))
    return f"<{name}{facts}>{inner}</{name}>" if inner else f"<{name}{facts}/>"


def _valid(text: str) -> str:
    return _NOT_XML.sub("\ufffd", visible(text))
