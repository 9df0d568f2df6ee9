"""A worker counts what it does and what waits."""

import pytest

from tests.tenants import Tenant
from tests.workers.job_rig import enqueue, filled_job_metrics, make_runner, new_kind
from workers.metrics import JobMetrics
from workers.running import RunningJob

pytestmark = pytest.mark.anyio


async def succeed(job: RunningJob) -> None:
    return None


def test_the_age_of_the_queue_is_that_of_its_first_job() -> None:
    metrics = filled_job_metrics()
    assert metrics.registry.get_sample_value("memoria_job_oldest_seconds", {"kind": "decay"}) == 60
    assert metrics.registry.get_sample_value("memoria_job_queue", {"kind": "decay", "state": "queued"}) == 3


async def test_jobs_are_counted_by_kind_and_outcome_and_the_queue_by_state(tenant: Tenant) -> None:
    kind, metrics = new_kind(succeed), JobMetrics()
    for key in ("one", "two", "three"):
        await enqueue(tenant, kind, key=key)
    runner = make_runner(tenant.database, tenant.clock, kind, note=metrics.note)
    await runner.run_one()
    await metrics.count_task().run(tenant.database, tenant.clock.advance(seconds=5))
    value = metrics.registry.get_sample_value
    assert value("memoria_jobs_total", {"kind": kind.name, "outcome": "succeeded"}) == 1
    assert value("memoria_job_seconds_count", {"kind": kind.name}) == 1
    assert value("memoria_job_queue", {"kind": kind.name, "state": "queued"}) == 2
    assert value("memoria_job_oldest_seconds", {"kind": kind.name}) == 5
    while await runner.run_one():
        pass
    await metrics.count_task().run(tenant.database, tenant.clock())
    assert value("memoria_job_queue", {"kind": kind.name, "state": "queued"}) is None
