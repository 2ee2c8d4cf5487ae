"""Report -> the timeline of a startup as a PNG or SVG picture, drawn by a Chromium that is on this machine.

Law of this file: the one view that needs another program. It gets a page of ours with the figure in it, no network and no profile of the
user's, and gives the picture back as text; where there is none, the message says what to install.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from logphase.errors import LogphaseError
from logphase.views import figures
from logphase.views.page import asset
from logphase.views.sentence import sentence, unseen

if TYPE_CHECKING:
    from logphase.views import Report

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
_PLACES = ("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "/Applications/Chromium.app/Contents/MacOS/Chromium")
_PATIENCE_S = 60
_WIDTH = 1200
_HEAD = 24  # pixels for the title
_SENTENCE = 150  # characters
_PICTURE = re.compile(r'<pre id="picture">([A-Za-z0-9+/=]+)</pre>')


def png(report: Report) -> bytes:
    """The picture in twice the resolution of a plain screen."""
    return _draw(report, "png")


def svg(report: Report) -> bytes:
    """The picture as vectors."""
    return _draw(report, "svg")


def browser() -> str | None:
    """A Chromium or one of its kin: what BROWSER_PATH names, else what is installed."""
    named = os.environ.get("BROWSER_PATH")
    found = (shutil.which(name) for name in ((named,) if named else _NAMES))
    return next((path for path in found if path), None) or next((path for path in _PLACES if not named and Path(path).exists()), None)


def _draw(report: Report, form: str) -> bytes:
    program = browser()
    if program is None:
        raise LogphaseError(
            f"{form} needs a Chromium or Chrome on this machine, and none was found",
            "Install one (apt-get install chromium), or name it in BROWSER_PATH; --format html needs none.",
        )
    page = Template(asset("picture.html")).substitute(plotly=asset("plotly-basic.min.js"), data=_job(report, form))
    with tempfile.TemporaryDirectory(prefix="logphase-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "picture.html"
        path.write_text(page, encoding="utf-8")
        found = _PICTURE.search(_run(program, path, folder))
    if found is None:
        raise LogphaseError(f"{program} drew no picture", "Try --format html, and print or photograph that page.")
    return base64.b64decode(found[1])


def _job(report: Report, form: str) -> str:
    """The figure with the verdict as its title, and what to make of it, as JSON that no text can end."""
    from plotly.io.json import to_json_plotly

    title, figure = _titled(report)
    layout = figure["layout"]
    assert isinstance(layout, dict)
    height = layout["height"] + _HEAD
    heading = {"text": title, "x": 0.01, "xanchor": "left", "y": 0.985, "yanchor": "top", "yref": "container", "font": {"size": 15}}
    margin = layout["margin"] | {"t": layout["margin"]["t"] + _HEAD}
    sized = {"height": height, "width": _WIDTH, "margin": margin, "title": heading, "paper_bgcolor": "#ffffff"}
    job = {"figure": figure | {"layout": layout | sized}, "form": form, "width": _WIDTH, "height": height}
    return str(to_json_plotly(job, engine="json")).replace("<", "\\u003c")


def _titled(report: Report) -> tuple[str, figures.Figure]:
    """The last startup's verdict and timeline; where no time is known, a sheet that says so."""
    shown = report.shown()
    if not shown:
        said = f"{', '.join(report.sources)}: unseen: {unseen(report.timeline)[0]}"
        figure = None
    else:
        startup, verdict, origin = shown[-1]
        said = f"{origin}: {sentence(startup, verdict, hide=report.redact)}"
        figure = figures.gantt(startup)
    title = figures.words(said if len(said) <= _SENTENCE else f"{said[: _SENTENCE - 1]}…")
    return title, figure if figure is not None else figures.blank("no phase has a time")


def _run(program: str, page: Path, folder: str) -> str:
    """The page as the browser has it once the picture is drawn."""
    command = [
        program,
        "--headless",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-dev-shm-usage",
        f"--user-data-dir={folder}/profile",
        "--virtual-time-budget=20000",
        "--dump-dom",
        page.as_uri(),
    ]
    if sys.platform == "linux" and os.geteuid() == 0:
        command.insert(1, "--no-sandbox")  # a Chromium refuses its sandbox to root; the page is ours
    try:
        done = subprocess.run(command, capture_output=True, timeout=_PATIENCE_S, check=False)  # noqa: S603 - the browser, a page of ours
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LogphaseError(f"{program} did not draw: {error}", "Try --format html, which needs no browser here.") from error
    return done.stdout.decode("utf-8", "replace")
