"""Variants of startups -> Comparison: which arguments differ, what that did to each phase, and whether the difference is real.

Law of this file: only startups that got ready are pooled where there are any; what is left out, mixed or not comparable is said in the
notes. A reason is a chosen argument that can explain the phase; without one it is noise or the machine. Times in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from logphase import flags
from logphase.reservations import otherwise, reservations
from logphase.rules import load
from logphase.samples import THUMB_PHASE, THUMB_TOTAL, Change, Sample, Verdict, change
from logphase.sides import Variant, arguments_of, commands_of, engines_of, environment_of
from logphase.warmth import warmth

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from logphase.flags import Difference
    from logphase.rules import RuleSet
    from logphase.samples import Spread
    from logphase.sides import Run
    from logphase.timeline import Phase

TOTAL = "total"
AFTER_READY = frozenset({"serving", "shutdown"})
STAMP_S = 1.0  # what a whole-second stamp or bar cannot tell
FINE_S = 0.02  # what the engine's own figures cannot
CHANGED = frozenset({Verdict.SLOWER, Verdict.FASTER, Verdict.GONE, Verdict.NEW})


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
    arguments = [arguments_of(side) for side in sides]
    alike = engines_of(sides) <= 1
    commands = commands_of(sides)
    pairs = [_pair(arguments, commands, at, rules) if alike else () for at in range(1, len(sides))]
    differing = flags.differences(arguments, rules, commands) if alike else ()
    known = dict(spread or {})
    total = _total(sides, known.get(TOTAL))
    rows = [_row(name, sides, pairs, total, known.get(name)) for name in _order(sides)]
    return Comparison(
        engine=engine,
        variants=sides,
        arguments=differing,
        environment=environment_of(sides),
        phases=tuple(rows),
        gaps=_gaps(sides, total),
        total=_because(total, rows, pairs),
        notes=tuple(dict.fromkeys((*notes, *reservations(sides, differing, rules)))),
        otherwise=otherwise(sides, differing),
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


def _pair(
    arguments: Sequence[Mapping[str, object]], commands: Sequence[Sequence[str]] | None, at: int, rules: RuleSet
) -> tuple[Difference, ...]:
    """What differs between the baseline and another variant."""
    return flags.differences([arguments[0], arguments[at]], rules, commands and [commands[0], commands[at]])


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
