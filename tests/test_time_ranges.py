"""Read the time that a question asks about, as a pure function of the question, the moment and the time zone."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoria.records import TimeRange
from memoria.time_ranges import find_event, find_time_range, nearness
from memoria.vocabulary import TIME_FADE_DAYS, Granularity

WORDS = [
    *(
        "the",
        "last",
        "this",
        "past",
        "before",
        "after",
        "since",
        "between",
        "and",
        "from",
        "to",
        "in",
        "on",
        "of",
        "ago",
    ),
    *("hour", "day", "week", "weekend", "year", "friday", "may", "february", "march", "summer", "tonight", "early"),
    *("7", "31", "29", "999", "a few", "2023", "2024-02-30", "second", "first half", "did", ",", "-", "/"),
]
NOW = datetime(2026, 5, 13, 15, 30, tzinfo=UTC)  # a Wednesday


def bounds(query: str, now: datetime = NOW, zone: str = "UTC") -> tuple[str | None, str | None] | None:
    found = find_time_range(query, now, ZoneInfo(zone))
    if found is None:
        return None
    start, end = (None if each is None else f"{each:%Y-%m-%d %H:%M}" for each in (found.start, found.end))
    return start, end


@pytest.mark.parametrize(
    ("query", "start", "end", "granularity"),
    [
        ("What did we decide yesterday?", "2026-05-12", "2026-05-13", "day"),
        ("what did I read the day before yesterday", "2026-05-11", "2026-05-12", "day"),
        ("what was said today", "2026-05-13", "2026-05-14", "day"),
        ("what broke last week", "2026-05-04", "2026-05-11", "week"),
        ("what broke the week before last", "2026-04-27", "2026-05-04", "week"),
        ("what changed this month", "2026-05-01", "2026-06-01", "month"),
        ("who joined last month?", "2026-04-01", "2026-05-01", "month"),
        ("where did we go last year", "2025-01-01", "2026-01-01", "year"),
        ("where did we go last summer", "2025-06-01", "2025-09-01", "season"),
        ("the winter of 2023", "2023-12-01", "2024-03-01", "season"),
        ("who came last weekend?", "2026-05-09", "2026-05-11", "day"),
        ("who called last Friday", "2026-05-08", "2026-05-09", "day"),
        ("who called on Friday? did he say why", "2026-05-08", "2026-05-09", "day"),
        ("the deploy in May 2023", "2023-05-01", "2023-06-01", "month"),
        ("the deploy of Sept. 2023", "2023-09-01", "2023-10-01", "month"),
        ("the deploy in March", "2026-03-01", "2026-04-01", "month"),
        ("the deploy in June", "2025-06-01", "2025-07-01", "month"),
        ("the deploy of last May", "2025-05-01", "2025-06-01", "month"),
        ("the deploy in 2024", "2024-01-01", "2025-01-01", "year"),
        ("what did it cost in 2024 as planned", "2024-01-01", "2025-01-01", "year"),
        ("what happened on 7 May", "2026-05-07", "2026-05-08", "day"),
        ("what happened on May 7th, 2023?", "2023-05-07", "2023-05-08", "day"),
        ("what happened on December 1,2023", "2023-12-01", "2023-12-02", "day"),
        ("what happened on the 31st of December", "2025-12-31", "2026-01-01", "day"),
        ("logs of 2024-02-29", "2024-02-29", "2024-03-01", "day"),
        ("logs of 13.5.2023", "2023-05-13", "2023-05-14", "day"),
        ("between January and March 2024", "2024-01-01", "2024-04-01", "month"),
        ("from November to January 2024", "2023-11-01", "2024-02-01", "month"),
        ("between 3 May 2024 and 5 May 2024", "2024-05-03", "2024-05-06", "day"),
        ("early in 2024, or rather early March 2024", "2024-03-01", "2024-03-11 08:00", "week"),
        ("the second week of November", "2025-11-08", "2025-11-15", "week"),
        ("the last week of August 2023", "2023-08-25", "2023-09-01", "week"),
        ("the first half of September 2022", "2022-09-01", "2022-09-16", "week"),
        ("the week before 3 August 2023", "2023-07-27", "2023-08-03", "week"),
        ("the week of 3 August 2023", "2023-07-31", "2023-08-07", "week"),
        ("the Sunday before October 25, 2022", "2022-10-23", "2022-10-24", "day"),
        ("the Sunday after October 25, 2022", "2022-10-30", "2022-10-31", "day"),
        ("two days after 3 August 2023", "2023-08-05", "2023-08-06", "day"),
        ("two weeks before 11 August 2023", "2023-07-24 12:00", "2023-07-31 12:00", "week"),
        ("what did I say three days ago", "2026-05-10", "2026-05-11", "day"),
        ("what did I say two months ago", "2026-03-01", "2026-04-01", "month"),
        ("what did I say two hours ago", "2026-05-13 13:00", "2026-05-13 14:00", "hour"),
        ("what broke last night", "2026-05-12 18:00", "2026-05-13 06:00", "hour"),
        ("in the last 3 days", "2026-05-10 15:30", "2026-05-13 15:30", "day"),
        ("in the past week", "2026-05-06 15:30", "2026-05-13 15:30", "week"),
        ("in the last hour", "2026-05-13 14:30", "2026-05-13 15:30", "hour"),
        ("last week, as told on 3 August 2023", "2023-08-03", "2023-08-04", "day"),
        ("מה החלטנו אתמול", "2026-05-12", "2026-05-13", "day"),
        ("מה החלטנו בשבוע שעבר", "2026-05-04", "2026-05-11", "week"),
        ("מה החלטנו לפני 3 ימים", "2026-05-10", "2026-05-11", "day"),
        ("מה היה ביום שלישי?", "2026-05-12", "2026-05-13", "day"),
        ("מה קרה ב-7 במאי 2023?", "2023-05-07", "2023-05-08", "day"),
        ("מה קרה במרץ", "2026-03-01", "2026-04-01", "month"),
    ],
)
def test_a_named_time_is_read(query: str, start: str, end: str, granularity: str) -> None:
    found = find_time_range(query, NOW, ZoneInfo("UTC"))
    assert found is not None
    assert found.granularity == granularity
    assert bounds(query) == tuple(each if ":" in each else f"{each} 00:00" for each in (start, end))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("since March", ("2026-03-01 00:00", None)),
        ("after 2024", ("2025-01-01 00:00", None)),
        ("before May 2023", (None, "2023-05-01 00:00")),
        ("until 2024", (None, "2025-01-01 00:00")),
        ("by July 10, 2022", (None, "2022-07-11 00:00")),
        ("since yesterday", ("2026-05-12 00:00", None)),
    ],
)
def test_one_side_may_be_open(query: str, expected: tuple[str | None, str | None]) -> None:
    assert bounds(query) == expected


@pytest.mark.parametrize(
    "query",
    [
        "May I ask who may do this?",
        "these 7 may be wrong, I may 2 times",
        "May from accounting and her sister April",
        "the March Madness fan club marches on",
        "we march on, and she sat a second",
        "the sun is hot, mon ami",
        "a second opinion, on second thought",
        "this may be wrong",
        "what do we use now",
        "what is new in version 3.12?",
        "port 8080 in 2 days",
        "in 2000 requests on Windows 2019",
        "10.0.0.1 and 3.11.2023.4",
        "the last resort of this team",
        "the fall of Rome, spring boots and winter coats",
        "every Monday, and how often a week",
        "do we deploy on Friday?",
        "what is the plan for today?",
        "a one year warranty, and he was 30 years old",
        "what happened on Feb 30",
        "what happened on 7/5/2023",  # in May, or in July
        "error 2023",
        "id 2023-05-07T10:00:00Z",
        "",
    ],
)
def test_ordinary_words_and_numbers_name_no_time(query: str) -> None:
    assert bounds(query) is None


def test_of_a_message_only_the_questions_ask() -> None:
    assert bounds("I was ill last week. I rested yesterday. What is the plan?") is None
    assert bounds("I was ill. What did I miss last week?") == ("2026-05-04 00:00", "2026-05-11 00:00")


def test_yesterday_is_another_day_elsewhere() -> None:
    late = datetime(2026, 5, 13, 1, 30, tzinfo=UTC)
    assert bounds("yesterday", late, "America/New_York") == ("2026-05-11 04:00", "2026-05-12 04:00")
    assert bounds("yesterday", late, "Asia/Tokyo") == ("2026-05-11 15:00", "2026-05-12 15:00")


def test_a_day_on_which_the_clocks_change_has_another_length() -> None:
    assert bounds("on 29 March 2026", zone="Europe/Berlin") == ("2026-03-28 23:00", "2026-03-29 22:00")


@given(
    st.one_of(st.text(max_size=80), st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join)),
    st.integers(631_152_000, 4_102_444_800),
)
def test_any_question_at_any_time_is_read(query: str, now: int) -> None:
    moment = datetime.fromtimestamp(now, UTC)
    found = find_time_range(query, moment, ZoneInfo("Europe/Berlin"))
    if found is not None and found.start is not None and found.end is not None:
        assert found.start < found.end


@pytest.mark.parametrize("moment", [datetime.max.replace(tzinfo=UTC), datetime(1, 1, 2, tzinfo=UTC)])
def test_the_ends_of_time_are_no_error(moment: datetime) -> None:
    for query in ("yesterday", "last week", "last month", "last summer", "in May", "2 years ago", "since Friday"):
        for zone in ("Asia/Tokyo", "America/New_York"):
            find_time_range(query, moment, ZoneInfo(zone))


@pytest.mark.parametrize(
    ("query", "words", "ends_it"),
    [
        ("what did we use before the migration?", "the migration", True),
        ("After the outage, what did we change?", "the outage", False),
        ("where did we deploy before we moved to Postgres and why", "we moved to postgres", True),
        ("what has improved since starting boot camps", "starting boot camps", False),
    ],
)
def test_an_event_is_told_from_a_date(query: str, words: str, ends_it: bool) -> None:
    found = find_event(query)
    assert found is not None
    assert (found.words, found.ends_it) == (words, ends_it)


@pytest.mark.parametrize("query", ["before long", "after all", "before the 7th of May", "since then", ""])
def test_what_is_no_event_is_none(query: str) -> None:
    assert find_event(query) is None


def test_nearness_fades_on_both_sides() -> None:
    start = datetime(2026, 5, 1, tzinfo=UTC)
    asked = TimeRange(start, start + timedelta(days=1), "on 1 may", Granularity.DAY)
    half = timedelta(days=TIME_FADE_DAYS[Granularity.DAY])
    moments = [start, start + timedelta(hours=23), start - half, start + timedelta(days=1) + half, start - 99 * half]
    near = nearness(np.array([moment.replace(tzinfo=None) for moment in moments], "datetime64[us]"), asked)
    assert near == pytest.approx([1.0, 1.0, 0.5, 0.5, 0.0], abs=1e-6)


def test_an_open_side_does_not_fade() -> None:
    asked = TimeRange(None, datetime(2026, 5, 1, tzinfo=UTC), "before may", Granularity.MONTH)
    near = nearness(np.array(["1999-01-01", "2026-05-01", "2027-05-01"], "datetime64[us]"), asked)
    assert near == pytest.approx([1.0, 1.0, 0.0], abs=1e-6)
