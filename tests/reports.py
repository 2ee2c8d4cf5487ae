"""What the command line says about a log, as the JSON document that programs read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner

from logphase.cli import cli

if TYPE_CHECKING:
    from pathlib import Path


def document(log: Path, *options: str) -> dict[str, Any]:
    """Run `logphase report --format json` on a log in this process."""
    result = CliRunner().invoke(cli, ["report", str(log), "--format", "json", "--startup", "all", *options])

    assert (0, None) == (result.exit_code, result.exception), result.output
    parsed: dict[str, Any] = json.loads(result.stdout)
    return parsed
