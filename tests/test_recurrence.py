"""What recurs comes at the same time of day by the calendar of its zone, and after the same time by the clock."""

from datetime import UTC, datetime, timedelta

import pytest

from memoria.errors import InvalidInputError
from memoria.recurrence import check_every, occurrence_from

BERLIN = "Europe/Berlin"
TICK = timedelta(microseconds=1)


def at(text: str) -> datetime:
    """Read a moment with its offset."""
    return datetime.fromisoformat(text)


def occurrences(begin: str, every: str, zone: str, count: int) -> list[str]:
    """List the first occurrences as UTC, without the year."""
    found, moment = [], at(begin)
    for _ in range(count):
        following = occurrence_from(at(begin), check_every(at(begin), every, zone), zone, moment)
        assert following is not None
        found.append(following.strftime("%m-%d %H:%M"))
        moment = following + TICK
    return found


@pytest.mark.parametrize("every", ["P1D", "FREQ=DAILY", "RRULE:FREQ=DAILY", "freq=daily;interval=1"])
def test_every_day_at_nine_stays_at_nine_when_clocks_change(every: str) -> None:
    spring = occurrences("2026-03-28T09:00:00+01:00", every, BERLIN, 3)
    assert spring == ["03-28 08:00", "03-29 07:00", "03-30 07:00"]
    autumn = occurrences("2026-10-24T09:00:00+02:00", every, BERLIN, 3)
    assert autumn == ["10-24 07:00", "10-25 08:00", "10-26 08:00"]
    assert occurrences("2026-03-28T09:00:00+01:00", every, "UTC", 2) == ["03-28 08:00", "03-29 08:00"]


@pytest.mark.parametrize("every", ["P1D", "FREQ=DAILY"])
def test_a_time_that_a_change_leaves_out_comes_later_and_one_that_it_repeats_comes_once(every: str) -> None:
    spring = occurrences("2026-03-28T02:30:00+01:00", every, BERLIN, 3)
    assert spring == ["03-28 01:30", "03-29 01:30", "03-30 00:30"], "03:30 in summer time on the 29th"
    autumn = occurrences("2026-10-24T02:30:00+02:00", every, BERLIN, 3)
    assert autumn == ["10-24 00:30", "10-25 00:30", "10-26 01:30"]


def test_the_second_of_two_equal_times_begins_where_it_was_said() -> None:
    assert occurrences("2026-10-25T02:30:00+01:00", "P1D", BERLIN, 2) == ["10-25 01:30", "10-26 01:30"]


def test_hours_are_counted_by_the_clock() -> None:
    assert occurrences("2026-03-29T00:00:00+01:00", "PT6H", BERLIN, 3) == ["03-28 23:00", "03-29 05:00", "03-29 11:00"]
    assert occurrences("2026-03-28T00:00:00+00:00", "P1DT12H", "UTC", 3) == [
        "03-28 00:00",
        "03-29 12:00",
        "03-31 00:00",
    ]


def test_the_last_of_a_month_comes_back_after_a_shorter_one() -> None:
    assert occurrences("2026-01-31T12:00:00Z", "P1M", "UTC", 4) == [
        "01-31 12:00", "02-28 12:00", "03-31 12:00", "04-30 12:00",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("FREQ=WEEKLY;BYDAY=MO,TH", ["05-04 09:00", "05-07 09:00", "05-11 09:00"]),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=FR", ["05-01 09:00", "05-15 09:00", "05-29 09:00"]),
        ("FREQ=DAILY;BYDAY=MO,TU,WE,TH,FR", ["05-01 09:00", "05-04 09:00", "05-05 09:00"]),
        ("FREQ=MONTHLY;BYDAY=2TU", ["05-12 09:00", "06-09 09:00", "07-14 09:00"]),
        ("FREQ=MONTHLY;BYMONTHDAY=-1", ["05-31 09:00", "06-30 09:00", "07-31 09:00"]),
        ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", ["05-29 09:00", "06-30 09:00", "07-31 09:00"]),
        ("FREQ=YEARLY;BYMONTH=3,9;BYMONTHDAY=1", ["09-01 09:00", "03-01 09:00", "09-01 09:00"]),
    ],
)
def test_rules_say_which_days(rule: str, expected: list[str]) -> None:
    assert occurrences("2026-05-01T09:00:00Z", rule, "UTC", 3) == expected


