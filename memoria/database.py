"""Open the pool, speak to Postgres by query name, and confine each transaction to its tenant."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import asyncpg
import numpy as np

from memoria.errors import UnavailableError
from memoria.statements import load_statements

APPLICATION_ROLE = "memoria_app"
ACQUIRE_TIMEOUT_SECONDS = 10.0
STATEMENT_TIMEOUT_SECONDS = 60.0

# How many candidates a search of the graph keeps, and that it goes on while the filter by tenant leaves too few: the
# application sorts, so the order may be relaxed.
GRAPH_SETTINGS = {"hnsw.ef_search": "100", "hnsw.iterative_scan": "relaxed_order"}

# How the planner weighs what it cannot know: the indexes are in memory or on a solid-state disk, and no query runs long
# enough to be worth compiling. Set here, so that a server's own defaults do not change the plans.
PLAN_SETTINGS = {"random_page_cost": "1.1", "jit": "off"}

# What asyncpg and the socket raise when the server is away, restarting or out of connections.
CONNECTION_ERRORS = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # a query that the broken connection left unfinished is still in the way
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
)


class Connection:
    """Run named queries inside one transaction. Stores receive it; they never begin or commit."""

    def __init__(self, raw: asyncpg.pool.PoolConnectionProxy) -> None:
        self._raw = raw
        self._statements = load_statements("postgres")

    async def fetch(self, name: str, /, **parameters: object) -> list[asyncpg.Record]:
        """Run a query and return its rows."""
        statement = self._statements[name]
        return await self._raw.fetch(statement.sql, *statement.arguments(parameters))

    async def fetch_row(self, name: str, /, **parameters: object) -> asyncpg.Record | None:
        """Run a query and return its first row, or None."""
        statement = self._statements[name]
        return await self._raw.fetchrow(statement.sql, *statement.arguments(parameters))

    async def fetch_value(self, name: str, /, **parameters: object) -> Any:
        """Run a query and return the first column of its first row, or None."""
        statement = self._statements[name]
        return await self._raw.fetchval(statement.sql, *statement.arguments(parameters))

    async def execute(self, name: str, /, **parameters: object) -> int:
        """Run a statement and return how many rows it touched."""
        statement = self._statements[name]
        status = await self._raw.execute(statement.sql, *statement.arguments(parameters))
        count = status.rpartition(" ")[2]
        return int(count) if count.isdigit() else 0


class Database:
    """Hold the pool and open transactions, each for one tenant (or for none).

    Every transaction raises UnavailableError when Postgres is away or the pool stays empty; nothing was committed
    then, unless the connection broke during the commit itself.
    """

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool
        self._statements = load_statements("postgres")

    @classmethod
    async def open(cls, url: str, *, pool_size: int = 10) -> "Database":
        """Connect as the application's role. Raises UnavailableError when the server does not answer.

        The role is set at connection time, so that a URL of the schema's owner (even of a superuser) is confined by
        row-level security like any other.
        """
        try:
            pool = await asyncpg.create_pool(
                url,
                min_size=1,
                max_size=pool_size,
                command_timeout=STATEMENT_TIMEOUT_SECONDS,
                init=_prepare_connection,
                reset=_end_transaction,
                server_settings={"role": APPLICATION_ROLE, "timezone": "UTC", **GRAPH_SETTINGS, **PLAN_SETTINGS},
            )
        except (*CONNECTION_ERRORS, asyncpg.PostgresError) as error:
            raise UnavailableError(f"The database does not answer: {type(error).__name__}.") from error
        return cls(pool)

    async def close(self) -> None:
        """Close every connection once its transaction has ended."""
        await self._pool.close()

    @asynccontextmanager
    async def tenant(self, org_id: UUID) -> AsyncIterator[Connection]:
        """Open a transaction that sees and writes this organization's rows only."""
        async with self._transaction(self._begin(org_id)) as connection:
            yield connection

    @asynccontextmanager
    async def untenanted(self) -> AsyncIterator[Connection]:
        """Open a transaction that sees no tenant's rows: for the look-ups made before the tenant is known."""
        async with self._transaction(self._statements["begin"].sql) as connection:
            yield connection

    @asynccontextmanager
    async def lookup(self) -> AsyncIterator[Connection]:
        """Lend a connection without a transaction, for one query that needs no tenant: one round trip, not three."""
        try:
            async with self._pool.acquire(timeout=ACQUIRE_TIMEOUT_SECONDS) as raw:
                yield Connection(raw)
        except CONNECTION_ERRORS as error:
            raise UnavailableError(f"The database does not answer: {type(error).__name__}.") from error

    def _begin(self, org_id: UUID) -> str:
        # `set local` takes no parameters; a UUID's own text is 36 hexadecimal digits and hyphens.
        return self._statements["begin_tenant"].sql.replace("{org_id}", str(UUID(bytes=org_id.bytes)))

    @asynccontextmanager
    async def _transaction(self, begin: str) -> AsyncIterator[Connection]:
        try:
            async with self._pool.acquire(timeout=ACQUIRE_TIMEOUT_SECONDS) as raw:
                await raw.execute(begin)
                try:
                    yield Connection(raw)
                except BaseException:
                    await _roll_back(raw)
                    raise
                await raw.execute(self._statements["commit"].sql)
        except CONNECTION_ERRORS as error:
            raise UnavailableError(f"The database does not answer: {type(error).__name__}.") from error


async def _roll_back(raw: asyncpg.pool.PoolConnectionProxy) -> None:
    if raw.is_closed():
        return
    try:
        await raw.execute(load_statements("postgres")["rollback"].sql)
    except CONNECTION_ERRORS:
        # The connection broke in the middle of a query: the server has undone the rest, and the first error tells why.
        raw.terminate()


async def _end_transaction(raw: asyncpg.Connection) -> None:
    # asyncpg's own reset costs a round trip on each release; we leave nothing behind but an open transaction.
    if raw.is_in_transaction():
        await raw.execute(load_statements("postgres")["rollback"].sql)


async def _prepare_connection(raw: asyncpg.Connection) -> None:
    schema = await raw.fetchval(load_statements("postgres")["find_vector_schema"].sql)
    if schema is None:
        raise UnavailableError("The database has no pgvector extension: run the migrations first.")
    await raw.set_type_codec("jsonb", schema="pg_catalog", encoder=_write_json, decoder=json.loads)
    await raw.set_type_codec("halfvec", schema=schema, format="binary", encoder=bytes, decoder=bytes)


def _write_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def encode_half_vector(vector: np.ndarray) -> bytes:
    """Write a vector of shape (d,) in pgvector's binary form: int16 d, int16 0, then d big-endian float16.

    Parameters of type halfvec take these bytes: an array of arrays would be taken for a nested one.
    """
    header = np.array([vector.shape[0], 0], dtype=">i2").tobytes()
    return header + vector.astype(">f2").tobytes()


def unpack_ids(packed: bytes | None) -> np.ndarray:
    """Read ids that the server packed with int8send into int64 of shape (n,)."""
    return np.frombuffer(packed or b"", dtype=">i8").astype(np.int64)
