"""Rule files -> docs/rules.md and docs/rules.schema.json: run it after a rule has changed; a test fails while they are stale.

python docs/rules_reference.py
"""

# ruff: noqa: INP001 - a script, found by its path

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import MappingProxyType
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from logphase import rules  # noqa: E402 - the checkout's own
from logphase.rules import Edge, Rule, RuleSet  # noqa: E402 - the same
from logphase.rulevalues import INTERNAL, Argument, Fingerprint, Head, Header, PhaseRule, WarmthRule, Wrapper  # noqa: E402 - the same
from logphase.views.rules import versions  # noqa: E402 - the same
from logphase.warmth import STATES  # noqa: E402 - the same

PAGE = HERE / "rules.md"
SCHEMA = HERE / "rules.schema.json"
HEAD = """# Rules

Every phase and rule that comes with logphase, with one line that fires it. Made by `python docs/rules_reference.py`; how to write a rule
is told in [writing-rules.md](writing-rules.md).
"""
ONE_OF: dict[tuple[str, str], list[str]] = {
    ("Rule", "scope"): ["startup", "serving", "always"],
    ("PhaseRule", "process"): ["scheduler", "launcher"],
    ("PhaseRule", "ranks"): ["all", "first", "launcher"],
    ("Wrapper", "format"): ["json"],
    ("Argument", "kind"): ["chosen", "derived", "auto"],
    ("WarmthRule", "state"): list(STATES),
}


def page() -> str:
    """The reference as Markdown."""
    parts = [HEAD]
    shared: dict[str, Rule] = {}
    for engine in rules.bundled():
        known = rules.load_bundled(engine)
        own = [rule for rule in known.rules if not rule.where.startswith("common/")]
        shared |= {rule.id: rule for rule in known.rules if rule.where.startswith("common/")}
        parts.append(f"## {engine}\n\nChecked against {' to '.join(known.tested_with)}.\n")
        parts.append(_phases(known))
        parts.append(_arguments(known))
        for phase in (*known.phases, "open", "any"):
            listed = [rule for rule in own if rule.phase == phase]
            if listed:
                parts.append(f"### {engine}: {phase}\n\n" + "".join(map(_rule, listed)))
    parts.append("## All engines\n\nTried behind an engine's own rules.\n\n" + "".join(map(_rule, shared.values())))
    return "\n".join(parts)


def _phases(known: RuleSet) -> str:
    rows = [f"| `{phase.id}` | {phase.title} | {phase.patience_s:,.0f} s | {phase.why} |" for phase in known.phases.values()]
    return "\n".join(("| Phase | Title | May be silent for | Why |", "| --- | --- | ---: | --- |", *rows)) + "\n"


def _arguments(known: RuleSet) -> str:
    rows = [
        f"| {_names(entry.name)} | {_kind(entry)} | {_names(entry.explains) or 'no phase'} | {entry.why} |" for entry in known.arguments
    ]
    head = ("| Argument | Kind | Another value can explain | Why |", "| --- | --- | --- | --- |")
    return "\n".join((f"### {known.engine}: arguments\n", *head, *rows)) + "\n"


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _kind(entry: Argument) -> str:
    return f"derived from {_names(entry.derived_from)}" if entry.derived_from else entry.kind


def _rule(rule: Rule) -> str:
    told = [f"`{rule.edge}`", versions(rule), f"source: {rule.source}" if rule.source else ""]
    example = rule.examples[0] if len(rule.examples[0]) <= 400 else rule.examples[0][:399] + "…"  # noqa: PLR2004 - a line of the page
    remedy = f"{rule.remedy}\n\n" if rule.remedy else ""
    return f"**{rule.id}** · {' · '.join(part for part in told if part)}\n\n{remedy}```text\n{example}\n```\n\n"


def schema() -> str:
    """What an editor checks while a rule file is written, as a JSON Schema."""
    lists = {
        "header": Header,
        "wrapper": Wrapper,
        "phase": PhaseRule,
        "fingerprint": Fingerprint,
        "argument": Argument,
        "warmth": WarmthRule,
        "rule": Rule,
    }
    head = {name: _field("Head", name, default) for name, default in Head._field_defaults.items()}
    document = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A rule file of logphase",
        "type": "object",
        "additionalProperties": False,
        "properties": {**head, **{name: {"type": "array", "items": _table(kind)} for name, kind in lists.items()}},
    }
    return json.dumps(document, indent=2) + "\n"


def _table(kind: Any) -> dict[str, Any]:  # noqa: ANN401 - a named tuple
    names = [name for name in kind._fields if name not in INTERNAL]
    required = ["id"] if kind is PhaseRule else [name for name in names if name not in kind._field_defaults]
    fields = {name: _field(kind.__name__, name, kind._field_defaults.get(name, "")) for name in names}
    return {"type": "object", "additionalProperties": False, "required": required, "properties": fields}


def _field(kind: str, name: str, default: object) -> dict[str, Any]:  # noqa: PLR0911 - one for each kind of field
    texts: dict[str, Any] = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
    if name == "edge":
        return {"enum": [edge.value for edge in Edge]}
    if name == "types":
        return {"type": "object", "additionalProperties": {"enum": ["float", "int", "list", "str"]}}
    if name == "keys":
        return {"type": "object", "additionalProperties": texts}
    if (kind, name) in ONE_OF:
        return {"enum": ONE_OF[kind, name]}
    if isinstance(default, tuple) or (kind, name) in (("Rule", "contains"), ("Argument", "name")):
        return texts
    if isinstance(default, MappingProxyType):
        return {"type": "object", "additionalProperties": {"type": "string"}}
    plain = {bool: "boolean", int: "integer", float: "number", str: "string"}
    return {"type": plain[type(default)]}


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    SCHEMA.write_text(schema(), "utf-8")
