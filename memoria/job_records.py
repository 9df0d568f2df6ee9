"""Define the records of background jobs that cross a boundary."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from typing import Any
from uuid import UUID

from memoria.vocabulary import JobState


class JobPriority(IntEnum):
    """Say which of an organization's jobs comes first."""

    ASKED = 0
    SCHEDULED = 1


@dataclass(frozen=True, slots=True)
class NewJob:
    """Describe a job to enqueue.

    `payload` holds ids and options only, never what a user wrote: jobs outlive what they are about. Of one kind,
    namespace and `key` one job is done at a time and at most one more waits; with a key of its own (an id) it is
    independent of the others. `run_at` is the earliest time it may begin; None is now.
    """

    kind: str
    namespace_id: int | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)
    key: str = ""
    priority: JobPriority = JobPriority.ASKED
    run_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Enqueued:
    """Name the job that will do what was asked; `is_new` is False for one that waited already."""

    job_id: int
    is_new: bool


@dataclass(frozen=True, slots=True)
class ClaimedJob:
    """Be a job as the worker that claimed it sees it.

    `attempt` is the claim's token: what the worker writes names it, and finds nothing once another has taken over.
    `failures` counts the attempts that failed or lost their worker before this one.
    """

    org_id: UUID
    job_id: int
    kind: str
    namespace_id: int | None
    payload: Mapping[str, Any]
    attempt: int
    failures: int
    waited_seconds: float


@dataclass(frozen=True, slots=True)
class Turn:
    """Say what a worker looks for.

    It takes the kinds it knows, down to `most_priority`, and running jobs without a heartbeat since `silent_since`.
    """

    kinds: tuple[str, ...]
    worker: str
    now: datetime
    silent_since: datetime
    most_priority: JobPriority = JobPriority.SCHEDULED


@dataclass(frozen=True, slots=True)
class JobFailure:
    """Say why an attempt failed: a stable code and a sentence of our own, never the text of an exception."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Job:
    """Be one background job as its organization sees it.

    `namespace` is None for a job of the whole organization, and for one whose namespace is gone. `error` is that of
    the last failed attempt; a queued job that has one waits until `run_at` for its next attempt.
    """

    id: int
    kind: str
    namespace: str | None
    is_namespaced: bool
    state: JobState
    attempts: int
    done: int
    total: int | None
    result: Mapping[str, Any] | None
    error: JobFailure | None
    created_at: datetime
    run_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class JobPage:
    """Be one page of jobs, newest first."""

    items: tuple[Job, ...]
    next_cursor: str | None
    total: int


@dataclass(frozen=True, slots=True)
class JobListing:
    """Be one job of any organization, as an operator sees it."""

    org_id: UUID
    job_id: int
    kind: str
    namespace_id: int | None
    state: JobState
    attempts: int
    failures: int
    error_code: str | None
    worker: str | None
    created_at: datetime
    run_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class JobCount:
    """Count the jobs of a kind in a state; `oldest` is since when the longest of them could have run."""

    kind: str
    state: JobState
    jobs: int
    oldest: datetime | None
