"""Run the engine's writes: once for an idempotency key, and again when a write loses a race with another."""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TypeVar

import asyncpg

from memoria.database import Connection, Database
from memoria.encode import MovedError
from memoria.errors import ConflictError
from memoria.idempotency import claim_key, find_answer, store_answer
from memoria.records import Once, Principal, Replay

WRITE_ATTEMPTS = 8  # a write that loses a race is computed again
RACE_PAUSE_SECONDS = 0.02  # at most, before the second attempt; longer before each later one
RACES = (
    MovedError,
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.ForeignKeyViolationError,
    asyncpg.UniqueViolationError,
)

Result = TypeVar("Result")
Clock = Callable[[], datetime]
Work = Callable[[Connection], Awaitable[Result]]


def utc_now() -> datetime:
    """Read the clock."""
    return datetime.now(UTC)


class Transactions:
    """Own the transactions of the engine's writes."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def find_answer(self, principal: Principal, once: Once) -> Replay | None:
        """Look up the stored answer of an earlier request with the same key."""
        async with self._database.tenant(principal.org_id) as connection:
            return await find_answer(connection, principal, once, self._clock())

    async def retry(self, attempt: Callable[[], Awaitable[Result]]) -> Result:
        """Make a write, again when it loses a race with another. Raises ConflictError when it keeps losing."""
        for lost in range(1, WRITE_ATTEMPTS):
            with contextlib.suppress(*RACES):
                return await attempt()
            # At different times, so that the same two do not meet again.
            await asyncio.sleep(random.uniform(0, RACE_PAUSE_SECONDS) * lost)  # noqa: S311
        try:
            return await attempt()
        except RACES as error:
            raise ConflictError("Others kept changing the same memories: try again.") from error

    async def write(self, principal: Principal, work: Work[Result]) -> Result:
        """Do a write in one transaction."""
        async with self._database.tenant(principal.org_id) as connection:
            return await work(connection)

    async def write_once(self, principal: Principal, once: Once | None, work: Work[Result]) -> Result | Replay:
        """Do a write in one transaction; with `once`, claim its key first and keep its answer, in the same one."""
        if once is None:
            return await self.write(principal, work)
        async with self._database.tenant(principal.org_id) as connection:
            if replay := await claim_key(connection, principal, once, self._clock()):
                return replay
            result = await work(connection)
            await store_answer(connection, principal, once, once.render(result))
            return result
