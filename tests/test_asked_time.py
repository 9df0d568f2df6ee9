"""Favour what happened in the time that a question asks about, and hide nothing."""

from datetime import UTC, datetime, timedelta

import pytest

from memoria.errors import InvalidInputError
from memoria.records import Memory, NewMemory, Recall
from memoria.vocabulary import TIME_ALONE_BOOST, TIME_BOOST
from tests.tenants import START, Tenant

pytestmark = pytest.mark.anyio


def day(number: int, month: int = 4) -> datetime:
    return datetime(2026, month, number, 12, tzinfo=UTC)


async def lunches(tenant: Tenant, at: datetime) -> None:
    """Store what has nothing to do with any question."""
    await tenant.encode_batch([NewMemory(f"lunch {word}", occurred_at=at) for word in ("one", "two", "three")])


def order(answer: Recall, *memories: Memory) -> list[int]:
    """Say in which order some memories were answered."""
    ids = [memory.id for memory in memories]
    return [ids.index(hit.memory.id) for hit in answer.hits if hit.memory.id in ids]


async def test_what_happened_then_comes_first(tenant: Tenant) -> None:
    then = await tenant.encode("deploy of the shop", occurred_at=datetime(2023, 5, 7, tzinfo=UTC))
    other = await tenant.encode("deploy of the bank", occurred_at=datetime(2024, 5, 7, tzinfo=UTC))
    await lunches(tenant, day(1))
    answer = await tenant.recall("which deploy in May 2023?", explain=True)
    assert [hit.memory.id for hit in answer.hits][:2] == [then.id, other.id]
    factors = {hit.memory.id: hit.factors["time"] for hit in answer.candidates}
    assert factors[then.id] == TIME_BOOST
    assert factors[other.id] == pytest.approx(1.0)
    assert answer.time_range is not None
    assert answer.time_range.phrase == "in may 2023"


async def test_no_factor_changes_without_a_time(tenant: Tenant) -> None:
    await tenant.encode("deploy of the shop", occurred_at=day(1))
    answer = await tenant.recall("which deploy may it be?", explain=True)
    assert [hit.factors["time"] for hit in answer.candidates] == [1.0]
    assert answer.time_range is None


async def test_a_clearly_better_answer_of_another_time_is_not_hidden(tenant: Tenant) -> None:
    best = await tenant.encode("the key of the safe is under the mat", occurred_at=datetime(2024, 1, 1, tzinfo=UTC))
    await tenant.encode("lunch was good", occurred_at=datetime(2023, 5, 7, tzinfo=UTC))
    assert (await tenant.recalled("where is the key of the safe in May 2023"))[0] == best.id


async def test_no_answer_scores_less_for_a_time_in_the_question(tenant: Tenant) -> None:
    await tenant.encode("the key of the safe is under the mat", occurred_at=datetime(2024, 1, 1, tzinfo=UTC))
    [hit] = (await tenant.recall("where was the key of the safe in May 2023", explain=True)).hits
    assert hit.factors["time"] >= 1.0


async def test_one_of_that_time_is_a_candidate_among_very_many(tenant: Tenant) -> None:
    old = await tenant.encode("a rollout", occurred_at=datetime(2023, 5, 7, tzinfo=UTC))
    await tenant.encode_batch([NewMemory(f"deploy of the shop, a note about {word}") for word in map(str, range(150))])
    answer = await tenant.recall("deploy of the shop in May 2023", limit=100, explain=True)
    assert old.id in {hit.memory.id for hit in answer.candidates}


async def test_what_is_hidden_or_filtered_out_is_no_candidate_for_its_time(tenant: Tenant) -> None:
    gone = await tenant.encode("the shop rollout", occurred_at=day(7))
    other = await tenant.encode("the shop rollout again", occurred_at=day(7), project="bank")
    await tenant.engine.archive(tenant.principal, gone.id)
    answer = await tenant.recall("the rollout on 7 April 2026", explain=True)
    assert [hit.memory.id for hit in answer.candidates] == [other.id]


