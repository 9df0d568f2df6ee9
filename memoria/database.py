"""Open the pool, speak to Postgres by query name, and confine each transaction to its tenant."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import asyncpg
import numpy as np

from memoria.errors import UnavailableError
from memoria.statements import load_statements
from memoria.turns import RefusedError, Turns

APPLICATION_ROLE = "memoria_app"
QUEUE_TIMEOUT_SECONDS = 20.0  # of a crowd before a server that works; one that hangs sends it away sooner
STALL_SECONDS = 5.0  # with every connection busy and none given back for so long, nobody is kept waiting
CONNECT_TIMEOUT_SECONDS = 5.0
ANSWER_TIMEOUT_SECONDS = 5.0  # begin and rollback do no work: a server that takes longer to answer them hangs
STATEMENT_TIMEOUT_SECONDS = 30.0
CLOSE_TIMEOUT_SECONDS = 10.0
# The server gives up a little earlier than we do, and the connection stays usable.
SERVER_STATEMENT_TIMEOUT_MS = 28_000
IDLE_TRANSACTION_TIMEOUT_MS = 60_000  # a transaction whose client vanished without a word holds its locks no longer

# How many candidates a search of the graph keeps, and that it goes on while the filter by tenant leaves too few: the
# application sorts, so the order may be relaxed.
GRAPH_SETTINGS = {"hnsw.ef_search": "100", "hnsw.iterative_scan": "relaxed_order"}

# How the planner weighs what it cannot know: the indexes are in memory or on a solid-state disk, and no query runs long
# enough to be worth compiling. Set here, so that a server's own defaults do not change the plans.
PLAN_SETTINGS = {"random_page_cost": "1.1", "jit": "off"}

# What asyncpg and the socket raise when the server is away, restarting, out of connections, memory or disk, or a
# standby that takes no writes. A statement that a migration made stale is prepared anew with the next try.
CONNECTION_ERRORS = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # a query that the broken connection left unfinished is still in the way
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.PostgresSystemError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.LockNotAvailableError,
    asyncpg.InvalidCachedStatementError,
)


class Connection:
    """Run named queries inside one transaction. Stores receive it; they never begin or commit."""

    def __init__(self, raw: asyncpg.pool.PoolConnectionProxy, timeout_seconds: float | None = None) -> None:
        self._raw = raw
        self._timeout_seconds = timeout_seconds  # of each statement; None is the pool's own
        self._statements = load_statements("postgres")

    async def fetch(self, name: str, /, **parameters: object) -> list[asyncpg.Record]:
        """Run a query and return its rows."""
        statement = self._statements[name]
        return await self._raw.fetch(statement.sql, *statement.arguments(parameters), timeout=self._timeout_seconds)

    async def fetch_row(self, name: str, /, **parameters: object) -> asyncpg.Record | None:
        """Run a query and return its first row, or None."""
        statement = self._statements[name]
        return await self._raw.fetchrow(statement.sql, *statement.arguments(parameters), timeout=self._timeout_seconds)

    async def fetch_value(self, name: str, /, **parameters: object) -> Any:
        """Run a query and return the first column of its first row, or None."""
        statement = self._statements[name]
        return await self._raw.fetchval(statement.sql, *statement.arguments(parameters), timeout=self._timeout_seconds)

    async def execute(self, name: str, /, **parameters: object) -> int:
        """Run a statement and return how many rows it touched."""
        statement = self._statements[name]
        status = await self._raw.execute(statement.sql, *statement.arguments(parameters), timeout=self._timeout_seconds)
        count = status.rpartition(" ")[2]
        return int(count) if count.isdigit() else 0


class Database:
    """Hold the pool and open transactions, each for one tenant (or for none).

    Every transaction raises UnavailableError when Postgres is away or the pool stays empty; nothing was committed
    then, unless the connection broke during the commit itself.
    """

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool
        self._turns = Turns(pool.get_max_size(), STALL_SECONDS)
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
                server_settings={
                    "role": APPLICATION_ROLE,
                    "timezone": "UTC",
                    "statement_timeout": str(SERVER_STATEMENT_TIMEOUT_MS),
                    "idle_in_transaction_session_timeout": str(IDLE_TRANSACTION_TIMEOUT_MS),
                    **GRAPH_SETTINGS,
                    **PLAN_SETTINGS,
                },
            )
        except (*CONNECTION_ERRORS, asyncpg.PostgresError) as error:
            raise _unavailable(error) from error
        return cls(pool)

    async def close(self) -> None:
        """Close every connection once its transaction has ended; break off those that a hanging server keeps."""
        with contextlib.suppress(TimeoutError):
            # What is cut off by the time limit is terminated by the pool itself.
            await asyncio.wait_for(self._pool.close(), CLOSE_TIMEOUT_SECONDS)

    @asynccontextmanager
    async def tenant(self, org_id: UUID) -> AsyncIterator[Connection]:
        """Open a transaction that sees and writes this organization's rows only."""
        async with self._transaction(self._begin(org_id)) as connection:
            yield connection

    @asynccontextmanager
    async def untenanted(self) -> AsyncIterator[Connection]:
        """Open a transaction that sees no tenant's rows."""
        async with self._transaction(self._statements["begin"].sql) as connection:
            yield connection

    @asynccontextmanager
    async def lookup(self) -> AsyncIterator[Connection]:
        """Lend a connection without a transaction, for one query that needs no tenant: one round trip, not three.

        Such a look-up begins a request: it lets those go first that are under way.
        """
        async with self._connection(urgent=False) as raw:
            try:
                yield Connection(raw, ANSWER_TIMEOUT_SECONDS)
            except TimeoutError:
                self._turns.refuse_waiting()
                raw.terminate()
                raise

    def _begin(self, org_id: UUID) -> str:
        # `set local` takes no parameters; a UUID's own text is 36 hexadecimal digits and hyphens.
        return self._statements["begin_tenant"].sql.replace("{org_id}", str(UUID(bytes=org_id.bytes)))

    @asynccontextmanager
    async def _transaction(self, begin: str) -> AsyncIterator[Connection]:
        async with self._connection(urgent=True) as raw:
            try:
                await self._begin_on(raw, begin)
                yield Connection(raw)
            except BaseException as error:
                await _abandon(raw, error)
                raise
            await self._commit(raw)

    @asynccontextmanager
    async def _connection(self, *, urgent: bool) -> AsyncIterator[asyncpg.pool.PoolConnectionProxy]:
        """Wait for a turn and lend a connection. Raises UnavailableError for all that the database may do to it."""
        try:
            async with self._turns.turn(urgent=urgent, wait_seconds=QUEUE_TIMEOUT_SECONDS):
                raw = await self._acquire()
                try:
                    yield raw
                finally:
                    await self._release(raw)
        except (*CONNECTION_ERRORS, RefusedError) as error:
            raise _unavailable(error) from error

    async def _acquire(self) -> asyncpg.pool.PoolConnectionProxy:
        try:
            return await self._pool.acquire(timeout=CONNECT_TIMEOUT_SECONDS)
        except (*CONNECTION_ERRORS, asyncpg.PostgresError) as error:
            # Whatever keeps a connection from being opened will keep the next one too.
            self._turns.refuse_waiting()
            raise _unavailable(error) from error

    async def _release(self, raw: asyncpg.pool.PoolConnectionProxy) -> None:
        # The outcome is known by now; a connection that cannot be handed back is closed by the pool.
        with contextlib.suppress(*CONNECTION_ERRORS):
            await self._pool.release(raw, timeout=ANSWER_TIMEOUT_SECONDS)

    async def _begin_on(self, raw: asyncpg.pool.PoolConnectionProxy, begin: str) -> None:
        try:
            await raw.execute(begin, timeout=ANSWER_TIMEOUT_SECONDS)
        except TimeoutError:
            self._turns.refuse_waiting()
            raise

    async def _commit(self, raw: asyncpg.pool.PoolConnectionProxy) -> None:
        commit = self._statements["commit"].sql
        try:
            outcome = await raw.execute(commit)
        except CONNECTION_ERRORS:
            raw.terminate()
            raise
        if outcome.lower() not in commit:
            # The server undoes a transaction in which a statement failed, and says so no louder than in this word.
            raise RuntimeError("a failed transaction was committed")


def _unavailable(error: BaseException) -> UnavailableError:
    return UnavailableError(f"The database does not answer: {type(error).__name__}.")


async def _abandon(raw: asyncpg.pool.PoolConnectionProxy, error: BaseException) -> None:
    """Undo a transaction; where the server does not answer, by closing the connection: waiting helps nobody."""
    if isinstance(error, TimeoutError | OSError | asyncpg.InternalClientError) or raw.is_closed():
        raw.terminate()
        return
    try:
        await raw.execute(load_statements("postgres")["rollback"].sql, timeout=ANSWER_TIMEOUT_SECONDS)
    except (*CONNECTION_ERRORS, asyncpg.PostgresError):
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
