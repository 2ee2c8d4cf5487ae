"""Which lines of an engine's startup do the rules not know? The maintainer's question at each release of the engine.

    wording.py [sglang] 0.5.9 0.5.23 [--data DIR] [--all] [--format text|json]
    wording.py sglang --archive path/to/sglang-0.5.23.whl

Downloads the named versions with pip, installs nothing, reads their Python source inside the archive and takes the texts of log calls,
bars, prints and raised errors out of its syntax tree. Each text is filled with plausible values and goes through the rules as a line
would. What they do not know is listed by file, without what `wording.toml` leaves out with a reason. Ends with 1 when
something is left. `--all` lists what is known too, with its rule. Archives stay in `benchmarks/data/`.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from logphase import rules  # noqa: E402 - the checkout's own
from logphase.events import Matcher  # noqa: E402 - the same
from logphase.rulecheck import fired  # noqa: E402 - the same

if TYPE_CHECKING:
    from collections.abc import Iterator

    from logphase.rules import RuleSet

DATA = HERE / "data"
WORDS = (
    "Scheduler",
    "cuda",
    "decode",
    "target decode",
    "target prefill",
    "cuda graph",
    "CUDA graph",
    "[1, 2]",
    "KV Cache",
    "Full KV Cache",
    "Prefill",
    "8",
    "12.25",
    "",
    "VllmWorker-1",
    "FULL",
)
SETTINGS = tomllib.loads((HERE / "wording.toml").read_text("utf-8"))
ENGINES = sorted(SETTINGS.keys() - {"edges"})
EDGES = [(name, re.compile(words, re.IGNORECASE)) for name, words in SETTINGS["edges"].items()]
LEVELS = frozenset({"info", "warning", "warn", "error", "critical", "exception", "info_once", "warning_once", "log"})
HELPERS = frozenset({"log_info_on_rank0", "rank0_log", "rank0_print", "print_info_once", "print_warning_once", "print"})
HOLE = re.compile(r"\{([^{}]*)\}")
PERCENT = re.compile(r"%(?:\(\w+\))?[-#0 +]*\d*(?:\.\d+)?([sdrfgix])")
HEADERS = {"sglang": "[2026-11-30 01:37:38 TP0] ", "vllm": "INFO 11-30 01:37:38 [core.py:77] "}
NAMED = {"capture_name": "target decode", "cache_name": "KV Cache", "config.host": "0.0.0.0"}  # noqa: S104 - a text
FALLBACK = "exception"  # the rule that knows the last line of any traceback
FATAL_FILES = re.compile(r"entrypoints|managers/|model_runner\.py|watchdog")


@dataclass(frozen=True, slots=True)
class Text:
    """What a statement prints: a template with `{…}` for what is put in. `how`: a level, bar, print, or the class that is raised."""

    file: str
    line: int
    how: str
    template: str

    @property
    def edge(self) -> str:
        """What the words say the line is: fatal, ready, start, end; empty for all else."""
        if self.how[:1].isupper():
            return "fatal" if FATAL_FILES.search(self.file) else ""
        return next((name for name, words in EDGES if words.search(self.template)), "")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Texts that no rule is wanted for, and why."""

    pattern: re.Pattern[str]
    reason: str


