"""A command line without an engine: logs whose timelines and verdicts are given."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from logphase.cli import cli
from logphase.timeline import Evidence, Moment, Phase, Startup, Timeline
from logphase.verdict import State, Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

LAST_LINE = 1772116690.0  # 2026-02-26 14:38:10


def startup(index: int, lines: tuple[int, int]) -> Startup:
    """A startup of one phase."""
    weights = Phase("weights", "Load weights", "open", 0.0, None, None, None, {}, (), None, None, (), None, {}, lines)
    return Startup(
        index=index,
        engine="sglang",
        source=None,
        lines=lines,
        started=Moment(LAST_LINE - 967, lines[0], "log", 0.0),
        ready=None,
        stopped=None,
        ended=None,
        last_progress=Moment(LAST_LINE, lines[1], "log", 967.0),
        last_line=Moment(LAST_LINE, lines[1], "log", 967.0),
        arguments={"model_path": "/m", "api_key": "topsecret"},
        ranks=(),
        phases=(weights,),
        gaps=(),
        explained=None,
        current="weights",
        failed_in=None,
        cause=None,
        ready_evidence=(),
        stop_evidence=(),
        progress_evidence=(),
        warnings=(),
        duration_s=967.0,
    )


@dataclass
class FakeEngine:
    """Files of `folder`, each with the states of its startups, and what the commands asked for."""

    folder: Path
    states: dict[str, list[State]] = field(default_factory=dict)
    nows: list[float | None] = field(default_factory=list)
    lives: list[bool] = field(default_factory=list)
    asked: list[dict[str, object]] = field(default_factory=list)

    def log(self, name: str, *states: State) -> str:
        """Make a log whose startups have these states."""
        path = self.folder / name
        path.write_text("x\n")
        self.states[str(path)] = list(states)
        return str(path)

    def analyse(self, path: str, **asked: object) -> Timeline:
        """Stand in for the reading of a log."""
        self.asked.append(asked)
        made = tuple(startup(index, (100 * index, 100 * index + 12)) for index in range(1, len(self.states[path]) + 1))
        return Timeline("sglang" if made else None, made, 841, looked_for=("server_args=",))

    def judge(self, of: Startup, now: float | None = None, *, live: bool = False) -> Verdict:
        """Stand in for the judgement: the given state, with a sentence that holds a secret."""
        self.nows.append(now)
        self.lives.append(live)
        state = next(iter(self.states.values()))[of.index - 1]
        evidence = Evidence("x", of.lines[1], None, "it said so")
        return Verdict(state, "weights", f"{state.value}: because of --api-key topsecret.", None, (evidence,))


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    """The engine that both commands see."""
    made = FakeEngine(tmp_path)
    for command in ("check", "report"):
        monkeypatch.setattr(f"logphase.cli.{command}.analyse", made.analyse)
        monkeypatch.setattr(f"logphase.cli.{command}.judge", made.judge)
    return made


@dataclass(frozen=True)
class Run:
    """Runs the command line in this process; colours and widths are those of a pipe."""

    environment: dict[str, str | None] = field(default_factory=lambda: {"COLUMNS": "80", "NO_COLOR": None, "TERM": "xterm"})

    def __call__(self, *arguments: str, stdin: bytes = b"") -> Result:
        """Run and give what came out."""
        return CliRunner(env=self.environment).invoke(cli, arguments, input=stdin, prog_name="logphase", standalone_mode=True)


@pytest.fixture
def run() -> Run:
    """`run("check", path)`."""
    return Run()
