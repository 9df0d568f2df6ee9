"""Look into a whole database for memories that are not whole, and for what requests have left open."""

import asyncio
import time
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import asyncpg

from tests.invariants import broken_invariants

SHOWN = 3


@dataclass(frozen=True, slots=True)
class _Owned:
    """Be one organization's tables, seen by the owner of the database."""

    connection: asyncpg.Connection
    principal: SimpleNamespace

    async def fetch(self, sql: str, *values: object) -> list[Any]:
        return await self.connection.fetch(sql, *values)


async def assert_memories_are_whole(database_url: str) -> None:
    """Find no half of a memory, of any organization; `database_url` is the owner's."""
    connection = await asyncpg.connect(database_url)
    try:
        broken = {}
        for (org_id,) in await connection.fetch("select distinct org_id from namespaces"):
            found = await broken_invariants(_Owned(connection, SimpleNamespace(org_id=org_id)))
            broken |= {(org_id, sentence): rows[:SHOWN] for sentence, rows in found.items()}
    finally:
        await connection.close()
    assert broken == {}


async def assert_no_transaction_stays_open(database_url: str, seconds: float = 10.0) -> None:
    """Find a moment without a transaction that waits for its client: what answers leave to do after them is short."""
    deadline = time.monotonic() + seconds
    while open_now := await _count_open_transactions(database_url):
        assert time.monotonic() < deadline, f"{open_now} transactions are left open"
        await asyncio.sleep(0.05)


async def _count_open_transactions(database_url: str) -> int:
    """Count the transactions in this database that are open and wait for their client."""
    connection = await asyncpg.connect(database_url)
    try:
        count: int = await connection.fetchval(
            "select count(*) from pg_stat_activity"
            " where datname = current_database() and state like 'idle in transaction%'"
        )
    finally:
        await connection.close()
    return count
