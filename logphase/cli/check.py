"""`logphase check`: one verdict, one line, one exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from logphase.cli import options
from logphase.cli.exit_codes import ExitCode, of_state
from logphase.cli.output import colored, to_stdout
from logphase.cli.reading import analyse, choose, only, silence
from logphase.verdict import State, judge
from logphase.views.glyphs import STYLE
from logphase.views.sentence import said, sentence, unseen

if TYPE_CHECKING:
    from logphase.timeline import Startup
    from logphase.witness import Address

_WORST_FIRST = (ExitCode.FAILED, ExitCode.STALLED, ExitCode.UNSEEN, ExitCode.STARTING, ExitCode.READY)


@click.command(short_help="Give one verdict, now, as one line and an exit code.")
@options.log_argument
@options.startup_option()
@options.as_of_option
@options.witness_options()
@options.rule_options
@options.redact_option
@options.color_option
def check(
    log: str,
    startup: str | int,
    as_of: options.AsOf | None,
    pid: int | None,
    health: Address | None,
    engine: str | None,
    rules: str | None,
    color: str,
    *,
    canary: bool,
    no_redact: bool,
) -> ExitCode:
    """Give one verdict, now, as one line and an exit code.

    LOG is a path, or - for stdin. The file's last change counts as the last sign of life.
    What is asked beside the log (--pid, --health, --canary) is asked now, and about its last startup; what is found is on stderr.

    \b
    Exit codes
      0  ready
      1  crashed, never started, or stopped (also after it was ready)
      2  usage, unreadable input, bad rule file
      3  stalled: silent for longer than the phase may be
      4  starting
      5  unseen: no startup in what was read

    \b
    Examples
      until logphase check server.log; do case $? in 4|5) sleep 5;; *) exit 1;; esac; done
      kubectl logs pod/llm-0 | logphase check -
      logphase check server.log --as-of '2026-02-26T14:30:00'
      logphase check server.log --pid 4711 --health http://127.0.0.1:30000
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    path = only(log)
    named = pid is not None or health is not None or canary
    if named and (as_of is not None or startup != "last"):
        raise click.UsageError("--pid, --health and --canary ask about now and the last startup: leave --as-of and --startup out")
    timeline = analyse(path, engine=engine, rules=rules, until=as_of.moment if as_of else None)
    if named:
        from logphase.cli.witnessed import witnessed

        verdict, objected = witnessed(timeline, silence(path), pid, health, canary=canary)
        last = timeline.startups[-1] if timeline.startups else None
        hide = not no_redact
        _say(verdict.state, sentence(last, verdict, hide=hide) if last else f"{verdict.state}: {said(verdict, hide=hide)}", color)
        return ExitCode.FAILED if objected and verdict.state is State.READY else of_state(verdict.state)
    if not timeline.startups:
        choose(timeline, startup if isinstance(startup, int) else "last", path)
        text, hint = unseen(timeline)
        _say(State.UNSEEN, f"{State.UNSEEN}: {text}. {hint}", color)
        return ExitCode.UNSEEN
    quiet = None if as_of else silence(path)
    codes = []
    for at in choose(timeline, startup, path):
        verdict = judge(timeline.startups[at], _now(timeline.startups[at], as_of, quiet), live=quiet is not None)
        _say(verdict.state, sentence(timeline.startups[at], verdict, hide=not no_redact), color)
        codes.append(of_state(verdict.state))
    return min(codes, key=_WORST_FIRST.index)


def _say(state: State, text: str, color: str) -> None:
    """Print the line, its first word in the state's colour where there is colour."""
    if colored(color, None):
        text = click.style(state.value, fg=STYLE[state.value], bold=True) + text[len(state.value) :]
    to_stdout(f"{text}\n")


def _now(startup: Startup, as_of: options.AsOf | None, quiet: float | None) -> float | None:
    """The moment of the question on the log's own clock: its last line, and the time for which the file has not changed."""
    if as_of is not None:
        return as_of.now(startup)
    return None if quiet is None else (startup.last_line.time or 0.0) + quiet
