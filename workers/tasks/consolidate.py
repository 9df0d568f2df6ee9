"""Consolidate a namespace, once a day: what was made or changed since the last time, and at least in the last day.

Each step is a transaction that holds the job and the namespace's run. An attempt that was broken off goes on where its
last step ended. After each step the worker rests as long as it took, so that requests find the database free.
"""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from memoria.consolidate import consolidate
from memoria.consolidation_run import Means
from memoria.identifiers import IdMaker
from memoria.vocabulary import CONSOLIDATION_HOURS, JobKind
from workers.kinds import Kind, Schedule
from workers.running import RunningJob

LONGEST_REST_SECONDS = 2.0
IDLE_SHARE = 1.0  # of a step's time, that the worker rests after it


async def run(job: RunningJob) -> Mapping[str, Any]:
    """Consolidate, and return the counts."""
    if job.namespace_id is None:
        return {}

    async def rest(seconds: float) -> None:
        await asyncio.sleep(min(IDLE_SHARE * seconds, LONGEST_REST_SECONDS))
        job.check()

    hours = job.payload.get("window_hours")
    means = Means(
        org_id=job.org_id,
        transaction=job.transaction,
        embedder=job.embedder,
        ids=IdMaker(lambda: job.now),
        clock=lambda: job.now,
        writer=job.writer,
        rest=rest,
        report=job.report,
    )
    done = await consolidate(
        means,
        job.namespace_id,
        holder=f"job {job.id}",
        window=timedelta(hours=CONSOLIDATION_HOURS if hours is None else hours),
        catch_up=hours is None,
    )
    return done.counts.to_json()


KIND = Kind(JobKind.CONSOLIDATE, run, schedule=Schedule(timedelta(hours=CONSOLIDATION_HOURS)))
