"""A schedule makes one job a place and period, however many workers look."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from memoria import jobs
from memoria.identifiers import IdMaker
from memoria.job_records import JobPriority
from tests.tenants import MakeTenant, Tenant
from tests.workers.job_rig import enqueue, make_runner, new_kind
from workers.clock import utc_now
from workers.kinds import Kind, Place, Schedule
from workers.planning import plan, plan_task
from workers.running import RunningJob

pytestmark = pytest.mark.anyio

DAILY = Schedule(timedelta(days=1))
SCHEDULED = "select namespace_id, scheduled_for, priority from jobs where kind = $1 order by scheduled_for"


async def do_nothing(job: RunningJob) -> None:
    return None


async def plan_all(tenant: Tenant, kind: Kind, schedule: Schedule) -> None:
    """Look as often as there is something to enqueue, from several workers at once."""
    while any(
        await asyncio.gather(
            *(plan(tenant.database, kind.name, schedule, IdMaker(utc_now), tenant.clock()) for _ in range(3))
        )
    ):
        pass


async def test_each_namespace_gets_one_job_a_period(make_tenant: MakeTenant) -> None:
    tenants = [await make_tenant() for _ in range(2)]
    kind = new_kind(do_nothing)
    for tenant in tenants:
        for name in ("one", "two"):
            await tenant.encode("A note", namespace=name)
    await plan_all(tenants[0], kind, DAILY)
    for tenant in tenants:
        rows = await tenant.fetch(SCHEDULED, kind.name)
        assert len({row["namespace_id"] for row in rows}) == len(rows) == 2
        assert {row["scheduled_for"] for row in rows} == {datetime(2026, 5, 1, tzinfo=UTC)}
        assert {row["priority"] for row in rows} == {JobPriority.SCHEDULED}
    await plan_all(tenants[0], kind, DAILY)
    assert len(await tenants[0].fetch(SCHEDULED, kind.name)) == 2


async def test_the_next_period_gets_its_own_job_and_a_waiting_one_serves_for_it(tenant: Tenant) -> None:
    kind = new_kind(do_nothing)
    runner = make_runner(tenant.database, tenant.clock, kind)
    hourly = Schedule(timedelta(hours=1), Place.ORGANIZATION)
    await plan_all(tenant, kind, hourly)
    tenant.clock.advance(hours=1)
    await plan_all(tenant, kind, hourly)
    (waiting,) = await tenant.fetch(SCHEDULED, kind.name)
    assert waiting["scheduled_for"] == hourly.period(tenant.clock.now)
    assert waiting["namespace_id"] is None
    while await runner.run_one():
        pass
    tenant.clock.advance(hours=1)
    await enqueue(tenant, kind)
    await plan_all(tenant, kind, hourly)
    assert [row["priority"] for row in await tenant.fetch(SCHEDULED, kind.name)] == [
        JobPriority.SCHEDULED,
        JobPriority.ASKED,
    ]


async def test_the_task_plans_the_kinds_that_have_a_schedule(tenant: Tenant) -> None:
    scheduled, unscheduled = new_kind(do_nothing, schedule=DAILY), new_kind(do_nothing)
    await tenant.encode("A note")
    task = plan_task([scheduled, unscheduled])
    while await task.run(tenant.database, tenant.clock()):
        pass
    async with tenant.database.tenant(tenant.principal.org_id) as connection:
        found, _ = await jobs.list_jobs(
            connection, tenant.principal.org_id, tenant.principal, states=(), before=None, limit=10
        )
    assert [job.kind for job in found] == [scheduled.name]


@pytest.mark.parametrize("seconds", [0.0, 1.0, 3599.9])
def test_a_period_begins_at_the_full_hour(seconds: float) -> None:
    hour = datetime(2026, 5, 1, 9, tzinfo=UTC)
    assert Schedule(timedelta(hours=1)).period(hour + timedelta(seconds=seconds)) == hour
