"""What every test may ask for: the sample logs, and a way to hold a text to its expectation file."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
SAMPLE_LOGS = ROOT / "sample_logs"
ACTUAL = ROOT / "tests" / "actual"


@dataclass(frozen=True, slots=True)
class Sample:
    """A log of `sample_logs/` and the file that says what it holds."""

    log: Path
    expect: Path

    @property
    def name(self) -> str:
        """The log's name without its ending."""
        return self.log.stem


@dataclass(frozen=True, slots=True)
class Expectations:
    """Holds texts to files; with `--accept` it writes the files instead."""

    accept: bool

    def hold(self, file: Path, actual: str) -> None:
        """Fail unless `file` says `actual`; what came out instead stays in `tests/actual/` to be looked at."""
        if self.accept:
            file.write_text(actual, encoding="utf-8")
        expected = file.read_text(encoding="utf-8") if file.exists() else None
        if expected != actual:
            ACTUAL.mkdir(exist_ok=True)
            (ACTUAL / file.name).write_text(actual, encoding="utf-8")

        assert expected is not None, f"{file.name} is missing: look at tests/actual/{file.name}, then accept it with --accept"
        assert expected == actual, f"differs from {file.name}: look at tests/actual/{file.name}; --accept takes it as the new expectation"


def sample_logs() -> list[Sample]:
    """Every sample log, by name."""
    return [Sample(log, log.with_suffix(".expect")) for log in sorted(SAMPLE_LOGS.glob("*.log"))]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="rewrite expectation files with what came out")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--accept") and os.environ.get("CI"):
        msg = "--accept rewrites what the tests hold: never in CI"
        raise pytest.UsageError(msg)
    for number in (signal.SIGHUP, signal.SIGINT):  # ignored under nohup and in the background, and what a test starts would inherit that
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL if number == signal.SIGHUP else signal.default_int_handler)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for `sample` runs once for each sample log."""
    if "sample" in metafunc.fixturenames:
        metafunc.parametrize("sample", sample_logs(), ids=lambda sample: sample.name)


@pytest.fixture(scope="session", autouse=True)
def _no_history_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test writes to the user's own state; commands that tests start inherit it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patch.delenv("LOGPHASE_HISTORY", raising=False)
        patch.delenv("LOGPHASE_HOST", raising=False)
        yield


@pytest.fixture(scope="session")
def samples() -> list[Sample]:
    """All sample logs, for tests that look at them together."""
    return sample_logs()


@pytest.fixture(scope="session")
def expectations(pytestconfig: pytest.Config) -> Expectations:
    """`expectations.hold(file, actual)`."""
    return Expectations(accept=pytestconfig.getoption("--accept"))
