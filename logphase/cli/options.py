"""Option families: the same words mean the same on every command.

Law of this file: an option is written once, here, with its help and its check.
"""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from logphase.timeline import Startup
    from logphase.witness import Address

Command = TypeVar("Command", bound="Callable[..., object]")

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True, slots=True)
class AsOf:
    """The moment of the question: a time on the log's own clock, or seconds after the last line."""

    moment: float | None = None
    after_last_s: float | None = None

    def now(self, startup: Startup) -> float | None:
        """The moment for one startup; None where nothing was asked: as of its last line."""
        if self.after_last_s is None:
            return self.moment
        return (startup.last_line.time or 0.0) + self.after_last_s


def as_of(_: click.Context, __: click.Parameter, value: str | None) -> AsOf | None:
    """Read `2026-02-26T14:30:00`, `2026-02-26 14:30`, `+3600s`, `+10min`."""
    if value is None:
        return None
    text = value.strip()
    distance = re.fullmatch(r"\+(\d{1,9}(?:\.\d{1,6})?) ?([a-z]*)", text)
    if distance is not None and distance[2] in _UNITS:
        return AsOf(after_last_s=float(distance[1]) * _UNITS[distance[2]])
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        told = "give a time on the log's own clock, as 2026-02-26T14:30:00, or +3600s after the last line"
        raise click.BadParameter(f"{text!r} is no time; {told}") from error
    return AsOf(moment=calendar.timegm(at.timetuple()) + at.microsecond / 1e6)


def startup(_: click.Context, __: click.Parameter, value: str | None) -> str | int | None:
    """Read `last`, `all`, or a number from 1 on."""
    if value in (None, "last", "all"):
        return value
    if not re.fullmatch(r"0*[1-9]\d{0,8}", str(value)):
        raise click.BadParameter(f"{value!r} is no startup; give its number from 1 on, last, or all")
    return int(str(value))


def length(_: click.Context, __: click.Parameter, value: str | None) -> float | None:
    """Read a length of time: `90`, `90s`, `10min`, `2h`."""
    if value is None:
        return None
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,6})?) ?([a-z]*)", value.strip())
    if found is None or found[2] not in _UNITS or float(found[1]) <= 0:
        raise click.BadParameter(f"{value!r} is no length of time; give seconds, or 10min, 2h")
    return float(found[1]) * _UNITS[found[2]]


def address(_: click.Context, __: click.Parameter, value: str | None) -> Address | None:
    """Read the address of a health endpoint."""
    if value is None:
        return None
    from logphase.witness import Address

    try:
        return Address.parse(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def log_argument(command: Command) -> Command:
    """One log: a path, a glob that one file matches, or `-`."""
    return click.argument("log", metavar="LOG")(command)


def log_arguments(command: Command) -> Command:
    """Any number of logs: paths, globs, or `-`."""
    return click.argument("logs", metavar="LOG...", nargs=-1, required=True)(command)


def startup_option(default: str | None = "last") -> Callable[[Command], Command]:
    """Which startup of a file is meant."""
    return click.option(
        "--startup",
        callback=startup,
        default=default,
        metavar="N|last|all",
        help="Which startup of the file: its number from 1 on, the last one (default), or all.",
    )


def as_of_option(command: Command) -> Command:
    """As of which moment the verdict is asked."""
    return click.option(
        "--as-of",
        callback=as_of,
        metavar="TIME",
        help="Judge as of that moment on the log's own clock (2026-02-26T14:30:00), or so long after its last line (+3600s).",
    )(command)


def rule_options(command: Command) -> Command:
    """Which rules read the log."""
    return _rules(command, "Take the log for this engine's (sglang, vllm) instead of finding out.")


def rule_file_options(command: Command) -> Command:
    """Which rules are meant, where no log is read."""
    return _rules(command, "Only the rules of this engine (sglang, vllm); all by default.")


def _rules(command: Command, engine: str) -> Command:
    told = "A rule file or a folder of them, read before the ones that come with logphase."
    command = click.option("--rules", metavar="PATH", help=told)(command)
    return click.option("--engine", metavar="NAME", help=engine)(command)


def limit_options(command: Command) -> Command:
    """The user's own limits, over those of the rules and of history."""
    told = "What a stall does: exit ends with 3, warn shows it and goes on."
    command = click.option("--stall-action", type=click.Choice(["exit", "warn"]), default="exit", show_default=True, help=told)(command)
    told = "Silence of this length (90s, 10min) is a stall, whatever rules and history allow."
    command = click.option("--stall-after", callback=length, metavar="TIME", help=told)(command)
    told = "End with 124 when it is not ready after this (30min, 2h)."
    return click.option("--timeout", callback=length, metavar="TIME", help=told)(command)


def witness_options(*, pid: bool = True) -> Callable[[Command], Command]:
    """What else may be asked beside the log. `pid`: whether the process has to be named."""

    def decorate(command: Command) -> Command:
        told = "Send one real request, once, after the log's own evidence; with --log-level warning only it can prove readiness."
        command = click.option("--canary", is_flag=True, help=told)(command)
        told = "Ask this address for its status once the log says that HTTP is up; only the status counts, the body is empty."
        command = click.option("--health", callback=address, metavar="URL", help=told)(command)
        if pid:
            told = "The server's first process: whether it lives, compiles, is stopped or has lost a rank."
            command = click.option("--pid", type=click.IntRange(min=1), metavar="PID", help=told)(command)
        return command

    return decorate


def redact_option(command: Command) -> Command:
    """Whether secrets are shown."""
    return click.option("--no-redact", is_flag=True, help="Show API keys, tokens and passwords as the log has them.")(command)


def color_option(command: Command) -> Command:
    """Whether there is colour."""
    return click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        show_default=True,
        help="Colour: on a terminal without NO_COLOR, always, or never.",
    )(command)


def output_options(formats: list[str]) -> Callable[[Command], Command]:
    """In which form a report comes out, and where."""

    def decorate(command: Command) -> Command:
        command = click.option("--force", is_flag=True, help="Overwrite the file that -o names.")(command)
        told = "Write there instead of to stdout; never over a file that exists."
        command = click.option("-o", "--output", "target", metavar="FILE", help=told)(command)
        return click.option(
            "--format",
            "form",
            type=click.Choice(formats),
            help="Form of the report. Default: what -o's ending says, else table.",
        )(command)

    return decorate
