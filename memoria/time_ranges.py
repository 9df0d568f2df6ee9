"""Read the time that a question asks about: "since March", "between May and July 2023", "the week before 3 August".

Pure: the moment at which the question is asked and its time zone are parameters. A question without a word for a time
costs one search of a regular expression.
"""

import functools
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import islice

import numpy as np
import numpy.typing as npt

from memoria.records import TimeRange
from memoria.time_phrases import (
    MONTH,
    NUMBER,
    POINT,
    SEASON,
    STRONG_POINT,
    UNIT,
    WEAK_POINT,
    WEEKDAY,
    WEEKDAYS,
    YEAR,
    Span,
    length_of,
    read_point,
    weekend_of,
    whole,
)
from memoria.vocabulary import TIME_FADE_DAYS, Granularity

Floats = npt.NDArray[np.float64]

MICROSECONDS_A_DAY = 86_400e6
SHORTEST_WITH_PARTS = timedelta(days=28)
MAX_EVENT_WORDS = 8
READ_CHARACTERS = 4_000  # of the sentences that ask: who names a time later does not ask about it
READ_TIMES = 16

_HEBREW_MONTHS = {
    "ינואר": "january",
    "פברואר": "february",
    "מרץ": "march",
    "אפריל": "april",
    "מאי": "may",
    "יוני": "june",
    "יולי": "july",
    "אוגוסט": "august",
    "ספטמבר": "september",
    "אוקטובר": "october",
    "נובמבר": "november",
    "דצמבר": "december",
}
_HEBREW_WEEKDAYS = ("שני", "שלישי", "רביעי", "חמישי", "שישי", "שבת", "ראשון")
_HEBREW_PHRASES = {
    "היום": "today",
    "אתמול": "yesterday",
    "שלשום": "day before yesterday",
    "השבוע": "this week",
    "החודש": "this month",
    "השנה": "this year",
    "בשבוע שעבר": "last week",
    "בחודש שעבר": "last month",
    "בשנה שעברה": "last year",
    "לפני יום": "1 day ago",
    "לפני יומיים": "2 days ago",
    "לפני שבוע": "1 week ago",
    "לפני שבועיים": "2 weeks ago",
    "לפני חודש": "1 month ago",
    "לפני חודשיים": "2 months ago",
    "לפני שנה": "1 year ago",
    "לפני שנתיים": "2 years ago",
}
_HEBREW_UNITS = {"ימים": "days", "שבועות": "weeks", "חודשים": "months", "שנים": "years"}
_HEBREW = re.compile(
    rf"(?<!\w)(?:(?P<phrase>{'|'.join(sorted(_HEBREW_PHRASES, key=len, reverse=True))})"
    rf"|לפני (?P<count>\d{{1,3}}) (?P<unit>{'|'.join(_HEBREW_UNITS)})"
    rf"|ביום (?P<weekday>{'|'.join(_HEBREW_WEEKDAYS)})"
    rf"|ב-?(?:(?P<day>\d\d?) [בל])?(?P<month>{'|'.join(_HEBREW_MONTHS)})(?: (?P<year>{YEAR}))?)(?!\w)"
)
_GATE = re.compile(
    rf"(?<!\w)(?:{MONTH}|{WEEKDAY}|{YEAR}|{SEASON}|(?:{UNIT}|weekend|night|morning|afternoon|evening)s?|"
    r"yesterday|today|tonight)(?!\w)|[\u05d0-\u05ea]"
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[^\W\d])|\n+")
_PRESENT = re.compile(r"(?<!\w)(?:today|tonight|this .+)")
_PAST = re.compile(r"(?<!\w)(?:did|was|were|had|happened|\w{2,}ed)(?!\w)")
_THINGS = re.compile(r" (?!(?:was|is|has|does|as|this|his|us|across)\b)\w+s\b")
_EVENT = re.compile(
    r"(?<!\w)(?P<side>before|after|since|until|following|prior to) "
    r"(?P<event>(?:the|our|my|his|her|their|its|an?|we|i|they|he|she|it|\w+ing) [^?!.,;:()\"]+)"
)
_EVENT_END = re.compile(
    r" (?:and|but|so|because|when|which|who|what|where|how|why|did|do|does|was|were|is|are|had|has|have|about)(?!\w)"
)


