"""Store background jobs: enqueue them in the caller's transaction, claim them in turn, record how they end."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg

from memoria.database import Connection
from memoria.errors import ConflictError, NotFoundError
from memoria.job_records import (
    ClaimedJob,
    Enqueued,
    Job,
    JobCount,
    JobFailure,
    JobListing,
    NewJob,
    Turn,
)
from memoria.records import Principal
from memoria.vocabulary import JOB_DAYS, JobState

ENQUEUE_ATTEMPTS = 5  # the job that an insert met may have begun before it was read
PLACES_A_ROUND = 200  # namespaces or organizations that one round of a schedule visits


def no_such_job() -> NotFoundError:
    """Make the error for a job that this tenant does not have."""
    return NotFoundError("There is no job with this id.")


# Enqueue


async def enqueue(connection: Connection, org_id: UUID, new: NewJob, *, new_id: int, now: datetime) -> Enqueued:
    """Enqueue a job in the caller's transaction, or find the equal one that waits.

    A job that is found is brought forward to what is asked now, and no worker begins it before the caller has
    committed, so that it sees what the caller wrote. While an equal job runs, a new one waits for its end.
    """
    run_at = new.run_at or now
    same = {"org_id": org_id, "kind": new.kind, "namespace_id": new.namespace_id, "key": new.key}
    for _ in range(ENQUEUE_ATTEMPTS):
        found = await connection.fetch_value("hurry_job", run_at=run_at, priority=new.priority, **same)
        found = found or await connection.fetch_value("find_queued_job", **same)
        if found is not None:
            return Enqueued(found, is_new=False)
        if await _insert(connection, org_id, new, new_id, now, scheduled_for=None):
            return Enqueued(new_id, is_new=True)
    raise ConflictError("The job was begun each time it was looked at: try again.")


async def enqueue_scheduled(
    connection: Connection, org_id: UUID, new: NewJob, *, period: datetime, new_id: int, now: datetime
) -> bool:
    """Enqueue the one job of a period; False when another process has, or when a job that waits serves for it."""
    waiting = await connection.execute(
        "schedule_waiting_job", org_id=org_id, kind=new.kind, namespace_id=new.namespace_id, scheduled_for=period
    )
    return not waiting and await _insert(connection, org_id, new, new_id, now, scheduled_for=period)


async def _insert(
    connection: Connection, org_id: UUID, new: NewJob, new_id: int, now: datetime, scheduled_for: datetime | None
) -> bool:
    inserted = await connection.execute(
        "insert_job",
        org_id=org_id,
        job_id=new_id,
        kind=new.kind,
        namespace_id=new.namespace_id,
        key=new.key,
        priority=new.priority,
        payload=dict(new.payload),
        run_at=new.run_at or now,
        scheduled_for=scheduled_for,
        now=now,
    )
    return inserted == 1


# Claim


async def find_organizations_to_serve(
    connection: Connection, turn: Turn, *, passed_over: Sequence[UUID], wanted: int
) -> list[UUID]:
    """Find organizations with a job to begin or to take over: the least busy, then the longest waiting, first."""
    rows = await connection.fetch(
        "find_organizations_to_serve",
        kinds=list(turn.kinds),
        now=turn.now,
        silent_since=turn.silent_since,
        most_priority=turn.most_priority,
        passed_over=list(passed_over),
        wanted=wanted,
    )
    return [row["org_id"] for row in rows]


async def claim(connection: Connection, org_id: UUID, turn: Turn) -> ClaimedJob | None:
    """Take over an organization's abandoned job, else claim its next one; None when others were faster."""
    row = await connection.fetch_row(
        "take_over_job",
        org_id=org_id,
        kinds=list(turn.kinds),
        worker=turn.worker,
        now=turn.now,
        silent_since=turn.silent_since,
    ) or await connection.fetch_row(
        "claim_job",
        org_id=org_id,
        kinds=list(turn.kinds),
        worker=turn.worker,
        now=turn.now,
        most_priority=turn.most_priority,
    )
    if row is None:
        return None
    waited = max(0.0, (turn.now - row["run_at"]).total_seconds())
    return ClaimedJob(
        org_id=org_id,
        job_id=row["job_id"],
        kind=row["kind"],
        namespace_id=row["namespace_id"],
        payload=row["payload"],
        attempt=row["attempt"],
        failures=row["failures"],
        waited_seconds=waited,
    )


