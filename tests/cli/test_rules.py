"""`logphase rules`: list, show, check, try, explain, new, and the pages that are made of the rules."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from logphase import rulefiles, rules
from logphase.rulecheck import check_files

if TYPE_CHECKING:
    from tests.cli.conftest import Run
    from tests.conftest import Sample

ROOT = Path(__file__).parent.parent.parent
GUIDE = ROOT / "docs" / "writing-rules.md"
BAD = """
[[rule]]
id = 'bad'
phase = 'any'
edge = 'note'
contains = 'bad '
pattern = '^bad thing'
examples = ['bad things', 'bad think']
"""


@pytest.fixture
def log(samples: list[Sample]) -> str:
    return str(next(sample.log for sample in samples if sample.name == "target-graphs"))


def test_list(run: Run) -> None:
    """Every rule is listed under its phase, with edge and versions."""
    result = run("rules", "list", "--engine", "vllm", "--origin")

    assert 0 == result.exit_code
    assert all(rule.id in result.output for rule in rules.load("vllm").rules)
    assert "vllm/20-weights.toml" in result.output


def test_show(run: Run) -> None:
    """A rule is shown as its file has it, under the place where it stands."""
    result = run("rules", "show", "server-args")

    assert re.match(r"# bundled: sglang/launch\.toml:\d+\n\[\[rule\]\]\nid = \"server-args\"\n", result.output)
    assert 2 == run("rules", "show", "nope").exit_code


def test_check_tells_what_is_wrong(run: Run, tmp_path: Path) -> None:
    """A problem ends with 1 and is told as text, JSON and as a workflow command, with file and line."""
    file = tmp_path / "bad.toml"
    file.write_text(BAD, "utf-8")

    text, machine, github = (
        run("rules", "check", str(file), "--engine", "sglang", "--format", form) for form in ("text", "json", "github")
    )

    assert {1} == {text.exit_code, machine.exit_code, github.exit_code}
    assert f"{file}:8: bad: its example does not fire it\n    bad think\n            ^\n" in text.output
    assert 8 == json.loads(machine.output)["problems"][0]["line"]
    assert github.output.startswith(f"::error file={file},line=8,title=bad::")


def test_check_passes(run: Run, tmp_path: Path) -> None:
    """A file without problems ends with 0."""
    file = tmp_path / "good.toml"
    file.write_text(BAD.replace(", 'bad think'", ""), "utf-8")

    assert 0 == run("rules", "check", str(file), "--engine", "sglang").exit_code


def test_try_counts_and_suggests(run: Run, log: str) -> None:
    """Hits, what is explained, unknown lines by shape, rules never hit, and a rule to begin with that is valid."""
    result = run("rules", "try", log, "--stubs", "2")
    machine = json.loads(run("rules", "try", log, "--format", "json").output)

    assert re.search(r"^sglang: \d+ of \d+ lines known \(\d\d\.\d%\)$", result.output, re.MULTILINE)
    assert "time explained: 9" in result.output
    assert machine["known"] + sum(group["count"] for group in machine["unknown"]) == machine["lines"]
    assert machine["hits"].keys() & set(machine["never"]) == set()
    assert "id" in tomllib.loads(result.output.partition("# a rule to begin with")[2].partition("\n")[2].partition("\n\n")[0])["rule"][0]


def test_a_suggested_rule_fires(run: Run, tmp_path: Path) -> None:
    """The stub for unknown lines knows them all, whatever stands in their numbers and paths."""
    lines = [f"[2026-01-02 03:04:0{number}] Widget {number}.5 of 'a' loaded from /opt/x/{number} in {number} ms" for number in range(5)]
    log, mine = tmp_path / "server.log", tmp_path / "mine.toml"
    log.write_text("[2026-01-02 03:04:00] server_args=ServerArgs(tp_size=1)\n" + "\n".join(lines) + "\n", "utf-8")
    group = json.loads(run("rules", "try", str(log), "--format", "json").output)["unknown"][0]
    mine.write_text(group["stub"], "utf-8")

    again = json.loads(run("rules", "try", str(log), "--format", "json", "--rules", str(mine)).output)

    assert 5 == group["count"]
    assert 5 == again["hits"]["widget-of-a"]


def test_explain_a_line(run: Run, log: str) -> None:
    """How a line was read is told: header, rules by their text, which fired, and what changed."""
    number = next(number for number, line in enumerate(Path(log).read_bytes().split(b"\n"), 1) if b"Load weight end" in line)

    result = run("rules", "explain", f"{log}:{number}")

    assert 0 == result.exit_code
    assert "header: sglang" in result.output
    assert "weights-end (sglang/load.toml), by 'Load weight end': fires: end of weights" in result.output
    assert "phase weights was open and is done" in result.output


@pytest.mark.parametrize("place", ["nolog", "{log}:0", "{log}:999999"])
def test_explain_needs_a_line_that_is_there(run: Run, log: str, place: str) -> None:
    """A place that is none is told on stderr, with what to type."""
    result = run("rules", "explain", place.format(log=log))

    assert 2 == result.exit_code
    assert "Hint: " in result.output


@pytest.mark.parametrize("engine", ["", "tiny"])
def test_template_passes_the_check(run: Run, tmp_path: Path, engine: str) -> None:
    """What `rules new` writes is sound as it stands, and is not written over a file."""
    file = tmp_path / "new.toml"
    arguments = ["rules", "new", "-o", str(file), *(("--engine", engine) if engine else ())]

    assert 0 == run(*arguments).exit_code
    assert () == check_files([str(file)]).problems
    assert 2 == run(*arguments).exit_code


def test_the_guides_engine_works(run: Run, tmp_path: Path) -> None:
    """The engine that the guide writes in ten minutes is sound and explains the guide's log."""
    page = GUIDE.read_text("utf-8")
    rule_file, log = tmp_path / "tiny.toml", tmp_path / "tiny.log"
    rule_file.write_text(re.findall(r"```toml\n(.*?)```", page, re.DOTALL)[0], "utf-8")
    log.write_text(re.findall(r"```text\n(.*?)```", page, re.DOTALL)[0], "utf-8")

    assert () == check_files([str(rule_file)]).problems
    assert run("check", str(log), "--rules", str(rule_file)).output.startswith("ready: after 14.0 s")


