"""`logphase history`: the startups seen before."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from logphase import __version__
from logphase.cli import output
from logphase.errors import LogphaseError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from logphase.history import Entry
    from logphase.store import Store

SHOWN = 20
TESTED = 500
_LARGEST = (1 << 63) - 1  # number that a database holds
EXPORTED = ["csv", "parquet", "json"]
TEXT_OR_JSON = click.Choice(["table", "json"])


@click.group(short_help="List, show, forget and export the startups seen before, and judge the time left by them.")
def history() -> None:
    """List, show, forget and export the startups seen before, and judge the time left by them.

    They feed the time left of watch and run, and comparisons. Each startup that watch or run saw to its end, and each that
    report --remember was given, is kept in $XDG_STATE_HOME/logphase (~/.local/state/logphase), arguments without secrets.
    LOGPHASE_HISTORY=off switches it off, LOGPHASE_HISTORY=FOLDER moves it.

    \b
    Exit codes
      0    done
      2    usage, no such entry, the history cannot be used

    \b
    Examples
      logphase history list
      logphase history show 12
      logphase history forget 12 13
      logphase history export -o history.parquet
      logphase history backtest
    """  # noqa: D301 - \b is click's mark for lines that stay as they are


@history.command("list", short_help="List entries, the newest last.")
@click.option("-n", "most", type=click.IntRange(0, _LARGEST), default=SHOWN, show_default=True, help="How many of the newest; 0 for all.")
@click.option("--model", metavar="TEXT", help="Only those whose model has this text in its name.")
@click.option("--format", "form", type=TEXT_OR_JSON, default="table", show_default=True, help="For people or for scripts.")
def list_(most: int, model: str | None, form: str) -> None:
    """List entries, the newest last. On a narrow terminal columns on the right give way; --format json has them all.

    \b
    Examples
      logphase history list
      logphase history list -n 0 --model kimi
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from logphase.views.history import entries_json, listing

    with _store() as store:
        found = store.entries(most=None if model else most or None)
        held = store.count()
    if model:
        found = [entry for entry in found if model.casefold() in entry.likeness.model.casefold()]
        held, found = len(found), found[-most:] if most else found
    width = output.columns() if sys.stdout.isatty() else None
    output.to_stdout(entries_json(found) if form == "json" else listing(found, held, width))


@history.command(short_help="Show entries: phases, arguments, where from.")
@click.argument("numbers", metavar="ENTRY...", nargs=-1, required=True, type=click.IntRange(1, _LARGEST))
@click.option("--format", "form", type=TEXT_OR_JSON, default="table", show_default=True, help="For people or for scripts.")
def show(numbers: tuple[int, ...], form: str) -> None:
    """Show entries: phases, arguments that matter, where they are from. ENTRY is a number of `logphase history list`.

    \b
    Examples
      logphase history show 12
      logphase history show 12 13 --format json
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from logphase.views.history import entries_json, entry_text

    with _store() as store:
        found = _chosen(store, numbers)
    output.to_stdout(entries_json(found) if form == "json" else "\n".join(entry_text(entry, output.columns()) for entry in found))


@history.command(short_help="Forget entries: those named, or all.")
@click.argument("numbers", metavar="[ENTRY]...", nargs=-1, type=click.IntRange(1, _LARGEST))
@click.option("--all", "everything", is_flag=True, help="Forget all entries.")
def forget(numbers: tuple[int, ...], *, everything: bool) -> None:
    """Forget entries: those named by their number in `logphase history list`, or all. Nothing brings them back but their logs.

    \b
    Examples
      logphase history forget 12 13
      logphase history forget --all
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    if bool(numbers) == everything:
        raise click.UsageError("Name the entries to forget, or give --all.")
    with _store() as store:
        chosen = store.entries() if everything else _chosen(store, numbers)
        gone = store.forget([entry.number for entry in chosen]) if chosen else 0
    click.echo(f"forgotten: {gone} startup{'' if gone == 1 else 's'}", err=True)


@history.command(short_help="Export all entries, a row a phase and rank.")
@click.option("-o", "--output", "target", metavar="FILE", help="Write there instead of to stdout; its ending chooses the format.")
@click.option("--force", is_flag=True, help="Overwrite the file that -o names.")
@click.option("--format", "form", type=click.Choice(EXPORTED), help="Default: by the ending of FILE, else csv.")
def export(target: str | None, form: str | None, *, force: bool) -> None:
    """Export all entries, one row for each phase and rank.

    \b
    Examples
      logphase history export -o history.parquet
      logphase history export | column -s, -t | less -S
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from logphase.views.history import EXPORTS, entries_json

    form = form or output.form_of(target, EXPORTED, "csv")
    output.refuse_early(target, force=force, terminal=form != "parquet", form=form)
    with _store() as store:
        found = store.entries()
    output.deliver(entries_json(found) if form == "json" else EXPORTS[form](found, f"logphase {__version__}"), target)


@history.command(short_help="Say how good the time left was.")
@click.option("-n", "most", type=click.IntRange(1, _LARGEST), default=TESTED, show_default=True, help="How many of the newest entries.")
@click.option("--format", "form", type=TEXT_OR_JSON, default="table", show_default=True, help="For people or for scripts.")
def backtest(most: int, form: str) -> None:
    """Say how good the time left was: each startup is judged by those before it, at 10, 25, 50 and 75 % of its way.

    \b
    Examples
      logphase history backtest
      logphase history backtest -n 50 --format json
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from logphase.backtest import SHARES, scores
    from logphase.backtest import backtest as replay
    from logphase.views.history import scores_json, scores_text

    with _store() as store:
        guesses = replay(store.entries(most=most))
    found, startups = scores(guesses), len(guesses) // len(SHARES)
    output.to_stdout(scores_json(found, startups) if form == "json" else scores_text(found, startups))


def _store() -> AbstractContextManager[Store]:
    from logphase.recollection import SWITCH, place
    from logphase.store import Store

    path = place()
    if path is None:
        raise LogphaseError("the history is switched off", f"Unset {SWITCH}, or set it to a folder.")
    return Store(path)


def _chosen(store: Store, numbers: tuple[int, ...]) -> list[Entry]:
    """The entries of these numbers; one that is not there is an error."""
    found = store.entries(numbers)
    missing = sorted({*numbers} - {entry.number for entry in found})
    if missing:
        raise LogphaseError(f"the history has no entry {missing[0]}", "See logphase history list -n 0.")
    return found
