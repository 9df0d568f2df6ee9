"""Serve the real application over real HTTP inside the test process, and open accounts to call it with."""

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import uuid4

import uvicorn
from starlette.types import ASGIApp

from accounts.accounts import create_account
from accounts.keys import KeyGrant, insert_key
from accounts.organizations import RateLimit
from memoria.database import Database
from memoria.vocabulary import Scope
from server.settings import Settings, read_settings

WIDE = RateLimit(per_second=1000.0, burst=10_000)


@dataclass(frozen=True, slots=True)
class Person:
    """Be someone with a key, and the organization's own namespace."""

    key: str
    namespace: str

    @property
    def headers(self) -> dict[str, str]:
        """The header that shows the key."""
        return {"Authorization": f"Bearer {self.key}"}


@dataclass(frozen=True, slots=True)
class People:
    """Be an owner, a colleague whose key only reads, and somebody of another organization."""

    alice: Person
    bob: Person
    charlie: Person


def settings_for_tests(postgres_url: str, redis_url: str, **changes: str) -> Settings:
    """Make settings with the deterministic embedder."""
    environment: Mapping[str, str] = {
        "DATABASE_URL": postgres_url,
        "REDIS_URL": redis_url,
        "MEMORIA_SECRET_KEY": "00" * 32,
        "MEMORIA_EMBEDDER": "fake",
        "MEMORIA_LOG_LEVEL": "error",
        **changes,
    }
    return read_settings(environment)


@contextmanager
def serving(app: ASGIApp) -> Iterator[str]:
    """Serve an application on a free port of this machine, from a thread of its own; yield its URL."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, lifespan="on", ws="none", log_config=None, access_log=False))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        # A connection waits in the listener's queue until the application is ready.
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


async def open_people(postgres_url: str, rate: RateLimit = WIDE) -> People:
    """Create two organizations that nobody has used yet."""
    database = await Database.open(postgres_url, pool_size=1)
    now = datetime.now(UTC)
    try:
        first = await create_account(database, f"alice-{uuid4().hex[:12]}@example.com", now, rate=rate)
        second = await create_account(database, f"charlie-{uuid4().hex[:12]}@example.com", now, rate=rate)
        organization = first.organization
        async with database.tenant(organization.org_id) as connection:
            reader = await insert_key(connection, organization.org_id, KeyGrant("reader", frozenset({Scope.READ})), now)
    finally:
        await database.close()
    return People(
        Person(first.key.secret, organization.own_namespace),
        Person(reader.secret, organization.own_namespace),
        Person(second.key.secret, second.organization.own_namespace),
    )
