"""Stamp -> seconds on the log's own clock, which never runs backwards for long.

A log's stamps are naive local time: without a zone, sometimes without a date or a year. They are read as if they were UTC. A step
back by more than a few seconds that lasts is a clock that was set back (or the end of summer time): later stamps are shifted so
that time goes on. One that does not last is another host's clock in the same file: it is held, not shifted; and where it did last
for some lines, the shift ends when the first host speaks again. What a year or a day was guessed to be is put right by the first stamp
that tells the full date.
"""

from __future__ import annotations

import calendar
import math
import re
from datetime import UTC, datetime

SLACK_S = 2.0  # processes write with a delay, and stamps with and without milliseconds mix
SETTLED = 4  # stamps in a row behind the last one: then the clock was set back
DAY_S = 86400.0
LATE_S = DAY_S / 4  # without a date, a stamp so far back is of the same night, one further back is of the next day
YEARS = range(1970, 2200)  # beyond, it is no stamp
_TIME = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?"
_FORMS = tuple(
    re.compile(form + _TIME)
    for form in (
        r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)[ T]",
        r"(?P<month>\d\d)-(?P<day>\d\d) ",
        r"(?P<name>[A-Z][a-z]{2}) +(?P<day>\d{1,2}) ",
        r"(?P<month>\d\d)(?P<day>\d\d) ",
        r"",
    )
)
_FULL = _FORMS[0]
_MONTHS = {name: number for number, name in enumerate(calendar.month_abbr) if name}
_LEAP_YEAR = 2000  # stands for an unknown year: it has a 29 February, and so has the year after 1999
_MIDSUMMER = 6


