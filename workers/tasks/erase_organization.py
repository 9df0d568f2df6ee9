"""Erase an organization that an operator has given up, its jobs included: the log holds the proof."""

from collections.abc import Mapping
from typing import Any

import structlog

from accounts.erasure import erase_organization
from memoria.database import Connection
from memoria.vocabulary import JobKind
from workers.kinds import Kind
from workers.running import RunningJob


async def run(job: RunningJob) -> None:
    """Erase the job's organization. The last transaction ends the job and deletes it with all others."""

    async def complete(connection: Connection, before: Mapping[str, int]) -> None:
        await job.complete(connection, {"before": dict(before)})

    async def report(deleted: int) -> None:
        await job.report(deleted)

    erasure = await erase_organization(job.database, job.org_id, job.now, progress=report, before_the_end=complete)
    proof: dict[str, Any] = {"before": dict(erasure.before), "after": dict(erasure.after)}
    structlog.get_logger().info("organization_erased", org_id=str(job.org_id), **proof)


KIND = Kind(JobKind.ERASE_ORGANIZATION, run)
