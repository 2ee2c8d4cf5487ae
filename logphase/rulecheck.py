"""RuleSet -> Problem: what is wrong with rules, where, why, and what to write instead.

An example is a whole line and goes the whole way: splitter, wrappers, header, literals, pattern. So what is proven here is what a log
will see. Law of this file: every problem names a line of a file and a remedy; what cannot be proven is no problem.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from logphase import argumentcheck, patterns, rulefiles, rules
from logphase.errors import RuleError
from logphase.events import typed
from logphase.fingerprint import older
from logphase.places import syntax
from logphase.rulefiles import BUNDLED, COMMON
from logphase.ruleproblems import (
    Examination,
    Problem,
    Report,
    fired,
    is_version,
    messages,
    warmth_problems,
    wording_problems,
)
from logphase.rules import Edge

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from logphase.rules import Rule, Wrapper

TYPES = ("float", "int", "list", "str")
SCOPES = ("always", "serving", "startup")
NUMBERS = {"done": "int", "total": "int", "elapsed_s": "float"}  # groups that the timeline counts with
DECIDING = frozenset({Edge.READY, Edge.WORKER_READY, Edge.FATAL})
STRONGEST = 3
STEM = 4  # letters by which a word is found again
ENDINGS = {"begin": (Edge.BEGIN, Edge.LAUNCH), "end": (Edge.END, Edge.POINT), "bar": (Edge.PROGRESS,)}  # of an id
SHORT = 2  # characters of a text that is worth looking for
_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def check(extra: str | None = None, engines: Sequence[str] = ()) -> Report:
    """Check the rules of some engines, or of all, with the user's own and `extra` over them."""
    try:
        names = tuple(engines) or rules.available(extra)
        found: dict[Problem, None] = {}
        number = examples = 0
        for name in names:
            tables = rules.tables(name, extra, examples=True)
            over = {table.path for table in tables if table.layer != BUNDLED}
            checked = Check(name, tables)
            found.update((problem, None) for problem in checked.problems() if not over or problem.file in over)
            number += len(checked.rules.rules)
            examples += sum(len(rule.examples) for rule in checked.rules.rules)
        if not found:  # what cannot be loaded has been told
            found.update(dict.fromkeys(_claimed_twice(extra)))
    except RuleError as error:
        if not error.where:  # no file's fault: what was asked for is not there
            raise
        where = syntax(str(error), error.where)
        return Report(
            (Problem(where.file, where.line, "", error.message.removeprefix(f"{error.where}: "), error.hint, where.text),), (), 0, 0
        )
    return Report(tuple(found), names, number, examples)


def check_files(paths: Sequence[str], engines: Sequence[str] = ()) -> Report:
    """Check files, each over the bundled rules; those that are bundled themselves, or none at all, mean all that is in force."""
    home = rulefiles.home().resolve()
    over = [path for path in paths if home not in Path(path).resolve().parents]
    reports = [check(path, engines or rules.concerned(path)) for path in over]
    if len(over) < len(paths) or not paths:
        reports.append(check(None, engines))
    problems = dict.fromkeys(problem for report in reports for problem in report.problems)
    names = dict.fromkeys(name for report in reports for name in report.engines)
    return Report(tuple(problems), tuple(names), sum(report.rules for report in reports), sum(report.examples for report in reports))


def _claimed_twice(extra: str | None) -> Iterator[Problem]:
    """A text that chooses one engine must not stand in what another one prints."""
    known = {name: rules.load(name, extra, examples=True) for name in rules.available(extra)}
    for name, chosen in known.items():
        heads = [table for table in rules.tables(name, extra) if table.content.get("claims")]
        for other, theirs in known.items():
            own = [rule for rule in theirs.rules if not rule.where.startswith(f"{COMMON}/") and rule.layer == BUNDLED]
            lines = [line for rule in own for line in rule.examples] if other != name and other in rules.bundled() else []
            for claim in chosen.claims:
                line = next((line for line in lines if claim in line), None)
                if line is not None:
                    file = next((table.path for table in heads if claim in table.content["claims"]), name)
                    reason = f"{claim!r} chooses {name}, and a line of {other} holds it"
                    yield Problem(file, 0, "claims", reason, "Take a longer text, or another one.", line)


