"""`logphase rules`: the rule files: what there is, is it sound, how does one begin."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from logphase import rules as rule_files
from logphase.cli import options, output
from logphase.cli.exit_codes import ExitCode
from logphase.cli.rules_on_logs import explain, try_
from logphase.errors import LogphaseError

if TYPE_CHECKING:
    from logphase.ruleproblems import Report

NAME = "[a-z0-9]+(?:-[a-z0-9]+)*"  # of an engine


@click.group(short_help="Show, check, try and explain the rules that read a log.")
def rules() -> None:
    """Show, check, try and explain the rules that read a log.

    Rules are TOML files: those that come with logphase, over them those in ~/.config/logphase/rules, over these what --rules names.

    \b
    Exit codes
      0  done
      1  check: there is a problem
      2  usage, unreadable input, no such rule; else than in check: a bad rule file

    \b
    Examples
      logphase rules list --engine vllm
      logphase rules check mine.toml
      logphase rules try server.log
      logphase rules explain server.log:315
      logphase rules new -o mine.toml
    """  # noqa: D301 - \b is click's mark for lines that stay as they are


@rules.command("list")
@options.rule_file_options
@click.option("--origin", is_flag=True, help="Say for each rule which file it is from, and which it replaced.")
def list_(engine: str | None, rules: str | None, *, origin: bool) -> None:
    """List the rules by phase.

    \b
    Examples
      logphase rules list --engine vllm
      logphase rules list --origin --rules mine.toml
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from logphase.views.rules import listing

    names = [engine] if engine else rule_files.available(rules)
    output.to_stdout("\n".join(listing(rule_files.load(name, rules), origin=origin) for name in names))


@rules.command(short_help="Show a rule as its file has it.")
@click.argument("name", metavar="[ID]", required=False)
@options.rule_file_options
@click.option("--origin", is_flag=True, help="Without an ID: all rules, with the file each is from and what it replaced.")
def show(name: str | None, engine: str | None, rules: str | None, *, origin: bool) -> None:
    """Show a rule as its file has it, or, without an ID, all of them as `rules list` does.

    \b
    Examples
      logphase rules show weights-end
      logphase rules show --origin --rules mine.toml
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from logphase.places import block
    from logphase.views.rules import listing, rule_text

    names = [engine] if engine else rule_files.available(rules)
    if name is None:
        output.to_stdout("\n".join(listing(rule_files.load(each, rules), origin=origin) for each in names))
        return
    found = {}
    for each in names:
        known = rule_files.load(each, rules)
        for rule in known.rules:
            if rule.id == name:
                text, line = block(rule.where, rule_files.tables(each, rules))
                found[rule.where] = rule_text(known, rule, text, line)
    if not found:
        raise LogphaseError(f"no rule is called {name!r}", "See logphase rules list.")
    output.to_stdout("\n".join(found.values()))


@rules.command(short_help="Prove that rules keep their promises.")
@click.argument("paths", metavar="[FILE]...", nargs=-1)
@options.rule_file_options
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "github"]), default="text", show_default=True, help="Form of the problems."
)
def check(paths: tuple[str, ...], engine: str | None, rules: str | None, form: str) -> ExitCode:
    """Prove that rules keep their promises: examples, texts, patterns, ids, versions, remedies.

    FILEs are checked over the bundled rules, each by itself; without one, the bundled rules and your own are. Ends with 1 when there
    is a problem.

    \b
    Examples
      logphase rules check
      logphase rules check mine.toml
      logphase rules check mine.toml --format github
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from logphase.rulecheck import check_files
    from logphase.views.rules import PROBLEMS

    report: Report = check_files(paths or ((rules,) if rules else ()), (engine,) if engine else ())
    output.to_stdout(PROBLEMS[form](report))
    return ExitCode.FAILED if report.problems else ExitCode.READY


@rules.command(short_help="Begin a rule file.")
@click.option(
    "--engine",
    metavar="NAME",
    default="",
    help="Begin the rules of a new engine of this name, or rules over those of one that is known; without it, over those of all.",
)
@click.option("-o", "--output", "target", metavar="FILE", help="Write there instead of to stdout; never over a file that exists.")
@click.option("--force", is_flag=True, help="Overwrite the file that -o names.")
def new(engine: str, target: str | None, *, force: bool) -> None:
    """Begin a rule file: a template that passes the check, with every key explained.

    \b
    Examples
      logphase rules new -o mine.toml
      logphase rules new --engine tiny -o tiny.toml
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from logphase.views.rulefile import template

    if engine and not re.fullmatch(NAME, engine):
        raise LogphaseError(f"{engine!r} is no name for an engine", "Lower-case words with hyphens, e.g. --engine tiny-server.")
    output.refuse_early(target, force=force, terminal=True, form="toml")
    output.deliver(template(engine, _head(engine) if engine in rule_files.available() else ""), target)


def _head(engine: str) -> str:
    """What stands before a message of this engine: that of the first example of its first header."""
    header = rule_files.load(engine, examples=True).headers[0]
    found = re.match(header.pattern, header.examples[0])
    return found[0] if found else ""


rules.add_command(try_)
rules.add_command(explain)
