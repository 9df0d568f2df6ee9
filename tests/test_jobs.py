"""Jobs are one at a time for their key, seen by their own organization alone, and deleted in the end."""

import asyncio
from datetime import timedelta

import asyncpg
import pytest

from memoria import jobs
from memoria.errors import ConflictError, ForbiddenError, InvalidInputError, NotFoundError
from memoria.job_records import ClaimedJob, JobFailure, JobPriority, NewJob, Turn
from memoria.vocabulary import JOB_DAYS, JobState, Scope
from tests.tenants import MakeTenant, Tenant
from tests.workers.job_rig import IDS, enqueue, read
from workers.tasks import purge_jobs

pytestmark = pytest.mark.anyio

KIND = "test_store"


async def claim(tenant: Tenant, kind: str = KIND) -> ClaimedJob | None:
    """Claim the organization's next job."""
    now = tenant.clock()
    turn = Turn((kind,), "worker", now, now - timedelta(seconds=30))
    async with tenant.database.tenant(tenant.principal.org_id) as connection:
        return await jobs.claim(connection, tenant.principal.org_id, turn)


async def succeed(tenant: Tenant, job: ClaimedJob) -> bool:
    """End a job well."""
    async with tenant.database.tenant(tenant.principal.org_id) as connection:
        return await jobs.succeed(connection, tenant.principal.org_id, job, None, tenant.clock())


async def namespace_id(tenant: Tenant, name: str) -> int:
    """Make a namespace by writing to it."""
    await tenant.encode("A note", namespace=name)
    rows = await tenant.fetch("select namespace_id from namespaces where name = $1", name)
    return int(rows[0]["namespace_id"])


async def test_what_is_asked_twice_is_queued_once_and_once_more_while_it_runs(tenant: Tenant) -> None:
    first = await enqueue(tenant, KIND, 1)
    assert await enqueue(tenant, KIND, 1) == jobs.Enqueued(first.job_id, is_new=False)
    assert (await enqueue(tenant, KIND, 2)).is_new
    assert (await enqueue(tenant, "test_store_other", 1)).is_new
    running = await claim(tenant)
    assert running is not None
    second = await enqueue(tenant, KIND, running.namespace_id)
    assert second.is_new
    assert not (await enqueue(tenant, KIND, running.namespace_id)).is_new
    other = await claim(tenant)
    assert other is not None
    assert {running.namespace_id, other.namespace_id} == {1, 2}
    assert await claim(tenant) is None
    assert await succeed(tenant, running)
    third = await claim(tenant)
    assert third is not None
    assert third.job_id == second.job_id


async def test_many_who_ask_at_once_get_one_job(tenant: Tenant) -> None:
    asked = await asyncio.gather(*(enqueue(tenant, KIND, 1) for _ in range(12)))
    assert len({each.job_id for each in asked}) == 1
    assert sum(each.is_new for each in asked) == 1


async def test_many_who_claim_at_once_get_different_jobs_and_never_two_of_a_key(tenant: Tenant) -> None:
    for place in range(4):
        await enqueue(tenant, KIND, place)
    claimed = [job for job in await asyncio.gather(*(claim(tenant) for _ in range(12))) if job is not None]
    claimed += [job for job in [await claim(tenant) for _ in range(4)] if job is not None]
    assert sorted(str(job.namespace_id) for job in claimed) == ["0", "1", "2", "3"]


async def test_a_job_that_was_found_waits_for_the_transaction_that_found_it(tenant: Tenant) -> None:
    queued = await enqueue(tenant, KIND)
    org_id = tenant.principal.org_id
    async with tenant.database.tenant(org_id) as connection:
        found = await jobs.enqueue(connection, org_id, NewJob(KIND), new_id=IDS.next(), now=tenant.clock())
        assert found.job_id == queued.job_id
        assert await claim(tenant) is None
    assert await claim(tenant) is not None


async def test_a_job_that_waits_is_brought_forward_by_who_asks_for_it(tenant: Tenant) -> None:
    later = tenant.clock() + timedelta(hours=1)
    scheduled = await enqueue(tenant, KIND, priority=JobPriority.SCHEDULED, run_at=later)
    assert await claim(tenant) is None
    assert (await enqueue(tenant, KIND)).job_id == scheduled.job_id
    assert (await read(tenant, scheduled.job_id)).run_at == tenant.clock()
    assert await claim(tenant) is not None


async def test_what_is_asked_for_comes_before_what_a_schedule_made(tenant: Tenant) -> None:
    await enqueue(tenant, KIND, 1, priority=JobPriority.SCHEDULED)
    tenant.clock.advance(seconds=1)
    await enqueue(tenant, KIND, 2)
    first = await claim(tenant)
    assert first is not None
    assert first.namespace_id == 2


async def test_a_dead_job_is_not_retried_while_an_equal_one_is_under_way(tenant: Tenant) -> None:
    org_id = tenant.principal.org_id
    dead = await enqueue(tenant, KIND)
    claimed = await claim(tenant)
    assert claimed is not None
    async with tenant.database.tenant(org_id) as connection:
        failure = JobFailure("INTERNAL", "It failed.")
        assert await jobs.bury(connection, org_id, claimed, failure, failures=1, now=tenant.clock())
    await enqueue(tenant, KIND)
    assert await claim(tenant) is not None
    with pytest.raises(ConflictError):
        async with tenant.database.tenant(org_id) as connection:
            await jobs.retry_dead(connection, org_id, dead.job_id, tenant.clock())


