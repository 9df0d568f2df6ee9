"""Claim jobs and run them side by side until told to stop."""

import asyncio
import os
import random
import socket
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

import asyncpg
import structlog

from accounts.logs import describe_fault
from memoria import jobs
from memoria.database import Connection, Database
from memoria.embedding import Embedder
from memoria.errors import ForbiddenError, InvalidInputError, MemoriaError, NotFoundError, UnavailableError
from memoria.identifiers import IdKind, format_id
from memoria.job_records import ClaimedJob, JobFailure, JobPriority, Turn
from memoria.language import SummaryWriter
from memoria.vocabulary import HEARTBEAT_SECONDS, MAX_RETRY_SECONDS, RETRY_SECONDS, SILENCE_SECONDS
from workers.kinds import Kind
from workers.running import JobLostError, JobStoppedError, RunningJob

CANDIDATES = 64  # organizations whose turns are looked up at once
HOPELESS = (InvalidInputError, NotFoundError, ForbiddenError)  # trying again changes nothing
WORKER_LOST = JobFailure("WORKER_LOST", "The workers that ran this job ended without a word.")
UNEXPECTED = JobFailure("INTERNAL", "The job failed unexpectedly.")


class Outcome(StrEnum):
    """Say how an attempt ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    DEAD = "dead"
    RELEASED = "released"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Pace:
    """Hold the times of a runner, in seconds."""

    poll: float = 1.0
    heartbeat: float = HEARTBEAT_SECONDS
    silence: float = SILENCE_SECONDS
    away: float = 5.0
    drain: float = 8.0
    retry: float = RETRY_SECONDS


@dataclass(frozen=True, slots=True)
class Ended:
    """Say how one attempt went, for the log and the metrics."""

    job: ClaimedJob
    outcome: Outcome
    seconds: float
    error: str | None


@dataclass(frozen=True, slots=True)
class Queue:
    """Hold the organizations whose turn comes next, for as long as that may be believed."""

    organizations: deque[UUID]
    fresh_until: float


def retry_pause(failures: int, chance: float, first: float = RETRY_SECONDS) -> timedelta:
    """Return how long to wait after the n-th failure: doubling, bounded, spread by `chance` (0-1) over a fifth."""
    pause = min(first * 2.0 ** (failures - 1), MAX_RETRY_SECONDS)
    return timedelta(seconds=pause * (0.9 + 0.2 * chance))


class Runner:
    """Run up to `slots` jobs at once.

    Where there are several slots, one organization never has them all: the others find one free when they need it.
    """

    def __init__(
        self,
        database: Database,
        kinds: Sequence[Kind],
        clock: Callable[[], datetime],
        embedder: Callable[[], Awaitable[Embedder]],
        *,
        slots: int = 2,
        pace: Pace | None = None,
        note: Callable[[Ended], None] = lambda ended: None,
        writer: SummaryWriter | None = None,
    ) -> None:
        self._database = database
        self._kinds: Mapping[str, Kind] = {kind.name: kind for kind in kinds}
        self._clock = clock
        self._embedder = embedder
        self._writer = writer
        self._slots = slots
        self._pace = pace or Pace()
        self._note = note
        self._name = f"{socket.gethostname()}:{os.getpid()}"
        self._running: dict[asyncio.Task[None], RunningJob] = {}
        self._claims = 0
        self._queues = {priority: Queue(deque(), 0.0) for priority in JobPriority}

    async def run(self, stop: asyncio.Event) -> None:
        """Claim and run until `stop` is set; then let what runs come to an end, or give it back."""
        while not stop.is_set():
            job = await self._claim_safely(stop) if len(self._running) < self._slots else None
            if job is None:
                await self._wait(stop)
            else:
                self._start(job)
        await self._drain()

    async def run_one(self) -> Outcome | None:
        """Claim one job and run it to its end; None when there is none to claim."""
        job = await self._claim()
        return None if job is None else (await self._work(self._as_running(job)))

    # Claim

    async def _claim_safely(self, stop: asyncio.Event) -> ClaimedJob | None:
        try:
            return await self._claim()
        except UnavailableError:
            structlog.get_logger().warning("database_away", task="jobs")
        except Exception as error:
            # The edge of a claim: nothing was begun, and it is tried again.
            structlog.get_logger().error("claim_failed", **describe_fault(error))
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), self._pace.away)
        return None

    async def _claim(self) -> ClaimedJob | None:
        """Claim a job; every second time those that were asked for come before those that a schedule made."""
        self._claims += 1
        if self._claims % 2 and (job := await self._claim_in_turn(JobPriority.ASKED)):
            return job
        return await self._claim_in_turn(JobPriority.SCHEDULED)

    async def _claim_in_turn(self, most_priority: JobPriority) -> ClaimedJob | None:
        """Give the next organization its turn. The order is looked up once for many turns: that costs the most."""
        now = self._clock()
        silent_since = now - timedelta(seconds=self._pace.silence)
        turn = Turn(tuple(self._kinds), self._name, now, silent_since, most_priority)
        if job := await self._claim_from(self._queues[most_priority], turn):
            return job
        async with self._database.untenanted() as connection:
            candidates = await jobs.find_organizations_to_serve(
                connection, turn, passed_over=self._busy_organizations(), wanted=CANDIDATES
            )
        self._queues[most_priority] = Queue(deque(candidates), time.monotonic() + self._pace.poll)
        return await self._claim_from(self._queues[most_priority], turn)

    async def _claim_from(self, queue: Queue, turn: Turn) -> ClaimedJob | None:
        while queue.organizations and time.monotonic() < queue.fresh_until:
            org_id = queue.organizations.popleft()
            if org_id in self._busy_organizations():
                continue
            # An equal job may have begun in the same moment: then it is not this one's turn.
            with suppress(asyncpg.UniqueViolationError):
                async with self._database.tenant(org_id) as connection:
                    job = await jobs.claim(connection, org_id, turn)
                if job is not None:
                    self._end_turn(org_id)
                    return job
        return None

    def _end_turn(self, org_id: UUID) -> None:
        """Let an organization that had its turn wait for the next one, whichever priority it was served at."""
        for queue in self._queues.values():
            with suppress(ValueError):
                queue.organizations.remove(org_id)

    def _busy_organizations(self) -> list[UUID]:
        if self._slots == 1:
            return []
        counts = Counter(running.org_id for running in self._running.values())
        return [org_id for org_id, count in counts.items() if count >= self._slots - 1]

    def _as_running(self, job: ClaimedJob) -> RunningJob:
        return RunningJob(job, self._database, self._clock, self._embedder, self._writer)

    def _start(self, job: ClaimedJob) -> None:
        running = self._as_running(job)
        task = asyncio.create_task(self._work_and_forget(running), name=f"{job.kind} {job.job_id}")
        self._running[task] = running
        task.add_done_callback(self._running.pop)

    async def _wait(self, stop: asyncio.Event) -> None:
        """Wait for a stop, for a job to end or, with a slot free, for the time to look again."""
        stopped = asyncio.create_task(stop.wait())
        timeout = self._pace.poll if len(self._running) < self._slots else None
        await asyncio.wait({stopped, *self._running}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()

    async def _drain(self) -> None:
        for running in self._running.values():
            running.should_stop = True
        if self._running:
            await asyncio.wait(set(self._running), timeout=self._pace.drain)
        for running in self._running.values():
            running.cancel()
        if self._running:
            await asyncio.wait(set(self._running), timeout=self._pace.drain)

    # Run

    async def _work_and_forget(self, running: RunningJob) -> None:
        await self._work(running)

    async def _work(self, running: RunningJob) -> Outcome:
        """Run one attempt and record how it ended: the one canonical line of a job."""
        job, started = running.claimed, time.monotonic()
        outcome, error = await self._attempt(running)
        ended = Ended(job, outcome, time.monotonic() - started, error)
        structlog.get_logger().info(
            "job",
            job_id=format_id(job.job_id, IdKind.JOB),
            org_id=str(job.org_id),
            kind=job.kind,
            attempt=job.attempt,
            outcome=str(outcome),
            error=error,
            waited_seconds=round(job.waited_seconds, 3),
            ms=round(ended.seconds * 1000, 1),
        )
        self._note(ended)
        return outcome

    async def _attempt(self, running: RunningJob) -> tuple[Outcome, str | None]:
        job, kind = running.claimed, self._kinds[running.claimed.kind]
        if job.failures >= kind.max_failures:
            return await self._bury(job, WORKER_LOST, job.failures), WORKER_LOST.code
        # A task of its own: what cancels it, a lost claim or the drain, does not cut off the record of the outcome.
        running.work = asyncio.ensure_future(kind.run(running))
        beats = asyncio.create_task(self._beat(running))
        try:
            result = await running.work
        except (asyncio.CancelledError, JobStoppedError):
            return Outcome.LOST if running.is_lost else await self._release(job), None
        except JobLostError:
            return Outcome.LOST, None
        except HOPELESS as error:
            return await self._bury(job, JobFailure(error.code, error.message), job.failures + 1), error.code
        except MemoriaError as error:
            return await self._fail(kind, job, JobFailure(error.code, error.message)), error.code
        except Exception as error:
            # The edge of a job: whatever went wrong in it is its outcome.
            structlog.get_logger().error("job_broke", kind=job.kind, **describe_fault(error))
            return await self._fail(kind, job, UNEXPECTED), UNEXPECTED.code
        finally:
            beats.cancel()
        return await self._succeed(running, result), None

    async def _beat(self, running: RunningJob) -> None:
        """Keep the job ours; once it is not, end the attempt."""
        job = running.claimed
        while not running.is_lost:
            await asyncio.sleep(self._pace.heartbeat)
            with suppress(UnavailableError):
                async with self._database.tenant(job.org_id) as connection:
                    running.is_lost = not await jobs.beat(connection, job.org_id, job, self._clock())
        running.cancel()

    # Record

    async def _succeed(self, running: RunningJob, result: Mapping[str, Any] | None) -> Outcome:
        if running.is_complete:
            return Outcome.SUCCEEDED
        job = running.claimed
        written = await self._record(
            job, lambda connection: jobs.succeed(connection, job.org_id, job, result, self._clock())
        )
        return Outcome.SUCCEEDED if written else Outcome.LOST

    async def _fail(self, kind: Kind, job: ClaimedJob, failure: JobFailure) -> Outcome:
        failures = job.failures + 1
        if failures >= kind.max_failures:
            return await self._bury(job, failure, failures)
        again = self._clock() + retry_pause(failures, random.random(), self._pace.retry)  # noqa: S311
        written = await self._record(
            job, lambda connection: jobs.fail(connection, job.org_id, job, failure, next_attempt_at=again)
        )
        return Outcome.FAILED if written else Outcome.LOST

    async def _bury(self, job: ClaimedJob, failure: JobFailure, failures: int) -> Outcome:
        written = await self._record(
            job,
            lambda connection: jobs.bury(connection, job.org_id, job, failure, failures=failures, now=self._clock()),
        )
        return Outcome.DEAD if written else Outcome.LOST

    async def _release(self, job: ClaimedJob) -> Outcome:
        written = await self._record(job, lambda connection: jobs.release(connection, job.org_id, job, self._clock()))
        return Outcome.RELEASED if written else Outcome.LOST

    async def _record(self, job: ClaimedJob, write: Callable[[Connection], Coroutine[Any, Any, bool]]) -> bool:
        """Write an outcome, as long as nobody else may have taken the job over; a database may come back meanwhile."""
        deadline = time.monotonic() + self._pace.silence
        while True:
            try:
                async with self._database.tenant(job.org_id) as connection:
                    return await write(connection)
            except UnavailableError:
                if time.monotonic() > deadline:
                    return False
            await asyncio.sleep(self._pace.poll)
