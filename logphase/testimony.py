"""Verdict and what was seen beside the log -> Verdict: a witness's word, and what it weighs.

Law of this file: pure values. Who is asked, and how, is in `witness`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from logphase.timeline import WITNESS, Evidence
from logphase.verdict import State, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

ENDED = frozenset({State.CRASHED, State.NEVER_STARTED, State.STOPPED})


class Says(StrEnum):
    """What a witness can say."""

    LIVES = "lives"  # this launch's process runs since before the deciding line: an old verdict is its own
    BUSY = "busy"  # it works although the log is silent: no stall
    READY = "ready"  # inference worked
    GONE = "gone"  # the server's process is no more, whatever the log says
    NOTE = "note"  # a finding to be shown; decides nothing


@dataclass(frozen=True, slots=True)
class Testimony:
    """What a witness beside the log has seen, in a sentence for a person."""

    witness: str
    says: Says
    text: str


def weigh(verdict: Verdict, testimony: Sequence[Testimony]) -> Verdict:
    """A verdict of the log with what was seen beside it; where they disagree about the end, the world is believed, and said to be."""
    decisive = {one.says: one for one in reversed(testimony)}
    evidence = tuple(Evidence(f"{WITNESS}{one.witness}", 0, None, one.text) for one in testimony if one.says is not Says.NOTE)
    gone, ready, busy = (decisive.get(says) for says in (Says.GONE, Says.READY, Says.BUSY))
    evidence = (*verdict.evidence, *evidence)
    if gone is not None and verdict.state not in ENDED:
        state = State.NEVER_STARTED if verdict.state is State.UNSEEN else State.CRASHED
        before = {State.READY: "Was ready, then crashed", State.UNSEEN: "Never started"}.get(verdict.state, "Crashed")
        return replace(verdict, state=state, summary=f"{before}: {gone.text}", evidence=evidence, stall=None)
    if ready is not None and verdict.state in (State.STARTING, State.STALLED, State.UNSEEN):
        return replace(verdict, state=State.READY, phase="serving", summary=f"Ready: {ready.text}", evidence=evidence, stall=None)
    if busy is not None and verdict.state is State.STALLED:
        return replace(verdict, state=State.STARTING, summary=f"Starting: {busy.text}", evidence=evidence, stall=None)
    return replace(verdict, evidence=evidence)
