"""The timeline as a picture: drawn where there is a Chromium, and a clear message where there is none."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from logphase.cli import cli
from tests.browser.chromium import program
from tests.conftest import SAMPLE_LOGS

if TYPE_CHECKING:
    from pathlib import Path

EIGHT = SAMPLE_LOGS / "kimi-k2.5-tp8-eagle3.log"
SVG = "{http://www.w3.org/2000/svg}"

drawn = pytest.mark.skipif(program() is None, reason="no Chromium here")


@drawn
def test_svg_holds_the_timeline(tmp_path: Path) -> None:
    """The SVG has a lane for each rank, a bar for each stretch, and the verdict above."""
    made = _picture(EIGHT, tmp_path / "out.svg")
    root = ET.fromstring(made)  # noqa: S314 - our own picture
    said = ["".join(one.itertext()) for one in root.iter(f"{SVG}text")]

    assert {"server", *(f"TP{at}" for at in range(8))} <= set(said)
    assert any("ready: after 16 min 7 s" in one for one in said)
    assert sum(one.get("class") == "point" for one in root.iter(f"{SVG}g")) > 70


@drawn
def test_png_is_a_picture(tmp_path: Path) -> None:
    """The PNG is as wide as a page, in twice the resolution."""
    made = _picture(EIGHT, tmp_path / "out.png")

    assert b"\x89PNG\r\n\x1a\n" == made[:8]
    assert 2400 == struct.unpack(">I", made[16:20])[0]


@drawn
def test_a_log_without_a_timeline_gives_a_sheet(tmp_path: Path) -> None:
    """Where no phase has a time, the picture says so, and what the verdict is."""
    log = tmp_path / "<b>other.log"
    log.write_text("hello\n", encoding="utf-8")
    said = _picture(log, tmp_path / "out.svg").decode()

    assert "no phase has a time" in said
    assert "unseen" in said


def test_without_a_browser_the_message_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No traceback and no empty file: what is missing, and the format that needs nothing."""
    monkeypatch.setenv("BROWSER_PATH", "/nowhere/chromium")
    result = CliRunner().invoke(cli, ["report", str(EIGHT), "-o", str(tmp_path / "out.png")])

    assert 2 == result.exit_code
    assert "png needs a Chromium" in result.stderr
    assert "--format html" in result.stderr
    assert not (tmp_path / "out.png").exists()


def _picture(log: Path, target: Path) -> bytes:
    result = CliRunner().invoke(cli, ["report", str(log), "-o", str(target)])

    assert (0, None) == (result.exit_code, result.exception), result.output
    return target.read_bytes()
