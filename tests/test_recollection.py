"""What a loop is told of earlier startups, and what it is not kept waiting for."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import logphase
from logphase import rules
from logphase.history import READY, entry, restore
from logphase.live import Watch
from logphase.recall import Recalled, pasts, patience, spreads
from logphase.recollection import Recollection, host, place, spread
from logphase.sources.chunk import Chunk
from logphase.store import Store
from logphase.verdict import State
from tests.conftest import SAMPLE_LOGS
from tests.entries_made import entry as made

if TYPE_CHECKING:
    from pathlib import Path

LOG = SAMPLE_LOGS / "tp2-eagle3.log"
TEXT = LOG.read_bytes()
CUT = TEXT.index(b"Capture target verify")


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOGPHASE_HISTORY", str(tmp_path))
    found = place()
    assert found is not None
    return found


def fill(path: Path, *factors: float) -> None:
    """The sample's startup, and others like it that took longer."""
    startup = logphase.analyze(str(LOG)).startups[-1]
    kept = entry(startup, rules.load("sglang"), now=0.0, host=host())
    assert kept is not None
    with Store(path) as store:
        for number, factor in enumerate(factors):
            phases = tuple(
                replace(one, **{name: (getattr(one, name) or 0.0) * factor for name in ("start_s", "end_s", "duration_s")})
                for one in kept.phases
            )
            total = (kept.total_s or 0) * factor
            store.remember(replace(kept, identity=f"{number}", phases=phases, total_s=total))


def begun() -> logphase.Startup:
    """The sample's startup in the middle."""
    analyzer = logphase.Analyzer()
    analyzer.feed(TEXT[:CUT], None)
    return analyzer.timeline().startups[-1]


def test_what_startups_that_are_alike_took_is_told(path: Path) -> None:
    """The phases in their order, with a value of each startup; nothing before the answer is there."""
    fill(path, 1.0, 1.1)
    said: list[str] = []
    known = Recollection(path, said.append)

    assert {} == known.past(begun())
    known.settle()
    past = known.past(begun())

    assert ["launch", "spawn", "dist-init"] == list(past)[:3]
    assert [2, 2] == [len(past["spawn"].took), len(past["spawn"].after)]
    assert "history" == past["spawn"].source
    assert [] == said


def test_a_store_that_cannot_be_read_is_one_warning(path: Path) -> None:
    """The loop goes on without a history, and the warning comes once."""
    path.write_bytes(b"no database " * 200)
    said: list[str] = []
    known = Recollection(path, said.append)
    for _ in range(3):
        assert {} == known.past(begun())
        known.settle()

    assert 1 == len(said)
    assert "LOGPHASE_HISTORY=off" in said[0]


def test_the_live_view_tells_the_time_left(path: Path) -> None:
    """A frame's estimate reaches to ready, with a range that holds the truth, and says how many startups it rests on."""
    fill(path, 1.0, 1.05, 0.95)
    known = Recollection(path, str)
    watch = Watch(started=0.0, history=known, accept_old=True)
    watch.feed(Chunk(TEXT[:CUT], 10.0, "server.log", live=True))
    watch.tick(10.0)
    known.settle()
    found = watch.tick(10.0).estimate
    startup = logphase.analyze(str(LOG)).startups[-1]
    assert startup.ready is not None
    left = (startup.ready.after_s or 0.0) - (begun().last_line.after_s or 0.0)

    assert found is not None
    assert "ready" == found.scope
    assert found.low_s <= left <= found.high_s
    assert "3 startups" in found.source


def test_a_phase_that_took_long_before_may_be_silent_for_long(path: Path) -> None:
    """History's median and three deviations count over the rules when they are longer; else the rules do; the user counts over both."""
    fill(path, 100.0, 101.0, 99.0)
    states = []
    for stall_after in (None, 900.0):
        known = Recollection(path, str)
        watch = Watch(started=0.0, history=known, accept_old=True, stall_after=stall_after)
        watch.feed(Chunk(TEXT[: TEXT.index(b"Init torch distributed begin")], 10.0, "server.log", live=True))
        watch.tick(10.0)
        known.settle()
        states.append(watch.tick(1000.0).verdict.state)
    watch = Watch(started=0.0, accept_old=True)
    watch.feed(Chunk(TEXT[: TEXT.index(b"Init torch distributed begin")], 10.0, "server.log", live=True))

    assert [State.STARTING, State.STALLED] == states
    assert State.STALLED == watch.tick(1000.0).verdict.state


def test_patience_wants_enough_equal_startups() -> None:
    """Two startups are too few, and near ones do not count."""
    entries = tuple(made(f"{took}", took=took) for took in (30.0, 40.0, 35.0))

    assert 50.0 == patience(Recalled(entries), "weights")
    assert patience(Recalled(entries[:2]), "weights") is None
    assert patience(Recalled(entries, (("host", "a, here b"),)), "weights") is None
    assert patience(Recalled(entries), "download") is None


def test_the_spread_of_phases_does_not_depend_on_order() -> None:
    """Median, median absolute deviation and number, whichever startup came first."""
    entries = [made(f"{took}", took=took) for took in (30.0, 40.0, 35.0, 90.0)]
    found = [spreads(Recalled(order)) for order in itertools.permutations(entries)]

    assert (37.5, 5.0, 4) == found[0]["weights"]
    assert [found[0]] * len(found) == found
    assert [pasts(Recalled(tuple(entries)))["weights"].source] == ["history"]


def test_spread_is_that_of_the_startups_that_are_alike(path: Path) -> None:
    """For comparisons: the spread of each phase in history; nothing without one."""
    assert {} == spread(begun())
    fill(path, 1.0, 1.1, 1.3)
    found = spread(begun())

    assert 3 == found["spawn"][2]
    assert found["spawn"][0] > found["spawn"][1] > 0


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        (("cold", "warm"), None, 65.0),
        (("cold", "warm"), "cold", 50.0),
        (("cold",), "warm", 50.0 * 0.57),
        (("warm",), "cold", 65.0 / 0.57),
        (("cold",), None, 50.0 * 0.57**0.5),
        (("cold", "cold"), None, 50.0),
    ],
)
def test_cold_and_warm_are_never_pooled(before: tuple[str, ...], now: str | None, expected: float) -> None:
    """Startups with the same caches count; without one the other kind is put right, and unsure; unknown is taken for warm."""
    times = {"cold": 50.0, "warm": 65.0}
    entries = tuple(made(f"{at}-{kind}", replace(made().likeness, warmth=kind), took=times[kind]) for at, kind in enumerate(before))
    past = pasts(Recalled(entries, warmth=now))["spawn"]

    assert expected == pytest.approx(sum(past.after) / len(past.after))
    assert (now is not None and now not in before) or (now is None and before == ("cold",)) == (past.unsure > 0)


def test_an_entry_is_a_startup_again() -> None:
    """What is kept comes back as a startup, whole or as it was on its way."""
    whole = restore(made(took=30.0))
    half = restore(made(took=30.0), 35.0)

    assert whole.ready is not None
    assert (50.0, ["done"] * 3, READY) == (whole.ready.after_s, [phase.status for phase in whole.phases], "ready")
    assert ("weights", None, ["done", "done", "open"]) == (half.current, half.ready, [phase.status for phase in half.phases])
    assert half.phases[2].progress is not None
    assert (5, 10) == (half.phases[2].progress.done, half.phases[2].progress.total)
    assert {"TP0": 29.0, "TP1": 30.0} == {rank: span.duration_s for rank, span in whole.phases[2].ranks.items()}