class Check(Examination):
    """All that is asked of the rules of one engine."""

    def problems(self) -> Iterator[Problem]:
        """Everything that is wrong, in the order of the files."""
        for error in self.refused:
            reason = error.message.removeprefix(f"{error.where}: ")
            yield self.problem(error.where, reason, error.hint)
        for part in self.broken:
            yield from self.pattern(part.where, part.pattern, part.examples)
        yield from self._engine()
        for phase in self.rules.phases.values():
            yield from self._phase(phase.id)
        yield from self._prefixes()
        for rule in self.rules.rules:
            yield from self._rule(rule)
        yield from self._fingerprints()
        yield from argumentcheck.problems(self)
        yield from warmth_problems(self)

    # --- the engine, its phases and prefixes

    def _engine(self) -> Iterator[Problem]:
        known = self.rules
        head = next((table.name for table in self.tables if table.content.get("engine") == known.engine), known.engine)
        edges = {rule.edge for rule in known.rules}
        if not known.claims:
            yield self.problem(head, "nothing chooses this engine", 'Write claims = ["…"]: texts that only this engine prints.')
        if not known.headers:
            yield self.problem(
                head, "no [[header]] says how a line of this engine begins", "Write one, if only with pattern = '^(?P<level>[A-Z]+): '."
            )
        if Edge.READY not in edges:
            yield self.problem(
                head, "no rule has the edge ready: no startup would ever be ready", "Write a rule for the line by which the engine says so."
            )
        if len(known.tested_with) not in (1, 2) or not all(map(is_version, known.tested_with)):
            yield self.problem(
                head,
                "tested_with does not name versions",
                'Write tested_with = ["oldest", "newest"]: what the wording was checked against.',
            )
        elif older(known.tested_with[-1], known.tested_with[0]):
            yield self.problem(head, "tested_with names a newer version before an older one", "The oldest comes first.")

    def _phase(self, name: str) -> Iterator[Problem]:
        phase = self.rules.phases[name]
        if not _ID.fullmatch(phase.id):
            yield self.problem(phase.where, "an id is lower-case words with hyphens between", "For example: kv-cache.")
        if phase.process not in ("scheduler", "launcher"):
            yield self.problem(phase.where, f"process {phase.process!r} is not known", "scheduler or launcher.", "process")
        if phase.ranks not in ("all", "first", "launcher"):
            yield self.problem(phase.where, f"ranks {phase.ranks!r} is not known", "all, first or launcher.", "ranks")
        if not phase.why:
            yield self.problem(
                phase.where, "no why: whoever is told that a startup stalled is told the reason for this patience", 'why = "…"'
            )
        for key in ("always_since", "paired_since"):
            value = getattr(phase, key)
            if value and not is_version(value):
                yield self.problem(phase.where, f"{value!r} is no version", "For example: 0.5.9.", key)
        linked = {
            "again": (phase.again,) if phase.again else (),
            "past": phase.past,
            "again_after": phase.again_after,
            "begins_at_end_of": phase.begins_at_end_of,
        }
        for key, names in linked.items():
            for other in names:
                if other not in self.rules.phases or (other == name and key == "again"):
                    yield self.problem(phase.where, f"{other!r} is no other phase", f"Phases: {', '.join(self.rules.phases)}.", key)

    def _prefixes(self) -> Iterator[Problem]:
        for header in self.rules.headers:
            yield from self.pattern(header.where, header.pattern, header.examples)
            if not header.examples:
                yield self.problem(header.where, "no example", "Give a whole line that begins so.")
            for line in header.examples:
                found = {record.header for record in messages(self.rules, line)}
                if header.id not in found:
                    yield self.misfit(header.where, header.pattern, line, f"its example is taken by {found - {None} or 'no header'}")
        for wrapper in self.rules.wrappers:
            if wrapper.format not in ("", "json"):
                yield self.problem(wrapper.where, f"format {wrapper.format!r} is not known", "Leave it out, or json.", "format")
            if not wrapper.pattern:
                continue
            yield from self.pattern(wrapper.where, wrapper.pattern, wrapper.examples)
            yield from self._peels(wrapper)

    def _peels(self, wrapper: Wrapper) -> Iterator[Problem]:
        if not wrapper.examples:
            yield self.problem(wrapper.where, "no example", "Give a whole line that begins so.")
        for line in wrapper.examples:
            found = [record.wrappers[:1] for record in messages(self.rules, line)]
            if (self.first or not self.shared(wrapper.where)) and (wrapper.id,) not in found:
                yield self.misfit(
                    wrapper.where, wrapper.pattern, line, f"its example is peeled by {found[0] if found and found[0] else 'no wrapper'}"
                )
            if wrapper.contains and wrapper.contains not in line:
                yield self.problem(
                    wrapper.where,
                    f"its example does not hold {wrapper.contains!r}",
                    "Take a text that every such line holds.",
                    "contains",
                    line,
                )

    def _fingerprints(self) -> Iterator[Problem]:
        for entry in self.rules.fingerprints:
            yield from wording_problems(self, entry)
            yield from self.versions(entry.where, entry.since, entry.until)
            if not entry.since and not entry.until:
                yield self.problem(entry.where, "it says neither since nor until", 'since = "1.2.3"')

    # --- a rule

    def _rule(self, rule: Rule) -> Iterator[Problem]:
        if not _ID.fullmatch(rule.id):
            yield self.problem(rule.where, "an id is lower-case words with hyphens between", "For example: weights-end.")
        yield from self._names(rule)
        yield from self._keys(rule)
        yield from self.versions(rule.where, rule.since, rule.until)
        yield from self.pattern(rule.where, rule.pattern, rule.examples)
        yield from self._groups(rule)
        yield from self._texts(rule)
        if not rule.examples:
            yield self.problem(
                rule.where, "no example", "Give a whole line that must fire it, with everything that stands before the message."
            )
        if rule.edge in DECIDING and not rule.counterexamples:
            yield self.problem(
                rule.where, f"a {rule.edge} rule without counterexamples", "Give a line that looks like it and must not fire it."
            )
        if self.first or not self.shared(rule.where):
            for line in rule.examples:
                yield from self._example(rule, line)
            for line in rule.counterexamples:
                if rule.id in fired(self.rules, line, self.matcher):
                    yield self.problem(
                        rule.where,
                        "a counterexample fires it",
                        "Make the pattern say more, or the line is an example.",
                        "counterexamples",
                        line,
                    )

    def _names(self, rule: Rule) -> Iterator[Problem]:
        """An id is read as "seen: ___": a word of it stands in what the rule says, and its end says no other edge."""
        phase = self.rules.phases.get(rule.phase)
        told = (rule.phase, phase.title if phase else "", rule.pattern, *rule.contains, *rule.examples, rule.remedy, rule.edge, rule.source)
        text = " ".join((*told, "inference" if rule.inference else "")).lower()
        if not any(word[:STEM] in text for word in rule.id.split("-") if word != self.rules.engine):
            yield self.problem(
                rule.where, "no word of its id stands in what the rule says", "Name it by what its line tells, e.g. weights-end."
            )
        edges = ENDINGS.get(rule.id.rpartition("-")[2])
        if edges and rule.edge not in edges:
            yield self.problem(
                rule.where, f"its id ends as if its edge were {edges[0]}, which is {rule.edge}", "Change one of them.", "edge"
            )

    def _keys(self, rule: Rule) -> Iterator[Problem]:
        for key, value, known in (("scope", rule.scope, SCOPES), *(("types", kind, TYPES) for kind in rule.types.values())):
            if value not in known:
                yield self.problem(rule.where, f"{key} {value!r} is not known", f"{', '.join(known)}.", key)
        if rule.opens and (rule.opens not in self.rules.phases or rule.edge is not Edge.END):
            yield self.problem(
                rule.where,
                "opens names a phase that begins with this end",
                f"Use it with edge end. Phases: {', '.join(self.rules.phases)}.",
                "opens",
            )
        if rule.inference and rule.edge is not Edge.READY:
            yield self.problem(rule.where, "inference is said of a ready line", 'edge = "ready"', "inference")
        if rule.edge is Edge.FATAL:
            if not rule.remedy:
                yield self.problem(rule.where, "a fatal rule without remedy", "Say in one or two sentences what to do.")
            if not 0 <= rule.strength <= STRONGEST:
                yield self.problem(rule.where, f"strength {rule.strength}", "0 to 3; see docs/writing-rules.md.", "strength")
            if rule.traceback:
                yield self.problem(
                    rule.where, "traceback says that a line is harmless, and this rule is fatal", "Leave one of them out.", "traceback"
                )
        elif rule.provisional:
            yield self.problem(rule.where, "provisional is said of a fatal line", "Leave it out.", "provisional")

    def _groups(self, rule: Rule) -> Iterator[Problem]:
        groups = set(re.compile(rule.pattern).groupindex)
        for name in sorted(set(rule.types) - groups):
            yield self.problem(
                rule.where,
                f"types names {name!r}, the pattern has no such group",
                f"Groups: {', '.join(sorted(groups)) or 'none'}.",
                "types",
            )
        for name in sorted(groups):
            wanted = NUMBERS.get(name, "float" if name.endswith(("_gb", "_gib")) else "")
            if wanted and rule.types.get(name, "str") != wanted and not (name.endswith("_s") and rule.types.get(name) == "int"):
                yield self.problem(
                    rule.where, f"the timeline counts with {name}, which has no type", f'types = {{ {name} = "{wanted}" }}', "types"
                )
        held = self.first or not self.shared(rule.where)
        filled = {name for match in self._matches(rule) for name, text in match.groupdict().items() if text}
        for name in sorted(groups - filled if rule.examples and held else ()):
            yield self.problem(
                rule.where, f"no example fills its group {name}", "Give an example that has it, or leave the group out.", "examples"
            )
        for name, kind in rule.types.items():
            wrong = next((match for match in self._matches(rule) if isinstance(typed(rule, match.groupdict()).get(name), str)), None)
            if kind != "str" and wrong is not None:
                yield self.problem(
                    rule.where,
                    f"{name} is no {kind} in an example: {wrong[name]!r}",
                    "Narrow the group, or change its type.",
                    "types",
                    wrong.string,
                )
        if rule.edge is Edge.ARGUMENTS and "arguments" not in groups:
            yield self.problem(
                rule.where, "the pattern has no group arguments", "(?P<arguments>…) holds the text to parse.", "pattern", rule.pattern
            )

    def _matches(self, rule: Rule) -> Iterator[re.Match[str]]:
        """What the pattern makes of the rule's own examples."""
        for line in rule.examples:
            for record in messages(self.rules, line):
                found = rule.match(record.message)
                if found is not None:
                    yield found

    def _texts(self, rule: Rule) -> Iterator[Problem]:
        if not rule.contains or min(map(len, rule.contains)) < SHORT:
            yield self.problem(
                rule.where, "contains is empty or too short to save anything", "Give a text that every match holds.", "contains"
            )
            return
        way = patterns.without(rule.pattern, rule.contains)
        if way is not None:
            yield self.problem(
                rule.where,
                f"the pattern fits lines without any text of contains: {way[:80]}",
                "Such a line is never looked at: add its text to contains.",
                "contains",
            )
        spelled = [*patterns.spelled(rule.pattern), *rule.examples]
        for text in rule.contains:
            if not any(text in each for each in spelled):
                yield self.problem(
                    rule.where,
                    f"{text!r} stands in no line that the pattern fits",
                    "Leave it out of contains, or give an example.",
                    "contains",
                )

    def _example(self, rule: Rule, line: str) -> Iterator[Problem]:
        found = fired(self.rules, line, self.matcher)
        others = [self.by_id[name] for name in found if name != rule.id]
        if rule.id not in found:
            if others and others[0].layer != rule.layer:
                taken = f"it takes a line that {rule.id} shows ({rule.where})"
                hint = f'Make the pattern say more; if it is meant, switch that one off: off = ["{rule.id}"]'
                yield self.problem(others[0].where, taken, hint, "pattern", line)
            elif others:
                taken = f"its example is taken by {others[0].id} ({others[0].where})"
                yield self.problem(rule.where, taken, "Put this rule above that one, or make that pattern say more.", "examples", line)
            else:
                yield self.misfit(rule.where, rule.pattern, line, "its example does not fire it")
            return
        if others:
            yield self.problem(
                rule.where, f"its example fires {others[0].id} too", "One line, one rule: shorten the example.", "examples", line
            )
        for rival in self._rivals(rule, line):
            yield self.problem(
                rival.where,
                f"it fits an example of {rule.id} too, and only their order decides",
                "Make the pattern say more, or list the line among its counterexamples.",
                "pattern",
                line,
            )

    def _rivals(self, rule: Rule, line: str) -> Iterator[Rule]:
        for record in messages(self.rules, line):
            for rival in self.matcher.candidates(record.message):
                same = rival.layer == rule.layer and self.shared(rival.where) == self.shared(rule.where)
                if (
                    rival.id != rule.id
                    and same
                    and not rival.fallback
                    and rival.match(record.message)
                    and line not in rival.counterexamples
                ):
                    yield rival
