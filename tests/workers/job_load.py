"""Be a worker for tests, `python -m tests.workers.job_load`, whose jobs leave a trace in the table `job_effects`."""

import asyncio
import os
import random
import sys

from memoria.errors import UnavailableError
from tests.tenants import raw_of
from workers.__main__ import main
from workers.kinds import Kind
from workers.runner import Pace
from workers.running import RunningJob

EFFECTS_TABLE = """
    drop table if exists job_effects;
    delete from jobs;
    create table job_effects (org_id uuid, job_id bigint, part integer, attempt integer);
    create index on job_effects (org_id, job_id);
    grant select, insert on job_effects to memoria_app;
"""
HAS_PART = "select true from job_effects where org_id = $1 and job_id = $2 and part = $3"
ADD_PART = "insert into job_effects (org_id, job_id, part, attempt) values ($1, $2, $3, $4)"
PARTS = 4
PACE = Pace(poll=0.02, heartbeat=0.3, silence=1.5, away=0.1, drain=2.0, retry=0.1)


async def add_part(job: RunningJob, part: int, *, is_last: bool) -> None:
    """Leave a trace, unless an earlier attempt has."""
    async with job.transaction() as connection:
        raw = raw_of(connection)
        if not await raw.fetchval(HAS_PART, job.org_id, job.id, part):
            await raw.execute(ADD_PART, job.org_id, job.id, part, job.claimed.attempt)
        if is_last:
            await job.complete(connection, {"parts": part + 1})


async def at_once(job: RunningJob) -> None:
    """Leave one trace without looking for another: only its transaction makes sure that it is the only one."""
    await asyncio.sleep(random.uniform(0.0, 0.1))
    async with job.transaction() as connection:
        await raw_of(connection).execute(ADD_PART, job.org_id, job.id, 0, job.claimed.attempt)
        await asyncio.sleep(random.uniform(0.0, 0.05))
        await job.complete(connection, {"parts": 1})


async def in_parts(job: RunningJob) -> None:
    """Go on where an earlier attempt has ended."""
    for part in range(PARTS):
        await asyncio.sleep(random.uniform(0.0, 0.1))
        await add_part(job, part, is_last=part == PARTS - 1)
        await job.report(part + 1, PARTS)


async def at_the_second_attempt(job: RunningJob) -> None:
    """Fail at first."""
    if job.claimed.attempt == 1:
        raise UnavailableError("Something is away.")
    await add_part(job, 0, is_last=True)


async def for_long(job: RunningJob) -> None:
    """Take longer than the time after which a silent worker counts as dead."""
    for _ in range(20):
        await asyncio.sleep(0.1)
        job.check()
    await add_part(job, 0, is_last=True)


NEVER = 1000  # failures: here no job may be given up
KINDS = tuple(
    Kind(run.__name__, run, max_failures=NEVER) for run in (at_once, in_parts, at_the_second_attempt, for_long)
)
PARTS_OF = {"at_once": 1, "in_parts": PARTS, "at_the_second_attempt": 1, "for_long": 1}

if __name__ == "__main__":
    sys.exit(main([], os.environ, kinds=KINDS, tasks=(), pace=PACE))