def test_a_rule_ends_after_a_count_or_a_day() -> None:
    begin = at("2026-05-01T09:00:00Z")
    for rule in ("FREQ=DAILY;COUNT=2", "FREQ=DAILY;UNTIL=20260502T120000Z"):
        assert occurrence_from(begin, rule, "UTC", at("2026-05-02T09:00:00Z")) == at("2026-05-02T09:00:00Z")
        assert occurrence_from(begin, rule, "UTC", at("2026-05-02T09:00:01Z")) is None


def test_what_is_far_from_the_beginning_is_found_at_once() -> None:
    begin = at("2016-05-01T09:00:00Z")
    assert occurrence_from(begin, "PT1M", "UTC", at("2116-05-01T09:00:30Z")) == at("2116-05-01T09:01:00Z")
    assert occurrence_from(begin, "P100Y", "UTC", datetime(9990, 1, 1, tzinfo=UTC)) is None


@pytest.mark.parametrize(
    "every",
    [
        "", "P", "PT", "P1", "1D", "P-1D", "P0D", "PT59S", "P101Y", "P1.5D", "P99999D", "PT9999999999S", "P1D;",
        "tomorrow",
        "FREQ=HOURLY", "FREQ=SECONDLY", "FREQ=DAILY;BYHOUR=9", "INTERVAL=2", "FREQ=DAILY;FREQ=WEEKLY", "FREQ=DAILY;",
        "FREQ=DAILY;INTERVAL=0", "FREQ=DAILY;INTERVAL=7;BYDAY=MO", "FREQ=DAILY;COUNT=0", "FREQ=WEEKLY;BYDAY=2MO",
        "FREQ=DAILY;UNTIL=20261231", "FREQ=DAILY;UNTIL=20269931T000000Z", "FREQ=DAILY;UNTIL=20200101T000000Z",
        "FREQ=MONTHLY;BYDAY=9MO", "FREQ=MONTHLY;BYSETPOS=2", "FREQ=MONTHLY;BYDAY=2MO;BYSETPOS=1",
        "FREQ=YEARLY;BYMONTH=13",
        "FREQ=MONTHLY;BYDAY=5MO;BYMONTHDAY=1", "FREQ=MONTHLY;BYDAY=MO;BYMONTHDAY=1,2;BYSETPOS=5",
        "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "FREQ=YEARLY;BYMONTHDAY=32", "FREQ=DAILY\nEXRULE:FREQ=DAILY",
        "FREQ=WEEKLY;BYDAY=" + ",".join(["MO"] * 200),
    ],
)  # fmt: skip
def test_what_says_no_recurrence_is_refused(every: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        check_every(at("2026-05-01T09:00:00Z"), every, "UTC")
    assert refused.value.details["field"] == "trigger.every"


@pytest.mark.parametrize(
    ("every", "moment", "expected"),
    [
        ("FREQ=DAILY;INTERVAL=3", datetime(2026, 12, 1, tzinfo=UTC), datetime(2026, 12, 2, 8, tzinfo=UTC)),
        ("FREQ=WEEKLY;INTERVAL=2", datetime(2026, 12, 1, tzinfo=UTC), datetime(2026, 12, 10, 8, tzinfo=UTC)),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR", datetime(2026, 12, 1, tzinfo=UTC), datetime(2026, 12, 7, 8, tzinfo=UTC)),
        ("FREQ=DAILY;COUNT=3", datetime(2026, 12, 1, tzinfo=UTC), None),
        ("FREQ=DAILY", datetime(2026, 7, 1, 8, tzinfo=UTC), datetime(2026, 7, 2, 7, tzinfo=UTC)),
    ],
)
def test_a_rule_keeps_its_step_long_after_it_began(every: str, moment: datetime, expected: datetime | None) -> None:
    began = datetime(2017, 1, 5, 8, tzinfo=UTC)  # a Thursday, nine o'clock in Berlin
    assert occurrence_from(began, every, "Europe/Berlin", moment) == expected
