"""Be the job that a worker runs, as the code of its kind sees it."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

from memoria import jobs
from memoria.database import Connection, Database
from memoria.embedding import Embedder
from memoria.job_records import ClaimedJob
from memoria.language import SummaryWriter

REPORT_SECONDS = 1.0  # progress is written no more often


class JobLostError(Exception):
    """Say that another worker has taken the job over, or that it is gone: nothing may be written for it any more."""


class JobStoppedError(Exception):
    """Say that the worker is stopping and the job goes back to the queue, unfinished."""


class RunningJob:
    """Be one attempt at a job: what it is about, and the means to do it safely."""

    def __init__(
        self,
        claimed: ClaimedJob,
        database: Database,
        clock: Callable[[], datetime],
        embedder: Callable[[], Awaitable[Embedder]],
        writer: SummaryWriter | None = None,
    ) -> None:
        self.claimed = claimed
        self.writer = writer
        self.database = database
        self.is_complete = False
        self.should_stop = False
        self.is_lost = False
        self.work: asyncio.Future[Mapping[str, Any] | None] | None = None
        self._clock = clock
        self._embedder = embedder
        self._reported_at = 0.0

    @property
    def id(self) -> int:
        """The job's id."""
        return self.claimed.job_id

    @property
    def org_id(self) -> UUID:
        """The organization that the job belongs to."""
        return self.claimed.org_id

    @property
    def namespace_id(self) -> int | None:
        """The namespace that the job is about; None for a job of the whole organization."""
        return self.claimed.namespace_id

    @property
    def payload(self) -> Mapping[str, Any]:
        """The job's ids and options."""
        return self.claimed.payload

    @property
    def now(self) -> datetime:
        """Read the clock."""
        return self._clock()

    async def embedder(self) -> Embedder:
        """Return this process's embedder, loaded at the first use."""
        return await self._embedder()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """Open a transaction of the job's tenant that commits only while the job is ours.

        Nobody takes the job over before it has ended. Raises JobLostError when somebody has already.
        """
        async with self.database.tenant(self.org_id) as connection:
            if not await jobs.hold(connection, self.org_id, self.claimed):
                self.is_lost = True
                raise JobLostError
            yield connection

    async def complete(self, connection: Connection, result: Mapping[str, Any] | None = None) -> None:
        """End the job well together with its last effects, in the transaction that makes them."""
        if not await jobs.succeed(connection, self.org_id, self.claimed, result, self.now):
            raise JobLostError
        self.is_complete = True

    def cancel(self) -> None:
        """End the attempt where it stands."""
        if self.work is not None:
            self.work.cancel()

    def check(self) -> None:
        """Raise JobStoppedError when the worker is stopping, JobLostError when the job was taken over."""
        if self.is_lost:
            raise JobLostError
        if self.should_stop:
            raise JobStoppedError

    async def report(self, done: int, total: int | None = None) -> None:
        """Say how far the job is, at most once a second, and check."""
        self.check()
        if time.monotonic() - self._reported_at < REPORT_SECONDS:
            return
        self._reported_at = time.monotonic()
        async with self.database.tenant(self.org_id) as connection:
            if not await jobs.report(connection, self.org_id, self.claimed, done=done, total=total, now=self.now):
                self.is_lost = True
        self.check()
