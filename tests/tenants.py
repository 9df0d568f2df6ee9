"""Fresh tenants for tests of the engine, which knows no keys and no HTTP: principals, a clock that obeys, shortcuts."""

import itertools
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from accounts.organizations import DEFAULT_RATE, Organization, insert_organization
from memoria.database import Connection, Database
from memoria.embedding import Embedder, FakeEmbedder, open_minilm
from memoria.engine import Engine
from memoria.records import Encoded, Filters, Memory, NewMemory, Once, Principal, Recall, RecallRequest, Replay

NUMBERS = itertools.count(1)
START = datetime(2026, 5, 1, 9, 0, tzinfo=UTC)


class Clock:
    """Tell the time that a test has set."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """Read the clock."""
        return self.now

    def advance(self, **span: float) -> datetime:
        """Let time pass, given as timedelta takes it."""
        self.now += timedelta(**span)
        return self.now


@dataclass(frozen=True, slots=True)
class Tenant:
    """Be one organization that calls the engine; `principal` may do everything in it."""

    engine: Engine
    principal: Principal
    clock: Clock

    @property
    def database(self) -> Database:
        """The engine's own connections."""
        return self.engine.database

    def as_principal(self, **changes: Any) -> "Tenant":
        """Call as another key of the same organization."""
        return replace(self, principal=replace(self.principal, **changes))

    async def encode(self, content: str, **fields: Any) -> Memory:
        """Store one memory and return it."""
        stored = await self.engine.encode(self.principal, NewMemory(content, **fields))
        assert isinstance(stored, Encoded)
        return stored.memory

    async def encode_batch(self, items: list[NewMemory], **options: Any) -> list[Encoded]:
        """Store several memories, all of which succeed."""
        stored = await self.engine.encode_batch(self.principal, items, **options)
        assert not isinstance(stored, Replay)
        assert all(isinstance(outcome, Encoded) for outcome in stored)
        return [outcome for outcome in stored if isinstance(outcome, Encoded)]

    async def recall(self, query: str | None, **options: Any) -> Recall:
        """Recall in the organization's own namespace unless told otherwise."""
        return await self.engine.recall(self.principal, RecallRequest(query, **options))

    async def recalled(self, query: str | None, **options: Any) -> list[int]:
        """Recall, and return the ids of the hits."""
        return [hit.memory.id for hit in (await self.recall(query, **options)).hits]

    async def listed(self, filters: Filters | None = None, **options: Any) -> list[int]:
        """List, and return the ids of the first page."""
        page = await self.engine.list_memories(self.principal, filters=filters, **options)
        return [memory.id for memory in page.items]

    async def fetch(self, sql: str, *arguments: object) -> list[Any]:
        """Run SQL as the application confined to this tenant."""
        async with self.database.tenant(self.principal.org_id) as connection:
            return await raw_of(connection).fetch(sql, *arguments)


MakeTenant = Callable[[], Any]


def raw_of(connection: Connection) -> Any:
    """Reach the driver's connection beneath the named queries, for a test's own SQL."""
    return connection._raw


def once(key: str, digest: bytes = b"a request") -> Once:
    """Name an idempotency key; the answer is the plain text of the result's id or count."""

    def render(result: Any) -> bytes:
        outcomes = result if isinstance(result, tuple) else (result,)
        return " ".join(str(getattr(getattr(each, "memory", each), "id", each)) for each in outcomes).encode()

    return Once(key, digest, render)


async def open_tenant(database: Database, clock: Clock, name: str = "tenant") -> Tenant:
    """Found an organization that nobody has met before."""
    number = next(NUMBERS)
    organization = Organization(uuid4(), f"org:{name}-{number:06x}")
    async with database.tenant(organization.org_id) as connection:
        await insert_organization(connection, organization, name, DEFAULT_RATE, clock())
    principal = Principal(organization.org_id, organization.own_namespace, key_id=uuid4())
    return Tenant(Engine(database, FakeEmbedder(), clock), principal, clock)


@pytest.fixture(scope="session")
async def engine_database(postgres_url: str, anyio_backend: str) -> AsyncIterator[Database]:
    """One pool for all tests of the engine in this process."""
    database = await Database.open(postgres_url, pool_size=16)
    yield database
    await database.close()


@pytest.fixture(scope="session")
async def minilm_embedder(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Embedder]:
    """The bundled model, for what only meaning can show."""
    embedder = open_minilm(tmp_path_factory.mktemp("minilm"), threads=1)
    yield embedder
    await embedder.close()


@pytest.fixture
def clock() -> Clock:
    """The time that the engine of this test believes in."""
    return Clock()


@pytest.fixture
async def make_tenant(engine_database: Database, clock: Clock) -> MakeTenant:
    """Found organizations at will."""

    async def make() -> Tenant:
        return await open_tenant(engine_database, clock)

    return make


@pytest.fixture
async def tenant(engine_database: Database, clock: Clock) -> Tenant:
    """A fresh organization."""
    return await open_tenant(engine_database, clock)


@pytest.fixture
async def other(engine_database: Database, clock: Clock) -> Tenant:
    """Another fresh organization."""
    return await open_tenant(engine_database, clock, "other")
