"""Erase a whole organization: its namespaces in bounded transactions, then its accounts, keys and all that is left."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg

from memoria import erasures
from memoria.database import Connection, Database
from memoria.erase import ErasureStep, erase_step
from memoria.errors import ConflictError

ATTEMPTS = 20  # writes that had begun before the keys ended go first; there are soon no more of them
RACES = (asyncpg.DeadlockDetectedError, asyncpg.ForeignKeyViolationError)

Progress = Callable[[int], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class OrganizationErasure:
    """Prove an erasure: the rows of each table before and after."""

    before: Mapping[str, int]
    after: Mapping[str, int]


async def _say_nothing(deleted: int) -> None:
    """Let an erasure go on without being watched."""


async def erase_organization(
    database: Database,
    org_id: UUID,
    now: datetime,
    *,
    progress: Progress = _say_nothing,
    before_the_end: Callable[[Connection, Mapping[str, int]], Awaitable[None]] | None = None,
) -> OrganizationErasure:
    """Delete an organization and everything of it, for good; whoever calls again after an interruption does the rest.

    First its keys end and its namespaces go out of reach. `progress` is told how many memories are deleted so far, and
    `before_the_end` is called in the last transaction with the rows before. Raises ConflictError while others keep
    writing.
    """
    async with database.tenant(org_id) as connection:
        await connection.execute("revoke_all_keys", org_id=org_id, now=now)
        await erasures.withdraw_all(connection, org_id)
        before = await erasures.count_organization_rows(connection, org_id)
        namespace_ids = await erasures.list_all_namespace_ids(connection, org_id)
    deleted = 0
    for namespace_id in namespace_ids:
        step = ErasureStep(0)
        while step.after is None:
            step = await _step(database, org_id, namespace_id, now)
            deleted += step.deleted
            await progress(deleted)
    for _ in range(ATTEMPTS):
        try:
            async with database.tenant(org_id) as connection:
                if before_the_end is not None:
                    await before_the_end(connection, before)
                return OrganizationErasure(before, await _end(connection, org_id, now))
        except RACES:
            continue
    raise ConflictError("Others kept writing for this organization: try again.")


async def _step(database: Database, org_id: UUID, namespace_id: int, now: datetime) -> ErasureStep:
    try:
        async with database.tenant(org_id) as connection:
            return await erase_step(connection, org_id, namespace_id, now)
    except RACES:
        return ErasureStep(0)


async def _end(connection: Connection, org_id: UUID, now: datetime) -> Mapping[str, int]:
    """Delete what is left. Deleting the organization's row first keeps those out who have begun to write."""
    late = await erasures.list_all_namespace_ids(connection, org_id)
    for namespace_id in late:
        step = ErasureStep(0)
        while step.after is None:
            step = await erase_step(connection, org_id, namespace_id, now)
    await connection.execute("erase_organization", org_id=org_id)
    return await erasures.count_organization_rows(connection, org_id)
