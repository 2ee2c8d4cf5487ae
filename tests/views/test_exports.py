"""Every export is read back by the tool that it is for, and its sums are those of the JSON document."""

from __future__ import annotations

import base64
import csv
import importlib.util
import json
import math
import re
import subprocess
import sys
from dataclasses import replace
from io import BytesIO, StringIO
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import junitparser
import pandas as pd
import pytest
from click.testing import CliRunner
from google.protobuf import json_format
from markdown_it import MarkdownIt
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from prometheus_client.parser import text_string_to_metric_families

from logphase.cli import cli
from logphase.errors import LogphaseError
from logphase.tables import DTYPES
from logphase.views import FORMATS, view
from logphase.views.trace import Slice, nested

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from logphase.views import Report
    from tests.conftest import Sample

    Made = dict[str, Callable[..., Report]]

NAMES = ["ready", "crashed", "stalled", "starting", "stopped", "wide", "hostile", "unseen"]
EXPORTS = ["csv", "parquet", "markdown", "perfetto", "otlp", "prometheus", "junit"]
AFTER = ("serving", "shutdown")
MICRO = 1e-6


def exported(log: Path, form: str) -> bytes:
    """What `logphase report --format form` writes about every startup of a log."""
    result = CliRunner().invoke(cli, ["report", str(log), "--format", form, "--startup", "all"])

    assert (0, None) == (result.exit_code, result.exception), result.output
    return result.stdout_bytes


def document(log: Path) -> list[dict[str, Any]]:
    """The startups of the JSON document."""
    return json.loads(exported(log, "json"))["startups"]


def spans(startups: list[dict[str, Any]]) -> dict[tuple[int, str, str | None, int], float | None]:
    """(startup, phase, rank, part) -> seconds, as the JSON document tells them."""
    found: dict[tuple[int, str, str | None, int], float | None] = {}
    for startup in startups:
        for phase in startup["phases"]:
            for rank, span in phase["ranks"].items():
                found[startup["index"], phase["id"], rank, 1] = span["duration_s"]
            if not phase["ranks"] and not phase["spans"]:
                found[startup["index"], phase["id"], None, 1] = phase["duration_s"]
            counts: dict[str | None, int] = {}
            for span in phase["spans"]:
                counts[span["rank"]] = counts.get(span["rank"], 0) + 1
                found[startup["index"], phase["id"], span["rank"], counts[span["rank"]]] = span["duration_s"]
    return found


def same(expected: float | None, actual: float | None, tolerance: float = 0.0015) -> bool:
    """Both unknown, or equal to the millisecond that the document is rounded to."""
    if expected is None or actual is None:
        return expected is actual
    return abs(expected - actual) <= tolerance


# --- tables


def test_csv_holds_the_documents_spans(sample: Sample) -> None:
    """The csv module reads one row for each startup, phase and rank, with the JSON's seconds."""
    rows = list(csv.DictReader(StringIO(exported(sample.log, "csv").decode())))
    expected = spans(document(sample.log))

    actual = {
        (int(row["startup"]), row["phase"], row["rank"] or None, int(row["part"])): float(row["duration_s"]) if row["duration_s"] else None
        for row in rows
        if row["status"] != "missing"
    }
    assert expected.keys() == actual.keys()
    assert all(same(seconds, actual[key]) for key, seconds in expected.items())


def test_parquet_is_the_table_of_csv(sample: Sample) -> None:
    """Pandas reads the documented columns and dtypes, and the same cells as the CSV holds."""
    read = pd.read_parquet(BytesIO(exported(sample.log, "parquet")))
    rows = list(csv.DictReader(StringIO(exported(sample.log, "csv").decode())))

    assert list(DTYPES.items()) == [(name, str(dtype)) for name, dtype in read.dtypes.items()]
    assert [row["phase"] for row in rows] == read["phase"].tolist()
    assert [row["duration_s"] for row in rows] == ["" if math.isnan(value) else str(value) for value in read["duration_s"]]
    assert [row["rank"] for row in rows] == read["rank"].fillna("").tolist()