@dataclass(frozen=True, slots=True)
class EventPhrase:
    """Name by its words what bounds a time: "before the migration". `phrase` has the word of time, too."""

    words: str
    phrase: str
    ends_it: bool


@dataclass(frozen=True, slots=True)
class _Bounds:
    """Be a time in the question's own zone; an end that is None is open."""

    start: datetime | None
    end: datetime | None
    granularity: Granularity


_Reader = Callable[[re.Match[str], datetime], _Bounds | None]


def find_time_range(query: str, now: datetime, zone: tzinfo) -> TimeRange | None:
    """Read the time that a query asks about, as of `now` in `zone`; None where it names none.

    Of a message of several sentences only the questions ask. Of several times one with a year is meant, else the first.
    """
    sentences = [sentence for sentence in _asking(query) if _GATE.search(sentence)]
    if not sentences:
        return None
    try:
        here = now.astimezone(zone).replace(tzinfo=None)
    except OverflowError:  # at an end of time
        return None
    found = list(islice((each for sentence in sentences for each in _read(sentence, here, zone)), READ_TIMES))
    return next((each for each in found if re.search(YEAR, each.phrase)), found[0] if found else None)


def find_event(query: str) -> EventPhrase | None:
    """Read "before the migration" or "after we moved": a time that a memory may know. Dates are no events."""
    match = next(filter(None, map(_EVENT.search, _asking(query))), None)
    if match is None:
        return None
    words = _EVENT_END.split(match["event"], maxsplit=1)[0].strip()
    if not 1 < len(words.split()) <= MAX_EVENT_WORDS or _GATE.search(words):
        return None
    return EventPhrase(words, f"{match['side']} {words}", match["side"] in ("before", "until", "prior to"))


def nearness(moments: npt.NDArray[np.datetime64], asked: TimeRange) -> Floats:
    """Say how near moments (in UTC) are to a time: 1 within it, half as much each so many days outside."""
    outside = np.zeros(len(moments))
    if asked.start is not None:
        outside = np.maximum(outside, _days(_stamp(asked.start) - moments))
    if asked.end is not None:  # which is outside itself
        outside = np.maximum(outside, _days(moments - _stamp(asked.end) + np.timedelta64(1, "us")))
    near: Floats = 0.5 ** (outside / TIME_FADE_DAYS[asked.granularity])
    return near


def _days(lengths: npt.NDArray[np.timedelta64]) -> Floats:
    days: Floats = lengths.astype("timedelta64[us]").astype(np.float64) / MICROSECONDS_A_DAY
    return days


def _stamp(moment: datetime) -> np.datetime64:
    return np.datetime64(moment.astimezone(UTC).replace(tzinfo=None), "us")


def _asking(query: str) -> list[str]:
    """Return the sentences that ask, or the only one, in small letters and single spaces; of much the beginning."""
    text = unicodedata.normalize("NFKC", query).casefold().strip()
    sentences = [" ".join(sentence.split()) for sentence in _SENTENCE_END.split(text)]
    asking = sentences if len(sentences) == 1 else [sentence for sentence in sentences if sentence.endswith("?")]
    kept, room = [], READ_CHARACTERS
    for sentence in asking:
        kept.append(sentence[:room])
        room -= len(kept[-1])
        if room <= 0:
            break
    return kept