async def test_a_cancelled_job_never_ends_otherwise(tenant: Tenant) -> None:
    org_id = tenant.principal.org_id
    await enqueue(tenant, KIND)
    running = await claim(tenant)
    assert running is not None
    async with tenant.database.tenant(org_id) as connection:
        assert await jobs.cancel(connection, org_id, running.job_id, tenant.clock())
        assert not await jobs.cancel(connection, org_id, running.job_id, tenant.clock())
        assert not await jobs.beat(connection, org_id, running, tenant.clock())
        assert not await jobs.hold(connection, org_id, running)
    assert not await succeed(tenant, running)
    assert (await read(tenant, running.job_id)).state is JobState.CANCELLED


async def test_jobs_are_seen_by_their_organization_alone(tenant: Tenant, other: Tenant) -> None:
    queued = await enqueue(tenant, KIND)
    assert (await tenant.engine.jobs.get(tenant.principal, queued.job_id)).id == queued.job_id
    with pytest.raises(NotFoundError):
        await other.engine.jobs.get(other.principal, queued.job_id)
    assert (await other.engine.jobs.list(other.principal)).items == ()
    assert await claim(other) is None
    async with other.database.tenant(other.principal.org_id) as connection:
        assert not await jobs.cancel(connection, tenant.principal.org_id, queued.job_id, tenant.clock())


async def test_a_key_that_is_bound_to_namespaces_sees_their_jobs_alone(tenant: Tenant) -> None:
    sales = await enqueue(tenant, KIND, await namespace_id(tenant, "sales/acme"))
    support = await enqueue(tenant, KIND, await namespace_id(tenant, "support"))
    whole = await enqueue(tenant, KIND)
    gone = await enqueue(tenant, KIND, 12345)
    bound = tenant.as_principal(namespace_patterns=("sales/*",))
    page = await bound.engine.jobs.list(bound.principal)
    assert ([job.id for job in page.items], page.total) == ([sales.job_id], 1)
    for hidden in (support, whole, gone):
        with pytest.raises(NotFoundError):
            await bound.engine.jobs.get(bound.principal, hidden.job_id)
    assert (await bound.engine.jobs.get(bound.principal, sales.job_id)).namespace == "sales/acme"
    assert (await tenant.engine.jobs.list(tenant.principal)).total == 4


async def test_pages_of_jobs_follow_each_other_newest_first(tenant: Tenant) -> None:
    queued = [(await enqueue(tenant, KIND, place)).job_id for place in range(5)]
    assert await claim(tenant) is not None
    seen, cursor = [], None
    while True:
        page = await tenant.engine.jobs.list(tenant.principal, states=[JobState.QUEUED], limit=2, cursor=cursor)
        seen += [job.id for job in page.items]
        assert page.total == 4
        if (cursor := page.next_cursor) is None:
            break
    assert seen == queued[:0:-1]
    with pytest.raises(InvalidInputError):
        await tenant.engine.jobs.list(tenant.principal, limit=2, cursor="nonsense")


async def test_reading_jobs_needs_the_scope(tenant: Tenant) -> None:
    writer = tenant.as_principal(scopes=frozenset({Scope.WRITE}))
    with pytest.raises(ForbiddenError):
        await writer.engine.jobs.list(writer.principal)
    with pytest.raises(ForbiddenError):
        await writer.engine.jobs.get(writer.principal, 1)


async def test_jobs_are_deleted_a_month_after_their_end_and_not_before(make_tenant: MakeTenant) -> None:
    tenant = await make_tenant()
    await enqueue(tenant, KIND, 1)
    ended = await claim(tenant)
    assert ended is not None
    assert await succeed(tenant, ended)
    waiting = await enqueue(tenant, KIND, 2)
    tenant.clock.advance(days=JOB_DAYS - 1)
    await purge_jobs.run(tenant.database, tenant.clock())
    assert (await tenant.engine.jobs.list(tenant.principal)).total == 2
    tenant.clock.advance(days=2)
    while await purge_jobs.run(tenant.database, tenant.clock()):
        pass
    assert [job.id for job in (await tenant.engine.jobs.list(tenant.principal)).items] == [waiting.job_id]


async def test_the_jobs_of_an_organization_are_deleted_with_it(tenant: Tenant, owner_url: str) -> None:
    await enqueue(tenant, KIND)
    owner = await asyncpg.connect(owner_url)
    try:
        await owner.execute("delete from organizations where org_id = $1", tenant.principal.org_id)
    finally:
        await owner.close()
    assert await tenant.fetch("select job_id from jobs") == []


async def test_the_jobs_of_a_namespace_are_deleted_with_it(tenant: Tenant) -> None:
    place = await namespace_id(tenant, "to-be-erased")
    await enqueue(tenant, KIND, place)
    kept = await enqueue(tenant, KIND)
    org_id = tenant.principal.org_id
    async with tenant.database.tenant(org_id) as connection:
        assert await jobs.delete_namespace_jobs(connection, org_id, place) == 1
    assert [job.id for job in (await tenant.engine.jobs.list(tenant.principal)).items] == [kept.job_id]