def test_parquet_without_pyarrow_says_what_to_install(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is named when its package is not there."""
    found = importlib.util.find_spec
    monkeypatch.setattr("logphase.views.parquet.find_spec", lambda name: None if name == "pyarrow" else found(name))

    with pytest.raises(LogphaseError) as error:
        view("parquet")(made["ready"]())

    assert "pip install pyarrow" in error.value.hint


def test_csv_cell_starts_no_formula(made: Made) -> None:
    """A spreadsheet takes no text of the log for a formula."""
    report = made["ready"]()
    startup = replace(report.timeline.startups[0], arguments={"model_path": "=cmd|' /C calc'!A0"})
    report = replace(report, timeline=replace(report.timeline, startups=(startup,)))

    rows = list(csv.DictReader(StringIO(str(view("csv")(report)))))

    assert {"'=cmd|' /C calc'!A0"} == {row["model"] for row in rows}


def test_missing_rank_has_a_row(made: Made) -> None:
    """A rank that fell silent is a row without figures."""
    rows = list(csv.DictReader(StringIO(str(view("csv")(made["stalled"]())))))

    assert [("TP6", ""), ("TP7", "")] == [(row["rank"], row["start_s"]) for row in rows if row["status"] == "missing"]


# --- trace events


def events(log: Path) -> list[dict[str, Any]]:
    """The trace events of a log."""
    return json.loads(exported(log, "perfetto"))["traceEvents"]


def test_trace_events_are_well_formed(sample: Sample) -> None:
    """Each event has what its kind demands: the format's own fields, whole microseconds, a named process and track."""
    named: set[tuple[int, int]] = set()
    for event in events(sample.log):
        assert event["ph"] in "MXC"
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "process_sort_index", "thread_name", "thread_sort_index")
            named.add((event["pid"], event["tid"]))
            continue
        assert isinstance(event["ts"], int)
        assert event["ts"] >= 0
        assert (event["pid"], event["tid"]) in named
        assert event["ph"] == "C" or (isinstance(event["dur"], int) and event["dur"] >= 0)


def test_trace_spans_nest_on_their_track(sample: Sample) -> None:
    """On one track a span lies inside another or apart from it: the format knows no overlap."""
    tracks: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for event in events(sample.log):
        if event["ph"] == "X":
            tracks.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))

    assert [] == [pair for track in tracks.values() for pair in combinations(track, 2) if cross(*pair)]


