"""Times mean the instant that was sent: no zone is guessed or lost, and a memory expires to the second."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from memoria.errors import InvalidInputError
from memoria.records import Filters, MemoryPatch, RecallRequest, SearchRequest
from tests.tenants import Tenant

pytestmark = pytest.mark.anyio

NAIVE = datetime(2026, 5, 1, 9, 0)  # noqa: DTZ001
SHANGHAI = timezone(timedelta(hours=8))
TIMES = ("created_after", "created_before", "occurred_after", "occurred_before")


@pytest.mark.parametrize("field", ["occurred_at", "expires_at"])
async def test_a_time_without_a_zone_is_refused(tenant: Tenant, field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        await tenant.encode("when?", **{field: NAIVE})
    assert caught.value.details["field"] == field
    memory = await tenant.encode("when?")
    with pytest.raises(InvalidInputError) as caught:
        await tenant.engine.update(tenant.principal, memory.id, MemoryPatch({field: NAIVE}))
    assert caught.value.details["field"] == field


@pytest.mark.parametrize("field", TIMES)
async def test_a_filter_without_a_zone_is_refused(tenant: Tenant, field: str) -> None:
    filters = Filters(**{field: NAIVE})
    for call in (
        tenant.engine.recall(tenant.principal, RecallRequest("x", filters=filters)),
        tenant.engine.search(tenant.principal, SearchRequest("x", filters=filters)),
        tenant.engine.list_memories(tenant.principal, filters=filters),
        tenant.engine.forget_matching(tenant.principal, filters),
    ):
        with pytest.raises(InvalidInputError) as caught:
            await call
        assert caught.value.details["field"] == field


async def test_an_offset_is_the_same_instant(tenant: Tenant) -> None:
    moment = datetime(2026, 5, 1, 17, 30, 0, 123456, SHANGHAI)
    memory = await tenant.encode("tea", occurred_at=moment)
    read = await tenant.engine.get(tenant.principal, memory.id)
    assert read.occurred_at == moment
    assert read.occurred_at.utcoffset() == timedelta(0)
    later = Filters(occurred_after=moment + timedelta(microseconds=1))
    assert await tenant.listed(Filters(occurred_after=moment)) == [memory.id]
    assert await tenant.listed(later) == []
    assert await tenant.listed(Filters(occurred_before=moment)) == []


async def test_every_time_of_an_answer_names_its_zone(tenant: Tenant) -> None:
    memory = await tenant.encode("tea", ttl_seconds=60)
    times = (memory.occurred_at, memory.created_at, memory.updated_at, memory.last_accessed_at, memory.expires_at)
    assert [moment.utcoffset() for moment in times if moment] == [timedelta(0)] * 5
    assert memory.created_at == memory.occurred_at == tenant.clock.now


@pytest.mark.parametrize(
    "moment",
    [
        datetime(1, 1, 1, 0, tzinfo=timezone(timedelta(hours=14))),
        datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-12))),
    ],
    ids=["before the year 1", "after the year 9999"],
)
async def test_an_instant_outside_the_calendar_is_refused(tenant: Tenant, moment: datetime) -> None:
    with pytest.raises(InvalidInputError) as caught:
        await tenant.encode("when?", occurred_at=moment)
    assert caught.value.details["field"] == "occurred_at"
    with pytest.raises(InvalidInputError):
        await tenant.listed(Filters(created_after=moment))


@pytest.mark.parametrize("moment", [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999999, UTC)])
async def test_the_ends_of_the_calendar_are_kept(tenant: Tenant, moment: datetime) -> None:
    memory = await tenant.encode("when?", occurred_at=moment, context={"session_id": "s"})
    await tenant.encode("then", occurred_at=tenant.clock.now, context={"session_id": "s"})
    assert (await tenant.engine.get(tenant.principal, memory.id)).occurred_at == moment
    await tenant.encode("far away", occurred_at=moment)


async def test_a_memory_lives_to_the_second(tenant: Tenant) -> None:
    memory = await tenant.encode("The door code is 4711", ttl_seconds=10)
    assert memory.expires_at == tenant.clock.now + timedelta(seconds=10)
    tenant.clock.advance(seconds=9, microseconds=999_999)
    assert await tenant.recalled("door code") == [memory.id]
    tenant.clock.advance(microseconds=1)
    assert await tenant.recalled("door code") == []
    assert await tenant.listed() == []
    assert (await tenant.engine.search(tenant.principal, SearchRequest("door code"))).items == ()
    assert await tenant.recalled("door code", include=("expired",)) == [memory.id]
    assert await tenant.listed(include=("expired",)) == [memory.id]


async def test_an_expired_memory_passes_nothing_on(tenant: Tenant) -> None:
    context = {"session_id": "s"}
    await tenant.encode("aardvark burrow", context=context, ttl_seconds=10)
    tenant.clock.advance(seconds=1)
    reached = await tenant.encode("unlike words entirely", context=context)
    assert (await tenant.recall("aardvark burrow", filters=Filters(tags_none=("t",)))).hits[0].activation > 0
    tenant.clock.advance(seconds=60)
    for filters in (Filters(), Filters(tags_none=("t",))):
        for hit in (await tenant.recall("aardvark burrow", filters=filters)).hits:
            assert (hit.memory.id, hit.path) == (reached.id, ())


async def test_a_life_can_be_given_and_taken_by_an_edit(tenant: Tenant) -> None:
    memory = await tenant.encode("The door code is 4711")
    mortal = await tenant.engine.update(tenant.principal, memory.id, MemoryPatch({"ttl_seconds": 60}))
    assert mortal.expires_at == tenant.clock.now + timedelta(seconds=60)
    longer = await tenant.engine.update(tenant.principal, memory.id, MemoryPatch({"ttl_seconds": 120}))
    assert longer.expires_at == tenant.clock.now + timedelta(seconds=120)
    retitled = await tenant.engine.update(tenant.principal, memory.id, MemoryPatch({"title": "Door"}))
    assert retitled.expires_at == longer.expires_at
    tenant.clock.advance(hours=1)
    late = await tenant.engine.update(tenant.principal, memory.id, MemoryPatch({"title": "Old door"}))
    assert late.expires_at == longer.expires_at
    immortal = await tenant.engine.update(tenant.principal, memory.id, MemoryPatch({"expires_at": None}))
    assert immortal.expires_at is None
    assert await tenant.recalled("door code") == [memory.id]


@pytest.mark.parametrize("seconds", [0, -5, 10**12])
async def test_a_life_must_lie_ahead_and_within_the_calendar(tenant: Tenant, seconds: int) -> None:
    with pytest.raises(InvalidInputError) as caught:
        await tenant.encode("x", ttl_seconds=seconds)
    assert caught.value.details["field"] == "ttl_seconds"


async def test_a_past_or_double_expiry_is_refused(tenant: Tenant) -> None:
    for fields in (
        {"expires_at": tenant.clock.now},
        {"expires_at": tenant.clock.now + timedelta(days=1), "ttl_seconds": 5},
    ):
        with pytest.raises(InvalidInputError):
            await tenant.encode("x", **fields)
