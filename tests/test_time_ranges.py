"""Read the time that a question names, and favour what happened then."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoria.errors import InvalidInputError
from memoria.records import NewMemory
from memoria.time_ranges import find_time_range
from memoria.vocabulary import OUT_OF_TIME_FACTOR
from tests.tenants import Tenant

NOW = datetime(2026, 5, 13, 15, 30, tzinfo=UTC)  # a Wednesday


def bounds(query: str, now: datetime = NOW, zone: str = "UTC") -> tuple[str | None, str | None] | None:
    found = find_time_range(query, now, ZoneInfo(zone))
    if found is None:
        return None
    return tuple(None if each is None else f"{each:%Y-%m-%d %H:%M}" for each in (found.start, found.end))  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ("What did we decide yesterday?", "2026-05-12", "2026-05-13"),
        ("what is planned for today", "2026-05-13", "2026-05-14"),
        ("what broke last week", "2026-05-04", "2026-05-11"),
        ("what broke this month", "2026-05-01", "2026-06-01"),
        ("who joined last month?", "2026-04-01", "2026-05-01"),
        ("where did we go last year", "2025-01-01", "2026-01-01"),
        ("where did we go last summer", "2025-06-01", "2025-09-01"),
        ("who called last Friday", "2026-05-08", "2026-05-09"),
        ("the deploy in May 2023", "2023-05-01", "2023-06-01"),
        ("the deploy in March", "2026-03-01", "2026-04-01"),
        ("the deploy in June", "2025-06-01", "2025-07-01"),
        ("the deploy in 2024", "2024-01-01", "2025-01-01"),
        ("what happened on 7 May", "2026-05-07", "2026-05-08"),
        ("what happened on May 7th, 2023?", "2023-05-07", "2023-05-08"),
        ("what happened on the 31st of December", "2025-12-31", "2026-01-01"),
        ("logs of 2024-02-29", "2024-02-29", "2024-03-01"),
        ("between January and March 2024", "2024-01-01", "2024-04-01"),
        ("what did I say three days ago", "2026-05-10", "2026-05-11"),
        ("מה החלטנו אתמול", "2026-05-12", "2026-05-13"),
    ],
)
def test_a_named_time_is_read(query: str, start: str, end: str) -> None:
    assert bounds(query) == (f"{start} 00:00", f"{end} 00:00")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("since March", ("2026-03-01 00:00", None)),
        ("after 2024", ("2025-01-01 00:00", None)),
        ("before May 2023", (None, "2023-05-01 00:00")),
        ("until 2024", (None, "2025-01-01 00:00")),
        ("in the last 3 days", ("2026-05-10 15:30", "2026-05-13 15:30")),
        ("two months ago", ("2026-02-25 15:30", "2026-03-29 15:30")),
    ],
)
def test_open_and_rolling_times_are_read(query: str, expected: tuple[str | None, str | None]) -> None:
    assert bounds(query) == expected


@pytest.mark.parametrize(
    "query",
    [
        "May I ask who may do this?",
        "we march on, and she sat a second",
        "this may be wrong",
        "what is new in version 3.12?",
        "port 8080 in 2 days",
        "the last resort of this team",
        "what happened on Feb 30",
        "error 2023",
        "",
    ],
)
def test_ordinary_words_and_numbers_name_no_time(query: str) -> None:
    assert bounds(query) is None


def test_yesterday_is_another_day_elsewhere() -> None:
    late = datetime(2026, 5, 13, 1, 30, tzinfo=UTC)
    assert bounds("yesterday", late, "America/New_York") == ("2026-05-11 04:00", "2026-05-12 04:00")
    assert bounds("yesterday", late, "Asia/Tokyo") == ("2026-05-11 15:00", "2026-05-12 15:00")


@given(st.text(max_size=80), st.integers(631_152_000, 4_102_444_800))
def test_any_question_at_any_time_is_read(query: str, now: int) -> None:
    found = find_time_range(query, datetime.fromtimestamp(now, UTC), ZoneInfo("Europe/Berlin"))
    if found is not None and found.start is not None and found.end is not None:
        assert found.start < found.end


@pytest.mark.anyio
async def test_what_happened_then_comes_first(tenant: Tenant) -> None:
    then = await tenant.encode("deploy of the shop", occurred_at=datetime(2023, 5, 7, tzinfo=UTC))
    other = await tenant.encode("deploy of the bank", occurred_at=datetime(2024, 5, 7, tzinfo=UTC))
    await tenant.encode_batch([NewMemory(f"lunch {word}") for word in ("one", "two", "three")])
    answer = await tenant.recall("which deploy in May 2023?", explain=True)
    assert [hit.memory.id for hit in answer.hits][:2] == [then.id, other.id]
    ours = (then.id, other.id)
    factors = {hit.memory.id: hit.factors["time"] for hit in answer.candidates if hit.memory.id in ours}
    assert factors == {then.id: 1.0, other.id: OUT_OF_TIME_FACTOR}
    assert answer.time_range is not None
    assert answer.time_range.phrase == "in May 2023"


@pytest.mark.anyio
async def test_a_clearly_better_answer_of_another_time_is_not_hidden(tenant: Tenant) -> None:
    best = await tenant.encode("the key of the safe is under the mat", occurred_at=datetime(2024, 1, 1, tzinfo=UTC))
    await tenant.encode("lunch was good", occurred_at=datetime(2023, 5, 7, tzinfo=UTC))
    assert (await tenant.recalled("where is the key of the safe in May 2023"))[0] == best.id


@pytest.mark.anyio
async def test_one_of_that_time_is_a_candidate_among_very_many(tenant: Tenant) -> None:
    old = await tenant.encode("a rollout", occurred_at=datetime(2023, 5, 7, tzinfo=UTC))
    await tenant.encode_batch([NewMemory(f"deploy of the shop, a note about {word}") for word in map(str, range(150))])
    answer = await tenant.recall("deploy of the shop in May 2023", limit=100, explain=True)
    assert old.id in {hit.memory.id for hit in answer.candidates}


@pytest.mark.anyio
async def test_an_event_bounds_the_time(tenant: Tenant) -> None:
    day = [datetime(2026, 4, number, 12, tzinfo=UTC) for number in (1, 10, 20)]
    before = await tenant.encode("shop tea", occurred_at=day[0])
    await tenant.encode("database migration done", occurred_at=day[1])
    after = await tenant.encode("shop coffee", occurred_at=day[2])
    await tenant.encode_batch([NewMemory(f"lunch {word}") for word in ("one", "two", "three")])
    earlier = await tenant.recall("what was at the shop before the database migration?")
    later = await tenant.recall("what was at the shop after the database migration?")
    assert earlier.time_range is not None and earlier.time_range.end == day[1]
    assert later.time_range is not None and later.time_range.start == day[1]
    ours = (before.id, after.id)
    orders = [[hit.memory.id for hit in each.hits if hit.memory.id in ours] for each in (earlier, later)]
    assert orders == [[before.id, after.id], [after.id, before.id]]


@pytest.mark.anyio
async def test_an_event_that_nobody_knows_bounds_nothing(tenant: Tenant) -> None:
    await tenant.encode("shop tea")
    assert (await tenant.recall("what did the shop sell before the earthquake?")).time_range is None


@pytest.mark.anyio
@pytest.mark.parametrize("zone", ["Mars/Olympus", "../etc/passwd", "", "/etc/passwd"])
async def test_a_time_zone_that_does_not_exist_is_refused(tenant: Tenant, zone: str) -> None:
    with pytest.raises(InvalidInputError, match="time_zone"):
        await tenant.recall("yesterday", time_zone=zone)
