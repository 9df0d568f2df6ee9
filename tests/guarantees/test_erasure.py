"""What is erased is gone: from every table, for every reader, whatever else is being written."""

import asyncio
from typing import Any

import asyncpg
import pytest

from accounts.erasure import erase_organization
from memoria import erasures
from memoria.edges import NewEdge
from memoria.errors import NotFoundError
from memoria.job_records import NewJob
from memoria.jobs import enqueue
from memoria.records import MemoryPatch, NewMemory, PolicyChanges
from memoria.reward import Feedback
from memoria.transfer_records import Erasure
from memoria.vocabulary import EdgeType, JobKind, JobState
from tests.invariants import broken_invariants
from tests.tenants import Tenant, once
from tests.workers.job_rig import IDS, make_runner, read
from tests.workers.job_rig import enqueue as enqueue_job
from workers.runner import Outcome
from workers.tasks import erase
from workers.tasks import erase_organization as erase_all

pytestmark = pytest.mark.anyio

TABLES = """
    select c.relname, exists (
        select from pg_attribute a where a.attrelid = c.oid and a.attname in ('namespace_id', 'memory_id')
    ) as is_of_namespaces
    from pg_class c join pg_attribute o on o.attrelid = c.oid and o.attname = 'org_id'
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
"""
# What answers for a namespace without naming it in a column.
COUNTED_OTHERWISE = {"idempotent_answers", "summary_members"}


async def erase_namespace(tenant: Tenant, name: str) -> Erasure:
    return await tenant.engine.transfer.erase(tenant.principal, name)


async def live(tenant: Tenant, name: str) -> list[int]:
    """Leave rows in as many tables as calls can reach."""
    stored = [
        await tenant.encode(f"Server {number} stands in room {number}", namespace=name, type="Semantic")
        for number in range(4)
    ]
    ids = [memory.id for memory in stored]
    await tenant.engine.update(tenant.principal, ids[0], MemoryPatch({"title": "Room"}))
    await tenant.engine.learning.link(tenant.principal, NewEdge(ids[0], ids[1], EdgeType.CAUSAL, 0.5))
    await tenant.recall("where does server 1 stand?", namespace=name)
    await tenant.engine.write_lessons()
    await tenant.engine.learning.feedback(tenant.principal, Feedback(ids[1], useful=False, query="where?"))
    await tenant.engine.upkeep.set_policy(tenant.principal, PolicyChanges({"max_memories": 9}), namespace=name)
    (row,) = await tenant.fetch("select namespace_id from namespaces where name = $1", name)
    await enqueue_job(tenant, "nobody_knows_this_kind", row[0])
    return ids


async def test_nothing_is_left_of_an_erased_namespace(tenant: Tenant) -> None:
    ids = await live(tenant, "doomed")
    await live(tenant, "kept")
    erasure = await erase_namespace(tenant, "doomed")
    assert {name for name, rows in erasure.before.items() if rows} >= {
        "namespaces", "namespace_policies", "memories", "memory_events", "edges", "postings", "embeddings", "recalls",
        "dampenings", "jobs",
    }  # fmt: skip
    assert erasure.after is not None
    assert set(erasure.after.values()) == {0}
    assert await broken_invariants(tenant) == {}
    with pytest.raises(NotFoundError):
        await tenant.engine.get(tenant.principal, ids[0])
    page = await tenant.engine.list_namespaces(tenant.principal)
    assert [item.name for item in page.items] == ["kept"]
    assert len(await tenant.listed(namespace="kept")) == 4
    jobs = await tenant.fetch("select kind from jobs")
    assert [row[0] for row in jobs] == ["nobody_knows_this_kind"], "the other namespace's; the safety net is gone, too"


async def test_every_table_of_namespaces_is_counted(tenant: Tenant) -> None:
    tables = {row["relname"]: row["is_of_namespaces"] for row in await tenant.fetch(TABLES)}
    async with tenant.database.tenant(tenant.principal.org_id) as connection:
        of_one = await erasures.count_namespace_rows(connection, tenant.principal.org_id, 1, "x", tenant.clock())
        of_all = await erasures.count_organization_rows(connection, tenant.principal.org_id)
    assert set(of_one) == {name for name, is_counted in tables.items() if is_counted} | COUNTED_OTHERWISE
    assert set(of_all) == set(tables)


async def test_answers_kept_for_idempotency_keys_go_with_what_they_quote(tenant: Tenant) -> None:
    async def keep(name: str, key: str) -> None:
        word = once(key)
        quoting = type(word)(word.key, word.request_digest, lambda _: f'{{"namespace":"{name}"}}'.encode())
        await tenant.engine.encode(tenant.principal, NewMemory("A note", namespace=name), quoting)

    await keep("doomed", "first")
    await keep("kept", "second")
    erasure = await erase_namespace(tenant, "doomed")
    assert erasure.before["idempotent_answers"] == 1
    assert [row[0] for row in await tenant.fetch("select key from idempotent_answers")] == ["second"]


