"""One Chromium for all browser tests; pages as the command line makes them; a log of 64 ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from logphase.cli import cli
from tests.browser.chromium import Browser, program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The browser, started once."""
    if program() is None:
        pytest.skip("no Chromium here")
    made = Browser()
    yield made
    made.close()


@dataclass(frozen=True)
class Pages:
    """Makes pages in a folder."""

    folder: Path

    def of(self, log: Path, *options: str) -> Path:
        """The page of a log."""
        page = self.folder / f"{log.stem}.html"
        result = CliRunner().invoke(cli, ["report", str(log), "-o", str(page), "--force", *options])

        assert (0, None) == (result.exit_code, result.exception), result.output
        return page

    def log(self, name: str, text: str) -> Path:
        """A log that a test makes up."""
        path = self.folder / name
        path.write_text(text, encoding="utf-8", newline="")
        return path


@pytest.fixture
def pages(tmp_path: Path) -> Pages:
    """`pages.of(log)`."""
    return Pages(tmp_path)


def _stamp(second: int) -> str:
    return f"2026-02-26 {14 + second // 3600}:{second // 60 % 60:02d}:{second % 60:02d}"


def sixty_four() -> str:
    """The startup of 64 ranks on eight nodes, of which one is two minutes behind."""
    tags = [f"DP{at // 8} TP{at % 8}" for at in range(64)]
    lines: list[tuple[int, str, str]] = [(0, "", "server_args=ServerArgs(model_path='/models/big', tp_size=64, dp_size=8, nnodes=8)")]
    for at, tag in enumerate(tags):
        late = 120 if at == 37 else 0
        begun, loaded = 25 + at % 4, 250 + at % 9 + late
        lines += [
            (begun, tag, "Init torch distributed begin."),
            (45, tag, f"Init torch distributed ends. elapsed={45 - begun}.00 s, mem usage=1.2{at % 10} GB"),
            (50, tag, "Load weight begin. avail mem=138.25 GB"),
            (
                loaded,
                tag,
                f"Load weight end. elapsed={loaded - 50}.10 s, type=DeepseekV3, dtype=torch.bfloat16, avail mem=61.0{at % 9} GB.",
            ),
            (380, tag, f"Memory pool end. avail mem=16.2{at % 9} GB"),
            (381, tag, "Capture cuda graph begin. This can take up to several minutes. avail mem=16.10 GB"),
            (500, tag, "Capture cuda graph end. Time elapsed: 118.50 s. mem usage=0.53 GB. avail mem=15.40 GB."),
            (501, tag, "max_total_num_tokens=661504, chunked_prefill_size=8192, max_prefill_tokens=16384, context_len=163840"),
        ]
    lines += [
        (503, "", "INFO:     Uvicorn running on http://0.0.0.0:30000 (Press CTRL+C to quit)"),
        (520, "", 'INFO:     127.0.0.1:49154 - "POST /generate HTTP/1.1" 200 OK'),
        (520, "", "The server is fired up and ready to roll!"),
    ]
    ordered = sorted(lines, key=lambda line: line[0])
    return "".join(f"[{_stamp(second)}{' ' + tag if tag else ''}] {message}\n" for second, tag, message in ordered)