def cross(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether two stretches overlap and neither holds the other."""
    apart = one[1] <= other[0] or other[1] <= one[0]
    inside = (one[0] <= other[0] and other[1] <= one[1]) or (other[0] <= one[0] and one[1] <= other[1])
    return not apart and not inside


def test_trace_has_the_documents_spans(sample: Sample) -> None:
    """On each rank's track each phase that has ended lasts what the JSON says."""
    found = events(sample.log)
    tracks = {(event["pid"], event["tid"]): event["args"]["name"] for event in found if event["name"] == "thread_name"}
    actual: dict[tuple[int, str, str], float] = {}
    for event in found:
        if event.get("cat") == "phase" and event["args"]["status"] == "done":
            key = (event["pid"], tracks[event["pid"], event["tid"]], event["name"])
            actual[key] = actual.get(key, 0.0) + event["dur"] * MICRO
    expected: dict[tuple[int, str, str], float] = {}
    for number, startup in enumerate(document(sample.log), 1):
        for phase in startup["phases"]:
            parts = phase["spans"] or [span | {"rank": rank} for rank, span in phase["ranks"].items()] or [phase | {"rank": None}]
            for span in parts:
                if phase["id"] not in AFTER and span.get("status", "done") == "done" and None not in (span["start_s"], span["end_s"]):
                    key = (number, span["rank"] or "server", phase["id"])
                    expected[key] = expected.get(key, 0.0) + span["end_s"] - span["start_s"]

    assert expected.keys() == actual.keys()
    assert all(same(seconds, actual[key], 0.005) for key, seconds in expected.items())


def test_overlapping_spans_get_a_second_track() -> None:
    """Two phases that cross on one rank are laid on two layers, each of which nests."""
    parts = [Slice("a", 0, 10, "", {}), Slice("b", 2, 5, "", {}), Slice("c", 8, 12, "", {}), Slice("d", 12, 12, "", {})]

    assert [["a", "b", "d"], ["c"]] == [[part.name for part in layer] for layer in nested(parts)]


# --- OpenTelemetry


def request(text: bytes) -> ExportTraceServiceRequest:
    """An export request as OpenTelemetry's classes read it; OTLP's JSON has ids in hex where protobuf's own has base64."""
    parsed = json.loads(text)
    for resource in parsed["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for name, size in (("traceId", 16), ("spanId", 8), ("parentSpanId", 8)):
                    if name in span:
                        assert size == len(bytes.fromhex(span[name]))
                        span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
    return json_format.ParseDict(parsed, ExportTraceServiceRequest())  # raises on any field that OTLP does not have


def test_otlp_is_what_opentelemetrys_classes_take(sample: Sample) -> None:
    """A trace for each startup; spans end after they begin, lie under a parent of the same trace, and last what the JSON says."""
    startups = document(sample.log)
    read = request(exported(sample.log, "otlp"))

    assert len(startups) == len(read.resource_spans)
    for startup, resource in zip(startups, read.resource_spans, strict=True):
        found = list(resource.scope_spans[0].spans)
        ids = {span.span_id for span in found}
        assert len(ids) == len(found)
        assert [found[0]] == [span for span in found if not span.parent_span_id]
        assert all(span.parent_span_id in ids for span in found[1:])
        assert all(span.start_time_unix_nano <= span.end_time_unix_nano and span.trace_id == found[0].trace_id for span in found)
        named = {span.name: span for span in found}
        for phase in startup["phases"]:
            if phase["id"] in named and phase["status"] == "done":
                span = named[phase["id"]]
                assert same(phase["end_s"] - phase["start_s"], (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9)
                assert set(phase["ranks"]) <= {name.removeprefix(f"{phase['id']} ") for name in named if name.startswith(f"{phase['id']} ")}


def test_otlp_ids_are_those_of_the_last_time(samples: list[Sample]) -> None:
    """The same log gives the same trace again, so that a receiver holds it once."""
    assert exported(samples[0].log, "otlp") == exported(samples[0].log, "otlp")


# --- Prometheus


def test_prometheus_text_is_read_by_its_parser(sample: Sample) -> None:
    """The official client reads every sample; phases sum up to the JSON's, names end in a unit, no sample has a time."""
    families = list(text_string_to_metric_families(exported(sample.log, "prometheus").decode()))
    found = [item for family in families for item in family.samples]
    startups = document(sample.log)

    assert len(found) == len({(item.name, tuple(sorted(item.labels.items()))) for item in found})
    assert all(family.type == "gauge" and re.search("_(?:seconds|ratio|info|state|startups)$", family.name) for family in families)
    assert all(item.timestamp is None for item in found)
    for startup in startups:
        own = [item for item in found if item.labels.get("startup") == str(startup["index"])]
        states = [item.labels["state"] for item in own if item.name.endswith("_state") and item.value]
        assert [startup["verdict"]["state"]] == states
        actual = {item.labels["phase"]: item.value for item in own if item.name == "logphase_phase_duration_seconds"}
        phases = [phase for phase in startup["phases"] if phase["duration_s"] is not None and phase["id"] not in AFTER]
        timed = {phase["id"]: phase["duration_s"] for phase in phases}
        assert timed.keys() == actual.keys()
        assert all(same(seconds, actual[name]) for name, seconds in timed.items())


# --- JUnit


def test_junit_is_read_by_its_parser(sample: Sample) -> None:
    """A suite for each startup: its verdict passes when it was ready, its phases have the JSON's seconds."""
    xml = junitparser.JUnitXml.fromstring(exported(sample.log, "junit"))
    startups = document(sample.log)
    suites = list(xml)

    assert sum(suite.tests for suite in suites) == xml.tests
    assert max(len(startups), 1) == len(suites)
    for startup, suite in zip(startups, suites, strict=False):
        cases = {case.name: case for case in suite}
        passed = startup["ready"] is not None and startup["verdict"]["state"] != "crashed"
        assert passed == cases["startup"].is_passed
        timed = {phase["id"]: phase["duration_s"] or 0.0 for phase in startup["phases"] if phase["id"] not in AFTER}
        assert timed.keys() == cases.keys() - {"startup"}
        assert all(same(seconds, cases[name].time) for name, seconds in timed.items())
        failed = {name for name, case in cases.items() if any(isinstance(result, junitparser.Failure) for result in case.result)}
        assert {phase["id"] for phase in startup["phases"] if phase["status"] == "failed"} == failed - {"startup"}


# --- Markdown


def html(text: str) -> str:
    """Markdown as a renderer that lets HTML through shows it."""
    return MarkdownIt("commonmark", {"html": True}).enable("table").render(text)


def test_markdown_table_is_the_documents_phases(sample: Sample) -> None:
    """A renderer makes a table of every phase, with the JSON's seconds."""
    startups = document(sample.log)
    page = html(exported(sample.log, "markdown").decode())
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)]
    actual = [(row[0], row[1]) for row in rows if row]
    expected = [phase for startup in startups for phase in startup["phases"]]

    assert [phase["id"] for phase in expected] == [name for name, _ in actual]
    for phase, (_, takes) in zip(expected, actual, strict=True):
        if phase["status"] == "done" and phase["duration_s"] is not None and re.fullmatch(r"[\d.]+ s", takes):
            assert same(phase["duration_s"], float(takes.removesuffix(" s")), 0.0051)


def test_markdown_keeps_the_log_inert(made: Made) -> None:
    """No tag, link, mention or table border of the log comes alive, and a code span ends only where we end it."""
    report = made["crashed"]()
    startup, verdict = report.timeline.startups[1], report.verdicts[1]
    text = "<img src=x onerror=alert(1)> @octocat #12 [a](javascript:x) ` `` | **b** https://evil.example <script>"
    cause = replace(verdict.cause, text=text) if verdict.cause else None
    shown = replace(verdict, summary=f"Crashed: {text}", cause=cause, evidence=())
    timeline = replace(report.timeline, startups=(startup, startup))
    page = html(str(view("markdown")(replace(report, timeline=timeline, verdicts=(verdict, shown)))))

    assert re.findall(r"<(?:img|script|a)\b", page) == []
    assert re.findall(r"@octocat|#12", re.sub(r"<code>.*?</code>", "", page, flags=re.DOTALL)) == []


# --- all of them


@pytest.mark.parametrize("form", EXPORTS)
@pytest.mark.parametrize("name", NAMES)
def test_every_export_renders_every_kind(made: Made, name: str, form: str) -> None:
    """Ready, crashed, stalled, wide, hostile and empty reports come out in every form, without a control character or a secret."""
    content = view(form)(made[name]())
    text = content.decode("utf-8", "ignore") if isinstance(content, bytes) else content

    assert content
    assert "verysecret" not in text
    if isinstance(content, str):
        assert re.findall("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", content) == []
        content.encode("utf-8")


def test_every_format_of_the_contract_is_there() -> None:
    """`report --format` knows what the contract lists."""
    assert set("table json csv parquet markdown html perfetto otlp prometheus junit png svg".split()) == set(FORMATS)  # noqa: SIM905


@pytest.mark.parametrize("form", ["csv", "markdown", "perfetto", "otlp", "prometheus", "junit"])
def test_light_exports_load_no_pandas(samples: list[Sample], form: str) -> None:
    """Only what tabulates loads pandas, only what draws loads plotly."""
    loaded = "print(sorted({'pandas', 'plotly', 'numpy'} & set(sys.modules)), file=sys.stderr)"
    code = f"import sys; from logphase.cli import main; main(sys.argv[1:]); {loaded}"
    command = [sys.executable, "-c", code, "report", str(samples[0].log), "--format", form]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert "[]" == done.stderr.strip().splitlines()[-1]


def test_prometheus_file_is_replaced_whole(samples: list[Sample], tmp_path: Path) -> None:
    """The collector never sees half a file: the new one takes the old one's place in one step, and leaves nothing beside it."""
    target = tmp_path / "logphase.prom"
    for _ in range(2):
        result = CliRunner().invoke(cli, ["report", str(samples[0].log), "-o", str(target), "--force"])
        assert 0 == result.exit_code

    assert ["logphase.prom"] == [path.name for path in tmp_path.iterdir()]
    assert list(text_string_to_metric_families(target.read_text(encoding="utf-8")))


def test_sum_of_gaps_and_named_time_is_the_whole(sample: Sample) -> None:
    """In every export's source the explained share and the gaps make up the whole time."""
    for startup in document(sample.log):
        if startup["explained"] is None or not startup["ready"]:
            continue
        whole = startup["ready"]["after_s"]
        gaps = sum(gap["duration_s"] for gap in startup["gaps"])
        assert abs(startup["explained"] * whole + gaps - whole) <= 0.01 * whole
        assert all(one["start_s"] <= two["start_s"] for one, two in pairwise(startup["gaps"]))
