"""Compute when something recurs: by an ISO 8601 duration, or by a recurrence rule of RFC 5545.

Days and longer are counted by the calendar of a time zone: every day at nine stays at nine when clocks change. A time
that a change leaves out comes that much later (as RFC 5545 has it), one that a change repeats comes the first time.
Hours and shorter are counted by elapsed time. The rules that are taken are those that come at most once a day and come
again within years, so that the next occurrence is found in bounded time.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from dateutil.relativedelta import relativedelta
from dateutil.rrule import rrule, rrulestr

from memoria.errors import InvalidInputError
from memoria.vocabulary import MAX_EVERY_CHARACTERS, MAX_EVERY_YEARS, MIN_EVERY_SECONDS

EVERY = "trigger.every"
DURATION = re.compile(
    r"P(?=\d|T\d)(?:(?P<years>\d{1,3})Y)?(?:(?P<months>\d{1,4})M)?(?:(?P<weeks>\d{1,4})W)?(?:(?P<days>\d{1,5})D)?"
    r"(?:T(?=\d)(?:(?P<hours>\d{1,6})H)?(?:(?P<minutes>\d{1,8})M)?(?:(?P<seconds>\d{1,10})S)?)?",
    re.ASCII,
)
YEAR = timedelta(days=366)
DAYS_OF = {"DAILY": 1, "WEEKLY": 7}
LONGEST_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

# What each part of a rule may say. The time of day is that of the first occurrence.
_WEEKDAY = "(?:MO|TU|WE|TH|FR|SA|SU)"
_NUMBERED = rf"(?:[+-]?[1-5])?{_WEEKDAY}"
_MONTHDAY = "[+-]?(?:[1-9]|[12][0-9]|3[01])"
_ENDS = {"COUNT": "[1-9][0-9]{0,3}", "UNTIL": r"[0-9]{8}T[0-9]{6}Z"}
_INTERVAL = {"INTERVAL": "[1-9][0-9]?"}
# By frequency. No other combination is taken: some never come, which the library finds out in the year 9999.
PARTS: dict[str, dict[str, str]] = {
    "DAILY": _ENDS | _INTERVAL | {"BYDAY": f"{_WEEKDAY}(?:,{_WEEKDAY})*"},
    "WEEKLY": _ENDS | _INTERVAL | {"BYDAY": f"{_WEEKDAY}(?:,{_WEEKDAY})*", "WKST": _WEEKDAY},
    "MONTHLY": _ENDS
    | _INTERVAL
    | {"BYDAY": f"{_NUMBERED}(?:,{_NUMBERED})*", "BYMONTHDAY": f"{_MONTHDAY}(?:,{_MONTHDAY})*", "BYSETPOS": "-?[1-5]"},
    "YEARLY": _ENDS
    | _INTERVAL
    | {
        "BYMONTH": "(?:[1-9]|1[0-2])(?:,(?:[1-9]|1[0-2]))*",
        "BYMONTHDAY": f"{_MONTHDAY}(?:,{_MONTHDAY})*",
        "BYDAY": f"{_NUMBERED}(?:,{_NUMBERED})*",
    },
}


@dataclass(frozen=True, slots=True)
class _Period:
    """Be a duration: what the calendar counts, and what the clock counts."""

    calendar: relativedelta
    clock: timedelta


def check_every(at: datetime, every: str, time_zone: str) -> str:
    """Return what says how something recurs, in upper case. Raises InvalidInputError."""
    text = every.strip().upper().removeprefix("RRULE:")
    if len(text) > MAX_EVERY_CHARACTERS:
        raise _wrong(f"is longer than {MAX_EVERY_CHARACTERS} characters")
    if text.startswith("P"):
        _check_period(_parse_period(text))
    else:
        _check_rule(text)
    try:
        first = occurrence_from(at, text, time_zone, at)
    except ValueError as error:
        raise _wrong("names a day that no calendar has") from error
    if first is None:
        raise _wrong("never comes")
    return text


def occurrence_from(at: datetime, every: str, time_zone: str, moment: datetime) -> datetime | None:
    """Return the first occurrence at or after a moment, in UTC; None when there is none.

    `at` begins the recurrence, `every` is one that `check_every` has returned.
    """
    zone = ZoneInfo(time_zone)
    if every.startswith("P"):
        return _first_nth(_nth(at, zone, _parse_period(every)), moment)
    found = _first_of_rule(at.astimezone(zone), dict(piece.split("=", 1) for piece in every.split(";")), moment)
    return None if found is None else found.astimezone(UTC)


def _first_of_rule(start: datetime, parts: Mapping[str, str], moment: datetime) -> datetime | None:
    begin = start if "COUNT" in parts else _nearer(start, parts, moment)
    rule = rrulestr(";".join(f"{name}={value}" for name, value in parts.items()), dtstart=begin)
    if not isinstance(rule, rrule):
        raise _wrong("must be one rule")
    found: datetime | None = rule.after(moment, inc=True)
    return found


def _nearer(start: datetime, parts: Mapping[str, str], moment: datetime) -> datetime:
    """Let a rule of days or weeks begin shortly before a moment, whole intervals later: the rest needs no count."""
    days = DAYS_OF.get(parts["FREQ"], 0) * int(parts.get("INTERVAL", 1))
    if not days:
        return start
    passed = (moment.astimezone(start.tzinfo).date() - start.date()).days // days - 1
    return start + timedelta(days=passed * days) if passed > 0 else start


def _parse_period(text: str) -> _Period:
    match = DURATION.fullmatch(text)
    if match is None:
        raise _wrong("must be an ISO 8601 duration such as P1D or PT12H, or a rule such as FREQ=WEEKLY;BYDAY=MO,TH")
    part = {name: int(digits or 0) for name, digits in match.groupdict().items()}
    calendar = relativedelta(years=part["years"], months=part["months"], weeks=part["weeks"], days=part["days"])
    return _Period(calendar, timedelta(hours=part["hours"], minutes=part["minutes"], seconds=part["seconds"]))


def _check_period(period: _Period) -> None:
    middle = datetime(2000, 1, 1, tzinfo=UTC)
    try:
        length = middle + period.calendar + period.clock - middle
    except (OverflowError, ValueError):
        length = timedelta.max
    if not timedelta(seconds=MIN_EVERY_SECONDS) <= length <= MAX_EVERY_YEARS * YEAR:
        raise _wrong(f"must be at least {MIN_EVERY_SECONDS} seconds and at most {MAX_EVERY_YEARS} years")


def _check_rule(text: str) -> None:
    """Take the rules that are known to come again, each part once."""
    pairs = [piece.partition("=")[::2] for piece in text.split(";")]
    parts = dict(pairs)
    known = PARTS.get(parts.pop("FREQ", ""))
    if known is None or len(parts) != len(pairs) - 1:
        raise _wrong(f"must be a duration such as P1D, or a rule that begins with FREQ and one of {', '.join(PARTS)}")
    for name, value in parts.items():
        if name not in known or not re.fullmatch(known[name], value):
            raise _wrong(f"cannot say {name[:20]}={value[:50]} here")
    days, months = parts.get("BYMONTHDAY", "1"), parts.get("BYMONTH", "1")
    if min(abs(int(day)) for day in days.split(",")) > max(
        LONGEST_MONTH[int(month) - 1] for month in months.split(",")
    ):
        raise _wrong("never comes")
    if "FREQ=DAILY" in text and parts.keys() >= {"INTERVAL", "BYDAY"}:
        raise _wrong("with FREQ=DAILY can have INTERVAL or BYDAY, not both")
    plain = re.fullmatch(PARTS["WEEKLY"]["BYDAY"], parts.get("BYDAY", "MO"))
    if "BYMONTHDAY" in parts and ("BYSETPOS" in parts or not plain):
        raise _wrong("with BYMONTHDAY can have weekdays without numbers, and no BYSETPOS")
    if "BYSETPOS" in parts and not re.fullmatch(PARTS["WEEKLY"]["BYDAY"], parts.get("BYDAY", "")):
        raise _wrong("with BYSETPOS needs a BYDAY without numbers")


def _nth(at: datetime, zone: ZoneInfo, period: _Period) -> Callable[[int], datetime]:
    """Make the function that computes the occurrence of a number, from 0; it raises where the calendar ends."""
    begin = at.astimezone(zone)
    wall = begin.replace(tzinfo=None)

    def occurrence(number: int) -> datetime:
        local = (wall + period.calendar * number).replace(tzinfo=zone, fold=begin.fold)
        return local.astimezone(UTC) + period.clock * number

    return occurrence


def _first_nth(nth: Callable[[int], datetime], moment: datetime) -> datetime | None:
    """Find the first of rising moments that is not before `moment`, by halving."""

    def is_late(number: int) -> bool:
        try:
            return nth(number) >= moment
        except (OverflowError, ValueError):
            return True

    high = 1
    if is_late(0):
        return nth(0)
    while not is_late(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_late(middle) else (middle, high)
    try:
        return nth(high)
    except (OverflowError, ValueError):
        return None  # after the year 9999


def _wrong(what: str) -> InvalidInputError:
    return InvalidInputError(f"`{EVERY}` {what}.", field=EVERY)