def _read(sentence: str, here: datetime, zone: tzinfo) -> Iterator[TimeRange]:
    """Read expressions, the longer kinds first; what one has taken is not read again."""
    for match in _HEBREW.finditer(sentence):
        yield from (replace(found, phrase=match[0]) for found in _read(_in_english(match), here, zone))
    for pattern, reader in _patterns():
        for match in pattern.finditer(sentence):
            try:
                bounds = reader(match, here)
                found = None if bounds is None else _time_range(match[0], bounds, zone)
            except (ValueError, OverflowError):  # 31 February, or a time before the year 1
                continue
            if found is not None:
                yield found
        sentence = pattern.sub(lambda match: "#" * len(match[0]), sentence)


def _in_english(match: re.Match[str]) -> str:
    named = match.groupdict()
    if named["phrase"]:
        return f"had {_HEBREW_PHRASES[named['phrase']]}"  # the tense is not looked for in Hebrew
    if named["count"]:
        return f"{named['count']} {_HEBREW_UNITS[named['unit']]} ago"
    if named["weekday"]:
        return f"last {WEEKDAYS[_HEBREW_WEEKDAYS.index(named['weekday'])]}"
    return " ".join(["in", *filter(None, (named["day"], _HEBREW_MONTHS[named["month"]], named["year"]))])


@functools.cache
def _patterns() -> list[tuple[re.Pattern[str], _Reader]]:
    """Compile the kinds of expressions when they are first needed."""
    article = "(?:the )?"
    kinds: list[tuple[str, _Reader]] = [
        (rf"(?:between|from) (?P<first>{POINT}) (?:and|to|until|till|through) (?P<last>{POINT})", _between),
        (
            rf"{article}(?P<part>early|mid|late|(?:beginning|start|middle|end|first half|second half) of|"
            rf"(?:first|second|third|fourth|last) week (?:of|in))[ -]{article}(?P<point>{POINT})",
            _part,
        ),
        (
            rf"{article}(?:(?P<number>{NUMBER}) )?(?P<unit>day|week|weekend|month|year|{WEEKDAY})s? "
            rf"(?P<side>before|after|following|prior to|of) {article}(?P<point>{POINT})",
            _beside,
        ),
        (
            r"(?P<side>since|after|before|until|till|by|prior to|following|as of|up to|starting(?: in| on| from)?) "
            rf"{article}(?P<point>{POINT})",
            _open,
        ),
        (rf"(?:(?:in|on|during|at|of) )?(?P<point>{STRONG_POINT})", _plain),
        (rf"(?:in|on|during|throughout|around) (?P<point>{WEAK_POINT})", _plain),
    ]
    return [(re.compile(rf"(?<![\w/.-]){pattern}(?![\w/-]|\.\d)"), reader) for pattern, reader in kinds]


def _time_range(phrase: str, bounds: _Bounds, zone: tzinfo) -> TimeRange | None:
    """Bring bounds to UTC; an hour that the clocks skip is none."""
    start, end = (
        None if moment is None else moment.replace(tzinfo=zone).astimezone(UTC) for moment in (bounds.start, bounds.end)
    )
    empty = start is not None and end is not None and start >= end
    return None if empty else TimeRange(start, end, phrase, bounds.granularity)


def _bounds(span: Span | None) -> _Bounds | None:
    return None if span is None else _Bounds(span.start, span.end, span.granularity)


def _plain(match: re.Match[str], now: datetime) -> _Bounds | None:
    """Read a time that stands for itself, but not what may be none.

    "On Friday" and "today" count where the question is about what has been: plans for today are made before. And
    "in 2000 requests" names no year.
    """
    point = match["point"]
    if re.fullmatch(WEEKDAY, point) or _PRESENT.fullmatch(point):
        return _bounds(read_point(point, now)) if _is_past(match.string) else None
    if point.isdecimal() and _THINGS.match(match.string, match.end()):
        return None
    return _bounds(read_point(point, now))


@functools.lru_cache(maxsize=64)
def _is_past(sentence: str) -> bool:
    return _PAST.search(sentence) is not None


