"""Stamps to seconds: time goes on, whatever the machine's clock does."""

from __future__ import annotations

import calendar
import itertools
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logphase.clock import SETTLED, SLACK_S, Clock


def seconds(*moment: int) -> float:
    """Seconds of a moment, read as UTC."""
    return float(calendar.timegm((*moment, 0, 0, 0)[:6]))


def read(stamps: str, reference: float | None = None) -> list[float]:
    """What a clock says to stamps that stand between `|`."""
    clock = Clock(reference)
    found = [clock.read(stamp) for stamp in stamps.split("|")]
    assert None not in found
    return [moment for moment in found if moment is not None]


def stamp(moment: float, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    return datetime.fromtimestamp(moment, UTC).strftime(form)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-30 01:37:38", seconds(2026, 11, 30, 1, 37, 38)),
        ("2026-11-30 01:37:38.417", seconds(2026, 11, 30, 1, 37, 38) + 0.417),
        ("2026-11-30 01:37:38,417", seconds(2026, 11, 30, 1, 37, 38) + 0.417),
        ("2026-11-30T01:37:38.673951081Z", seconds(2026, 11, 30, 1, 37, 38) + 0.673951081),
        ("2026-11-30T01:37:38+0100", seconds(2026, 11, 30, 1, 37, 38)),
        ("2024-02-29 12:00:00", seconds(2024, 2, 29, 12)),
        ("02-29 12:00:00", seconds(2000, 2, 29, 12)),
        ("Feb 29 12:00:00", seconds(2000, 2, 29, 12)),
        ("Feb  9 12:00:00", seconds(2000, 2, 9, 12)),
        ("0229 12:00:00.5", seconds(2000, 2, 29, 12) + 0.5),
        ("12:00:00", 43200.0),
        ("12:00:00.25", 43200.25),
    ],
)
def test_forms(text: str, expected: float) -> None:
    """Each form of a stamp is read, with and without a fraction."""
    assert expected == pytest.approx(Clock().read(text) or 0.0, abs=1e-6)


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "2026-13-30 01:37:38", "2026-00-30 01:37:38", "2026-11-31 01:37:38", "2026-02-29 01:00:00", "2026-11-30 25:37:38",
     "2026-11-30 01:60:38", "0000-11-30 01:37:38", "9999-12-31 23:59:59", "Foo 12 01:02:03", "99:99:99", "02-31 01:02:03",
     "02-30 01:02:03"],
)  # fmt: skip
def test_no_stamp(text: str) -> None:
    """What is no moment gives none, and does not bind what follows."""
    clock = Clock()

    assert clock.read(text) is None
    assert seconds(2026, 11, 30, 1, 37, 38) == clock.read("2026-11-30 01:37:38")


def test_milliseconds_and_none_mixed() -> None:
    """A stamp without fraction behind one with is up to a second older and no step back."""
    found = read("2026-01-01 00:00:01.900|2026-01-01 00:00:01|2026-01-01 00:00:02.100|2026-01-01 00:00:02")
    clock_steps = Clock()
    for text in ("2026-01-01 00:00:01.900", "2026-01-01 00:00:01", "2026-01-01 00:00:01", "2026-01-01 00:00:01", "2026-01-01 00:00:01"):
        clock_steps.read(text)

    start = seconds(2026, 1, 1)
    assert [1.9, 1.0, 2.1, 2.0] == [round(moment - start, 3) for moment in found]
    assert [] == clock_steps.steps


def test_dated() -> None:
    """Only a stamp with a year tells the full date."""
    clock = Clock()
    clock.read("12:00:00")
    assert not clock.dated
    clock.read("02-29 12:00:00")
    assert not clock.dated
    clock.read("2026-01-01 12:00:00")
    assert clock.dated
    assert Clock(reference=0.0).dated


def test_midnight_without_a_date() -> None:
    """After 23:59:59 comes the next day."""
    assert [86398.0, 86399.5, 86401.0, 90000.0] == read("23:59:58|23:59:59.5|00:00:01|01:00:00")


def test_midnight_with_a_late_line() -> None:
    """What another process wrote just before midnight comes just after it: no day is added or lost."""
    assert [86399.0, 86400.0, 86399.0, 86401.0, 86401.0] == read("23:59:59|00:00:00|23:59:59|00:00:01|00:00:01")


def test_two_midnights() -> None:
    """The second night counts too."""
    assert [0.0, 12.0, 20.0, 28.0, 40.0, 48.0] == [
        (moment - 43200) / 3600 for moment in read("12:00:00|00:00:00|08:00:00|16:00:00|04:00:00|12:00:00")
    ]


