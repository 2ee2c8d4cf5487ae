"""The command: what it takes for a variant, what it writes, when it fails."""

from __future__ import annotations

import csv
import json
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from click.testing import CliRunner
from junitparser import JUnitXml

from logphase import variants
from logphase.cli import cli
from logphase.sources.arrivals import LAUNCHES
from tests.conftest import SAMPLE_LOGS

if TYPE_CHECKING:
    from click.testing import Result

    from tests.cli.conftest import Run

GRAPHS, EAGER = (str(SAMPLE_LOGS / name) for name in ("target-graphs.log", "no-graphs.log"))
KEYS = ("format", "tool", "variants", "arguments", "environment", "phases", "gaps", "total", "notes")


def document(result: Result) -> dict[str, Any]:
    """The JSON that came out."""
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def slow(folder: Path, name: str, seconds: int) -> str:
    """A startup whose weights take so long."""
    log = folder / name
    log.write_text(
        "[2026-01-02 03:00:00] server_args=ServerArgs(model_path='m', tp_size=1)\n"
        "[2026-01-02 03:00:10] Init torch distributed begin.\n"
        "[2026-01-02 03:00:11] Init torch distributed ends. elapsed=1.00 s, mem usage=0.10 GB\n"
        "[2026-01-02 03:00:11] Load weight begin. avail mem=138.25 GB\n"
        f"[2026-01-02 03:00:{11 + seconds}] Load weight end. elapsed={seconds}.00 s, type=Llama, avail mem=61.00 GB.\n"
        f"[2026-01-02 03:00:{12 + seconds}] max_total_num_tokens=661504, chunked_prefill_size=8192\n"
        f"[2026-01-02 03:00:{12 + seconds}] INFO:     Uvicorn running on http://0.0.0.0:30000 (Press CTRL+C to quit)\n"
        f"[2026-01-02 03:00:{13 + seconds}] The server is fired up and ready to roll!\n",
        "utf-8",
    )
    return str(log)