# What the worker that claimed a job writes about it. Each answers False once another has taken the job over.


async def hold(connection: Connection, org_id: UUID, job: ClaimedJob) -> bool:
    """Make sure that the job is still ours, and that it stays so until this transaction has ended."""
    return await connection.fetch_value("hold_job", **_attempt(org_id, job)) is not None


async def beat(connection: Connection, org_id: UUID, job: ClaimedJob, now: datetime) -> bool:
    """Say that the worker is alive."""
    return await connection.execute("beat_job", now=now, **_attempt(org_id, job)) == 1


async def report(
    connection: Connection, org_id: UUID, job: ClaimedJob, *, done: int, total: int | None, now: datetime
) -> bool:
    """Say how far the job is."""
    return await connection.execute("report_job", done=done, total=total, now=now, **_attempt(org_id, job)) == 1


async def succeed(
    connection: Connection, org_id: UUID, job: ClaimedJob, result: Mapping[str, Any] | None, now: datetime
) -> bool:
    """End the job well; `result` holds counts and ids."""
    stored = None if result is None else dict(result)
    return await connection.execute("succeed_job", result=stored, now=now, **_attempt(org_id, job)) == 1


async def fail(
    connection: Connection, org_id: UUID, job: ClaimedJob, failure: JobFailure, *, next_attempt_at: datetime
) -> bool:
    """Record a failed attempt; the job is queued for the next."""
    outcome = {"run_at": next_attempt_at, "code": failure.code, "message": failure.message}
    return await connection.execute("fail_job", **outcome, **_attempt(org_id, job)) == 1


async def bury(
    connection: Connection, org_id: UUID, job: ClaimedJob, failure: JobFailure, *, failures: int, now: datetime
) -> bool:
    """Give the job up; it stays until an operator retries it or its days are over."""
    outcome = {"failures": failures, "code": failure.code, "message": failure.message, "now": now}
    return await connection.execute("bury_job", **outcome, **_attempt(org_id, job)) == 1


async def release(connection: Connection, org_id: UUID, job: ClaimedJob, now: datetime) -> bool:
    """Give an unfinished job back, for another worker to go on with at once."""
    return await connection.execute("release_job", now=now, **_attempt(org_id, job)) == 1


def _attempt(org_id: UUID, job: ClaimedJob) -> dict[str, object]:
    return {"org_id": org_id, "job_id": job.job_id, "attempt": job.attempt}


# Read


async def read_job(connection: Connection, org_id: UUID, job_id: int) -> Job | None:
    """Read one job."""
    row = await connection.fetch_row("read_job", org_id=org_id, job_id=job_id)
    return None if row is None else _from_row(row)


async def list_jobs(
    connection: Connection,
    org_id: UUID,
    principal: Principal,
    *,
    states: Sequence[JobState],
    before: int | None,
    limit: int,
) -> tuple[list[Job], int]:
    """Read jobs that the principal may see, newest first, and how many there are; no states means all of them."""
    patterns = principal.namespace_patterns
    bounds = {
        "org_id": org_id,
        "states": list(states),
        "exact_names": [pattern for pattern in patterns if not pattern.endswith("*")],
        "prefixes": [pattern[:-1] for pattern in patterns if pattern.endswith("*")],
    }
    rows = await connection.fetch("list_jobs", before=before, limit=limit, **bounds)
    total = await connection.fetch_value("count_jobs", **bounds)
    return [_from_row(row) for row in rows], total


