"""`logphase run`: launch the server, keep its output, watch it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from logphase.cli import options
from logphase.cli.exit_codes import ExitCode, of_ending
from logphase.cli.showing import FORMAT_HELP, FORMATS, shown

if TYPE_CHECKING:
    from logphase.witness import Address


@click.command(short_help="Launch the server, keep its output in a log, and watch it start.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
@click.option("--log", metavar="FILE", help="Where its output goes, behind what the file holds. Default: server-DATE-TIME.log here.")
@click.option("--detach", is_flag=True, help="End when it is ready and leave it running; without it, stay until it ends.")
@click.option("--note", default="", metavar="TEXT", help="Keep this beside the log, e.g. 'cold cache, new driver'.")
@click.option("--record-env", multiple=True, metavar="NAME", help="Keep this environment variable beside the log, too; may be repeated.")
@options.limit_options
@options.witness_options(pid=False)
@options.rule_options
@options.redact_option
@options.color_option
@click.option("--format", "form", type=click.Choice(FORMATS), help=FORMAT_HELP)
def run(
    command: tuple[str, ...],
    log: str | None,
    note: str,
    record_env: tuple[str, ...],
    timeout: float | None,
    stall_after: float | None,
    stall_action: str,
    health: Address | None,
    engine: str | None,
    rules: str | None,
    color: str,
    form: str | None,
    *,
    detach: bool,
    canary: bool,
    no_redact: bool,
) -> ExitCode:
    """Launch the server, keep its output in a log, and watch it start.

    Everything behind -- is the command. Its output goes into the log byte for byte; beside it, FILE.arrivals has when each part came and
    FILE.launches.jsonl what the log does not hold: command, environment (SGLANG_*, VLLM_*, NCCL_*, EAGLE3_*, CUDA_VISIBLE_DEVICES, and
    what --record-env names), versions, note; without secrets. Signals are passed on; a second one kills. When the startup fails or
    stalls, what was launched is ended. Under systemd (Type=notify) the unit is told status and readiness.

    \b
    Exit codes
      0    ready (--detach), else: the server ran and ended well
      1    crashed, never started, or stopped before it was ready
      2    usage: no such command, the log cannot be written
      3    stalled
      124  --timeout passed
      130, 143, 129  Ctrl-C, SIGTERM, SIGHUP

    \b
    Examples
      logphase run -- python -m sglang.launch_server --model-path /models/a
      logphase run --detach --log server.log -- sglang serve --model-path /models/a && ./bench.sh
      logphase run --canary --health http://127.0.0.1:30000 --note 'cold cache' -- vllm serve a
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from logphase import launch_record
    from logphase.child import PASSED_ON, ArrivalsFile, Child
    from logphase.cli.remembering import Remembers, recollection
    from logphase.cli.running import Running, flags, new_log
    from logphase.cli.signals import Caught
    from logphase.live import Watch
    from logphase.service import Service
    from logphase.witness import Asked, call
    from logphase.witness.exit import Exit
    from logphase.witness.processes import since

    log = log or new_log()
    environment = dict(os.environ)
    service = Service(environment)
    with (
        Caught(PASSED_ON) as caught,
        Child(command, log, environment) as child,
        shown(form, color=color, hide=not no_redact, source=log) as show,
    ):
        click.echo(f"log: {log}   pid: {child.pid}", err=True)
        arrivals = ArrivalsFile(log, child.offset, child.started)
        record = launch_record.begin(command, child.started, child.offset, child.pid, environment, also=record_env, note=note)
        keeper = launch_record.Keeper(log, record, command)
        leaves = Exit(child.ended, lambda: [*child.rest(), *since(log, child.started)])
        called = call(Asked(child.pid, health, canary, None, flags(command)))
        watch = Watch(
            rules=rules,
            engine=engine,
            stall_after=stall_after,
            stall_action=stall_action,
            timeout=timeout,
            started=child.started,
            witnesses=(leaves, *called.all),
            history=recollection(rules, keeper.version),
        )
        with Remembers(log, rules, keeper.version) as remembers:
            outcome = Running(child, watch, leaves, arrivals, service, called, caught, show, remembers.see, detach=detach).run(log)
        arrivals.close()
        ended = child.ended()
        keeper.end(ended.at if ended else None, ended.code if ended else None, outcome.frame.verdict.state.value)
    for trouble in filter(None, (arrivals.trouble, keeper.trouble)):
        click.echo(f"Warning: {trouble}", err=True)
    if outcome.runs:
        pid = leaves.left[0] if leaves.left else child.pid
        click.echo(f"It goes on: pid {pid}, log {log}. Stop it with: kill {pid}", err=True)
    return of_ending(outcome.ending)
