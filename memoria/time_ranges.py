"""Read the time that a question names: "last week", "in May 2023", "on 7 May", "two months ago", "since March".

Pure: the moment at which the question is asked and its time zone are parameters. The phrases are found here, so that an
ordinary `may` or `march` is no month; the dates in them are read by dateutil. A question without a word of time costs
one search of a regular expression.
"""

import re
from datetime import UTC, datetime, timedelta, tzinfo

import numpy as np
import numpy.typing as npt
from dateutil import parser
from dateutil.relativedelta import relativedelta

from memoria.records import TimeRange

FEBRUARY, LEAP_DAY = 2, 29

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_YEAR = r"(?:19|20)\d\d"
_DATE = (
    rf"(?:\d{{4}}-\d\d(?:-\d\d)?|{_DAY}(?:\s+of)?\s+{_MONTH}\b\.?(?:,?\s+{_YEAR})?"
    rf"|{_MONTH}\b\.?\s+{_DAY}\b(?:,?\s+{_YEAR})?|{_MONTH}\b\.?,?\s+{_YEAR})"
)
_LOOSE = rf"(?:{_DATE}|{_MONTH}\b|{_YEAR}\b)"  # only after a preposition of time
_COUNT = r"(?:\d{1,3}|(?:a )?couple of|(?:a )?few|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_UNIT = r"(?:day|week|month|year)s?"
_NAMED = (
    r"(?:day|week|weekend|month|year|spring|summer|autumn|fall|winter|night"
    r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
)

_PHRASE = re.compile(
    rf"\b(?:between|from)\s+(?P<first>{_LOOSE})\s+(?:and|to|until|till)\s+(?P<last>{_LOOSE})"
    rf"|\b(?P<open>since|after|until|till|before)\s+(?P<bound>{_LOOSE})"
    rf"|\b(?:in|within|over|during)\s+the\s+(?:last|past)\s+(?P<span>{_COUNT})\s+(?P<span_unit>{_UNIT})"
    rf"|\b(?P<count>{_COUNT})\s+(?P<unit>{_UNIT})\s+ago\b"
    rf"|\b(?P<which>last|this|past|previous)\s+(?P<named>{_NAMED})\b"
    rf"|\b(?P<word>today|yesterday|tonight|the day before yesterday)\b"
    rf"|\b(?:in|during|of)\s+(?P<within>{_LOOSE})"
    rf"|\b(?:on\s+)?(?P<date>{_DATE})"
    r"|(?P<hebrew>אתמול|היום|שלשום|בשבוע שעבר|בחודש שעבר|בשנה שעברה)",
    re.IGNORECASE,
)
_GATE = re.compile(
    rf"\d|\b(?:ago|last|past|previous|this|today|yesterday|tonight|since|{_MONTH})\b|אתמול|היום|שלשום|שעבר",
    re.IGNORECASE,
)
_NUMBERS = {
    **dict(
        zip(
            ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"],
            range(1, 13),
            strict=True,
        )
    ),
    "a": 1,
    "an": 1,
    "couple of": 2,
    "a couple of": 2,
    "few": 3,
    "a few": 3,
}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}  # of the northern half: their first months
_HEBREW = {
    "היום": "today",
    "אתמול": "yesterday",
    "שלשום": "the day before yesterday",
    "בשבוע שעבר": "last week",
    "בחודש שעבר": "last month",
    "בשנה שעברה": "last year",
}
_DAYS_BACK = {"today": 0, "tonight": 0, "yesterday": 1, "the day before yesterday": 2}
_STEPS = {
    "day": relativedelta(days=1),
    "week": relativedelta(weeks=1),
    "month": relativedelta(months=1),
    "year": relativedelta(years=1),
}


def find_time_range(query: str, now: datetime, zone: tzinfo) -> TimeRange | None:
    """Read the first time that a query names, as of `now` in `zone`; None where it names none."""
    if not _GATE.search(query):
        return None
    here = now.astimezone(zone)
    for match in _PHRASE.finditer(query):
        found = _read(match, here)
        if found is not None:
            start, end = found
            return TimeRange(_utc(start), _utc(end), match.group(0).strip())
    return None


def within(moments: npt.NDArray[np.datetime64], asked: TimeRange | None) -> npt.NDArray[np.bool_]:
    """Say which moments (in UTC) lie in a range; all of them where none is asked for."""
    inside = np.ones(len(moments), np.bool_)
    if asked is not None and asked.start is not None:
        inside &= moments >= _stamp(asked.start)
    if asked is not None and asked.end is not None:
        inside &= moments < _stamp(asked.end)
    return inside


def _stamp(moment: datetime) -> np.datetime64:
    return np.datetime64(moment.astimezone(UTC).replace(tzinfo=None), "us")


