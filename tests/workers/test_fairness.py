"""An organization with ten thousand jobs does not hold up one with a single job."""

import asyncio
import time
from datetime import timedelta

import pytest

from memoria import jobs
from memoria.job_records import JobPriority
from tests.tenants import MakeTenant, Tenant
from tests.workers.job_rig import enqueue, make_runner, new_kind
from workers.kinds import Kind
from workers.runner import Outcome
from workers.running import RunningJob

pytestmark = pytest.mark.anyio

FLOOD = 10_000
ADD_JOBS = """
    insert into jobs (org_id, job_id, kind, key, payload, run_at, created_at)
    select $1, n, $2, n::text, '{}', $3, $3 from generate_series(1, $4) n
"""
CLAIM_SECONDS = 0.25  # a bound for a busy machine: it takes some milliseconds


async def flood(tenant: Tenant, kind: Kind) -> None:
    """Enqueue ten thousand jobs."""
    await tenant.fetch(ADD_JOBS, tenant.principal.org_id, kind.name, tenant.clock(), FLOOD)


async def test_each_organization_gets_its_turn_beside_a_flood(make_tenant: MakeTenant) -> None:
    order = []

    async def note(job: RunningJob) -> None:
        order.append(job.org_id)

    kind = new_kind(note)
    huge, *small = [await make_tenant() for _ in range(5)]
    await flood(huge, kind)
    runner = make_runner(huge.database, huge.clock, kind)
    for _ in range(3):
        huge.clock.advance(seconds=1)
        assert await runner.run_one() is Outcome.SUCCEEDED
    for tenant in small:
        for number in range(3):
            await enqueue(tenant, kind, key=str(number))
    turns = []
    for _ in range(15):
        huge.clock.advance(seconds=1)
        started = time.monotonic()
        assert await runner.run_one() is Outcome.SUCCEEDED
        turns.append(time.monotonic() - started)
    everybody = {tenant.principal.org_id for tenant in (huge, *small)}
    for first in (3, 8, 13):
        assert set(order[first : first + 5]) == everybody
    assert sorted(turns)[len(turns) // 2] < CLAIM_SECONDS


async def test_a_flood_of_long_jobs_leaves_a_slot_to_others(make_tenant: MakeTenant) -> None:
    began, may_end = asyncio.Queue[object](), asyncio.Event()

    async def take_long(job: RunningJob) -> None:
        began.put_nowait(job.org_id)
        await may_end.wait()

    kind = new_kind(take_long)
    huge, small = await make_tenant(), await make_tenant()
    await flood(huge, kind)
    stop = asyncio.Event()
    running = asyncio.create_task(make_runner(huge.database, huge.clock, kind, slots=3).run(stop))
    assert [await began.get() for _ in range(2)] == [huge.principal.org_id] * 2
    await enqueue(small, kind)
    assert await asyncio.wait_for(began.get(), timeout=10) == small.principal.org_id
    stop.set()
    may_end.set()
    await asyncio.wait_for(running, timeout=10)


async def test_what_schedules_make_and_what_is_asked_for_take_turns(make_tenant: MakeTenant) -> None:
    order = []

    async def note(job: RunningJob) -> None:
        order.append(job.org_id)

    kind = new_kind(note)
    asking, planned = await make_tenant(), await make_tenant()
    for number in range(6):
        await enqueue(asking, kind, key=str(number))
        await enqueue(planned, kind, key=str(number), priority=JobPriority.SCHEDULED)
    runner = make_runner(asking.database, asking.clock, kind)
    for _ in range(12):
        asking.clock.advance(seconds=1)
        await runner.run_one()
    assert order[:6].count(asking.principal.org_id) >= 3
    assert order[:6].count(planned.principal.org_id) >= 2


async def test_organizations_without_a_job_to_begin_are_not_named(make_tenant: MakeTenant) -> None:
    async def run(job: RunningJob) -> None:
        return None

    kind = new_kind(run)
    later, blocked, ready = [await make_tenant() for _ in range(3)]
    await enqueue(later, kind, run_at=later.clock() + timedelta(hours=1))
    await enqueue(blocked, kind)
    await enqueue(ready, kind)
    now = ready.clock()
    turn = jobs.Turn((kind.name,), "worker", now, now - timedelta(seconds=30))
    async with blocked.database.tenant(blocked.principal.org_id) as connection:
        assert await jobs.claim(connection, blocked.principal.org_id, turn) is not None
    await enqueue(blocked, kind)
    async with ready.database.untenanted() as connection:
        named = await jobs.find_organizations_to_serve(connection, turn, passed_over=[], wanted=8)
        assert named == [ready.principal.org_id]
        assert await jobs.find_organizations_to_serve(connection, turn, passed_over=named, wanted=8) == []
