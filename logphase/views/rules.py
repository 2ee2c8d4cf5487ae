"""Rules, their problems, what they cover and why a line matched -> text for people and machines.

Law of this file: pure functions of what `rulecheck`, `tally` and `explanation` found; log text is quoted as everywhere.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from logphase.tally import stub
from logphase.views.words import count, moment, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from logphase.explanation import Explanation, Piece, Trial
    from logphase.ruleproblems import Problem, Report
    from logphase.rules import Rule, RuleSet
    from logphase.tally import Tally
    from logphase.timeline import Startup

AROUND = 60  # characters left of a caret
GROUPS = 20  # shapes that a table shows


# --- rules check


def problems_text(report: Report) -> str:
    """Each problem as `file:line: subject: reason`, the text it is about with a caret, and what to write instead."""
    lines: list[str] = []
    for problem in report.problems:
        where = f"{problem.file}:{problem.line}" if problem.line else problem.file
        lines.append(f"{where}: {problem.subject + ': ' if problem.subject else ''}{problem.reason}")
        if problem.snippet:
            lines += [f"    {text}" for text in _marked(problem)]
        lines.append(f"    -> {problem.hint}")
    found = count(len(report.problems), "problem") if report.problems else "no problem"
    checked = f"{count(report.rules, 'rule')} of {', '.join(report.engines)} with {count(report.examples, 'example')}: "
    lines.append((checked if report.engines else "") + found)
    return "\n".join(lines) + "\n"


def _marked(problem: Problem) -> list[str]:
    """The snippet, cut around its column, and below it the mark."""
    text = problem.snippet
    if problem.column is None:
        return [quote(text, hide=False, limit=160)]
    start = max(0, problem.column - AROUND)
    head, before = "…" if start else "", quote(text[start : problem.column], hide=False, limit=None) if problem.column > start else ""
    if text[start : problem.column].endswith(" ") and not before.endswith(" "):
        before += " "
    after = quote(text[problem.column : problem.column + AROUND], hide=False, limit=None)
    return [f"{head}{before}{after}", f"{' ' * len(head + before)}^"]


def problems_json(report: Report) -> str:
    """The problems as one JSON object."""
    entries = [
        {
            "file": problem.file,
            "line": problem.line or None,
            "column": problem.column,
            "subject": problem.subject,
            "reason": problem.reason,
            "hint": problem.hint,
            "snippet": problem.snippet,
        }
        for problem in report.problems
    ]
    return json.dumps({"engines": report.engines, "rules": report.rules, "examples": report.examples, "problems": entries}, indent=2) + "\n"


def problems_github(report: Report) -> str:
    """The problems as workflow commands, which a pull request shows beside the line."""
    return "".join(
        f"::error file={_property(problem.file)},line={problem.line or 1},title={_property(problem.subject)}"
        f"::{_data(f'{problem.reason}. {problem.hint}')}\n"
        for problem in report.problems
    )


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


PROBLEMS: dict[str, Callable[[Report], str]] = {"text": problems_text, "json": problems_json, "github": problems_github}


# --- rules list and show


def listing(known: RuleSet, *, origin: bool) -> str:
    """The rules of an engine by phase, with their edge and versions; with `origin` also where each stands and what it replaced."""
    tested = " to ".join(known.tested_with) or "not stated"
    lines = [f"{known.engine}: {count(len(known.rules), 'rule')} for {count(len(known.phases), 'phase')}, checked against {tested}"]
    for phase in (*known.phases, "open", "any"):
        of_phase = [rule for rule in known.rules if rule.phase == phase]
        if of_phase:
            lines.append(f"\n{phase}{'  ' + known.phases[phase].title if phase in known.phases else ''}")
        lines += [
            f"  {rule.id:<28} {rule.edge.value:<12} {versions(rule):<16}{_origin(known, rule) if origin else ''}".rstrip()
            for rule in of_phase
        ]
    if known.off:
        lines.append(f"\nswitched off: {', '.join(known.off)}")
    return "\n".join(lines) + "\n"


def versions(rule: Rule) -> str:
    """`0.5.9 to 0.5.13`, `from 0.5.9`, `to 0.5.13`."""
    if rule.since and rule.until:
        return f"{rule.since} to {rule.until}"
    return f"from {rule.since}" if rule.since else f"to {rule.until}" if rule.until else ""


def _origin(known: RuleSet, rule: Rule) -> str:
    replaced = f", instead of {known.replaced[rule.id]}" if rule.id in known.replaced else ""
    return f" {rule.layer}  {rule.where.partition(': ')[0]}{replaced}"


def rule_text(known: RuleSet, rule: Rule, text: str, line: int) -> str:
    """One rule as its file has it, under a line that says where that is."""
    file = rule.where.partition(": ")[0]
    replaced = f"\n# instead of {known.replaced[rule.id]}" if rule.id in known.replaced else ""
    return f"# {rule.layer}: {file}:{line}{replaced}\n{text.rstrip()}\n"


# --- rules try


def tally_text(tally: Tally, known: RuleSet, startups: tuple[Startup, ...], *, claimed: bool, hide: bool, stubs: int) -> str:
    """Hits per rule, rules never hit, what is explained, and the lines that no rule knows by shape."""
    lines = [f"{known.engine}: {tally.known:,} of {count(tally.records, 'line')} known ({tally.share:.1%})"]
    if tally.passed:
        lines.append(f"{count(tally.passed, 'line')} passed over: the server was up")
    if not claimed:
        lines.append(f"no text that only one engine writes was found: the rules of {known.engine} are a guess; --engine chooses others")
    for startup in startups:
        share = "unknown" if startup.explained is None else f"{startup.explained:.1%} of {startup.duration_s or 0:.1f} s"
        version = f", version {startup.version}" if startup.version else ""
        lines.append(f"startup {startup.index}: time explained: {share}{version}")
    lines.append("\nHits per rule")
    lines += [f"  {number:>8,}  {name}" for name, number in tally.hits.items()]
    lines.append(f"\nUnknown lines by shape, most frequent first ({count(len(tally.groups), 'shape')})")
    lines += [f"  {group.count:>8,}  line {group.line:<8} {quote(group.shape, hide=hide, limit=140)}" for group in tally.groups[:GROUPS]]
    if len(tally.groups) > GROUPS:
        lines.append(f"  … and {count(len(tally.groups) - GROUPS, 'more shape')}")
    lines.append(f"\nNever hit: {count(len(tally.never), 'rule')}")
    lines += _wrapped(tally.never)
    for group in tally.groups[:stubs]:
        lines += ["", f"# a rule to begin with, for {count(group.count, 'line')} like line {group.line}", stub(group, known.rules)]
    return "\n".join(lines) + "\n"


def _wrapped(names: tuple[str, ...], width: int = 100) -> Iterator[str]:
    line = " "
    for name in names:
        if len(line) + len(name) > width:
            yield line
            line = " "
        line += f" {name}"
    if line.strip():
        yield line


def tally_json(tally: Tally, known: RuleSet, startups: tuple[Startup, ...], *, claimed: bool, hide: bool) -> str:
    """The tally as one JSON object."""
    shown = [
        {"engine": known.engine, "index": startup.index, "explained": startup.explained, "version": startup.version or None}
        for startup in startups
    ]
    groups = [
        {
            "shape": group.shape,
            "count": group.count,
            "line": group.line,
            "text": quote(group.text, hide=hide),
            "stub": stub(group, known.rules),
        }
        for group in tally.groups
    ]
    document = {
        "engine": known.engine,
        "claimed": claimed,
        "lines": tally.records,
        "known": tally.known,
        "passed_over": tally.passed,
        "hits": tally.hits,
        "never": tally.never,
        "startups": shown,
        "unknown": groups,
    }
    return json.dumps(document, indent=2) + "\n"


# --- rules explain


def explanation_text(found: Explanation, *, hide: bool) -> str:
    """The way of a line: segments, wrappers, header, the rules that were tried, and what it changed."""
    lines = [f"line {found.line}: {quote(found.text, hide=hide)}"]
    if len(found.segments) > 1:
        lines.append(f"  cut into {count(len(found.segments), 'segment')} at carriage returns")
    if not found.pieces:
        lines.append("  nothing is left of it to read: it is empty, or waits for the line that goes on with it")
    for number, piece in enumerate(found.pieces, 1):
        lines.append(
            f"  record {number}: {quote(piece.record.message, hide=hide)}"
            if len(found.pieces) > 1
            else f"  message: {quote(piece.record.message, hide=hide)}"
        )
        lines += [f"    {text}" for text in _prefixes(piece)]
        lines += [f"    {text}" for trial in piece.trials for text in _trial(trial, piece, hide=hide)]
        if not piece.trials:
            lines.append("    no rule: none of the texts that rules look for stands in it")
    if found.skipped:
        lines.append("  the server was up: only lines that end it or begin a new one are looked for")
    lines.append("  what it changed:" if found.changes else "  it changed nothing in the timeline")
    lines += [f"    {quote(change, hide=hide, limit=300)}" for change in found.changes]
    return "\n".join(lines) + "\n"


def _prefixes(piece: Piece) -> Iterator[str]:
    record = piece.record
    if record.wrappers:
        yield f"wrappers peeled: {', '.join(record.wrappers)}"
    if record.header:
        yield f"header: {record.header}"
    elif record.bar:
        yield "a progress bar's state, which has no header"
    else:
        owner = f"; it continues line {record.owner.line}" if record.owner else ""
        yield f"no header{owner}"
    told = {"rank": record.rank, "source": record.source, "level": record.level}
    facts = [f"{name} {value}" for name, value in told.items() if value]
    if record.time is not None:
        facts.append(f"time {moment(record.time)} ({record.time_from})")
    if facts:
        yield ", ".join(facts)


def _trial(trial: Trial, piece: Piece, *, hide: bool) -> Iterator[str]:
    rule = trial.rule
    head = f"{rule.id} ({rule.where.partition(': ')[0]}), by {quote(trial.text, hide=False)!r}:"
    if trial.fired:
        yield f"{head} fires: {rule.edge.value} of {rule.phase}"
    elif trial.fits:
        yield f"{head} fits too, but an earlier rule fired"
    elif trial.stopped is None:
        yield f"{head} not armed now (scope {rule.scope})"
    else:
        yield f"{head} does not fit, from here on:"
        start = max(0, trial.stopped - AROUND)
        before = piece.record.message[start : trial.stopped]
        yield f"    {quote(piece.record.message[start : trial.stopped + AROUND], hide=hide, limit=None)}"
        yield f"    {' ' * len(before)}^"