def test_the_table_loses_nothing_at_80_columns(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long names of arguments are broken, not cut, and those of the arguments that differ stand in one line."""
    monkeypatch.setenv("COLUMNS", "80")
    text = run("compare", str(SAMPLE_LOGS / "eagle3-cold.log"), EAGER).stdout
    reasons = "".join(line[58:].rstrip() for line in text.splitlines() if line.startswith(("draft-weights", " " * 58)))

    assert 80 == max(map(len, text.splitlines()))
    assert "speculative_algorithm,speculative_draft_model_path; a cold start" in reasons
    assert "\n  speculative_num_draft_tokens " in text


def test_the_table_says_what_changed_and_why(run: Run) -> None:
    """Two logs: the flag, the phases that it took away, n, and that one startup shows no spread."""
    result = run("compare", GRAPHS, EAGER)

    assert 0 == result.exit_code
    for text in ("16 s faster (39%)", "n = 1 against 1, spread unknown", "disable_cuda_graph", "gone", "chance", "Give repeats"):
        assert text in result.stdout


def test_the_document_is_the_contracts(run: Run) -> None:
    """Format 1: its fields, the baseline first, unknown as null."""
    found = document(run("compare", GRAPHS, EAGER, "--format", "json"))
    capture = next(phase for phase in found["phases"] if phase["id"] == "target-graph")

    assert set(KEYS) == found.keys()
    assert [[GRAPHS, 1, [GRAPHS]], [EAGER, 1, [EAGER]]] == [[one["name"], one["n"], one["sources"]] for one in found["variants"]]
    assert {"name": "disable_cuda_graph", "values": [False, True], "kind": "chosen"}.items() <= next(
        one
        for one in found["arguments"]
        if one["name"] == "disable_cuda_graph"
    ).items()
    assert {
        "n": [1, 0],
        "median_s": [3.05, None],
        "range_s": [[3.05, 3.05], None],
        "delta_s": [-3.05],
        "share_of_delta": [0.191],
        "verdict": ["gone"],
        "reason": ["disable_cuda_graph"],
    }.items() <= capture.items()
    assert {"n": [1, 1], "median_s": [41.0, 25.0], "delta_s": [-16.0], "verdict": ["faster"]}.items() <= found["total"].items()


def test_the_same_path_twice_is_two_variants(run: Run) -> None:
    """A log against itself is the same in everything."""
    found = document(run("compare", GRAPHS, GRAPHS, "--format", "json"))

    assert [GRAPHS, f"{GRAPHS} (2)"] == [one["name"] for one in found["variants"]]
    assert [] == found["arguments"]
    assert {"same"} == {verdict for phase in found["phases"] for verdict in phase["verdict"]}


def test_a_glob_is_one_variant_with_repeats(run: Run, tmp_path: Path) -> None:
    """Files of a glob are pooled; NAME= names them; four against four are tested."""
    for at in range(4):
        slow(tmp_path, f"a{at}.log", 10 + at)
        slow(tmp_path, f"b{at}.log", 20 + at)
    found = document(run("compare", f"main={tmp_path}/a*.log", f"{tmp_path}/b*.log", "--format", "json"))
    weights = next(phase for phase in found["phases"] if phase["id"] == "weights")

    assert ["main", f"{tmp_path}/b*.log"] == [one["name"] for one in found["variants"]]
    assert ([4, 4], [11.5, 21.5], [[10.0, 13.0], [20.0, 23.0]], ["slower"], ["mann-whitney"], None) == tuple(
        weights[key] for key in ("n", "median_s", "range_s", "verdict", "basis", "reason")
    )
    assert [0.029] == weights["p"]


def test_groups_by_a_flag(run: Run) -> None:
    """--by groups by value, the smallest first; --baseline names the value to measure against."""
    logs = (EAGER, GRAPHS, str(SAMPLE_LOGS / "dp2.log"))
    grouped = document(run("compare", *logs, "--by", "disable_cuda_graph", "--format", "json"))
    turned = document(run("compare", *logs, "--by", "disable_cuda_graph", "--baseline", "true", "--format", "json"))

    assert [("disable_cuda_graph=False", 2), ("disable_cuda_graph=True", 1)] == [(one["name"], one["n"]) for one in grouped["variants"]]
    assert ["disable_cuda_graph=True", "disable_cuda_graph=False"] == [one["name"] for one in turned["variants"]]
    assert "pools startups with different" in " ".join(grouped["notes"])


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("a.log", "b.log", "--fail-over", "10%"), 1, "Over the limit: b.log: total: 33.00 s instead of 23.00 s, 43% slower"),
        (("b.log", "a.log", "--fail-over", "10%"), 0, ""),
        (("a.log", "a.log", "--fail-over", "10%"), 0, ""),
        (("a.log", "b.log", "--fail-over", "150%"), 0, ""),
        (("a.log", "b.log", "--fail-over", "limits.toml"), 1, "weights: it took 20.00 s (n = 1 against 1) (limit 15 s)"),
        (("a.log", "dead.log", "--fail-over", "10%"), 1, "total: it did not get ready"),
    ],
)
def test_the_gate(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], code: int, told: str) -> None:
    """--fail-over ends with 1 and the reason when something got slower than the limit."""
    monkeypatch.chdir(tmp_path)
    slow(tmp_path, "a.log", 10)
    slow(tmp_path, "b.log", 20)
    (tmp_path / "dead.log").write_bytes((SAMPLE_LOGS / "killed-in-load.log").read_bytes())
    (tmp_path / "limits.toml").write_text('total = "90%"\n[phases]\nweights = 15\n', "utf-8")
    result = run("compare", *arguments)

    assert code == result.exit_code, result.output
    assert told in result.stderr


def test_what_is_unclear_is_told_and_breaks_nothing(run: Run, tmp_path: Path) -> None:
    """One startup a side that is a little slower: 0, and a word on stderr that it was not judged."""
    result = run("compare", slow(tmp_path, "a.log", 20), slow(tmp_path, "b.log", 25), "--fail-over", "10%")

    assert 0 == result.exit_code
    assert "weights: 25.00 s instead of 20.00 s, 25% slower" in result.stderr
    assert all(line.startswith("Not judged: ") for line in result.stderr.splitlines())


def test_noise_breaks_no_limit(run: Run, tmp_path: Path) -> None:
    """Repeats that overlap are no regression, though their medians differ by more than the limit."""
    for at, (one, two) in enumerate(((10, 12), (20, 22), (30, 32), (40, 42))):
        slow(tmp_path, f"a{at}.log", one)
        slow(tmp_path, f"b{at}.log", two)

    assert 0 == run("compare", f"{tmp_path}/a*.log", f"{tmp_path}/b*.log", "--fail-over", "1%").exit_code


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((GRAPHS,), "there is nothing to compare with"),
        ((GRAPHS, "absent.log"), "absent.log"),
        ((GRAPHS, "absent*.log"), "no file matches"),
        ((GRAPHS, EAGER, "--by", "tp-size"), "Did you mean"),
        ((GRAPHS, EAGER, "--baseline", "x"), "no variant is called 'x'"),
        ((GRAPHS, EAGER, "--fail-over", "ten"), "--fail-over ten"),
        ((GRAPHS, EAGER, "--startup", "7"), "holds 1 startup, not a number 7"),
        ((GRAPHS, str(SAMPLE_LOGS / "README.md")), "no startup is seen"),
        ((GRAPHS, EAGER, "--format", "pdf"), "pdf"),
    ],
)
def test_bad_input_is_told(run: Run, arguments: tuple[str, ...], told: str) -> None:
    """What is wrong ends with 2, on stderr, and nothing on stdout."""
    result = run("compare", *arguments)

    assert (2, "") == (result.exit_code, result.stdout)
    assert told in result.stderr


def test_one_log_that_cannot_be_read_does_not_lose_the_others(run: Run, tmp_path: Path) -> None:
    """A folder in a glob: the rest is compared, the failure told, the code 2."""
    for name in ("a1.log", "a2.log"):
        slow(tmp_path, name, 10)
    (tmp_path / "a3.log").mkdir()
    result = run("compare", f"{tmp_path}/a*.log", GRAPHS, "--format", "json")

    assert 2 == result.exit_code
    assert 2 == document(result)["variants"][0]["n"]
    assert "a3.log" in result.stderr


def test_a_log_without_a_startup_in_a_glob_is_told(run: Run, tmp_path: Path) -> None:
    """It is named, not pooled in silence."""
    slow(tmp_path, "a1.log", 10)
    (tmp_path / "a2.log").write_text("hello\n", "utf-8")
    found = document(run("compare", f"{tmp_path}/a*.log", GRAPHS, "--format", "json"))

    assert f"{tmp_path}/a*.log: no startup is seen in {tmp_path}/a2.log." in found["notes"]


def test_recorded_commands_and_environment(run: Run, tmp_path: Path) -> None:
    """What `run` recorded beside the logs decides what was chosen, and shows the environment that differs."""
    names = []
    for name, command, variable in (("a.log", ["sglang", "--model", "m"], "1"), ("b.log", ["sglang", "--model", "m", "--tp", "1"], "2")):
        names.append(slow(tmp_path, name, 10))
        record = {"command": command, "folder": "/", "started": "x", "offset": 0, "pid": 1, "environment": {"NCCL_DEBUG": variable}}
        (tmp_path / f"{name}{LAUNCHES}").write_text(json.dumps(record | {"versions": {"torch": variable}}) + "\nno json\n", "utf-8")
    found = document(run("compare", *names, "--format", "json"))

    assert [{"name": "NCCL_DEBUG", "values": ["1", "2"]}, {"name": "torch (package)", "values": ["1", "2"]}] == found["environment"]


def test_csv_and_parquet_hold_the_same_rows(tmp_path: Path) -> None:
    """One row for each variant, phase and rank, with the documented columns."""
    target = tmp_path / "out.parquet"
    logs = [GRAPHS, str(SAMPLE_LOGS / "tp2-eagle3.log")]
    runner = CliRunner()
    assert 0 == runner.invoke(cli, ["compare", *logs, "-o", str(target)]).exit_code
    rows = list(csv.DictReader(StringIO(runner.invoke(cli, ["compare", *logs, "--format", "csv"]).stdout)))
    table = pd.read_parquet(BytesIO(target.read_bytes()))

    assert list(rows[0]) == list(table.columns)
    assert len(rows) == len(table)
    assert {"", "TP0", "TP1"} == {row["rank"] for row in rows}
    assert [float(row["median_s"]) if row["median_s"] else None for row in rows] == [
        None if pd.isna(value) else value for value in table["median_s"]
    ]


def test_junit_fails_where_the_gate_does(run: Run, tmp_path: Path) -> None:
    """A suite for the variant; the broken limits are its failures."""
    result = run("compare", slow(tmp_path, "a.log", 10), slow(tmp_path, "b.log", 20), "--fail-over", "10%", "--format", "junit")
    suite = next(iter(JUnitXml.fromstring(result.stdout.encode())))
    failed = {case.name for case in suite if any(type(found).__name__ == "Failure" for found in case.result)}

    assert 1 == result.exit_code
    assert {"total", "weights"} == failed


def test_markdown_is_inert(run: Run, tmp_path: Path) -> None:
    """A name or value of the log cannot become a link, a tag or a mention."""
    log = tmp_path / "a.log"
    log.write_text((SAMPLE_LOGS / "no-graphs.log").read_text("utf-8").replace("/srv/models/target-3b", "<b>@all|x</b>"), "utf-8")
    text = run("compare", GRAPHS, str(log), "--format", "markdown").stdout

    assert "| `model_path` |" in text
    assert "`<b>@all\u2502x</b>`" in text


def test_secrets_stay_hidden(run: Run, tmp_path: Path) -> None:
    """A key in the arguments is shown nowhere, unless it is asked for."""
    log = tmp_path / "a.log"
    log.write_text((SAMPLE_LOGS / "no-graphs.log").read_text("utf-8").replace("api_key=None", "api_key='topsecret'"), "utf-8")
    for form in ("table", "json", "csv", "markdown", "html", "junit"):
        assert "topsecret" not in run("compare", GRAPHS, str(log), "--format", form).stdout

    assert "topsecret" in run("compare", GRAPHS, str(log), "--no-redact").stdout


def test_two_processes_read_what_one_does(tmp_path: Path) -> None:
    """Many logs are read by several processes, in order, with the same result; progress counts them."""
    paths = [slow(tmp_path, f"{at}.log", 10 + at) for at in range(variants.MANY)]
    (tmp_path / "3.log").unlink()
    jobs = [variants.Job(path, "last", None, None) for path in paths]
    told: list[int] = []

    assert variants.read_all(jobs, 1) == variants.read_all(jobs, 2, told.append)
    assert list(range(1, variants.MANY + 1)) == told


def remembered(run: Run, folder: Path, seconds: list[int]) -> None:
    """Startups of one kind in the history."""
    for at, taken in enumerate(seconds):
        log = Path(slow(folder, f"past{at}.log", taken))
        log.write_text(log.read_text("utf-8").replace("2026-01-02 03", f"2026-01-{at + 3:02d} 03"), "utf-8")
        assert 0 == run("report", str(log), "--remember").exit_code


def test_history_tells_how_one_startup_varies(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With four earlier startups of this kind a difference of one against one is judged by their spread."""
    monkeypatch.setenv("LOGPHASE_HISTORY", str(tmp_path / "history"))
    remembered(run, tmp_path, [10, 11, 12, 10])
    found = document(run("compare", slow(tmp_path, "a.log", 10), slow(tmp_path, "b.log", 14), "--format", "json"))
    weights = next(phase for phase in found["phases"] if phase["id"] == "weights")

    assert (["slower"], ["history"], [2.224]) == (weights["verdict"], weights["basis"], weights["noise_s"])
    assert ["history"] == found["total"]["basis"]


def test_entries_of_the_history_are_variants(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`history:1,2` is a variant of two startups; an entry that there is not ends with 2."""
    monkeypatch.setenv("LOGPHASE_HISTORY", str(tmp_path / "history"))
    remembered(run, tmp_path, [10, 12])
    found = document(run("compare", "history:1,2", slow(tmp_path, "b.log", 14), "--format", "json"))
    weights = next(phase for phase in found["phases"] if phase["id"] == "weights")

    assert ([2, 1], [11.0, 14.0]) == (weights["n"], weights["median_s"])
    assert (2, "Error: history:9: there is no such entry") == (
        (wrong := run("compare", "history:9", "history:1")).exit_code,
        wrong.stderr.splitlines()[0],
    )