def _open(match: re.Match[str], now: datetime) -> _Bounds | None:
    span = read_point(match["point"], now)
    if span is None:
        return None
    if match["side"] in ("before", "prior to"):
        return _Bounds(None, span.start, span.granularity)
    if match["side"] in ("after", "following"):
        return _Bounds(span.end, None, span.granularity)
    if match["side"].startswith(("since", "starting")):
        return _Bounds(span.start, None, span.granularity)
    return _Bounds(None, span.end, span.granularity)


def _between(match: re.Match[str], now: datetime) -> _Bounds | None:
    """Read both ends; the first takes its year from the last, where only that one has one."""
    year = re.search(YEAR, match["last"])
    lacks_year = re.search(MONTH, match["first"]) and not re.search(YEAR, match["first"])
    first = read_point(f"{match['first']} {year[0]}" if year and lacks_year else match["first"], now)
    last = read_point(match["last"], now)
    if first is None or last is None:
        return None
    start = first.start
    if start >= last.end and lacks_year:  # from November to January: the November before
        start = start.replace(year=start.year - 1)
    return _Bounds(start, last.end, last.granularity) if start < last.end else None


def _beside(match: re.Match[str], now: datetime) -> _Bounds | None:
    """Read "the week before 3 August", "two weeks before" it, "the Sunday before" it, "the week of" it."""
    point = read_point(match["point"], now)
    unit, number, later = match["unit"], match["number"], match["side"] in ("after", "following")
    if point is None:
        return None
    if match["side"] == "of":
        names_one = number is None and unit in ("week", "weekend")
        of = weekend_of(point.start) if unit == "weekend" else whole(point.start, Granularity.WEEK)
        return _bounds(of) if names_one else None
    if unit == "weekend" or unit in WEEKDAYS:
        return _bounds(_next_weekday(unit, point, later=later))
    length = length_of("one", unit)
    if number is None:
        start = point.end if later else point.start - length
        return _Bounds(start, start + length, Granularity(unit))
    distance = length_of(number, unit)
    middle = point.start + distance if later else point.start - distance
    if unit == "day":
        return _bounds(whole(middle, Granularity.DAY))
    half = (middle + length - middle) / 2
    return _Bounds(middle - half, middle + half, Granularity(unit))


def _next_weekday(unit: str, point: Span, *, later: bool) -> Span:
    """Find the weekend or the weekday that is next to a time."""
    wanted = WEEKDAYS.index("saturday" if unit == "weekend" else unit)
    if later:
        day = point.end + timedelta(days=(wanted - point.end.weekday()) % 7)
    else:
        day = point.start - timedelta(days=(point.start.weekday() - wanted) % 7 or 7)
    return weekend_of(day) if unit == "weekend" else whole(day, Granularity.DAY)


_PARTS = {  # shares of the whole
    "early": (0.0, 1 / 3),
    "beginning": (0.0, 1 / 3),
    "start": (0.0, 1 / 3),
    "mid": (1 / 3, 2 / 3),
    "late": (2 / 3, 1.0),
    "end": (2 / 3, 1.0),
    "first half": (0.0, 0.5),
    "second half": (0.5, 1.0),
}
_NUMBERED = ("first", "second", "third", "fourth")


def _part(match: re.Match[str], now: datetime) -> _Bounds | None:
    """Read a part of a month, a season or a year: its thirds, halves and weeks."""
    part, point = match["part"], read_point(match["point"], now)
    if point is None or point.end - point.start < SHORTEST_WITH_PARTS:
        return None
    if "week" in part:
        week = timedelta(days=7)
        number = part.split()[0]
        start = point.end - week if number == "last" else point.start + week * _NUMBERED.index(number)
        return _Bounds(start, start + week, Granularity.WEEK)
    first, end = next(shares for word, shares in _PARTS.items() if part.startswith(word))
    length = point.end - point.start
    smaller = Granularity.WEEK if point.granularity is Granularity.MONTH else Granularity.MONTH
    return _Bounds(point.start + length * first, point.start + length * end, smaller)
