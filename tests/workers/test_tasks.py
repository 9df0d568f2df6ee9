"""Each task finds its work across tenants and does it inside each of them."""

from datetime import timedelta

import pytest

from memoria import maintenance
from memoria.records import NewMemory
from memoria.vocabulary import EXPIRED_GRACE_DAYS, IDEMPOTENCY_HOURS, RECALL_KEPT_DAYS
from tests.tenants import MakeTenant, Tenant, once
from workers.tasks import expire, index_vectors, purge_answers, purge_recalls

pytestmark = pytest.mark.anyio

IN_GRAPH = "select count(*) filter (where in_graph) as indexed, count(*) as total from embeddings"


async def indexed(tenant: Tenant) -> tuple[int, int]:
    row = (await tenant.fetch(IN_GRAPH))[0]
    return row["indexed"], row["total"]


async def run_until_done(task: object, tenant: Tenant) -> int:
    total = 0
    while done := await task.run(tenant.database, tenant.clock()):  # type: ignore[attr-defined]
        total += done
    return total


async def test_large_namespaces_of_every_tenant_go_into_the_graph_and_small_ones_do_not(
    make_tenant: MakeTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "EXACT_SCAN_ROWS", 20)
    monkeypatch.setattr(index_vectors, "BATCH_ROWS", 10)
    large, larger, small = await make_tenant(), await make_tenant(), await make_tenant()
    for tenant, size in ((large, 25), (larger, 30), (small, 20)):
        await tenant.encode_batch([NewMemory(f"Server number {number} was patched") for number in range(size)])
    assert await run_until_done(index_vectors, large) >= 55
    assert await indexed(large) == (25, 25)
    assert await indexed(larger) == (30, 30)
    assert await indexed(small) == (0, 20)


async def test_answers_are_kept_for_their_day_and_then_deleted(tenant: Tenant) -> None:
    await tenant.engine.encode(tenant.principal, NewMemory("The deploy key is rotated in May"), once("key-1"))
    tenant.clock.advance(hours=IDEMPOTENCY_HOURS - 1)
    await tenant.engine.encode(tenant.principal, NewMemory("The deploy window is on Friday"), once("key-2"))
    await run_until_done(purge_answers, tenant)
    assert len(await tenant.fetch("select key from idempotent_answers")) == 2
    tenant.clock.advance(hours=2)
    await run_until_done(purge_answers, tenant)
    kept = await tenant.fetch("select key, created_at from idempotent_answers")
    assert [row["key"] for row in kept] == ["key-2"]
    assert kept[0]["created_at"] == tenant.clock.now - timedelta(hours=2)


async def test_recalls_are_kept_while_feedback_may_refer_to_them_and_then_deleted(tenant: Tenant) -> None:
    await tenant.encode("The deploy key is rotated in May")
    await tenant.recall("deploy key")
    tenant.clock.advance(days=RECALL_KEPT_DAYS - 1)
    await tenant.recall("deploy window")
    await tenant.engine.write_lessons()
    await run_until_done(purge_recalls, tenant)
    assert len(await tenant.fetch("select 1 from recalls")) == 2
    tenant.clock.advance(days=2)
    await run_until_done(purge_recalls, tenant)
    assert [row["query"] for row in await tenant.fetch("select query from recalls")] == ["deploy window"]


CONTENTS = "select content from memories order by memory_id"


async def test_what_has_expired_is_deleted_after_its_time_of_grace(tenant: Tenant) -> None:
    await tenant.encode("Only for a minute", ttl_seconds=60)
    await tenant.encode("Pinned for a minute", ttl_seconds=60, pinned=True)
    await tenant.encode("For good")
    tenant.clock.advance(days=EXPIRED_GRACE_DAYS, seconds=59)
    await run_until_done(expire, tenant)
    assert len(await tenant.fetch(CONTENTS)) == 3
    tenant.clock.advance(seconds=1)
    await run_until_done(expire, tenant)
    assert [row["content"] for row in await tenant.fetch(CONTENTS)] == ["Pinned for a minute", "For good"]