def test_reference_is_fresh() -> None:
    """docs/rules.md and the schema say what the rules say; `python docs/rules_reference.py` makes them anew."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("rules_reference", ROOT / "docs" / "rules_reference.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)

    assert made.page() == (ROOT / "docs" / "rules.md").read_text("utf-8")
    assert made.schema() == (ROOT / "docs" / "rules.schema.json").read_text("utf-8")


def test_schema_knows_every_key_that_is_used() -> None:
    """No bundled file has a key that an editor would call wrong."""
    schema = json.loads((ROOT / "docs" / "rules.schema.json").read_text("utf-8"))["properties"]
    for table in rulefiles.bundled(examples=True):
        assert table.content.keys() <= schema.keys()
        for kind in rules.LISTS:
            known = schema[kind]["items"]["properties"].keys()
            assert all(item.keys() <= known for item in table.content.get(kind, []))


def test_try_passes_over_what_a_large_log_serves(run: Run, log: str, tmp_path: Path) -> None:
    """Beyond a size the traffic of a server that is up is passed over and told; every line is counted one way or the other."""
    data = Path(log).read_bytes()
    ready = data.index(b"\n", data.index(b"fired up")) + 1
    traffic = b"[2026-11-30 02:00:00] Decode batch, #running-req: 1, #token: 8, token usage: 0.00, #queue-req: 0\n" * 150_000
    large = tmp_path / "large.log"
    large.write_bytes(data[:ready] + traffic + b"[2026-11-30 03:00:00] Scheduler hit an exception: Traceback (most recent call last):\n")

    machine = json.loads(run("rules", "try", str(large), "--format", "json").output)
    whole = json.loads(run("rules", "try", log, "--format", "json").output)

    assert 0 < machine["passed_over"]
    assert large.read_bytes().count(b"\n") - data[:ready].count(b"\n") == 150_001
    assert 1 == machine["hits"]["scheduler-exception"]
    assert 0 == whole["passed_over"]


def test_try_says_when_the_engine_is_a_guess(run: Run, tmp_path: Path) -> None:
    """A log in which no engine's own text stands is counted with the first engine's rules, and that is told."""
    log = tmp_path / "other.log"
    log.write_text("[2026-01-02 03:04:05] hello\n", "utf-8")

    assert "no text that only one engine writes was found" in run("rules", "try", str(log)).output
    assert json.loads(run("rules", "try", str(log), "--format", "json").output)["claimed"] is False


def test_explain_reads_utf_16_and_stdin(run: Run, log: str, tmp_path: Path) -> None:
    """A line of a UTF-16 log is shown as text, and -:LINE is a line of the log on stdin."""
    wide = tmp_path / "wide.log"
    wide.write_bytes(Path(log).read_bytes().decode().encode("utf-16"))
    number = next(number for number, line in enumerate(Path(log).read_bytes().split(b"\n"), 1) if b"Load weight end" in line)

    told = run("rules", "explain", f"{log}:{number}").output

    assert told == run("rules", "explain", f"{wide}:{number}").output
    assert told == run("rules", "explain", f"-:{number}", stdin=Path(log).read_bytes()).output


@pytest.mark.parametrize("engine", rules.bundled())
def test_template_over_a_known_engine(run: Run, tmp_path: Path, engine: str) -> None:
    """For an engine that has rules `rules new` begins rules over those, with a line as that engine prints it."""
    file = tmp_path / "new.toml"

    run("rules", "new", "--engine", engine, "-o", str(file))

    assert f'engine = "{engine}"\n' in file.read_text("utf-8")
    assert () == check_files([str(file)]).problems
    assert 2 == run("rules", "new", "--engine", "No Name").exit_code


@pytest.mark.parametrize(("content", "code", "told"), [(None, 2, "no rule file at"), (b"\xff\xfe\n", 1, "mine.toml:1: not UTF-8 text")])
def test_check_of_what_is_no_rule_file(run: Run, tmp_path: Path, content: bytes | None, code: int, told: str) -> None:
    """A file that is not there ends with 2, one that is no text is a problem with its line."""
    file = tmp_path / "mine.toml"
    if content is not None:
        file.write_bytes(content)

    result = run("rules", "check", str(file))

    assert code == result.exit_code
    assert told in result.output
