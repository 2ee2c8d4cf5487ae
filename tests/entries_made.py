"""Entries of a history, made: a startup of three phases that takes as long as a test says."""

from __future__ import annotations

from logphase.history import Entry, Kept
from logphase.likeness import Likeness

ALIKE = Likeness("sglang", "/models/a", "0.5.15", {"tp_size": 2}, {"attention_backend": "fa3"}, "node-1", "warm")


def entry(
    name: str = "one", likeness: Likeness = ALIKE, *, took: float = 30.0, state: str = "ready", started: float | None = 1_000_000.0
) -> Entry:
    """A startup: 2 s of launch, 18 s of spawn, then weights for `took` seconds, on two ranks and with a bar."""
    total = 20.0 + took
    curve = tuple((took * done / 10, done) for done in range(11))
    phases = (
        Kept("launch", "Launch", "done", 0.0, 2.0, 2.0, {}),
        Kept("spawn", "Start scheduler processes", "done", 2.0, 20.0, 18.0, {}),
        Kept("weights", "Load weights", "done", 20.0, total, took, {"TP0": took - 1, "TP1": took}, curve, 10, "shards"),
    )
    failed = "weights" if state == "failed" else None
    arguments = {"model_path": likeness.model, "tp_size": 2}
    return Entry(0, name, 1_700_000_000.0, started, "server.log", state, total, failed, likeness, arguments, ("TP0", "TP1"), phases)
