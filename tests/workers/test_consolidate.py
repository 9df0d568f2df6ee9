"""The job consolidates a namespace as often as a schedule or a call asks, and goes on after it was killed."""

import pytest

from memoria.consolidation_records import ConsolidationAnswer
from memoria.vocabulary import JobState
from tests.sleeping import REPEATED, made, store
from tests.tenants import Tenant
from tests.workers.job_rig import enqueue, make_runner, read
from workers.runner import Outcome
from workers.tasks.consolidate import KIND

pytestmark = pytest.mark.anyio


async def namespace_id(tenant: Tenant) -> int:
    row = (await tenant.fetch("select namespace_id from namespaces"))[0]
    found: int = row["namespace_id"]
    return found


async def run_all(tenant: Tenant) -> list[Outcome]:
    """Run what this tenant has waiting; other tests of this database have jobs of the kind, too."""
    runner = make_runner(tenant.database, tenant.clock, KIND)
    outcomes = []
    while (outcome := await runner.run_one()) is not None:
        outcomes.append(outcome)
    return outcomes


async def test_a_call_enqueues_one_job_and_the_job_does_it(tenant: Tenant) -> None:
    await store(tenant, *REPEATED)
    first = await tenant.engine.consolidation.consolidate(tenant.principal)
    second = await tenant.engine.consolidation.consolidate(tenant.principal)
    assert isinstance(first, ConsolidationAnswer)
    assert first == second
    assert first.job_id is not None
    assert set(await run_all(tenant)) == {Outcome.SUCCEEDED}
    job = await read(tenant, first.job_id)
    assert job.state is JobState.SUCCEEDED
    assert job.result is not None
    assert (job.result["summaries"], job.result["repeated"]) == (1, 3)
    assert len(await made(tenant)) == 1


async def test_a_large_window_is_left_to_a_job(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoria.engine.consolidation.CONSOLIDATE_AT_ONCE", 2)
    await store(tenant, *REPEATED)
    answer = await tenant.engine.consolidation.consolidate(tenant.principal, wait=True)
    assert isinstance(answer, ConsolidationAnswer)
    assert answer.done is None
    assert answer.job_id is not None


async def test_the_daily_job_reaches_back_to_the_last_one(tenant: Tenant) -> None:
    await store(tenant, *REPEATED[:2])
    tenant.clock.advance(days=9)
    await enqueue(tenant, KIND, await namespace_id(tenant))
    await run_all(tenant)
    [run] = await tenant.fetch("select counts, finished_at from consolidation_runs")
    assert run["counts"]["considered"] == 2
    await store(tenant, REPEATED[2])
    tenant.clock.advance(days=5)
    await enqueue(tenant, KIND, await namespace_id(tenant))
    await run_all(tenant)
    assert len(await made(tenant)) == 1


async def test_a_job_whose_namespace_is_gone_ends(tenant: Tenant) -> None:
    job = await enqueue(tenant, KIND, 7)
    assert Outcome.DEAD in await run_all(tenant)
    assert (await read(tenant, job.job_id)).state is JobState.DEAD
