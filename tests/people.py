"""People who call the service: alice owns an organization, bob reads in it, charlie belongs to another."""

import itertools
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime

import httpx
import pytest
from starlette.applications import Starlette

from accounts.accounts import create_account
from accounts.keys import KeyGrant, NewKey, insert_key
from accounts.organizations import Organization, RateLimit
from memoria.database import Database
from memoria.vocabulary import Scope
from server.app import create_app
from server.services import Services
from server.settings import Settings, new_secret_key, read_settings

BASE_URL = "http://memoria.test"
NO_LIMIT = RateLimit(per_second=100_000, burst=100_000)
NUMBERS = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Person:
    """Be somebody with a key and a client that shows it."""

    organization: Organization
    key: NewKey
    client: httpx.AsyncClient

    @property
    def namespace(self) -> str:
        """The organization's own namespace."""
        return self.organization.own_namespace


def client_of(app: Starlette, secret: str | None = None) -> httpx.AsyncClient:
    """Make a client that talks to the application without a socket, with a key or without one."""
    headers = {"authorization": f"Bearer {secret}"} if secret else {}
    transport = httpx.ASGITransport(app)
    return httpx.AsyncClient(transport=transport, base_url=BASE_URL, headers=headers)


async def open_account(database: Database, name: str) -> tuple[Organization, NewKey]:
    """Open an account nobody else has."""
    email = f"{name}.{next(NUMBERS)}.{datetime.now(UTC).timestamp()}@example.com"
    opened = await create_account(database, email, datetime.now(UTC), rate=NO_LIMIT)
    return opened.organization, opened.key


async def add_key(database: Database, organization: Organization, grant: KeyGrant) -> NewKey:
    """Make another key of an organization."""
    async with database.tenant(organization.org_id) as connection:
        return await insert_key(connection, organization.org_id, grant, datetime.now(UTC))


@pytest.fixture(scope="session")
def settings(postgres_url: str, redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """The settings of the application under test: this worker's database and Redis, and the fake embedder."""
    return read_settings(
        {
            "DATABASE_URL": postgres_url,
            "REDIS_URL": redis_url,
            "MEMORIA_SECRET_KEY": new_secret_key(),
            "MEMORIA_HOME": str(tmp_path_factory.mktemp("home")),
            "MEMORIA_EMBEDDER": "fake",
            "MEMORIA_PUBLIC_URL": BASE_URL,
            "MEMORIA_LOG_LEVEL": "info",
        }
    )


@pytest.fixture(scope="session")
async def app(settings: Settings, anyio_backend: str) -> AsyncIterator[Starlette]:
    """The application, opened."""
    application = create_app(settings)
    async with application.router.lifespan_context(application):
        yield application


@pytest.fixture
def services(app: Starlette) -> Services:
    """The opened parts of the application."""
    services: Services = app.state.services
    return services


@pytest.fixture
def database(services: Services) -> Database:
    """The application's own connections."""
    return services.engine.database


@pytest.fixture
async def alice(app: Starlette, database: Database) -> AsyncIterator[Person]:
    """The owner of a fresh organization, with every scope."""
    organization, key = await open_account(database, "alice")
    async with client_of(app, key.secret) as client:
        yield Person(organization, key, client)


@pytest.fixture
async def bob(app: Starlette, database: Database, alice: Person) -> AsyncIterator[Person]:
    """A colleague of alice whose key may only read."""
    key = await add_key(database, alice.organization, KeyGrant(name="bob", scopes=frozenset({Scope.READ})))
    async with client_of(app, key.secret) as client:
        yield Person(alice.organization, key, client)


@pytest.fixture
async def charlie(app: Starlette, database: Database) -> AsyncIterator[Person]:
    """The owner of another organization."""
    organization, key = await open_account(database, "charlie")
    async with client_of(app, key.secret) as client:
        yield Person(organization, key, client)


@pytest.fixture
async def stranger(app: Starlette) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody without a key."""
    async with client_of(app) as client:
        yield client
