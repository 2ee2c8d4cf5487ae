"""`logphase report`: explain a startup, finished or not."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import click

from logphase import __version__
from logphase.cli import Failure, options, output
from logphase.cli.exit_codes import ExitCode
from logphase.cli.merging import logs_argument, merged, node_option
from logphase.cli.model_folder import with_sizes
from logphase.cli.reading import STDIN, analyse, choose, expand
from logphase.errors import LogphaseError, SourceError
from logphase.timeline import Timeline
from logphase.verdict import judge
from logphase.views import FORMATS, LAST_ONLY, NOT_FOR_TERMINALS, ORDERS, QUOTING, Report, view

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager
    from typing import BinaryIO


@click.command(short_help="Explain a startup: where its time went, rank by rank, and what stopped it.")
@logs_argument
@options.output_options(list(FORMATS))
@click.option(
    "--by",
    type=click.Choice(ORDERS),
    default="phase",
    show_default=True,
    help="The table: phases in order, ranks side by side, phases by duration (blame), or in order with @offset and +duration (chain).",
)
@options.startup_option(default=None)
@options.as_of_option
@node_option
@click.option("--remember", is_flag=True, help="Keep what is finished of the startups shown in the history; see logphase history.")
@options.rule_options
@options.redact_option
@options.color_option
def report(
    logs: tuple[str, ...],
    form: str | None,
    target: str | None,
    by: str,
    startup: str | int | None,
    as_of: options.AsOf | None,
    nodes: dict[str, int],
    engine: str | None,
    rules: str | None,
    color: str,
    *,
    force: bool,
    no_redact: bool,
    remember: bool,
) -> ExitCode:
    """Explain a startup: where its time went, rank by rank, and what stopped it.

    LOG is a path, a quoted glob, or - for stdin. The log is judged as of its last line.

    For people (table, html, png, svg) the last startup of each file is shown and the others are counted; the other formats hold all of
    them, unless --startup chooses.
    Ends with 0 when the report was made, whatever it says, and with 2 on bad input.

    \b
    Examples
      logphase report server.log
      logphase report server.log --by blame
      logphase report server.log -o startup.html
      logphase report server.log --by rank --startup 2
      logphase report 'logs/*.log' --format json -o startups.json
      logphase report node0.log node1.log
      logphase report 'old/*.log' --remember
      docker logs llm 2>&1 | logphase report -
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    form = form or output.form_of(target, FORMATS, "table")
    if not logs and not nodes:
        raise click.UsageError("Missing argument 'LOG...'.")
    paths = expand(dict.fromkeys((*logs, *nodes)))
    output.refuse_early(target, force=force, terminal=form not in NOT_FOR_TERMINALS, form=form, logs=paths)
    with _copy(paths, form) as copy:
        timelines, failures = _read(paths, engine, rules, as_of, copy)
        timelines = with_sizes(merged(timelines, nodes))
        shown = startup or ("last" if form in LAST_ONLY else "all")
        made = _report(
            timelines,
            {path: choose(timeline, shown, path) for path, timeline in timelines.items()},
            as_of,
            redact=not no_redact,
            by=by,
            width=output.columns(),
            color=output.colored(color, target),
            ascii=output.plain_ascii(target),
        )
        if form in QUOTING:
            from logphase.cli.quoting import with_quotes

            made = with_quotes(made, copy)
    content = view(form)(made)
    output.deliver(content, target)
    if remember:
        _remember(made, rules)
    for failure in failures:
        Failure(failure).show()
    return ExitCode.USAGE if failures else ExitCode.READY


def _remember(made: Report, rules: str | None) -> None:
    """Put the startups that are shown into the history, and say how many."""
    from logphase.cli.remembering import remember, warn
    from logphase.recollection import SWITCH, place

    if place() is None:
        warn(f"nothing is remembered: the history is switched off by {SWITCH}")
        return
    shown = [(made.timeline.startups[at], made.origins[at]) for at in made.chosen or ()]
    finished, new = remember(shown, rules=rules)
    known = f", {finished - new} known already" if finished > new else ""
    click.echo(f"remembered: {new} of {len(shown)} startup{'' if len(shown) == 1 else 's'}{known}", err=True)


def _copy(paths: list[str], form: str) -> AbstractContextManager[BinaryIO | None]:
    """A place to keep what standard input holds, where the report quotes it."""
    if form not in QUOTING or STDIN not in paths:
        return nullcontext()
    from tempfile import TemporaryFile

    return TemporaryFile()


def _read(
    paths: list[str], engine: str | None, rules: str | None, as_of: options.AsOf | None, copy: BinaryIO | None
) -> tuple[dict[str, Timeline], list[LogphaseError]]:
    """Every log that can be read, and what is wrong with the others; with none, the first error ends the command."""
    timelines: dict[str, Timeline] = {}
    failures: list[LogphaseError] = []
    for path in dict.fromkeys(paths):
        try:
            timelines[path] = analyse(
                path, engine=engine, rules=rules, until=as_of.moment if as_of else None, copy=copy if path == STDIN else None
            )
        except SourceError as error:
            failures.append(error)
    if not timelines:
        for failure in failures[1:]:
            Failure(failure).show()
        raise failures[0]
    return timelines, failures


def _report(
    timelines: Mapping[str, Timeline],
    chosen: Mapping[str, list[int]],
    as_of: options.AsOf | None,
    *,
    redact: bool,
    by: str,
    width: int,
    color: bool,
    ascii: bool,  # noqa: A002 - the field's name
) -> Report:
    """All logs as one report, in the order in which they were named."""
    startups = [(startup, path) for path, timeline in timelines.items() for startup in timeline.startups]
    positions: list[int] = []
    before = 0
    for path, timeline in timelines.items():
        positions += (before + at for at in chosen[path])
        before += len(timeline.startups)
    read = list(timelines.values())
    return Report(
        timeline=Timeline(
            engine=next((timeline.engine for timeline in read if timeline.engine), None),
            startups=tuple(startup for startup, _ in startups),
            lines=sum(timeline.lines for timeline in read),
            traffic=any(timeline.traffic for timeline in read),
            dropped=sum(timeline.dropped for timeline in read),
            looked_for=tuple(dict.fromkeys(text for timeline in read for text in timeline.looked_for)),
        ),
        verdicts=tuple(judge(startup, as_of.now(startup) if as_of else None) for startup, _ in startups),
        sources=tuple(timelines),
        tool=f"logphase {__version__}",
        origins=tuple(path for _, path in startups),
        chosen=tuple(positions),
        redact=redact,
        by=by,
        width=width,
        color=color,
        ascii=ascii,
    )
