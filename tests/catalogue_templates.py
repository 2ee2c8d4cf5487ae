"""Templates of SGLang's main path, as the source has them, filled with plausible values: lines that rules must know.

Law of this file: pure functions, no rules. The data (`data/catalogue-main-path.tsv`) holds one printed statement a row.
"""

from __future__ import annotations

import csv
import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

BAR = "  12%|█▏        | 1/8 [00:02<00:17,  2.47s/it]"
TEXT = "x"
FLOAT = "12.25"
NUMBER = "8"

_PERCENT = re.compile(r"%(?:\.\d)?([sdrf])")
_BRACE = re.compile(r"\{([^{}']*)\}")
_OPTION = re.compile(r"\[( [^\]]*)\]")  # "[ Current value: …]": printed or not
_PATHS = re.compile(r"(/[\w/]+(?:\|/[\w/]+)+)")  # "/generate|/encode"
_NOTE = re.compile(r" \((?:no description|no \"Scheduler hit an exception\" text|older: [\w.]+)\)$")

_WORDS = re.compile(r"path|model|dtype|message|error|lora|json|arch$|method|backend|components|level|layer|prefix|ref")

_VALUES: dict[str, tuple[str, ...]] = {
    "elapsed": ("00:02",),
    "remaining": ("00:17",),
    "rate": (" 2.47s/it",),
    "bar": ("█▏        ",),
    "pct": (" 12",),
    "n": ("1",),
    "total": ("8",),
    "p": ("40418",),
    "f": (FLOAT,),
    "s": ("{prefill=15.22, decode=4.60}",),
    "graph_backend": ("cuda graph", "cpu graph", "npu graph"),
    "cache_name": ("KV Cache", "Full KV Cache", "SWA KV Cache"),
    "quant_part": ("", "quant=fp8, fmt=e4m3, ", "quant=awq, bits=4, "),
    "traceback": ("Traceback (most recent call last):",),
    "optional hint": (" It only takes a little time.",),
    "port_name": ("nccl_port",),
    "debug_name": ("Scheduler", "TokenizerManager"),
    "exitcode": ("-9", "-6", "1"),
    "proc.exitcode": ("-9", "-6", "1"),
    "code": ("-9", "-6", "1"),
    "res.status_code": ("200",),
    "soft!r": ("False",),
    "name": ("scheduler_0", "detokenizer"),
    "__name__": ("OutOfMemoryError",),
    "exc": ("CUDA out of memory. Tried to allocate 32.00 MiB.",),
    "msg": ("ValueError: User-specified context_length (8) is greater than the derived context_length (4).",),
    "prefill_backend": ("breakable", "full"),
    "dtype": ("torch.bfloat16",),
    "model_class": ("LlamaForCausalLM",),
    "capture_num_tokens": ("[4, 8, 12]",),
    "capture_bs": ("[1, 2, 4]",),
    "runner.capture_bs": ("[1, 2, 4]",),
    "num_tokens!r": ("2048",),
    "bs!r": ("16",),
    "e!r": ("ValueError('x')",),
    "host": ("127.0.0.1",),
    "to_host_port_str": ("127.0.0.1:30000",),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One statement of the engine: the template it prints, and the phase that the line belongs to."""

    id: str
    role: str
    template: str
    level: str
    first_version: str
    last_version: str
    phase: str


def rows(path: Path) -> list[Row]:
    """Read the data file; one row a printed statement."""
    with path.open(encoding="utf-8", newline="") as file:
        return [Row(**row) for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]


def lines(row: Row) -> list[str]:
    """Lines that the row's statement can print: with the bar behind a description, with the class before a raised message."""
    filled = fill(row.template)
    raised = re.match(r"raise (\w+)", row.level)
    if raised:
        filled = [line if re.match(r"\w+Error: ", line) else f"{raised[1]}: {line}" for line in filled]
    return [f"{line}:{BAR}" for line in filled] if row.level == "tqdm" and "%|" not in row.template else filled


def fill(template: str) -> list[str]:
    """The template's first printed line with values in it, once for each combination of its alternatives."""
    text = _NOTE.sub("", template.split("\\n", maxsplit=1)[0])
    text = text.replace("[E...", "[E227 16:30:43.526290891 ").replace("[PG ...", "[PG ID 2 PG GUID 3 ")
    texts = [_OPTION.sub("", text), _OPTION.sub(r"\1", text)] if _OPTION.search(text) else [text]
    texts = [option for text in texts for option in _alternatives(text, _PATHS)]
    return list(dict.fromkeys(line for text in texts for line in _fill_braces(_fill_percents(text), template)))


def _alternatives(text: str, pattern: re.Pattern[str]) -> list[str]:
    match = pattern.search(text)
    return [text[: match.start()] + option + text[match.end() :] for option in match[1].split("|")] if match else [text]


def _fill_percents(text: str) -> str:
    kinds = {"s": TEXT, "r": TEXT, "d": NUMBER, "f": FLOAT}
    return _PERCENT.sub(lambda match: kinds[match[1]], text).replace("%%", "%")


def _fill_braces(text: str, template: str) -> list[str]:
    pieces = _BRACE.split(text)
    choices = [_values(piece, template) if i % 2 else (piece,) for i, piece in enumerate(pieces)]
    return ["".join(combination) for combination in itertools.product(*choices)]


def _values(name: str, template: str) -> tuple[str, ...]:
    if name == "capture_name":
        return ("target decode", "target verify") if "{graph_backend}" in template else ("target prefill",)
    if name == "graph_backend" and "{capture_name}" in template:
        return ("CUDA graph", "CPU graph")
    if name in _VALUES:
        return _VALUES[name]
    if "|" in name:
        return tuple(name.split("|"))
    if re.search(r":[.\d]*[fe]$", name):
        return (FLOAT,)
    return (TEXT,) if _WORDS.search(name) else (NUMBER,)
