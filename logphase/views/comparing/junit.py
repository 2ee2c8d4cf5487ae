"""Sheet -> JUnit XML: a suite for each variant against the baseline, a test for the total and for each phase.

Law of this file: with --fail-over a test fails where a limit is broken, else where it got slower than noise explains; what is unclear,
or on one side only, is skipped with its reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from logphase.comparison import TOTAL
from logphase.samples import Verdict
from logphase.views.comparing import said
from logphase.views.junit import element

if TYPE_CHECKING:
    from logphase.comparison import Row
    from logphase.views.comparing import Sheet

_SKIPPED = frozenset({Verdict.UNCLEAR, Verdict.GONE, Verdict.NEW})


def render(sheet: Sheet) -> str:
    """The document as text."""
    suites = [_suite(sheet, at) for at in range(1, len(sheet.comparison.variants))]
    counts = [sum(numbers) for numbers in zip(*(made[1] for made in suites), strict=True)]
    body = "\n".join(made[0] for made in suites)
    attributes = {"name": sheet.tool, **_counts(*counts)}
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{element("testsuites", attributes, body, raw=True)}\n'


def _suite(sheet: Sheet, at: int) -> tuple[str, tuple[int, int, int]]:
    comparison = sheet.comparison
    name = f"{comparison.variants[at].name} against {comparison.variants[0].name}"
    rows = [row for row in (comparison.total, *comparison.phases) if row.id == TOTAL or row.changes[at - 1] is not None]
    outcomes = [_outcome(sheet, row, at) for row in rows]
    tests = [
        element("testcase", {"name": row.id, "classname": name, "time": f"{row.samples[at].median or 0.0:.3f}"}, outcome, raw=True)
        for row, outcome in zip(rows, outcomes, strict=True)
    ]
    failed, skipped = (sum(outcome.startswith(f"<{word}") for outcome in outcomes) for word in ("failure", "skipped"))
    suite = element("testsuite", {"name": name, **_counts(len(tests), failed, skipped)}, "\n".join(tests), raw=True)
    return suite, (len(tests), failed, skipped)


def _counts(tests: int, failures: int, skipped: int) -> dict[str, str]:
    return {"tests": str(tests), "failures": str(failures), "errors": "0", "skipped": str(skipped)}


def _outcome(sheet: Sheet, row: Row, at: int) -> str:
    """What a test holds: nothing where it passes."""
    comparison = sheet.comparison
    made = row.changes[at - 1]
    told = f"{said.took(row.samples[0])} to {said.took(row.samples[at])}"
    facts = "\n".join(filter(None, (told, made.grounds if made else "", said.because(comparison, row) if row.id != TOTAL else "")))
    if sheet.breaches is not None:
        broken = [one for one in sheet.breaches if (one.variant, one.phase) == (comparison.variants[at].name, row.id)]
        if broken:
            return element("failure", {"type": "over-limit", "message": f"{broken[0].told} (limit {broken[0].limit})"}, facts)
    if made is None:
        return element("skipped", {"message": "not both got ready"}, "")
    if sheet.breaches is None and made.verdict is Verdict.SLOWER:
        return element("failure", {"type": "slower", "message": f"{said.signed(made.delta_s)}, {made.grounds}"}, facts)
    return element("skipped", {"message": f"{made.verdict}: {told}, {made.grounds}"}, "") if made.verdict in _SKIPPED else ""