def test_a_reference_completes_the_day() -> None:
    """Without a date the stamp lies in the day before the reference, also where midnight is between."""
    end = seconds(2026, 3, 1, 0, 20)

    assert [seconds(2026, 2, 28, 23, 50), seconds(2026, 3, 1, 0, 10)] == read("23:50:00|00:10:00", end)
    assert [seconds(2026, 3, 1, 9)] == read("09:00:00", seconds(2026, 3, 1, 23))


def test_new_year_without_a_year() -> None:
    """After 31 December comes 1 January of the next year."""
    start = seconds(2000, 12, 31, 23, 59, 58)
    found = read("12-31 23:59:58|12-31 23:59:59|01-01 00:00:01|01-01 00:00:02|Jan  1 00:00:03")

    assert [0.0, 1.0, 3.0, 4.0, 5.0] == [moment - found[0] for moment in found]
    assert start % 86400 == found[0] % 86400


def test_new_year_with_a_late_line() -> None:
    """A line of the old year behind one of the new year does not lead a year ahead."""
    found = read("12-31 23:59:59|01-01 00:00:00|12-31 23:59:59|01-01 00:00:01")

    assert [0.0, 1.0, 0.0, 2.0] == [moment - found[0] for moment in found]


def test_new_year_before_the_reference() -> None:
    """The reference's year is the last stamp's, so the first stamps are of the year before."""
    found = read("12-31 23:59:58|12-31 23:59:59|01-01 00:00:01|01-02 00:00:00", seconds(2026, 1, 2, 1))

    assert [
        seconds(2025, 12, 31, 23, 59, 58),
        seconds(2025, 12, 31, 23, 59, 59),
        seconds(2026, 1, 1, 0, 0, 1),
        seconds(2026, 1, 2),
    ] == found


@pytest.mark.parametrize("reference", [None, seconds(2024, 3, 1, 12), seconds(2024, 2, 29, 12)])
def test_leap_day_without_a_year(reference: float | None) -> None:
    """29 February is a day between 28 February and 1 March."""
    found = read("02-28 23:59:59|02-29 00:00:00|02-29 23:59:59|03-01 00:00:00", reference)

    assert [0.0, 1.0, 86400.0, 86401.0] == [moment - found[0] for moment in found]


def test_leap_day_after_new_year() -> None:
    """It is one too in a log that began in the year before."""
    found = read("12-31 23:59:59|01-01 00:00:00|01-31 00:00:00|02-28 23:59:59|02-29 00:00:00|03-01 00:00:00")

    assert 86400.0 == found[-1] - found[-2]
    assert 1.0 == found[-2] - found[-3]


def test_summer_time_ends() -> None:
    """At 03:00 the clock is set to 02:00: time goes on, and the step is told once."""
    clock = Clock()
    start = seconds(2026, 10, 25, 2, 59, 50)
    before = [clock.read(stamp(start + second)) for second in range(10)]
    after = [clock.read(stamp(start - 3600 + second)) for second in range(10, 60)]
    assert None not in before + after
    found = [moment for moment in before + after if moment is not None]

    assert found == sorted(found)
    assert [3599.0] == clock.steps
    assert 45 <= found[-1] - found[0] <= 60
    assert 20.0 == found[-1] - found[-21]


def test_a_clock_set_back_in_silence() -> None:
    """A single line behind the step and then the old pace: the step is seen, no duration is negative."""
    found = read("|".join(["2026-01-01 10:00:00"] + [f"2026-01-01 09:00:{second:02}" for second in range(0, 60, 5)]))

    assert found == sorted(found)
    assert 5.0 == found[-1] - found[-2]


def test_another_hosts_clock_in_between() -> None:
    """Single lines of a host whose clock is behind are held, and nothing is shifted."""
    clock = Clock()
    start = seconds(2026, 1, 1)
    found = []
    for second in range(200):
        found.append(clock.read(stamp(start + second)))
        clock.read(stamp(start + second - 100))

    assert [start + second for second in range(200)] == found
    assert [] == clock.steps


@pytest.mark.parametrize("behind", [10, 100, 3600])
def test_another_hosts_bursts(behind: int) -> None:
    """Bursts of a host whose clock is behind do not add up: at the end the first host's time is what it says."""
    clock = Clock()
    start = seconds(2026, 1, 1)
    found = []
    for second in range(0, 300, 10):
        found += [clock.read(stamp(start + second + 1 + step)) for step in range(6)]
        found += [clock.read(stamp(start + second + 2 + step - behind)) for step in range(6)]

    last = found[-7]
    assert last is not None
    assert start + 296 == pytest.approx(last, abs=SLACK_S)
    assert len(clock.steps) <= 2


