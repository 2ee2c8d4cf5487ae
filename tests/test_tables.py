"""`Timeline.to_frame()` has the documented columns and dtypes, whatever the log holds."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import logphase
from logphase.tables import DTYPES, Row
from logphase.timeline import Timeline
from tests.conftest import ROOT

if TYPE_CHECKING:
    from tests.conftest import Sample


def test_frame_has_the_documented_columns(sample: Sample) -> None:
    """Each sample's frame has every column, in order, with its dtype, and a row for each phase."""
    timeline = logphase.analyze(str(sample.log))
    frame = timeline.to_frame()

    assert list(DTYPES.items()) == [(name, str(dtype)) for name, dtype in frame.dtypes.items()]
    assert {(startup.index, phase.id) for startup in timeline.startups for phase in startup.phases} == set(
        zip(frame["startup"], frame["phase"], strict=True)
    )


def test_frame_of_nothing_has_the_same_columns() -> None:
    """An empty timeline gives an empty frame that code written for a full one can take."""
    frame = Timeline(None, (), 0).to_frame()

    assert (0, list(DTYPES)) == (len(frame), list(frame.columns))
    assert list(DTYPES.values()) == [str(dtype) for dtype in frame.dtypes]


def test_sums_are_the_timelines(samples: list[Sample]) -> None:
    """The slowest rank of a phase in the frame is the slowest of the timeline."""
    log = next(sample.log for sample in samples if sample.name == "tp2-eagle3")
    timeline = logphase.analyze(str(log))
    slowest = timeline.to_frame().groupby("phase")["duration_s"].max()

    for phase in timeline.startups[-1].phases:
        if phase.ranks and not phase.spans:
            assert abs(slowest[phase.id] - max(span.duration_s or 0.0 for span in phase.ranks.values())) <= 0.0005


def test_columns_are_documented() -> None:
    """docs/report.md has a row for every column, with its dtype."""
    page = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
    documented = dict(re.findall(r"^\| `(\w+)` \| `([\w\[\]]+)` \|", page, re.MULTILINE))

    assert dict(DTYPES) == documented
    assert tuple(DTYPES) == Row._fields


def test_pandas_is_loaded_by_the_frame_alone(samples: list[Sample]) -> None:
    """Reading a log loads no pandas; asking for the frame does."""
    code = (
        "import sys, logphase; timeline = logphase.analyze(sys.argv[1]); before = 'pandas' in sys.modules; "
        "timeline.to_frame(); print(before, 'pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(samples[0].log)], capture_output=True, text=True, check=True, cwd=ROOT)

    assert "False True" == done.stdout.strip()