def main() -> int:
    """Download, read, compare, tell."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("versions", nargs="*", metavar="[ENGINE] VERSION", help=f"ENGINE is {' or '.join(ENGINES)}; sglang if none is named")
    asked.add_argument("--archive", type=Path, action="append", default=[])
    asked.add_argument("--data", type=Path, default=DATA)
    asked.add_argument("--all", action="store_true")
    asked.add_argument("--format", choices=["text", "json"], default="text")
    told = asked.parse_args()
    named = told.versions[:1] if told.versions[:1] and told.versions[0] in ENGINES else []
    engine, versions = (named or ["sglang"])[0], told.versions[len(named) :]
    archives = [download(engine, version, told.data) for version in versions] + told.archive
    known, left = rules.load(engine), left_out(engine)
    found = {archive.name: compare(archive, engine, known, left) for archive in archives}
    if told.format == "json":
        print(json.dumps(found, indent=2))
    else:
        for name, answer in found.items():
            tell(name, answer, everything=told.all)
    return int(any(answer["unknown"] for answer in found.values()))


def download(engine: str, version: str, into: Path) -> Path:
    """The archive of a version: one that is here, else as pip gives it."""
    into.mkdir(parents=True, exist_ok=True)
    name = re.compile(rf"{re.escape(engine)}-{re.escape(version)}[-.].*(?:whl|tar\.gz)")
    here = [path for path in into.iterdir() if name.match(path.name)]
    if not here:
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--disable-pip-version-check",
            "-d",
            str(into),
            f"{engine}=={version}",
        ]
        subprocess.run(command, check=True)
        here = [path for path in into.iterdir() if name.match(path.name)]
    return here[0]


def left_out(engine: str) -> list[LeftOut]:
    """What is left out on purpose."""
    return [LeftOut(re.compile(entry["pattern"]), entry["reason"]) for entry in SETTINGS[engine].get("left_out", [])]


def sources(archive: Path) -> Iterator[tuple[str, str]]:
    """Path and text of each Python file in a wheel or source archive."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as held:
            for name in sorted(held.namelist()):
                if name.endswith(".py"):
                    yield name, held.read(name).decode("utf-8", "replace")
        return
    with tarfile.open(archive) as held:
        for member in held:
            file = held.extractfile(member) if member.isfile() and member.name.endswith(".py") else None
            if file is not None:
                yield member.name.partition("/")[2].removeprefix("python/"), file.read().decode("utf-8", "replace")


def compare(archive: Path, engine: str, known: RuleSet, left: list[LeftOut]) -> dict[str, list[dict[str, str]]]:
    """Every text of the startup's files: known by a rule, left out with a reason, or unknown."""
    scope = [re.compile(pattern) for pattern in SETTINGS[engine]["files"]]
    answer: dict[str, list[dict[str, str]]] = {"known": [], "by_fallback": [], "left_out": [], "unknown": [], "minor": []}
    seen: set[tuple[str, str]] = set()
    matcher = Matcher(known)
    for file, source in sources(archive):
        if not any(pattern.fullmatch(file) for pattern in scope):
            continue
        for text in texts(file, source):
            if (text.how, text.template) in seen or len(HOLE.sub("", text.template).strip()) < 4:
                continue
            seen.add((text.how, text.template))
            entry = {"file": f"{text.file}:{text.line}", "how": text.how, "edge": text.edge, "text": text.template}
            hits = [name for line in dict.fromkeys(lines(text, engine)) for name in fired(known, line, matcher)]
            rule = next((name for name in hits if name != FALLBACK), "")
            reason = next((entry.reason for entry in left if entry.pattern.search(text.template)), "")
            if rule:
                answer["known"].append({**entry, "rule": rule})
            elif FALLBACK in hits:
                answer["by_fallback"].append(entry)
            elif reason:
                answer["left_out"].append({**entry, "reason": reason})
            else:
                answer["unknown" if text.edge else "minor"].append(entry)
    return answer


# --- texts of a source