def _from_row(row: asyncpg.Record) -> Job:
    code = row["error_code"]
    return Job(
        id=row["job_id"],
        kind=row["kind"],
        namespace=row["namespace"],
        is_namespaced=row["namespace_id"] is not None,
        state=JobState(row["state"]),
        attempts=row["attempt"],
        done=row["progress_done"],
        total=row["progress_total"],
        result=row["result"],
        error=None if code is None else JobFailure(code, row["error_message"]),
        created_at=row["created_at"],
        run_at=row["run_at"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
    )


# Change and delete


async def retry_dead(connection: Connection, org_id: UUID, job_id: int, now: datetime) -> bool:
    """Queue a dead job again; False when it is not dead. Raises ConflictError while an equal one is under way."""
    try:
        return await connection.execute("retry_dead_job", org_id=org_id, job_id=job_id, now=now) == 1
    except asyncpg.UniqueViolationError as error:
        raise ConflictError("Another job of this kind and namespace is under way.") from error


async def cancel(connection: Connection, org_id: UUID, job_id: int, now: datetime) -> bool:
    """Cancel a job that has not ended; a worker that runs it stops at its next heartbeat and writes nothing more."""
    return await connection.execute("cancel_job", org_id=org_id, job_id=job_id, now=now) == 1


async def delete_namespace_jobs(connection: Connection, org_id: UUID, namespace_id: int) -> int:
    """Delete every job of a namespace; a worker that runs one finds it gone and stops."""
    return await connection.execute("delete_namespace_jobs", org_id=org_id, namespace_id=namespace_id)


async def delete_outlived(connection: Connection, org_id: UUID, now: datetime) -> int:
    """Delete an organization's jobs that ended long ago, and return how many there were."""
    return await connection.execute("delete_outlived_jobs", org_id=org_id, older_than=_outlived(now))


def _outlived(now: datetime) -> datetime:
    return now - timedelta(days=JOB_DAYS)


# Across organizations, before one is chosen


async def find_namespaces_to_schedule(connection: Connection, kind: str, period: datetime) -> list[tuple[UUID, int]]:
    """Find namespaces without a job of this kind for the period."""
    rows = await connection.fetch("find_namespaces_to_schedule", kind=kind, period=period, wanted=PLACES_A_ROUND)
    return [(row["org_id"], row["namespace_id"]) for row in rows]


async def find_organizations_to_schedule(connection: Connection, kind: str, period: datetime) -> list[UUID]:
    """Find organizations without a job of this kind, and of no namespace, for the period."""
    rows = await connection.fetch("find_organizations_to_schedule", kind=kind, period=period, wanted=PLACES_A_ROUND)
    return [row["org_id"] for row in rows]


async def find_outlived_jobs(connection: Connection, now: datetime) -> list[UUID]:
    """Find organizations with jobs that ended long ago."""
    rows = await connection.fetch("find_outlived_jobs", older_than=_outlived(now), wanted=PLACES_A_ROUND)
    return [row["org_id"] for row in rows]


async def find_jobs_of_all(
    connection: Connection, *, state: JobState | None, job_id: int | None = None, wanted: int = 100
) -> list[JobListing]:
    """Find jobs of all organizations, newest first: in a state, or the one with an id."""
    rows = await connection.fetch("find_jobs_of_all", state=state, job_id=job_id, wanted=wanted)
    return [
        JobListing(
            org_id=row["org_id"],
            job_id=row["job_id"],
            kind=row["kind"],
            namespace_id=row["namespace_id"],
            state=JobState(row["state"]),
            attempts=row["attempt"],
            failures=row["failures"],
            error_code=row["error_code"],
            worker=row["worker"],
            created_at=row["created_at"],
            run_at=row["run_at"],
            finished_at=row["finished_at"],
        )
        for row in rows
    ]


async def count_jobs_of_all(connection: Connection) -> list[JobCount]:
    """Count the unfinished and dead jobs of all organizations."""
    rows = await connection.fetch("count_jobs_of_all")
    return [JobCount(row["kind"], JobState(row["state"]), row["jobs"], row["oldest"]) for row in rows]