class Clock:
    """Reads stamps in the order of the log. `dated` is False when no stamp so far told the full date."""

    def __init__(self, reference: float | None = None) -> None:
        self._reference = reference
        self._cache: tuple[str, float | None] = ("", None)
        self.dated = reference is not None
        self.moved = 0.0  # by how much later everything is than it was said to be before the first full date
        self._guess: tuple[str, float] | None = None  # the newest stamp without a full date, until there was one
        self._sure = False
        self.steps: list[float] = []  # by how much the clock was set back, seconds
        self._given = 0.0  # what was said of the newest stamp
        self._last: float | None = None
        self._before: tuple[float, float] | None = None  # the newest stamp before the clock was set back, and its shift
        self._start()

    def reset(self, *, stamped: bool = False) -> float:
        """A new process begins: what the old one's clock said does not bind it.

        `stamped`: the newest stamp is the new process's first one; then it tells by how much that one was moved for the old one's sake.
        """
        if self._sure:
            self._reference = self._near()
        raw = self._cache[1] if stamped else None
        moved = 0.0 if raw is None else self._given - raw
        self._start()
        self._last = raw
        return moved

    def _start(self) -> None:
        self._offset = 0.0
        self._last = None
        self._behind = 0
        self._first_behind = 0.0
        self._newest = 0.0  # the stamp before, as it stands
        self._before = None
        self._caught = math.inf  # stamps from here on are of the host that leads

    def read(self, stamp: str) -> float | None:
        """Seconds for a stamp, or None when it is none."""
        known, raw = self._cache
        if known != stamp:
            raw = self._raw(stamp)
            self._cache = (stamp, raw)
            if not self._sure and raw is not None:
                self._learn(stamp, raw)
        if raw is None:
            return None
        self._given = self._forward(raw)
        return self._given

    def peek(self, stamp: str) -> float | None:
        """What a stamp says as things stand, without taking note of it."""
        raw = self._raw(stamp)
        return None if raw is None else max(raw + self._offset, raw + self._offset if self._last is None else self._last)

    def _learn(self, stamp: str, raw: float) -> None:
        """The first stamp with a full date tells in which year, or on which day, those before it were."""
        if _FULL.match(stamp) is None:
            self._guess = (stamp, raw)
            return
        self._sure = True
        told = self._raw(self._guess[0], raw) if self._guess else None
        if self._guess is None or told is None:
            return
        self.moved = told - self._guess[1]
        self._last = None if self._last is None else self._last + self.moved
        self._before = None if self._before is None else (self._before[0] + self.moved, self._before[1])
        self._newest += self.moved
        self._first_behind += self.moved
        self._caught += self.moved

    def _raw(self, stamp: str, after: float | None = None) -> float | None:
        """What a stamp says by itself. `after`: the moment of a full date that came after it."""
        for form in _FORMS:
            found = form.match(stamp)
            if found:
                return self._seconds(found.groupdict(), after)
        return None

    def _seconds(self, part: dict[str, str | None], after: float | None) -> float | None:
        hour, minute, second = int(part["hour"] or 0), int(part["minute"] or 0), int(part["second"] or 0)
        if hour > 23 or minute > 59 or second > 60:  # noqa: PLR2004 - a clock, with its leap second
            return None
        seconds = hour * 3600 + minute * 60 + second + float(f"0.{(part.get('fraction') or '0')[:9]}")
        if part.get("day") is None:
            return self._on_day(seconds) if after is None else _day_from(after + SLACK_S - DAY_S, seconds)
        month = _MONTHS.get(part["name"] or "", 0) if part.get("name") else int(part["month"] or 0)
        day = int(part["day"] or 0)
        if not part.get("year"):
            return _in_year(month, day, seconds, self._near() if after is None else after)
        moment = _moment(int(part["year"] or 0), month, day, seconds)
        self.dated = self.dated or moment is not None
        return moment

    def _near(self) -> float | None:
        """Where the clock stood at the stamp before, or the reference."""
        return self._reference if self._last is None else self._last - self._offset

    def _on_day(self, seconds: float) -> float:
        """No date: the day that continues the stamp before; a late line of the evening stays in the evening."""
        near = self._near()
        if near is None:
            return seconds
        earliest = near - (DAY_S - LATE_S if self._last is None else LATE_S)
        return _day_from(earliest, seconds)

    def _forward(self, raw: float) -> float:
        if self._before is not None:
            self._return(raw, *self._before)
        self._newest = raw
        moment = raw + self._offset
        if self._last is None or moment >= self._last - SLACK_S:
            self._behind = 0
            self._caught = math.inf
            self._last = moment if self._last is None else max(self._last, moment)
            return moment
        if raw >= self._caught:
            return self._last
        self._behind += 1
        if self._behind == 1:
            self._first_behind = raw
        if self._behind >= SETTLED:
            self._before = (self._last - self._offset, self._offset)
            self._step(self._before[0] - self._first_behind)
            self._offset = self._last - self._first_behind
            self._behind = 0
            self._last = max(self._last, raw + self._offset)
        return self._last

    def _return(self, raw: float, peak: float, shift: float) -> None:
        """A leap to where the clock was before it was set back: that was another host's clock, and this one needs no shift.

        Until it has caught up with what the other one has counted meanwhile, it is held and no step is seen in it.
        """
        back = self._offset - shift
        if raw >= peak - SLACK_S and raw - self._newest >= max(back - SLACK_S, back / 2):
            self._offset = shift
            self._before = None
            self._behind = 0
            self._caught = peak - SLACK_S

    def _step(self, back: float) -> None:
        """Tell of a step once: hosts that take turns make the same one again and again."""
        if not any(abs(back - known) <= back / 10 + SLACK_S for known in self.steps):
            self.steps.append(back)


def _day_from(earliest: float, seconds: float) -> float:
    """The first time of day `seconds` from a moment on."""
    return seconds + DAY_S * math.ceil((earliest - seconds) / DAY_S)


def _in_year(month: int, day: int, seconds: float, near: float | None) -> float | None:
    """No year: the one that lies nearest to another moment; a 29 February finds a year that has one."""
    if near is None:
        return _moment(_LEAP_YEAR - (month > _MIDSUMMER), month, day, seconds)
    year = datetime.fromtimestamp(near, UTC).year
    fitting = [moment for step in (0, -1, 1, -2, 2, -3, 3, -4, 4) if (moment := _moment(year + step, month, day, seconds)) is not None]
    return min(fitting, key=lambda moment: abs(moment - near), default=None)


def _moment(year: int, month: int, day: int, seconds: float) -> float | None:
    """Seconds of a day that the calendar has."""
    if year not in YEARS or not 1 <= month <= len(_MONTHS) or not 1 <= day <= calendar.monthrange(year, month)[1]:
        return None
    return calendar.timegm((year, month, day, 0, 0, 0)) + seconds
