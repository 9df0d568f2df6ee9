"""Run one consolidation of a namespace in small steps, each a transaction of its own that renews the run's lease.

Whoever is killed between two steps has lost nothing: the next run goes on from what the last step wrote. Nobody holds a
connection while an embedder or a language model answers.
"""

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar
from uuid import UUID

import asyncpg

from memoria import consolidations
from memoria.consolidations import Run
from memoria.database import Connection
from memoria.embedding.port import Embedder
from memoria.encode import MovedError
from memoria.errors import ConflictError
from memoria.identifiers import IdMaker
from memoria.language.port import SummaryWriter
from memoria.namespaces import Namespace

LEASE = timedelta(seconds=60)  # longer than any step; what is not renewed may be taken over
NOTE_SECONDS = 1.0
STEP_ATTEMPTS = 4  # a step that loses a race with a request is done again
RACE_PAUSE_SECONDS = 0.05
RACES = (
    MovedError,
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.ForeignKeyViolationError,
    asyncpg.UniqueViolationError,
)

Result = TypeVar("Result")
Work = Callable[[Connection], Awaitable[Result]]


async def no_rest(seconds: float) -> None:
    """Go on at once."""


async def no_report(done: int, total: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class Means:
    """Hold what a run works with.

    `transaction` opens one of the organization's; `rest` is told how long each step took, so that a worker can leave
    the database to others as long; `report` how many memories are done, of how many.
    """

    org_id: UUID
    transaction: Callable[[], AbstractAsyncContextManager[Connection]]
    embedder: Callable[[], Awaitable[Embedder]]
    ids: IdMaker
    clock: Callable[[], datetime]
    writer: SummaryWriter | None = None
    rest: Callable[[float], Awaitable[None]] = no_rest
    report: Callable[[int, int], Awaitable[None]] = no_report


class ConsolidationRun:
    """Be a run that holds its namespace: no other one goes on while it renews its lease."""

    def __init__(self, means: Means, namespace: Namespace, run: Run) -> None:
        self.means = means
        self.namespace = namespace
        self.state = run
        self._noted_at = 0.0

    @property
    def org_id(self) -> UUID:
        """The organization."""
        return self.means.org_id

    @property
    def now(self) -> datetime:
        """Read the clock."""
        return self.means.clock()

    def count(self, **added: int) -> None:
        """Add to the counts; the next step that notes progress writes them."""
        self.state = replace(self.state, counts=self.state.counts.plus(**added))

    def enter(self, phase: str, reached: int) -> None:
        """Say where the run is; the next step that notes progress writes it."""
        self.state = replace(self.state, phase=phase, reached=reached)

    async def note(self, *, at_once: bool = False) -> None:
        """Write how far the run has come, once a second: what lies between is compared again after a kill."""
        if not at_once and time.monotonic() - self._noted_at < NOTE_SECONDS:
            return
        self._noted_at = time.monotonic()
        await self.step(lambda connection: consolidations.note_progress(connection, self.org_id, self.state))

    async def step(self, work: Work[Result]) -> Result:
        """Do one step in a transaction that commits only while the run is ours, again when it loses a race.

        Raises ConflictError when another run has taken over, or the race is lost again and again.
        """
        started = time.monotonic()
        for attempt in range(1, STEP_ATTEMPTS):
            with contextlib.suppress(*RACES):
                result = await self._once(work)
                await self.means.rest(time.monotonic() - started)
                return result
            await asyncio.sleep(random.uniform(0, RACE_PAUSE_SECONDS) * attempt)  # noqa: S311
        try:
            return await self._once(work)
        except RACES as error:
            raise ConflictError("Others kept changing the same memories: try again.") from error

    async def _once(self, work: Work[Result]) -> Result:
        async with self._held() as connection:
            return await work(connection)

    @asynccontextmanager
    async def _held(self) -> AsyncIterator[Connection]:
        async with self.means.transaction() as connection:
            if not await consolidations.hold_run(connection, self.org_id, self.state, self.now + LEASE):
                raise under_way()
            yield connection


def under_way() -> ConflictError:
    """Make the error for a namespace that another run holds."""
    return ConflictError("Another consolidation of this namespace is under way.")