def test_another_launch_starts_afresh() -> None:
    """What the old process's clock said does not bind the new one."""
    clock = Clock()
    clock.read("2026-01-01 10:00:00")

    assert 0.0 == clock.reset()
    assert seconds(2026, 1, 1, 9) == clock.read("2026-01-01 09:00:00")
    assert seconds(2026, 1, 1, 9, 0, 1) == clock.read("2026-01-01 09:00:01")
    assert [] == clock.steps


def test_the_stamp_that_begins_a_launch() -> None:
    """The stamp with which a new process begins is known as such only after it was read: then it tells how far it was moved."""
    clock = Clock()
    clock.read("2026-01-01 10:00:00")

    assert seconds(2026, 1, 1, 10) == clock.read("2026-01-01 09:00:00")
    assert 3600.0 == clock.reset(stamped=True)
    assert seconds(2026, 1, 1, 9, 0, 1) == clock.read("2026-01-01 09:00:01")


@given(steps=st.lists(st.integers(-4000, 4000), min_size=1, max_size=60))
@settings(max_examples=200, deadline=None)
def test_never_far_back(steps: list[int]) -> None:
    """Whatever the stamps say, time never runs backwards by more than the slack."""
    clock = Clock()
    moment = seconds(2026, 6, 1)
    last = None
    for step in steps:
        moment += step
        found = clock.read(stamp(moment))
        assert found is not None
        assert last is None or found >= last - SLACK_S
        last = found if last is None else max(last, found)


@given(back=st.integers(10, 90000), pace=st.integers(0, 30))
@settings(max_examples=100, deadline=None)
def test_after_a_step_back_the_pace_is_kept(back: int, pace: int) -> None:
    """Once the step is settled, durations are those of the stamps."""
    clock = Clock()
    start = seconds(2026, 6, 1)
    clock.read(stamp(start))
    found = [clock.read(stamp(start - back - 1000 + index * pace)) for index in range(SETTLED + 20)]
    assert None not in found
    settled = [moment for moment in found[SETTLED - 1 :] if moment is not None]

    assert [pace] * (len(settled) - 1) == [round(after - before) for before, after in itertools.pairwise(settled)]
    assert settled[0] >= start


@pytest.mark.parametrize(
    ("stamps", "reference", "began"),
    [
        ("11-26 14:23:34|2024-11-26 14:25:58", seconds(2026, 11, 30), seconds(2024, 11, 26, 14, 23, 34)),
        ("11-26 14:23:34|2024-11-26 14:25:58", None, seconds(2024, 11, 26, 14, 23, 34)),
        ("12-31 23:59:50|2025-01-01 00:00:05", seconds(2026, 6, 1), seconds(2024, 12, 31, 23, 59, 50)),
        ("Feb 29 23:59:50|2024-03-01 00:00:05", seconds(2026, 6, 1), seconds(2024, 2, 29, 23, 59, 50)),
        ("23:59:50|2025-01-01 00:00:05", seconds(2026, 6, 1), seconds(2024, 12, 31, 23, 59, 50)),
        ("08:00:00|2025-01-01 21:00:00", None, seconds(2025, 1, 1, 8)),
        ("14:00:01|2025-01-01 14:00:00", None, seconds(2025, 1, 1, 14, 0, 1)),
        ("2025-01-01 14:00:00|01-01 14:00:01", None, seconds(2025, 1, 1, 14)),
        ("11-26 14:23:34|11-26 14:23:35|2026-11-26 14:25:58", seconds(2026, 11, 30), seconds(2026, 11, 26, 14, 23, 34)),
    ],
)
def test_a_full_date_tells_the_year_of_what_came_before(stamps: str, reference: float | None, began: float) -> None:
    """What was guessed before the first full date is moved to where that date puts it."""
    clock = Clock(reference)
    first, *more = [clock.read(text) for text in stamps.split("|")]

    assert first is not None
    assert began == first + clock.moved
    assert all(moment is not None and moment >= began - SLACK_S for moment in more[-1:])


def test_a_full_date_is_kept_for_the_next_launch() -> None:
    """A launch whose stamps have no year is read near the last full date, not near the file's own."""
    clock = Clock(seconds(2026, 6, 1))
    clock.read("2024-12-31 23:59:50")
    clock.reset()

    assert seconds(2025, 1, 1, 0, 0, 20) == clock.read("01-01 00:00:20")


def test_time_goes_on_across_a_full_date() -> None:
    """Stamps without and with a full date may take turns: what passes between them is what their times say."""
    clock = Clock(seconds(2026, 6, 1))
    moments = [clock.read(text) for text in ("12-31 23:59:50", "2025-01-01 00:00:05", "01-01 00:00:06", "00:00:07")]
    moments[0] = (moments[0] or 0.0) + clock.moved

    assert [0.0, 15.0, 16.0, 17.0] == [(moment or 0.0) - moments[0] for moment in moments]
