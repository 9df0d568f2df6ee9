"""Enqueue the jobs of schedules: one a place and period, whichever worker comes first."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from memoria import jobs
from memoria.database import Database
from memoria.identifiers import IdMaker
from memoria.job_records import JobPriority, NewJob
from workers.clock import utc_now
from workers.kinds import Kind, Place, Schedule
from workers.schedule import Task

PLAN_SECONDS = 15.0


def plan_task(kinds: Sequence[Kind]) -> Task:
    """Make the task that enqueues what the schedules of these kinds ask for."""
    ids = IdMaker(utc_now)

    async def run(database: Database, now: datetime) -> int:
        done = 0
        for kind in kinds:
            if kind.schedule is not None:
                done += await plan(database, kind.name, kind.schedule, ids, now)
        return done

    return Task("plan_jobs", rest_seconds=PLAN_SECONDS, run=run)


async def plan(database: Database, kind: str, schedule: Schedule, ids: IdMaker, now: datetime) -> int:
    """Enqueue what is missing for the period that `now` is in, a bounded number of places, and return how many.

    A place whose waiting job serves for the period counts too: what is returned says whether to look for more.
    """
    period = schedule.period(now)
    places = await _find_places(database, kind, schedule, period)
    for org_id, namespace_id in places:
        new = NewJob(kind, namespace_id, priority=JobPriority.SCHEDULED)
        async with database.tenant(org_id) as connection:
            await jobs.enqueue_scheduled(connection, org_id, new, period=period, new_id=ids.next(), now=now)
    return len(places)


async def _find_places(
    database: Database, kind: str, schedule: Schedule, period: datetime
) -> list[tuple[UUID, int | None]]:
    async with database.untenanted() as connection:
        if schedule.place is Place.ORGANIZATION:
            organizations = await jobs.find_organizations_to_schedule(connection, kind, period)
            return [(org_id, None) for org_id in organizations]
        return [
            (org_id, namespace_id)
            for org_id, namespace_id in await jobs.find_namespaces_to_schedule(connection, kind, period)
        ]
