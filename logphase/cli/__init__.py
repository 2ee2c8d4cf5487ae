"""The command line: a group that imports a command only when it is called.

Law of this folder: a command parses, wires and ends with an exit code; one file a command. A command is registered by one line in
`COMMANDS`, with the help line that `logphase --help` shows without importing it.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, cast

import click

from logphase import __version__
from logphase.cli.exit_codes import ExitCode
from logphase.errors import LogphaseError

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS: dict[str, tuple[str, str]] = {
    "check": ("logphase.cli.check:check", "Give one verdict, now, as one line and an exit code."),
    "report": ("logphase.cli.report:report", "Explain a startup: where its time went, rank by rank, and what stopped it."),
    "compare": ("logphase.cli.compare:compare", "Put startups side by side: which arguments differ, and what that did to each phase."),
    "watch": ("logphase.cli.watch:watch", "Follow a live startup and end with its verdict."),
    "run": ("logphase.cli.run:run", "Launch the server, keep its output in a log, and watch it start."),
    "replay": ("logphase.cli.replay:replay", "Write a recorded log again at its own pace."),
    "demo": ("logphase.cli.demo:demo", "Show a real startup, replayed fast through the live view, and its report."),
    "history": (
        "logphase.cli.history:history",
        "List, show, forget and export the startups seen before, and judge the time left by them.",
    ),
    "rules": ("logphase.cli.rules:rules", "Show, check, try and explain the rules that read a log."),
}
"""Name -> ("module:command", the command's own first help line)."""


_NAME = 200  # characters of a path that are shown


class Failure(click.ClickException):
    """An error with a remedy, as the command line shows it."""

    exit_code = int(ExitCode.USAGE)

    def __init__(self, error: LogphaseError) -> None:
        super().__init__(error.args[0] if error.args else error.message)
        self.hint = error.hint

    def show(self, file: object = None) -> None:
        """Write `Error: …` and `Hint: …` to stderr."""
        from logphase.views.words import quote

        del file
        click.echo(f"Error: {quote(self.message, hide=True, limit=None)}", err=True)
        if self.hint:
            click.echo(f"Hint: {quote(self.hint, hide=True, limit=None)}", err=True)


class LazyGroup(click.Group):
    """A group of `COMMANDS`: listing them costs no import."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, by alphabet."""
        return sorted({*COMMANDS, *super().list_commands(ctx)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module and give the command."""
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        return cast("click.Command", getattr(import_module(module), name))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it; for a name that is nearly right the error says which was meant."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, n=1)
            if not near:
                raise
            raise click.UsageError(f"{error.message} Did you mean '{near[0]}'?", ctx) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List every command with its help line."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in self.list_commands(ctx) if name in COMMANDS])

    def invoke(self, ctx: click.Context) -> None:
        """Run the command and end with the code that it gives; an error with a remedy ends it with 2 and no traceback."""
        try:
            code = super().invoke(ctx)
        except LogphaseError as error:
            raise Failure(error) from error
        ctx.exit(code if isinstance(code, int) else ExitCode.READY)


def _show_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's signature
    if value:
        click.echo(f"logphase {__version__}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Show the version and exit.")
def cli() -> None:
    """Read an inference server's log and say where its startup's time went, whether it is ready, and what killed it.

    \b
    Is it up?               logphase check server.log && curl …
    Wait until it is:       logphase watch server.log
    Start it and wait:      logphase run -- python -m sglang.launch_server …
    Where did time go?      logphase report server.log
    A page for a ticket:    logphase report server.log -o startup.html
    What did a flag do?     logphase compare before.log after.log
    No server at hand:      logphase demo

    logphase COMMAND --help has examples and exit codes.
    """  # noqa: D301 - \b is click's mark for lines that stay as they are


def _open_all() -> None:
    """Standard streams that were closed (`>&-`) lead nowhere: a file that is opened next would be taken for one of them."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None and os.open(os.devnull, os.O_RDWR) == number:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - as long as the process


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and give its exit code; nothing escapes as a traceback that has a message for the user."""
    _open_all()
    try:
        code = cli.main(args=arguments, prog_name="logphase", standalone_mode=False)
    except click.ClickException as error:
        with suppress(OSError):  # the exit code tells it, too
            error.show()
        return error.exit_code
    except OSError as error:
        what = str(error.filename or "standard output")[:_NAME]
        with suppress(OSError):
            Failure(LogphaseError(f"{what}: {error.strerror or error}", "Look at the path, its permissions, and the disk.")).show()
        return int(ExitCode.USAGE)
    except (click.Abort, KeyboardInterrupt):
        return int(ExitCode.INTERRUPTED)
    return int(code) if isinstance(code, int) else int(ExitCode.READY)
