"""Lists are whole, page by page, also while memories come and go."""

import pytest

from memoria import memories
from memoria.errors import InvalidInputError, NotFoundError
from memoria.records import Filters, MemoryPage, NewMemory
from tests.tenants import Tenant

pytestmark = pytest.mark.anyio


async def test_pages_join_to_everything_newest_first(tenant: Tenant) -> None:
    stored = await tenant.encode_batch([NewMemory(f"note {number}") for number in range(25)])
    ids: list[int] = []
    cursor = None
    for size in (10, 10, 5):
        page = await tenant.engine.list_memories(tenant.principal, limit=10, cursor=cursor)
        assert (len(page.items), page.total) == (size, 25)
        ids += [memory.id for memory in page.items]
        cursor = page.next_cursor
    assert cursor is None
    assert ids == sorted((one.memory.id for one in stored), reverse=True)


async def test_a_page_is_not_moved_by_what_comes_and_goes_meanwhile(tenant: Tenant) -> None:
    stored = await tenant.encode_batch([NewMemory(f"note {number}") for number in range(9)])
    newest_first = [one.memory.id for one in stored][::-1]
    first = await tenant.engine.list_memories(tenant.principal, limit=3)
    await tenant.encode("a newcomer")
    await tenant.engine.forget_many(tenant.principal, [newest_first[2], newest_first[4]])
    second = await tenant.engine.list_memories(tenant.principal, limit=3, cursor=first.next_cursor)
    assert [memory.id for memory in second.items] == [newest_first[3], newest_first[5], newest_first[6]]


async def test_nothing_is_capped(tenant: Tenant) -> None:
    await tenant.encode_batch([NewMemory(f"note {number}") for number in range(250)])
    first = await tenant.engine.list_memories(tenant.principal, limit=200)
    rest = await tenant.engine.list_memories(tenant.principal, limit=200, cursor=first.next_cursor)
    assert (len(first.items), len(rest.items), first.total) == (200, 50, 250)


@pytest.mark.parametrize("limit", [0, 201])
async def test_a_page_size_out_of_bounds_is_refused(tenant: Tenant, limit: int) -> None:
    memory = await tenant.encode("note")
    for call in (
        tenant.engine.list_memories(tenant.principal, limit=limit),
        tenant.engine.neighbors(tenant.principal, memory.id, limit=limit),
        tenant.engine.list_namespaces(tenant.principal, limit=limit),
    ):
        with pytest.raises(InvalidInputError) as caught:
            await call
        assert caught.value.details["field"] == "limit"


async def test_a_cursor_of_another_list_is_refused(tenant: Tenant) -> None:
    await tenant.encode_batch([NewMemory(f"note {number}", namespace=f"n{number % 2}") for number in range(6)])
    page = await tenant.engine.list_memories(tenant.principal, namespace="n0", limit=1)
    for options in ({"namespace": "n1"}, {"namespace": "n0", "filters": Filters(project="p")}):
        with pytest.raises(InvalidInputError):
            await tenant.engine.list_memories(tenant.principal, limit=1, cursor=page.next_cursor, **options)
    with pytest.raises(InvalidInputError):
        await tenant.engine.list_namespaces(tenant.principal, cursor=page.next_cursor)


async def test_neighbours_come_heaviest_first_page_by_page(tenant: Tenant) -> None:
    hub = await tenant.encode("the invoice of customer a b c d is paid")
    for number in range(12):
        await tenant.encode("the invoice of customer a b c d is paid" + " twice" * (number + 1))
    seen: list[tuple[float, int, int]] = []
    cursor = None
    while True:
        page = await tenant.engine.neighbors(tenant.principal, hub.id, limit=4, cursor=cursor)
        assert page.total >= 5
        seen += [(one.edge.weight, one.edge.source_id, one.edge.target_id) for one in page.items]
        for one in page.items:
            assert {one.edge.source_id, one.edge.target_id} == {hub.id, one.memory.id}
            assert one.outgoing == (one.edge.source_id == hub.id)
        cursor = page.next_cursor
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == page.total
    assert [weight for weight, _, _ in seen] == sorted((weight for weight, _, _ in seen), reverse=True)


async def test_what_vanishes_between_two_reads_is_left_out(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    doomed = await tenant.encode("the invoice is paid")
    kept = await tenant.encode("the invoice is paid now")
    read = memories.read_memories

    async def forget_and_read(connection, org_id, ids):  # type: ignore[no-untyped-def]
        found = await read(connection, org_id, ids)
        found.pop(doomed.id, None)
        return found

    monkeypatch.setattr(memories, "read_memories", forget_and_read)
    page: MemoryPage = await tenant.engine.list_memories(tenant.principal)
    assert [memory.id for memory in page.items] == [kept.id]
    assert (await tenant.engine.neighbors(tenant.principal, kept.id)).items == ()
    assert await tenant.recalled("the invoice is paid") == [kept.id]


async def test_statistics_count_by_kind(tenant: Tenant) -> None:
    await tenant.encode_batch([NewMemory("the invoice is paid"), NewMemory("the invoice is paid now", type="Semantic")])
    archived = await tenant.encode("old", type="core")
    await tenant.engine.archive(tenant.principal, archived.id)
    stats = await tenant.engine.stats(tenant.principal)
    assert stats.memories == 3
    assert dict(stats.by_tier) == {"Buffer": 1, "Episodic": 1, "Core": 1}
    assert dict(stats.by_type) == {"Episodic": 2, "Semantic": 1}
    assert dict(stats.by_state) == {"active": 2, "archived": 1}
    assert stats.edges_by_type["Semantic"] == 1


async def test_an_id_that_nobody_has_is_not_found(tenant: Tenant) -> None:
    for memory_id in (0, 1, 2**63 - 1):
        with pytest.raises(NotFoundError):
            await tenant.engine.get(tenant.principal, memory_id)