async def test_a_question_about_nothing_but_a_time_answers_what_happened_then(tenant: Tenant) -> None:
    tenant.clock.now = day(15)
    yesterday = await tenant.encode("tea with Ann in the garden", occurred_at=day(14))
    await tenant.encode("what happened: nothing, it just happened", occurred_at=day(1))
    await lunches(tenant, day(2))
    answer = await tenant.recall("What happened yesterday?", explain=True)
    assert answer.hits[0].memory.id == yesterday.id
    assert answer.hits[0].factors["time"] == TIME_ALONE_BOOST


async def test_what_happened_then_need_not_be_like_the_question(tenant: Tenant) -> None:
    tenant.clock.now = day(15)
    yesterday = await tenant.encode("tea", occurred_at=day(14))
    assert await tenant.recalled("What happened yesterday?") == [yesterday.id]
    assert await tenant.recalled("What happened last month?") == []


async def test_yesterday_is_that_of_the_time_zone(tenant: Tenant) -> None:
    """At two in the night in UTC it is still the day before in New York."""
    tenant.clock.now = datetime(2026, 4, 15, 2, 0, tzinfo=UTC)
    monday = await tenant.encode("meeting about the shop", occurred_at=datetime(2026, 4, 13, 18, tzinfo=UTC))
    tuesday = await tenant.encode("meeting about the bank", occurred_at=datetime(2026, 4, 14, 18, tzinfo=UTC))
    await lunches(tenant, day(1))
    asked = "which meeting did we have yesterday?"
    assert order(await tenant.recall(asked), monday, tuesday) == [1, 0]
    assert order(await tenant.recall(asked, time_zone="America/New_York"), monday, tuesday) == [0, 1]


async def test_a_look_back_counts_from_the_moment_that_it_looks_from(tenant: Tenant) -> None:
    await tenant.encode("meeting about the shop", occurred_at=day(13))
    answer = await tenant.recall("which meeting did we have yesterday?", at=day(14))
    assert answer.time_range is not None
    assert answer.time_range.start == datetime(2026, 4, 13, tzinfo=UTC)


async def test_an_event_bounds_the_time(tenant: Tenant) -> None:
    before = await tenant.encode("the shop sold tea to tourists", occurred_at=day(1))
    await tenant.encode("database migration done", occurred_at=day(10))
    after = await tenant.encode("a thief was at the shop", occurred_at=day(20))
    await lunches(tenant, START)
    earlier = await tenant.recall("what was at the shop before the database migration?")
    later = await tenant.recall("what was at the shop after the database migration?")
    assert earlier.time_range is not None and earlier.time_range.end == day(10)
    assert later.time_range is not None and later.time_range.start == day(10)
    assert [order(each, before, after) for each in (earlier, later)] == [[0, 1], [1, 0]]


async def test_an_event_may_be_told_twice_in_the_same_days(tenant: Tenant) -> None:
    await tenant.encode("the database migration is done", occurred_at=day(10))
    await tenant.encode("the database migration went well", occurred_at=day(10) + timedelta(hours=5))
    answer = await tenant.recall("what was at the shop before the database migration?")
    assert answer.time_range is not None


async def test_an_event_of_several_times_bounds_nothing(tenant: Tenant) -> None:
    await tenant.encode("the database migration is done", occurred_at=day(10))
    await tenant.encode("the database migration was redone", occurred_at=day(28))
    answer = await tenant.recall("what was at the shop before the database migration?")
    assert answer.time_range is None


async def test_an_event_that_nobody_knows_bounds_nothing(tenant: Tenant) -> None:
    await tenant.encode("shop tea")
    assert (await tenant.recall("what did the shop sell before the earthquake?")).time_range is None


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../etc/passwd", "", "/etc/passwd", "Europe"])
async def test_a_time_zone_that_does_not_exist_is_refused(tenant: Tenant, zone: str) -> None:
    with pytest.raises(InvalidInputError, match="time_zone"):
        await tenant.recall("yesterday", time_zone=zone)