async def test_erasing_what_is_not_there_finds_nothing(tenant: Tenant) -> None:
    erasure = await erase_namespace(tenant, "never-was")
    assert set(erasure.before.values()) == {0}
    assert erasure.after == erasure.before


async def test_a_large_namespace_is_out_of_reach_at_once_and_erased_by_a_job(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoria.engine.transfer.INLINE_ERASURE", 2)
    monkeypatch.setattr("memoria.erase.SLICE_MEMORIES", 3)
    ids = await live(tenant, "doomed")
    erasure = await erase_namespace(tenant, "doomed")
    assert erasure.after is None
    assert erasure.job_id is not None
    with pytest.raises(NotFoundError):
        await tenant.engine.get(tenant.principal, ids[0])
    assert await tenant.recalled("where does server 1 stand?", namespace="doomed") == []
    newer = await tenant.encode("Written after it was erased", namespace="doomed")
    again = await erase_namespace(tenant, "elsewhere")
    assert again.job_id is None
    await run_jobs(tenant, erasure.job_id)
    job = await read(tenant, erasure.job_id)
    assert job.state is JobState.SUCCEEDED
    assert job.result is not None
    assert job.result["before"]["memories"] == 4
    assert set(job.result["after"].values()) == {0}
    assert await tenant.listed(namespace="doomed") == [newer.id]
    assert await broken_invariants(tenant) == {}


async def run_jobs(tenant: Tenant, job_id: int) -> None:
    """Run jobs until this one has ended; other tests enqueue some of the same kind into this database."""
    runner = make_runner(tenant.database, tenant.clock, erase.KIND)
    while (await read(tenant, job_id)).state in (JobState.QUEUED, JobState.RUNNING):
        assert await runner.run_one() is not None


async def test_asking_again_while_a_job_is_at_it_names_the_job(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoria.engine.transfer.INLINE_ERASURE", 2)
    await live(tenant, "doomed")
    first = await erase_namespace(tenant, "doomed")
    second = await erase_namespace(tenant, "doomed")
    assert (second.job_id, second.after) == (first.job_id, None)
    await run_jobs(tenant, first.job_id or 0)


async def test_what_is_written_meanwhile_is_erased_or_lives_in_a_new_namespace(tenant: Tenant) -> None:
    await live(tenant, "doomed")

    async def write(number: int) -> Any:
        await asyncio.sleep(number / 1000)
        return await tenant.encode(f"Written meanwhile, number {number}", namespace="doomed")

    erasing = asyncio.create_task(erase_namespace(tenant, "doomed"))
    written = await asyncio.gather(*(write(number) for number in range(20)))
    erasure = await erasing
    assert set((erasure.after or {"": 1}).values()) == {0}
    left = await tenant.listed(namespace="doomed")
    assert set(left) <= {memory.id for memory in written}
    assert await broken_invariants(tenant) == {}
    assert await tenant.fetch("select name from namespaces where starts_with(name, '~')") == []


async def test_another_organization_keeps_its_namespace_of_the_same_name(tenant: Tenant, other: Tenant) -> None:
    await live(tenant, "shared")
    kept = await live(other, "shared")
    await erase_namespace(tenant, "shared")
    assert sorted(await other.listed(namespace="shared")) == sorted(kept)
    assert await broken_invariants(other) == {}


async def count_all(owner_url: str, org_id: object) -> dict[str, int]:
    """Count an organization's rows in every table of the catalog, as the owner of the database."""
    connection = await asyncpg.connect(owner_url)
    try:
        return {
            row["relname"]: await connection.fetchval(
                f"select count(*) from {row['relname']} where org_id = $1",  # noqa: S608
                org_id,
            )
            for row in await connection.fetch(TABLES)
        }
    finally:
        await connection.close()


async def test_nothing_is_left_of_an_erased_organization(tenant: Tenant, other: Tenant, owner_url: str) -> None:
    for name in ("first", "second"):
        await live(tenant, name)
    await live(other, "first")
    org_id = tenant.principal.org_id
    before = await count_all(owner_url, other.principal.org_id)
    erasure = await erase_organization(tenant.database, org_id, tenant.clock())
    assert erasure.before["memories"] == 8
    assert set(erasure.after.values()) == {0}
    assert set((await count_all(owner_url, org_id)).values()) == {0}
    assert await count_all(owner_url, other.principal.org_id) == before
    again = await erase_organization(tenant.database, org_id, tenant.clock())
    assert set(again.before.values()) == {0}


async def test_an_organization_is_erased_by_a_job_with_its_own_row(tenant: Tenant, owner_url: str) -> None:
    await live(tenant, "first")
    org_id = tenant.principal.org_id
    async with tenant.database.tenant(org_id) as connection:
        await enqueue(connection, org_id, NewJob(JobKind.ERASE_ORGANIZATION), new_id=IDS.next(), now=tenant.clock())
    assert await make_runner(tenant.database, tenant.clock, erase_all.KIND).run_one() is Outcome.SUCCEEDED
    assert set((await count_all(owner_url, org_id)).values()) == {0}
