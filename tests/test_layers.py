"""Imports go one way, and the core does no I/O: the contracts stand in pyproject.toml."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPTS = Path(sysconfig.get_path("scripts"))

LIGHT_COMMAND = """
import sys
heavy = {"numpy", "pandas", "plotly", "psutil", "regex", "rich", "watchdog"}
from logphase.cli import main
try:
    main()
except SystemExit:
    pass
print(sorted(heavy & {name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""


def test_import_contracts_hold() -> None:
    """Every module imports only from the layers below it, and the core imports nothing that does I/O."""
    done = subprocess.run([SCRIPTS / "lint-imports", "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["check", "--help"], ["check", "LOG"]], ids=" ".join)
def test_light_commands_load_no_heavy_package(arguments: list[str], samples: list) -> None:
    """A command that is called every few seconds starts without the packages that only other commands need."""
    log = str(samples[0].log)
    command = [log if argument == "LOG" else argument for argument in arguments]

    done = subprocess.run([sys.executable, "-c", LIGHT_COMMAND, *command], cwd=ROOT, capture_output=True, text=True, check=False)

    assert "[]" == done.stderr.strip().splitlines()[-1]
