"""`logphase rules try` and `logphase rules explain`: the rules held against a log."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import click

from logphase.cli import options, output
from logphase.errors import LogphaseError

if TYPE_CHECKING:
    from logphase.walk import Walk

LARGE = 1 << 23  # bytes of a log from which on lines that can no longer change anything are passed over


@click.command("try", short_help="Count which rules a log hits; group the lines that none knows.")
@options.log_argument
@options.rule_options
@click.option(
    "--stubs", type=click.IntRange(0, 100), default=1, show_default=True, help="For so many groups of unknown lines: a rule to begin with."
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Form of the answer.")
@options.redact_option
def try_(log: str, engine: str | None, rules: str | None, stubs: int, form: str, *, no_redact: bool) -> None:
    """Count which rules a log hits, and group the lines that none knows.

    Of a large log what a server writes while it is up is passed over, from 8 MB on.

    \b
    Examples
      logphase rules try server.log
      logphase rules try server.log --rules mine.toml --stubs 5
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from logphase.analyzer import Analyzer
    from logphase.cli.reading import changed, only
    from logphase.sources import read
    from logphase.tally import Counting
    from logphase.views.rules import tally_json, tally_text

    path = only(log)
    analyzer = Analyzer(rules=rules, engine=engine, reference=changed(path))
    counting: Counting | None = None
    held: list[bytes] = []  # until it is known whose rules count
    size = 0
    for chunk in read(path):
        before = _calm(analyzer.walk)
        analyzer.feed(chunk.data)
        size += len(chunk.data)
        if counting is not None and size > LARGE and before is not None and before == _calm(analyzer.walk):
            counting.skip(chunk.data)
            continue
        held.append(chunk.data)
        if analyzer.decided:
            counting = counting or Counting(analyzer.walk.rules)
            for data in held:
                counting.feed(data)
            held.clear()
    analyzer.close()
    known, startups = analyzer.walk.rules, analyzer.timeline().startups
    counting = counting or Counting(known)
    for data in held:
        counting.feed(data)
    tally, hide, claimed = counting.close(), not no_redact, analyzer.walk.claimed
    text = (
        tally_json(tally, known, startups, claimed=claimed, hide=hide)
        if form == "json"
        else tally_text(tally, known, startups, claimed=claimed, hide=hide, stubs=stubs)
    )
    output.to_stdout(text)


def _calm(walk: Walk) -> int | None:
    """How many launches there were, while all of them are ready or over and nothing is read in full; else None."""
    return len(walk.launches.all) if walk.news is not None else None


@click.command(
    short_help="Tell how one line of a log was read.",
    context_settings={"ignore_unknown_options": True},  # so that -:12 is a place
)
@click.argument("place", metavar="[LOG:LINE]", default="-")
@options.rule_options
@options.redact_option
def explain(place: str, engine: str | None, rules: str | None, *, no_redact: bool) -> None:
    """Tell how a line of a log was read, which rules were tried on it, and what it changed.

    Without LOG:LINE, or with -, each line of stdin is explained as if it stood alone in a log; -:LINE is a line of the log on stdin.

    \b
    Examples
      logphase rules explain server.log:315
      grep Capture server.log | head -1 | logphase rules explain
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from logphase.analyzer import Analyzer
    from logphase.explanation import explain as explained
    from logphase.sources import read
    from logphase.views.rules import explanation_text

    found = re.fullmatch(r"(?P<log>.+):(?P<line>\d{1,12})", place)
    if found is None and place != "-":
        raise LogphaseError(f"{place} names no line", f"Write LOG:LINE, e.g. {place}:1")
    piped = found is None or found["log"] == "-"
    data = sys.stdin.buffer.read() if found is None or piped else b"".join(chunk.data for chunk in read(found["log"]))
    analyzer = Analyzer(rules=rules, engine=engine)
    analyzer.feed(data)
    known = analyzer.walk.rules
    if found is None:
        lines = [line for line in data.splitlines() if line.strip()]
        answers = [explained(known, line, 1) for line in lines]
    else:
        answers = [explained(known, data, int(found["line"]))]
    if not any(answers):
        raise LogphaseError(
            f"there is no line {found['line'] if found else 1} in {found['log'] if found else 'stdin'}",
            "Lines count from 1, as an editor counts them.",
        )
    output.to_stdout("\n".join(explanation_text(answer, hide=not no_redact) for answer in answers if answer is not None))
