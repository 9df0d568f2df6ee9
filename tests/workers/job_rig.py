"""Give tests a runner that knows their own kinds alone, in a database that other tests enqueue into as well."""

import itertools
import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

from memoria import jobs
from memoria.database import Database
from memoria.embedding import Embedder, FakeEmbedder
from memoria.identifiers import IdMaker
from memoria.job_records import ClaimedJob, Enqueued, Job, JobCount, NewJob
from memoria.vocabulary import JobState
from tests.tenants import START, Tenant
from workers.clock import utc_now
from workers.kinds import Kind, Run
from workers.metrics import JobMetrics
from workers.runner import Ended, Outcome, Pace, Runner

NUMBERS = itertools.count(1)
IDS = IdMaker(utc_now)  # one maker, so that no two tests draw the same
FAST = Pace(poll=0.02, heartbeat=0.05, silence=30.0, away=0.02, drain=0.2)


def new_kind(run: Run, **options: Any) -> Kind:
    """Make a kind that no other test knows."""
    return Kind(f"test_{os.getpid()}_{next(NUMBERS)}", run, **options)


async def fake_embedder() -> Embedder:
    """Open the embedder of tests."""
    return FakeEmbedder()


def filled_job_metrics() -> JobMetrics:
    """Make the metrics of a worker that has run a job and looked at the queue."""
    metrics, job = JobMetrics(), ClaimedJob(uuid4(), 1, "decay", None, {}, 1, 0, 0.1)
    metrics.note(Ended(job, Outcome.SUCCEEDED, 0.5, None))
    metrics.show_queue([JobCount("decay", JobState.QUEUED, 3, START)], START + timedelta(seconds=60))
    return metrics


def make_runner(database: Database, clock: Callable[[], Any], *kinds: Kind, **options: Any) -> Runner:
    """Make a runner of these kinds."""
    return Runner(database, kinds, clock, fake_embedder, **{"pace": FAST, **options})


async def enqueue(tenant: Tenant, kind: Kind | str, namespace_id: int | None = None, **fields: Any) -> Enqueued:
    """Enqueue a job in a transaction of its own."""
    name = kind if isinstance(kind, str) else kind.name
    async with tenant.database.tenant(tenant.principal.org_id) as connection:
        return await jobs.enqueue(
            connection,
            tenant.principal.org_id,
            NewJob(name, namespace_id, **fields),
            new_id=IDS.next(),
            now=tenant.clock(),
        )


async def read(tenant: Tenant, job_id: int) -> Job:
    """Read a job that is there."""
    async with tenant.database.tenant(tenant.principal.org_id) as connection:
        job = await jobs.read_job(connection, tenant.principal.org_id, job_id)
    assert job is not None
    return job
