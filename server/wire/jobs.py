"""Define what the calls about background jobs take and answer, and make the answers of the engine's records."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, Field

from memoria.identifiers import IdKind, format_id
from memoria.job_records import Job
from memoria.vocabulary import JobState
from server.wire.fields import JobStates, as_tuple, pascal
from server.wire.filters import PageQuery


class JobsQuery(PageQuery):
    """Choose a page of jobs."""

    state: Annotated[JobStates | None, Field(description="Only jobs in one of these states.")] = None

    def to_states(self) -> tuple[JobState, ...]:
        """Make the engine's words for the states; none means all."""
        return as_tuple(self.state)


class JobProgressOut(BaseModel):
    """Say how far a job is; `total` is null while nobody knows."""

    done: int
    total: int | None


class JobErrorOut(BaseModel):
    """Say why the last attempt failed."""

    code: str
    message: str


class JobOut(BaseModel):
    """Be one background job. `run_at` is the earliest time of a queued job's next attempt."""

    id: str
    kind: str
    namespace: str | None
    state: str
    progress: JobProgressOut
    result: dict[str, Any] | None
    error: JobErrorOut | None
    attempts: int
    created_at: datetime
    run_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class JobPageOut(BaseModel):
    """Be one page of jobs, newest first."""

    items: list[JobOut]
    next_cursor: str | None
    total: int


def render_job(job: Job) -> JobOut:
    """Show a job."""
    error = None if job.error is None else JobErrorOut(code=job.error.code, message=job.error.message)
    return JobOut(
        id=format_id(job.id, IdKind.JOB),
        kind="".join(pascal(word) for word in job.kind.split("_")),
        namespace=job.namespace,
        state=pascal(job.state),
        progress=JobProgressOut(done=job.done, total=job.total),
        result=None if job.result is None else dict(job.result),
        error=error,
        attempts=job.attempts,
        created_at=job.created_at,
        run_at=job.run_at,
        started_at=job.started_at,
        finished_at=job.finished_at,
    )
