"""Variants of startups -> Comparison: which arguments differ, what that did to each phase, and whether the difference is real.

Law of this file: only startups that got ready are pooled where there are any; what is left out, mixed or not comparable is said in the
notes. A reason is a chosen argument that can explain the phase; without one it is noise or the machine. Times in seconds.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from logphase import flags
from logphase.flags import CHOSEN, Difference
from logphase.rules import load
from logphase.samples import THUMB_PHASE, THUMB_TOTAL, Change, Sample, Verdict, change
from logphase.warmth import Warmth, warmth

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from logphase.rules import RuleSet
    from logphase.samples import Spread
    from logphase.timeline import Phase, Startup

TOTAL = "total"
AFTER_READY = frozenset({"serving", "shutdown"})
STAMP_S = 1.0  # what a whole-second stamp or bar cannot tell
FINE_S = 0.02  # what the engine's own figures cannot
CHANGED = frozenset({Verdict.SLOWER, Verdict.FASTER, Verdict.GONE, Verdict.NEW})


@dataclass(frozen=True, slots=True)
class Run:
    """One startup of a variant. `command`: the words of its launch, where they were recorded; `environment`: what was recorded beside."""

    startup: Startup
    source: str
    command: tuple[str, ...] | None = None
    environment: Mapping[str, str] | None = None

    @property
    def total_s(self) -> float | None:
        """Started to ready; None where it did not get ready."""
        return self.startup.ready.after_s if self.startup.ready is not None else None


@dataclass(frozen=True, slots=True)
class Variant:
    """One side: startups that count as repeats of the same. `sources`: the files that were read for it, without startups too."""

    name: str
    runs: tuple[Run, ...]
    sources: tuple[str, ...] = ()
    warmths: tuple[Warmth, ...] = ()

    @property
    def pooled(self) -> tuple[Run, ...]:
        """The runs that count: those that got ready, or all where none did."""
        return tuple(run for run in self.runs if run.total_s is not None) or self.runs

    @property
    def ready(self) -> bool:
        """Whether any run got ready."""
        return any(run.total_s is not None for run in self.runs)


@dataclass(frozen=True, slots=True)
class Row:
    """A duration in every variant: `samples` one for each, `changes` and `shares` (of the total's difference) one for each but the first.

    `reasons`: for each other variant the changed arguments that can explain it; `ranks`: samples by rank tag.
    """

    id: str
    title: str
    samples: tuple[Sample, ...]
    changes: tuple[Change | None, ...]
    shares: tuple[float | None, ...] = ()
    reasons: tuple[tuple[str, ...], ...] = ()
    ranks: Mapping[str, tuple[Sample, ...]] = field(default_factory=dict)

    @property
    def reason(self) -> tuple[str, ...]:
        """What can explain a change in any of the others."""
        found = [name for names, made in zip(self.reasons, self.changes, strict=True) if made and made.verdict in CHANGED for name in names]
        return tuple(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Variants side by side; the first is the baseline. `gaps`: time that no line names; `environment`: name and value in each variant."""

    engine: str
    variants: tuple[Variant, ...]
    arguments: tuple[Difference, ...]
    environment: tuple[tuple[str, tuple[str | None, ...]], ...]
    phases: tuple[Row, ...]
    gaps: Row
    total: Row
    notes: tuple[str, ...]
    otherwise: tuple[str, ...] = ()  # what differs beside the arguments, and may explain any phase

    def unexplained(self, row: Row) -> bool:
        """Whether a row changed without a changed argument that can have done it."""
        return any(made is not None and made.verdict in CHANGED and not names for made, names in zip(row.changes, row.reasons, strict=True))


def compare_variants(
    variants: Sequence[Variant],
    rules: RuleSet | None = None,
    spread: Mapping[str, Spread] | None = None,
    notes: Sequence[str] = (),
) -> Comparison:
    """Put variants side by side. `spread`: how phases (and "total") varied in earlier startups of its kind; `notes`: said before."""
    sides = tuple(_with_warmth(variant) for variant in variants)
    engine = next((run.startup.engine for side in sides for run in side.runs), "")
    rules = rules or load(engine or "sglang")
    pairs = [_pair(sides[0], side, rules) for side in sides[1:]]
    known = dict(spread or {})
    total = _total(sides, known.get(TOTAL))
    rows = [_row(name, sides, pairs, total, known.get(name)) for name in _order(sides)]
    return Comparison(
        engine=engine,
        variants=sides,
        arguments=_arguments(sides, rules),
        environment=_environment(sides),
        phases=tuple(rows),
        gaps=_gaps(sides, total),
        total=_because(total, rows, pairs),
        notes=tuple(dict.fromkeys((*notes, *_notes(sides, rules)))),
        otherwise=_otherwise(sides, rules),
    )


def _with_warmth(variant: Variant) -> Variant:
    return Variant(variant.name, variant.runs, variant.sources, tuple(warmth(run.startup) for run in variant.runs))


def _order(sides: Sequence[Variant]) -> list[str]:
    """Phases in the order of the longest startup, those that it does not have behind the one before them."""
    names: list[str] = []
    for side in sides:
        for run in sorted(side.pooled, key=lambda run: (-len(run.startup.phases), run.source, run.startup.index)):
            at = 0
            for phase in run.startup.phases:
                if phase.id in AFTER_READY:
                    continue
                if phase.id in names:
                    at = names.index(phase.id) + 1
                else:
                    names.insert(at, phase.id)
                    at += 1
    return names


# --- arguments


def _most(mappings: Iterable[Mapping[str, object]]) -> dict[str, object]:
    """Of several mappings the most frequent value of each name, of equally frequent ones the first by its text."""
    found: dict[str, Counter[Hashable]] = {}
    values: dict[tuple[str, Hashable], object] = {}
    for mapping in mappings:
        for name, value in mapping.items():
            key = flags.key(value)
            found.setdefault(name, Counter())[key] += 1
            values[name, key] = value
    return {name: values[name, min(counted, key=lambda key: (-counted[key], str(key)))] for name, counted in found.items()}


def _one(side: Variant) -> dict[str, object]:
    """The arguments of a variant: where its runs differ, what most of them have."""
    return _most(run.startup.arguments for run in side.pooled)


def _commands(sides: Sequence[Variant]) -> list[Sequence[str]] | None:
    """The words of each variant's commands, where all were recorded."""
    found = [[run.command for run in side.pooled] for side in sides]
    if any(command is None for commands in found for command in commands):
        return None
    return [sorted({word for command in commands for word in command or ()}) for commands in found]


def _pair(base: Variant, other: Variant, rules: RuleSet) -> tuple[Difference, ...]:
    if _engines([base, other]) > 1:
        return ()
    return flags.differences([_one(base), _one(other)], rules, _commands([base, other]))


def _engines(sides: Sequence[Variant]) -> int:
    return len({run.startup.engine for side in sides for run in side.pooled})


def _arguments(sides: Sequence[Variant], rules: RuleSet) -> tuple[Difference, ...]:
    return () if _engines(sides) > 1 else flags.differences([_one(side) for side in sides], rules, _commands(sides))


def _environment(sides: Sequence[Variant]) -> tuple[tuple[str, tuple[str | None, ...]], ...]:
    recorded = [[run.environment for run in side.pooled] for side in sides]
    if any(environment is None for environments in recorded for environment in environments):
        return ()
    found = [_most(environment for environment in environments if environment is not None) for environments in recorded]
    names = sorted({name for environment in found for name in environment})
    values = {name: tuple(None if name not in environment else str(environment[name]) for environment in found) for name in names}
    return tuple((name, each) for name, each in values.items() if len(set(each)) > 1)


# --- durations


def _phase(run: Run, name: str) -> Phase | None:
    return next(
        (phase for phase in run.startup.phases if phase.id == name and phase.status == "done" and phase.duration_s is not None), None
    )


def _row(name: str, sides: Sequence[Variant], pairs: Sequence[tuple[Difference, ...]], total: Row, spread: Spread | None) -> Row:
    held = [[phase for run in side.pooled if (phase := _phase(run, name)) is not None] for side in sides]
    samples = tuple(Sample.of(phase.duration_s for phase in phases if phase.duration_s is not None) for phases in held)
    coarse = [max((_resolution(phase) for phase in phases), default=0.0) for phases in held]
    changes = tuple(
        _judged(sides[0], side, samples[0], sample, coarse[0] + grain, spread)
        for side, sample, grain in zip(sides[1:], samples[1:], coarse[1:], strict=True)
    )
    titles = {phase.title for phases in held for phase in phases}
    return Row(
        name,
        min(titles, default=name),
        samples,
        changes,
        tuple(_share(made, whole) for made, whole in zip(changes, total.changes, strict=True)),
        tuple(flags.reasons(found, name) for found in pairs),
        _ranks(held),
    )


def _judged(base: Variant, other: Variant, one: Sample, two: Sample, resolution_s: float, spread: Spread | None) -> Change | None:
    made = change(one, two, resolution_s=resolution_s, spread=spread, thumb=THUMB_PHASE)
    if made is not None and made.basis == "presence" and not (base if made.verdict is Verdict.NEW else other).ready:
        return Change(Verdict.UNCLEAR, None, "presence")  # it never came so far
    return made


def _resolution(phase: Phase) -> float:
    """What the evidence of a duration cannot tell apart: stamps of whole seconds, a bar's own seconds, the engine's hundredths."""
    whole = phase.duration_s is not None and phase.duration_s == int(phase.duration_s)
    return STAMP_S if phase.duration_from == "bar" or (phase.duration_from == "clock" and whole) else FINE_S


def _ranks(held: Sequence[Sequence[Phase]]) -> dict[str, tuple[Sample, ...]]:
    tags = dict.fromkeys(tag for phases in held for phase in phases for tag in phase.ranks)
    return {
        tag: tuple(
            Sample.of(span.duration_s for phase in phases if (span := phase.ranks.get(tag)) is not None and span.duration_s is not None)
            for phases in held
        )
        for tag in tags
    }


def _share(made: Change | None, whole: Change | None) -> float | None:
    if made is None or whole is None or made.delta_s is None or not whole.delta_s:
        return None
    return made.delta_s / whole.delta_s


def _total(sides: Sequence[Variant], spread: Spread | None) -> Row:
    samples = tuple(Sample.of(run.total_s for run in side.pooled if run.total_s is not None) for side in sides)
    changes = tuple(_whole(samples[0], sample, spread) for sample in samples[1:])
    return Row(TOTAL, "Started to ready", samples, changes)


def _whole(base: Sample, other: Sample, spread: Spread | None) -> Change | None:
    """A total that one side does not have is not compared: it is no startup without a total, but one that did not get ready."""
    if not base.n or not other.n:
        return None
    grain = [STAMP_S if all(value == int(value) for value in sample.values) else FINE_S for sample in (base, other)]
    return change(base, other, resolution_s=sum(grain), spread=spread, thumb=THUMB_TOTAL)


def _because(total: Row, rows: Sequence[Row], pairs: Sequence[tuple[Difference, ...]]) -> Row:
    """The total with what explains the phases that changed."""
    reasons = []
    for at in range(len(pairs)):
        changed = [row for row in rows if (made := row.changes[at]) is not None and made.verdict in CHANGED]
        reasons.append(tuple(dict.fromkeys(name for row in changed for name in row.reasons[at])))
    return Row(total.id, total.title, total.samples, total.changes, total.shares, tuple(reasons))


def _gaps(sides: Sequence[Variant], total: Row) -> Row:
    samples = tuple(
        Sample.of(sum(gap.duration_s for gap in run.startup.gaps) for run in side.pooled if run.total_s is not None) for side in sides
    )
    changes = tuple(_whole(samples[0], sample, None) for sample in samples[1:])
    shares = tuple(_share(made, whole) for made, whole in zip(changes, total.changes, strict=True))
    return Row("gaps", "No line names it", samples, changes, shares, tuple(() for _ in changes))


# --- what has to be said


def _otherwise(sides: Sequence[Variant], rules: RuleSet) -> tuple[str, ...]:
    found = []
    if _engines(sides) > 1:
        found.append("another engine")
    if len({*_versions(sides)} - {""}) > 1:
        found.append("another version")
    if len({*_starts(sides)} - {""}) > 1:
        found.append("a cold start")
    return (*found, *flags.unknown(_arguments(sides, rules)))


def _versions(sides: Sequence[Variant]) -> list[str]:
    return [_said(run.startup.version for run in side.pooled) for side in sides]


def _starts(sides: Sequence[Variant]) -> list[str]:
    return [_said(state for state in _states(side) if state is not None) for side in sides]


def _notes(sides: Sequence[Variant], rules: RuleSet) -> list[str]:
    notes = [note for side in sides for note in (*_left_out(side), *_mixed(side, rules))]
    if _engines(sides) > 1:
        notes.append("The variants are of different engines: their arguments are not compared, and their phases only by name.")
    versions = _versions(sides)
    if len({*versions} - {""}) > 1:
        notes.append(f"The engine's versions differ ({_listed(sides, versions)}): that can explain any phase.")
    warmths = _starts(sides)
    if len({*warmths} - {""}) > 1:
        notes.append(f"Cold and warm starts are compared ({_listed(sides, warmths)}): caches can explain loading, compiling and capture.")
    begins = [_said(run.startup.started.source for run in side.pooled) for side in sides]
    if len(set(begins)) > 1:
        notes.append(f"The start is known from different sources ({_listed(sides, begins)}): launch and total are not alike.")
    strange = flags.unknown(_arguments(sides, rules))
    if strange:
        notes.append(f"The rules do not know what {', '.join(strange)} does: it may explain any phase.")
    return notes


def _states(side: Variant) -> list[str | None]:
    pooled = {id(run) for run in side.pooled}
    return [found.state for run, found in zip(side.runs, side.warmths, strict=True) if id(run) in pooled]


def _left_out(side: Variant) -> list[str]:
    seen = {run.source for run in side.runs}
    empty = [source for source in dict.fromkeys(side.sources) if source not in seen]
    notes = [f"{side.name}: no startup is seen in {_some(empty)}."] if empty else []
    unready = [run.source for run in side.runs if run.total_s is None]
    if unready and side.ready:
        notes.append(f"{side.name}: {len(unready)} of {len(side.runs)} startups did not get ready and are left out: {_some(unready)}.")
    elif unready:
        notes.append(f"{side.name}: no startup got ready ({_some(unready)}): only phases that ended are compared, and no total.")
    if side.runs and not any(run.startup.arguments for run in side.pooled):
        notes.append(f"{side.name}: the arguments are not in the log: they are not compared.")
    return notes


def _mixed(side: Variant, rules: RuleSet) -> list[str]:
    notes = []
    states = Counter(state or "not told by the log" for state in _states(side))
    if len(states) > 1:
        told = ", ".join(f"{number} {state}" for state, number in sorted(states.items()))
        notes.append(f"{side.name} pools cold and warm starts ({told}): its median lies between two kinds.")
    arguments = [run.startup.arguments for run in side.pooled]
    inside = flags.differences(arguments, rules) if len(arguments) > 1 and _engines([side]) == 1 else ()
    chosen = [difference.name for difference in inside if difference.kind == CHOSEN and (difference.explains or not difference.known)]
    if chosen:
        notes.append(f"{side.name} pools startups with different {', '.join(chosen)}.")
    return notes


def _said(values: Iterable[str]) -> str:
    return ", ".join(sorted(set(values)))


def _listed(sides: Sequence[Variant], values: Sequence[str]) -> str:
    return "; ".join(f"{side.name}: {value or 'not told'}" for side, value in zip(sides, values, strict=True))


def _some(names: Sequence[str], most: int = 3) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
