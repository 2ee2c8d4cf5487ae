"""`logphase check`: one verdict, one line, one exit code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from logphase.cli import options
from logphase.cli.exit_codes import ExitCode, of_state
from logphase.cli.output import colored, to_stdout
from logphase.cli.reading import STDIN, analyse, changed, choose, only, silence
from logphase.errors import LogphaseError
from logphase.kept import is_state, place, question, unchanged
from logphase.verdict import State, judge
from logphase.views.glyphs import STYLE

if TYPE_CHECKING:
    from logphase.timeline import Startup
    from logphase.witness import Address

_STANDS = (State.READY, State.CRASHED, State.NEVER_STARTED, State.STOPPED)  # whatever time it is
_WORST_FIRST = (ExitCode.FAILED, ExitCode.STALLED, ExitCode.UNSEEN, ExitCode.STARTING, ExitCode.READY)


@click.command(short_help="Give one verdict, now, as one line and an exit code.")
@options.log_argument
@options.startup_option()
@options.as_of_option
@options.witness_options()
@click.option("--state", "kept", metavar="FILE", help="Keep here how far LOG was read. Default: in the user's cache, for a large log.")
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
    kept: str | None,
    *,
    canary: bool,
    no_redact: bool,
) -> ExitCode:
    """Give one verdict, now, as one line and an exit code.

    LOG is a path, or - for stdin. The file's last change counts as the last sign of life.
    Of a large log each later call reads only what is new; another file under its name, or another content, is read whole.
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
    keep = _place(path, kept) if as_of is None else None
    plain = keep is not None and startup == "last" and not named and not no_redact
    asked = question(engine, rules) if plain else ""
    known = unchanged(path, keep, asked) if plain and keep is not None else None
    if known is not None:
        _say(known[0], known[1], color)
        return of_state(State(known[0]))
    from logphase.resume import Reading
    from logphase.views.sentence import said, sentence, unseen

    reading = Reading(path, keep, engine=engine, rules=rules, reference=changed(path)) if keep is not None else None
    if reading is not None:
        timeline = reading.timeline(lambda reason: click.echo(f"Warning: {path}: {reason}", err=True))
    else:
        timeline = analyse(path, engine=engine, rules=rules, until=as_of.moment if as_of else None, brief=True)
    hide = not no_redact
    if named:
        from logphase.cli.witnessed import witnessed

        verdict, objected = witnessed(timeline, silence(path), pid, health, canary=canary)
        last = timeline.startups[-1] if timeline.startups else None
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
        text = sentence(timeline.startups[at], verdict, hide=hide)
        _say(verdict.state, text, color)
        if reading is not None and plain and verdict.state in _STANDS:
            reading.tell(verdict.state, text, asked)
        codes.append(of_state(verdict.state))
    return min(codes, key=_WORST_FIRST.index)


def _place(path: str, kept: str | None) -> Path | None:
    """Where the state of this log is kept; None where it has none."""
    if path == STDIN:
        return None
    keep = Path(kept) if kept else place(path)
    if kept and keep is not None and keep.exists() and not is_state(keep):
        raise LogphaseError(f"{kept} holds something else than the state of a log", "Name a file that is not there yet.")
    return keep


def _say(state: str, text: str, color: str) -> None:
    """Print the line, its first word in the state's colour where there is colour."""
    if colored(color, None):
        text = click.style(str(state), fg=STYLE[state], bold=True) + text[len(state) :]
    to_stdout(f"{text}\n")


def _now(startup: Startup, as_of: options.AsOf | None, quiet: float | None) -> float | None:
    """The moment of the question on the log's own clock: its last line, and the time for which the file has not changed."""
    if as_of is not None:
        return as_of.now(startup)
    return None if quiet is None else (startup.last_line.time or 0.0) + quiet
