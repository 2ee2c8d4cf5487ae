"""`logphase compare`: several startups side by side across flags, and a gate for CI."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from logphase import __version__
from logphase.cli import Failure, options, output
from logphase.cli.exit_codes import ExitCode
from logphase.errors import SourceError
from logphase.views.comparing import FORMATS, Sheet, view

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_NOT_FOR_TERMINALS = frozenset({"html", "parquet"})
_SHOWN = 20  # logs from which on progress is worth a line


@click.command(short_help="Put startups side by side: which arguments differ, and what that did to each phase.")
@options.log_arguments
@options.output_options(list(FORMATS))
@click.option("--by", metavar="ARGUMENT", help="Group all startups by their value of this argument instead, e.g. speculative_num_steps.")
@click.option("--baseline", metavar="NAME", help="The variant to measure against (of --by: its value); the first by default.")
@click.option(
    "--fail-over",
    metavar="10%|FILE",
    help="End with 1 when the total or a phase got slower than this and noise does not explain it; FILE is TOML with limits per phase.",
)
@options.startup_option()
@options.rule_options
@options.redact_option
@options.color_option
def compare(
    logs: tuple[str, ...],
    form: str | None,
    target: str | None,
    by: str | None,
    baseline: str | None,
    fail_over: str | None,
    startup: str | int,
    engine: str | None,
    rules: str | None,
    color: str,
    *,
    force: bool,
    no_redact: bool,
) -> ExitCode:
    """Put startups side by side: which arguments differ, and what that did to each phase.

    Each LOG is a variant; a quoted glob, NAME=GLOB, or entries of the history are one variant with repeats. The first is the baseline. Of a
    file with several startups the last one counts, unless --startup says otherwise. Startups that did not get ready are told and left out.
    Ends with 0 when the comparison was made, whatever it says; with 1 when --fail-over finds something slower; with 2 on bad input.

    \b
    Examples
      logphase compare before.log after.log
      logphase compare 'graphs/*.log' 'eager/*.log'
      logphase compare main='main-*.log' branch='pr-*.log' --fail-over 10%
      logphase compare 'runs/*.log' --by speculative_num_steps
      logphase compare history:12,15 today.log
      logphase compare a.log b.log -o comparison.html
      logphase compare a.log b.log --format markdown >> "$GITHUB_STEP_SUMMARY"
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from logphase import budget, variants

    form = form or output.form_of(target, FORMATS, "table")
    named = variants.told_apart(map(variants.named, logs))
    paths = list(dict.fromkeys(path for side in named for path in side.paths))
    output.refuse_early(target, force=force, terminal=form not in _NOT_FOR_TERMINALS, form=form, logs=paths)
    limits = budget.parse(fail_over) if fail_over is not None else None
    jobs = [variants.Job(path, startup, engine, rules) for path in paths]
    with _progress(len(jobs)) as told:
        read = variants.read_all(jobs, progress=told)
    for warning in (warning for log in read.values() for warning in log.warnings):
        click.echo(f"Warning: {warning}", err=True)
    comparison = variants.put_together(named, read, by=by, baseline=baseline, rules=rules, history=True)
    broken = budget.breaches(comparison, limits) if limits is not None else None
    sheet = Sheet(
        comparison=comparison,
        tool=f"logphase {__version__}",
        breaches=broken,
        redact=not no_redact,
        width=output.columns(),
        color=output.colored(color, target),
        ascii=output.plain_ascii(target),
    )
    output.deliver(view(form)(sheet), target)
    failures = [SourceError(*log.failure) for log in read.values() if log.failure is not None]
    for failure in failures:
        Failure(failure).show()
    for one in broken or ():
        click.echo(f"Over the limit: {one.variant}: {one.phase}: {one.told} (limit {one.limit})", err=True)
    for one in budget.doubts(comparison, limits) if limits is not None else ():
        click.echo(f"Not judged: {one.variant}: {one.phase}: {one.told} (limit {one.limit}); give more startups a side", err=True)
    return ExitCode.USAGE if failures else ExitCode.FAILED if broken else ExitCode.READY


@contextmanager
def _progress(logs: int) -> Iterator[Callable[[int], None] | None]:
    """What tells how many logs have been read: a bar on a terminal, when there are many."""
    if logs < _SHOWN or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("Reading logs"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=logs)
        yield lambda done: bar.update(task, completed=done)
