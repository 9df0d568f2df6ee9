"""Read phrases that name a time ("last week", "7 May 2023", "summer 2022") as spans of local time.

The phrases are found by patterns, so that an ordinary "may" or "second" is no time; dateutil reads the dates in them
and counts in months. Weeks begin on Monday, seasons are those of the northern half.
"""

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from dateutil import parser
from dateutil.relativedelta import relativedelta

from memoria.vocabulary import Granularity

MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)"
)
FULL_MONTH = r"(?:january|february|march|april|may|june|july|august|september|october|november|december)"
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
WEEKDAY = rf"(?:{'|'.join(WEEKDAYS)})"
YEAR = r"(?:(?:19|20)\d\d)"
SEASON = r"(?:spring|summer|autumn|fall|winter)"
UNIT = r"(?:hour|day|week|month|year)"
NUMBER = (
    r"(?:\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|a couple of|a couple|a few|several)"
)
FEBRUARY, LEAP_DAY = 2, 29
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_ORDINAL = rf"{_DAY}(?:st|nd|rd|th)"
_ORDINAL_ENDING = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b|\bof\b")

_COUNTS = {"a": 1, "an": 1, "a couple of": 2, "a couple": 2, "a few": 3, "several": 4, "one": 1, "two": 2} | {
    word: count
    for count, word in enumerate(
        ("three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"), start=3
    )
}
_SEASON_STARTS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}  # months
_PARTS_OF_DAY = {"morning": (5, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30)}  # hours
_LENGTHS = {
    Granularity.HOUR: relativedelta(hours=1),
    Granularity.DAY: relativedelta(days=1),
    Granularity.WEEK: relativedelta(weeks=1),
    Granularity.MONTH: relativedelta(months=1),
    Granularity.SEASON: relativedelta(months=3),
    Granularity.YEAR: relativedelta(years=1),
}


@dataclass(frozen=True, slots=True)
class Span:
    """Be a half-open stretch of local time, without a zone."""

    start: datetime
    end: datetime
    granularity: Granularity


def whole(moment: datetime, granularity: Granularity) -> Span:
    """Return the hour, day, week, month or year that a moment lies in; of a season, the one that its month begins."""
    start = moment.replace(minute=0, second=0, microsecond=0)
    if granularity is not Granularity.HOUR:
        start = start.replace(hour=0)
    if granularity is Granularity.WEEK:
        start -= timedelta(days=start.weekday())
    if granularity in (Granularity.MONTH, Granularity.SEASON, Granularity.YEAR):
        start = start.replace(day=1)
    if granularity is Granularity.YEAR:
        start = start.replace(month=1)
    return Span(start, start + _LENGTHS[granularity], granularity)


def weekend_of(moment: datetime) -> Span:
    """Return the Saturday and Sunday of the week that a moment lies in."""
    week = whole(moment, Granularity.WEEK)
    return Span(week.start + timedelta(days=WEEKDAYS.index("saturday")), week.end, Granularity.DAY)


def length_of(number: str, unit: str) -> relativedelta:
    """Return how long a number of hours, days, weeks, months or years is."""
    return _LENGTHS[Granularity(unit)] * (int(number) if number.isdecimal() else _COUNTS[number])


def read_point(phrase: str, now: datetime) -> Span | None:
    """Read a phrase that matches `POINT`, as of a local moment. Raises ValueError or OverflowError for no real date."""
    for pattern, reader in _readers():
        if match := pattern.fullmatch(phrase):
            return reader(match, now)
    return None


def _date(match: re.Match[str], now: datetime) -> Span | None:
    """Read a day, a month or a year; one without a year is the latest that has begun."""
    text = _ORDINAL_ENDING.sub(" ", match[0])
    year = re.search(YEAR, text)
    if year and year[0] == text:
        return whole(datetime(int(text), 1, 1), Granularity.YEAR)  # noqa: DTZ001
    rest = text.replace(year[0], "", 1) if year else text
    day_named = re.search(r"\d", rest) is not None
    # A leap year, so that 29 February is a day of it.
    read = parser.parse(text, default=datetime(2000, 1, 1))  # noqa: DTZ001
    if not year:
        if (read.month, read.day) == (FEBRUARY, LEAP_DAY):
            return None
        read = read.replace(year=now.year)
        if read > now:
            read = read.replace(year=now.year - 1)
    return whole(read, Granularity.DAY if day_named else Granularity.MONTH)


def _numeric_date(match: re.Match[str], now: datetime) -> Span | None:
    """Read 13/5/2023, but not 7/5/2023: it is another day on either side of the Atlantic."""
    first, second = int(match["first"]), int(match["second"])
    if max(first, second) <= 12 and first != second:
        return None
    day, month = max(first, second), min(first, second)
    return whole(datetime(int(match["year"]), month, day), Granularity.DAY)  # noqa: DTZ001


def _ago(match: re.Match[str], now: datetime) -> Span:
    return whole(now - length_of(match["number"], match["unit"]), Granularity(match["unit"]))


def _rolling(match: re.Match[str], now: datetime) -> Span:
    """Read "the last three days" as what lies between so long ago and now."""
    named = match.groupdict()
    unit = named["unit"] or "hour"
    return Span(now - length_of(named.get("number", "one"), unit), now, Granularity(unit))


def _day_word(match: re.Match[str], now: datetime) -> Span:
    back = {"today": 0, "yesterday": 1}.get(match[0], 2)
    return whole(now - timedelta(days=back), Granularity.DAY)