def texts(file: str, source: str) -> Iterator[Text]:
    """The texts that a source's statements print."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            how, argument = _call(node)
            template = _template(argument) if argument is not None else ""
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            how = _name(node.exc.func)
            template = _template(node.exc.args[0])
        else:
            continue
        first = next((line for line in template.split("\n") if line.strip()), "")
        if how and first:
            yield Text(file, node.lineno, how, first.strip())


def _call(node: ast.Call) -> tuple[str, ast.expr | None]:
    name = _name(node.func)
    if isinstance(node.func, ast.Attribute) and name in LEVELS and "log" in ast.unparse(node.func.value).lower():
        return name, node.args[-1] if name == "log" and len(node.args) > 1 else node.args[0] if node.args else None
    if name in HELPERS:
        return name, next((each for each in node.args if isinstance(each, (ast.Constant, ast.JoinedStr, ast.BinOp, ast.Call))), None)
    if name in ("tqdm", "trange", "set_description"):
        described = next(
            (word.value for word in node.keywords if word.arg == "desc"), node.args[0] if name == "set_description" and node.args else None
        )
        return "bar", described
    return "", None


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _template(node: ast.expr) -> str:  # noqa: PLR0911 - one for each kind of expression
    """The text of an expression, with `{…}` where a value goes in."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_template(part) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        spec = _template(node.format_spec) if node.format_spec else ""
        return "{" + re.sub(r"[{}]", "", ast.unparse(node.value)) + (f":{spec}" if spec else "") + "}"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _template(node.left) + (_template(node.right) or "{x}")
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return _template(node.left)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return _template(node.func.value)
    return ""


# --- a text as lines


def lines(text: Text, engine: str) -> Iterator[str]:
    """Lines that a text can become, by the values that are put in."""
    for number, word in (("8", "x"), *(("8", word) for word in WORDS)):
        filled = PERCENT.sub(lambda found, n=number, w=word: w if found[1] in "sr" else "12.25" if found[1] in "fg" else n, text.template)
        filled = HOLE.sub(lambda found, n=number, w=word: _value(found[1], n, w), filled)
        if text.how == "bar":
            yield f"{filled}:  12%|█▏        | 1/8 [00:02<00:17,  2.47s/it]"
        elif text.how[:1].isupper():
            yield f"{text.how}: {filled}"
        else:
            yield HEADERS[engine] + filled
            if text.how == "print":
                yield filled


def _value(inside: str, number: str, word: str) -> str:  # noqa: PLR0911 - one for each kind of name
    if re.search(r":[,.\d]*[fe]$", inside):
        return "12.25"
    if "server_args" in inside and "." not in inside:
        return "{'model_path': 'x'}" if inside.startswith("_") else "ServerArgs(model_path='x')"
    named = next((text for name, text in NAMED.items() if inside.startswith(name)), "")
    if named:
        return named
    chosen = re.match(r"'([^']*)' if ", inside)
    if chosen:
        return chosen[1]
    if inside.endswith("soft"):
        return "False"
    if re.search(
        r"(?:num|len|size|rank|pid|port|id|count|tokens|steps?|mem|time|timeout|secs?|bs|code|world|workers)(?:\b|_)", inside, re.IGNORECASE
    ):
        return number
    return word


def tell(name: str, answer: dict[str, list[dict[str, str]]], *, everything: bool) -> None:
    """The answer for one archive."""
    main = [entry for entry in answer["known"] if entry["edge"]]
    print(f"\n{name}: {len(main)} start, end, ready and fatal texts known, {len(answer['unknown'])} unknown")
    print(f"  {len(answer['by_fallback'])} raised errors have no rule of their own: of any traceback the last line is known, as the cause")
    by_file: dict[str, list[dict[str, str]]] = defaultdict(list)
    for entry in answer["unknown"]:
        by_file[entry["file"].partition(":")[0]].append(entry)
    for file, entries in sorted(by_file.items()):
        print(f"  {file}")
        for entry in entries:
            print(f"    {entry['file'].rpartition(':')[2]:>5} {entry['edge']:<6} {entry['how']:<16} {entry['text'][:150]}")
    reasons: dict[str, int] = defaultdict(int)
    for entry in answer["left_out"]:
        reasons[entry["reason"]] += 1
    for reason, number in sorted(reasons.items(), key=lambda pair: -pair[1]):
        print(f"  left out {number:>4}: {reason}")
    if everything:
        for entry in answer["known"]:
            print(f"  known by {entry['rule']:<28} {entry['text'][:120]}")
        for entry in answer["minor"]:
            print(f"  unknown, {entry['file']}: {entry['text'][:120]}")


if __name__ == "__main__":
    sys.exit(main())
