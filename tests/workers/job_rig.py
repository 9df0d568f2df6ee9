"""Give tests a runner that knows their own kinds alone, in a database that other tests enqueue into as well."""

import itertools
import os
from collections.abc import Callable
from typing import Any

from memoria import jobs
from memoria.database import Database
from memoria.embedding import Embedder, FakeEmbedder
from memoria.identifiers import IdMaker
from memoria.job_records import Enqueued, Job, NewJob
from tests.tenants import Tenant
from workers.clock import utc_now
from workers.kinds import Kind, Run
from workers.runner import Pace, Runner

NUMBERS = itertools.count(1)
IDS = IdMaker(utc_now)  # one maker, so that no two tests draw the same
FAST = Pace(poll=0.02, heartbeat=0.05, silence=30.0, away=0.02, drain=0.2)


def new_kind(run: Run, **options: Any) -> Kind:
    """Make a kind that no other test knows."""
    return Kind(f"test_{os.getpid()}_{next(NUMBERS)}", run, **options)


async def fake_embedder() -> Embedder:
    """Open the embedder of tests."""
    return FakeEmbedder()


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