def _calendar_unit(match: re.Match[str], now: datetime) -> Span:
    unit = Granularity(match["unit"])
    this = whole(now, unit)
    return this if match["which"] == "this" else whole(this.start - _LENGTHS[unit], unit)


def _before_last(match: re.Match[str], now: datetime) -> Span:
    unit = Granularity(match["unit"])
    return whole(whole(now, unit).start - _LENGTHS[unit] * 2, unit)


def _weekend(match: re.Match[str], now: datetime) -> Span:
    return weekend_of(now if match["which"] == "this" else now - timedelta(days=7))


def _weekday(match: re.Match[str], now: datetime) -> Span:
    """Read a weekday as the latest before today."""
    back = (now.weekday() - WEEKDAYS.index(match["weekday"])) % 7 or 7
    return whole(now - timedelta(days=back), Granularity.DAY)


def _last_month(match: re.Match[str], now: datetime) -> Span | None:
    """Read "last May" as the latest May that is over."""
    return read_point(match["month"], whole(now, Granularity.MONTH).start - timedelta(days=1))


def _season_of_year(match: re.Match[str], now: datetime) -> Span:
    """Read a season of a year; a winter belongs to the year that it begins in."""
    return whole(datetime(int(match["year"]), _SEASON_STARTS[match["season"]], 1), Granularity.SEASON)  # noqa: DTZ001


def _last_season(match: re.Match[str], now: datetime) -> Span:
    """Read "last summer" as the latest that is over, "this summer" as the latest that has begun."""
    first = whole(now, Granularity.YEAR).start.replace(month=_SEASON_STARTS[match["season"]])
    season = whole(first, Granularity.SEASON)
    while (season.start if match["which"] == "this" else season.end) > now:
        first -= _LENGTHS[Granularity.YEAR]
        season = whole(first, Granularity.SEASON)
    return season


def _part_of_day(match: re.Match[str], now: datetime) -> Span:
    tonight = match[0] == "tonight"
    day = whole(now, Granularity.DAY).start - timedelta(days=0 if tonight or match["which"] == "this" else 1)
    first, end = _PARTS_OF_DAY["night" if tonight else match["part"]]
    return Span(day + timedelta(hours=first), day + timedelta(hours=end), Granularity.HOUR)


Reader = Callable[[re.Match[str], datetime], Span | None]

# Times wherever they stand.
_STRONG: Sequence[tuple[str, Reader]] = (
    (rf"{YEAR}-\d\d-\d\d|{YEAR}/\d\d?/\d\d?", _date),
    (rf"(?P<first>\d\d?)[/.](?P<second>\d\d?)[/.](?P<year>{YEAR})", _numeric_date),
    (rf"(?:{_ORDINAL}|{_DAY})(?: of)? {MONTH}\.?,? {YEAR}", _date),
    (rf"{MONTH}\.? (?:{_ORDINAL}|{_DAY})(?:, ?| ){YEAR}", _date),
    (rf"{_ORDINAL}(?: of)? {MONTH}|{MONTH}\.? {_ORDINAL}", _date),
    (rf"{MONTH}\.?,?(?: of)? {YEAR}", _date),
    (rf"(?P<season>{SEASON})(?: of)?,? (?P<year>{YEAR})", _season_of_year),
    (rf"(?P<which>last|past|previous|this) (?P<season>{SEASON})", _last_season),
    (r"(?:the )?day before yesterday|yesterday|today", _day_word),
    (rf"(?P<which>last|this) (?P<part>{'|'.join(_PARTS_OF_DAY)})|tonight", _part_of_day),
    (r"the (?P<unit>week|month|year) before last", _before_last),
    (r"(?P<which>last|past|previous|this) weekend", _weekend),
    (rf"(?:last|past|previous) (?P<number>{NUMBER}) (?P<unit>{UNIT})s?", _rolling),
    (rf"past (?P<unit>{UNIT})|last (?P<hour>hour)", _rolling),
    (r"(?P<which>last|previous|this) (?P<unit>week|month|year)", _calendar_unit),
    (rf"(?:last|previous|this past) (?P<weekday>{WEEKDAY})", _weekday),
    (rf"last (?P<month>{FULL_MONTH})", _last_month),
    (rf"(?P<number>{NUMBER}) (?P<unit>{UNIT})s? ago", _ago),
)
# Times only behind a word such as "in" or "since": they have other meanings, too.
_WEAK: Sequence[tuple[str, Reader]] = (
    (rf"{_DAY}(?: of)? {MONTH}|{MONTH}\.? {_DAY}", _date),
    (FULL_MONTH, _date),
    (rf"(?P<weekday>{WEEKDAY})", _weekday),
    (YEAR, _date),
)


def _joined(patterns: Sequence[tuple[str, Reader]]) -> str:
    """Join patterns into one without named groups, which can stand several times in another."""
    return "(?:" + re.sub(r"\(\?P<\w+>", "(?:", "|".join(pattern for pattern, _ in patterns)) + ")"


STRONG_POINT = _joined(_STRONG)
WEAK_POINT = _joined(_WEAK)
POINT = _joined([*_STRONG, *_WEAK])


@functools.cache
def _readers() -> list[tuple[re.Pattern[str], Reader]]:
    """Compile the patterns when they are first needed."""
    return [(re.compile(pattern), reader) for pattern, reader in [*_STRONG, *_WEAK]]