Bounds = tuple[datetime | None, datetime | None]


def _read(match: re.Match[str], here: datetime) -> Bounds | None:
    """Turn one phrase into its bounds, local to the question."""
    parts = {name: value.casefold() for name, value in match.groupdict().items() if value is not None}
    if "hebrew" in parts:
        return _read(_PHRASE.fullmatch(_HEBREW[parts["hebrew"]]), here)  # type: ignore[arg-type]
    if "first" in parts:
        year = re.search(_YEAR, parts["last"])
        first, last = _date(_with_year(parts["first"], year), here), _date(parts["last"], here)
        return None if first is None or last is None else (min(first[0], last[0]), max(first[1], last[1]))
    if "open" in parts:
        return _open(parts["open"], _date(parts["bound"], here))
    if "span" in parts:
        return here - _span(parts["span"], parts["span_unit"]), here
    if "count" in parts:
        return _ago(parts["count"], parts["unit"], here)
    if "which" in parts:
        return _named(parts["which"], parts["named"], here)
    if "word" in parts:
        start = _midnight(here) - timedelta(days=_DAYS_BACK[parts["word"]])
        return start, start + _STEPS["day"]
    return _date(parts.get("within") or parts["date"], here)


def _open(preposition: str, bound: tuple[datetime, datetime] | None) -> Bounds | None:
    if bound is None:
        return None
    start, end = bound
    return {"since": (start, None), "after": (end, None), "before": (None, start)}.get(preposition, (None, end))


def _ago(count: str, unit: str, here: datetime) -> Bounds:
    """Read `two months ago` as the month around that moment, and a day as that day."""
    name = unit.removesuffix("s")
    moment = here - _span(count, unit)
    if name == "day":
        return _midnight(moment), _midnight(moment) + _STEPS["day"]
    half = {"week": timedelta(days=4), "month": timedelta(days=16), "year": timedelta(days=183)}[name]
    return moment - half, moment + half


def _span(count: str, unit: str) -> relativedelta:
    number = int(count) if count.isdigit() else _NUMBERS[count]
    return _STEPS[unit.removesuffix("s")] * number


def _named(which: str, name: str, here: datetime) -> Bounds:
    """Read `last week`, `this month`, `last summer`, `last Friday`: the calendar's, not so many days."""
    today = _midnight(here)
    back = 0 if which == "this" else 1
    if name == "night":
        return today - _STEPS["day"], today + timedelta(hours=12)
    if name in _WEEKDAYS:
        day = today - timedelta(days=(today.weekday() - _WEEKDAYS.index(name)) % 7 or 7 * back)
        return day, day + _STEPS["day"]
    if name in _SEASONS:
        start = today.replace(month=_SEASONS[name], day=1)
        while start > today or (back and start + relativedelta(months=3) > today):
            start -= _STEPS["year"]
        return start, start + relativedelta(months=3)
    if name == "weekend":
        saturday = today - timedelta(days=(today.weekday() - 5) % 7 + (7 * back if today.weekday() >= 5 else 0))
        return saturday, saturday + timedelta(days=2)
    starts = {
        "day": today,
        "week": today - timedelta(days=today.weekday()),
        "month": today.replace(day=1),
        "year": today.replace(month=1, day=1),
    }
    start = starts[name] - _STEPS[name] * back
    return start, start + _STEPS[name]


def _date(text: str, here: datetime) -> tuple[datetime, datetime] | None:
    """Read a date, a month or a year; one without a year is the last such day or month before now."""
    year = re.search(_YEAR, text)
    if year is not None and year.group() == text:
        start = _midnight(here).replace(year=int(text), month=1, day=1)
        return start, start + _STEPS["year"]
    try:
        # A leap year, so that 29 February is a day of it.
        read = parser.parse(re.sub(r"\bof\b", " ", text), default=datetime(2000, 1, 1))  # noqa: DTZ001
    except (parser.ParserError, OverflowError):
        return None
    step = _STEPS["day" if re.search(r"\d", text if year is None else text.replace(year.group(), "", 1)) else "month"]
    if re.fullmatch(r"\d{4}-\d\d", text):
        step = _STEPS["month"]
    if year is None and read.month == FEBRUARY and read.day == LEAP_DAY:
        return None
    start = _midnight(here).replace(year=read.year if year else here.year, month=read.month, day=read.day)
    if year is None and start > here:
        start -= _STEPS["year"]
    return start, start + step


def _with_year(text: str, year: re.Match[str] | None) -> str:
    """Give the first of two dates the year of the second, as in `between January and March 2024`."""
    return text if year is None or re.search(_YEAR, text) else f"{text} {year.group()}"


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _utc(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment.astimezone(UTC)
