"""Erase a namespace that was taken out of reach, and prove it.

Each step is a transaction; an attempt goes on where an earlier one has ended.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import asyncpg

from memoria.erase import ErasureStep, erase_step
from memoria.vocabulary import JobKind
from workers.kinds import Kind
from workers.running import RunningJob


async def run(job: RunningJob) -> Mapping[str, Any]:
    """Erase, and return the rows of each table before and after."""
    namespace_id, before = job.payload["namespace_id"], job.payload["before"]
    withdrawn_at = datetime.fromisoformat(job.payload["at"])
    step, deleted = ErasureStep(0), 0
    while step.after is None:
        try:
            async with job.transaction() as connection:
                step = await erase_step(connection, job.org_id, namespace_id, withdrawn_at)
        except asyncpg.DeadlockDetectedError:
            continue  # against a write that had begun before: it goes first
        deleted += step.deleted
        await job.report(deleted, before["memories"])
    return {"before": before, "after": step.after}


KIND = Kind(JobKind.ERASE, run)
