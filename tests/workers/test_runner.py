"""A job runs once, is tried again with patience, and is given up for an operator to see."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from memoria import jobs
from memoria.errors import EmbedderUnavailableError, NotFoundError
from memoria.vocabulary import MAX_RETRY_SECONDS, RETRY_SECONDS, SILENCE_SECONDS, JobState
from tests.tenants import Tenant
from tests.workers.job_rig import FAST, enqueue, make_runner, new_kind, read
from workers.runner import Outcome, Runner, retry_pause
from workers.running import JobStoppedError, RunningJob

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def every_level_is_logged() -> None:
    """Undo the level that an application of another test has set."""
    structlog.reset_defaults()


async def succeed(job: RunningJob) -> Mapping[str, Any]:
    return {"payload": dict(job.payload)}


async def break_down(job: RunningJob) -> None:
    raise ValueError("a secret of the tenant")


async def run_all(runner: Runner) -> list[Outcome]:
    outcomes = []
    while (outcome := await runner.run_one()) is not None:
        outcomes.append(outcome)
    return outcomes


async def test_a_job_succeeds_and_keeps_its_result(tenant: Tenant) -> None:
    kind = new_kind(succeed)
    queued = await enqueue(tenant, kind, payload={"limit": 3})
    assert (await read(tenant, queued.job_id)).state is JobState.QUEUED
    assert await run_all(make_runner(tenant.database, tenant.clock, kind)) == [Outcome.SUCCEEDED]
    job = await read(tenant, queued.job_id)
    assert (job.state, job.result, job.attempts, job.error) == (
        JobState.SUCCEEDED,
        {"payload": {"limit": 3}},
        1,
        None,
    )
    assert job.finished_at == job.started_at == tenant.clock.now


async def test_a_job_is_enqueued_by_the_commit_of_its_transaction_and_not_before(tenant: Tenant) -> None:
    kind = new_kind(succeed)
    runner = make_runner(tenant.database, tenant.clock, kind)
    with pytest.raises(KeyError):
        async with tenant.database.tenant(tenant.principal.org_id) as connection:
            await jobs.enqueue(
                connection,
                tenant.principal.org_id,
                jobs.NewJob(kind.name),
                new_id=1,
                now=tenant.clock(),
            )
            assert await run_all(runner) == []
            raise KeyError
    assert await run_all(runner) == []


async def test_a_failed_job_waits_longer_after_each_failure_and_is_given_up_in_the_end(tenant: Tenant) -> None:
    kind = new_kind(break_down, max_failures=4)
    queued = await enqueue(tenant, kind)
    runner = make_runner(tenant.database, tenant.clock, kind)
    pauses = []
    with capture_logs() as logs:
        for _ in range(3):
            assert await run_all(runner) == [Outcome.FAILED]
            waiting = await read(tenant, queued.job_id)
            assert waiting.state is JobState.QUEUED
            pauses.append((waiting.run_at - tenant.clock.now).total_seconds())
            tenant.clock.now = waiting.run_at - timedelta(milliseconds=1)
            assert await run_all(runner) == []
            tenant.clock.now = waiting.run_at
        assert await run_all(runner) == [Outcome.DEAD]
    for number, pause in enumerate(pauses):
        assert 0.9 <= pause / (RETRY_SECONDS * 2**number) <= 1.1
    job = await read(tenant, queued.job_id)
    assert (job.state, job.attempts) == (JobState.DEAD, 4)
    assert job.error == jobs.JobFailure("INTERNAL", "The job failed unexpectedly.")
    assert "secret" not in repr(logs)
    assert [entry["outcome"] for entry in logs if entry["event"] == "job"] == ["failed", "failed", "failed", "dead"]


def test_the_pause_before_a_retry_is_bounded() -> None:
    assert retry_pause(50, 1.0).total_seconds() == pytest.approx(MAX_RETRY_SECONDS * 1.1)


async def test_an_error_of_our_own_is_shown_and_a_hopeless_one_is_not_tried_again(tenant: Tenant) -> None:
    async def lack_embedder(job: RunningJob) -> None:
        raise EmbedderUnavailableError("The embedder does not answer.")

    async def lack_namespace(job: RunningJob) -> None:
        raise NotFoundError("There is no such namespace.")

    patient, hopeless = new_kind(lack_embedder), new_kind(lack_namespace)
    first, second = await enqueue(tenant, patient), await enqueue(tenant, hopeless)
    outcomes = await run_all(make_runner(tenant.database, tenant.clock, patient, hopeless))
    assert sorted(outcomes) == [Outcome.DEAD, Outcome.FAILED]
    assert (await read(tenant, first.job_id)).error == jobs.JobFailure("UNAVAILABLE", "The embedder does not answer.")
    assert (await read(tenant, second.job_id)).state is JobState.DEAD


async def test_a_dead_job_that_is_retried_has_all_its_attempts_before_it(tenant: Tenant) -> None:
    failing = [True, True, False]

    async def recover(job: RunningJob) -> None:
        if failing.pop(0):
            raise ValueError

    kind = new_kind(recover, max_failures=2)
    queued = await enqueue(tenant, kind)
    runner = make_runner(tenant.database, tenant.clock, kind)
    assert await run_all(runner) == [Outcome.FAILED]
    tenant.clock.advance(hours=1)
    assert await run_all(runner) == [Outcome.DEAD]
    org_id = tenant.principal.org_id
    async with tenant.database.untenanted() as connection:
        dead = await jobs.find_jobs_of_all(connection, state=JobState.DEAD, job_id=queued.job_id)
    assert [(listing.org_id, listing.kind, listing.failures) for listing in dead] == [(org_id, kind.name, 2)]
    async with tenant.database.tenant(org_id) as connection:
        assert await jobs.retry_dead(connection, org_id, queued.job_id, tenant.clock())
        assert not await jobs.retry_dead(connection, org_id, queued.job_id, tenant.clock())
    assert await run_all(runner) == [Outcome.SUCCEEDED]
    assert (await read(tenant, queued.job_id)).error is None


async def test_a_job_whose_worker_is_silent_is_taken_over_and_the_first_can_write_nothing_more(
    tenant: Tenant,
) -> None:
    began, may_go_on, wrote = asyncio.Event(), asyncio.Event(), []

    async def write_slowly(job: RunningJob) -> None:
        if job.claimed.attempt == 1:
            began.set()
            await may_go_on.wait()
        async with job.transaction() as connection:
            wrote.append(job.claimed.attempt)
            await job.complete(connection)

    kind = new_kind(write_slowly)
    queued = await enqueue(tenant, kind)
    stuck = replace(FAST, heartbeat=3600.0)
    first = asyncio.create_task(make_runner(tenant.database, tenant.clock, kind, pace=stuck).run_one())
    await began.wait()
    second = make_runner(tenant.database, tenant.clock, kind)
    assert await second.run_one() is None
    tenant.clock.advance(seconds=SILENCE_SECONDS)
    assert await second.run_one() is Outcome.SUCCEEDED
    may_go_on.set()
    assert await first is Outcome.LOST
    assert wrote == [2]
    job = await read(tenant, queued.job_id)
    assert (job.state, job.attempts) == (JobState.SUCCEEDED, 2)


async def test_a_job_is_not_taken_over_while_its_worker_holds_it_in_a_transaction(tenant: Tenant) -> None:
    held, may_end = asyncio.Event(), asyncio.Event()

    async def hold(job: RunningJob) -> None:
        async with job.transaction() as connection:
            held.set()
            await may_end.wait()
            await job.complete(connection)

    kind = new_kind(hold)
    await enqueue(tenant, kind)
    first = asyncio.create_task(make_runner(tenant.database, tenant.clock, kind).run_one())
    await held.wait()
    tenant.clock.advance(seconds=SILENCE_SECONDS)
    assert await make_runner(tenant.database, tenant.clock, kind).run_one() is None
    may_end.set()
    assert await first is Outcome.SUCCEEDED


async def test_a_job_that_takes_its_workers_down_is_given_up(tenant: Tenant) -> None:
    kind = new_kind(succeed, max_failures=2)
    queued = await enqueue(tenant, kind)
    org_id = tenant.principal.org_id
    for _ in range(2):
        async with tenant.database.tenant(org_id) as connection:
            turn = jobs.Turn((kind.name,), "worker", tenant.clock(), tenant.clock() - timedelta(seconds=30))
            assert await jobs.claim(connection, org_id, turn) is not None
        tenant.clock.advance(seconds=SILENCE_SECONDS)
    assert await make_runner(tenant.database, tenant.clock, kind).run_one() is Outcome.DEAD
    assert (await read(tenant, queued.job_id)).error.code == "WORKER_LOST"  # type: ignore[union-attr]


async def test_a_stop_lets_a_short_job_end_and_gives_a_long_one_back_unfailed(tenant: Tenant) -> None:
    started = asyncio.Queue[str]()

    async def end_soon(job: RunningJob) -> None:
        started.put_nowait("short")
        with suppress(JobStoppedError):
            while True:
                job.check()
                await asyncio.sleep(0.001)

    async def go_on(job: RunningJob) -> None:
        started.put_nowait("long")
        await asyncio.Event().wait()

    async def listen(job: RunningJob) -> None:
        started.put_nowait("listening")
        while True:
            await job.report(1, 2)
            await asyncio.sleep(0.001)

    kinds = [new_kind(run) for run in (end_soon, go_on, listen)]
    queued = [await enqueue(tenant, kind) for kind in kinds]
    stop = asyncio.Event()
    runner = make_runner(tenant.database, tenant.clock, *kinds, slots=4)
    running = asyncio.create_task(runner.run(stop))
    assert {await started.get() for _ in kinds} == {"short", "long", "listening"}
    stop.set()
    await asyncio.wait_for(running, timeout=10)
    ended = [await read(tenant, each.job_id) for each in queued]
    assert [job.state for job in ended] == [JobState.SUCCEEDED, JobState.QUEUED, JobState.QUEUED]
    assert ended[1].error is None
    assert (ended[2].done, ended[2].total) == (1, 2)
