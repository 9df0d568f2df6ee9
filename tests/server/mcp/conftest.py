"""One server for the MCP tests, and a fresh tenant for each."""

from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from server.app import create_app
from tests.live_server import People, Person, open_people, serving, settings_for_tests
from tests.server.mcp.calling import Caller


@pytest.fixture(scope="session")
def server_url(postgres_url: str, redis_url: str) -> Iterator[str]:
    """The URL of a running server."""
    with serving(create_app(settings_for_tests(postgres_url, redis_url))) as url:
        yield url


@pytest.fixture(scope="session")
def mcp_url(server_url: str) -> str:
    """The URL of its MCP endpoint."""
    return f"{server_url}/v1/mcp"


@pytest.fixture
async def people(postgres_url: str, server_url: str) -> People:
    """Three people that nobody has met before."""
    return await open_people(postgres_url)


@pytest.fixture
def alice(people: People) -> Person:
    """The owner."""
    return people.alice


@pytest.fixture
def bob(people: People) -> Person:
    """Her colleague, whose key only reads."""
    return people.bob


@pytest.fixture
def charlie(people: People) -> Person:
    """Somebody of another organization."""
    return people.charlie


@pytest.fixture
async def http(mcp_url: str) -> AsyncIterator[httpx.AsyncClient]:
    """An HTTP client without any header of its own."""
    async with httpx.AsyncClient(timeout=30) as client:
        yield client


@pytest.fixture
def as_alice(http: httpx.AsyncClient, mcp_url: str, alice: Person) -> Caller:
    """Call tools as alice, the way curl does."""
    return Caller(http, mcp_url, alice)


@pytest.fixture
def as_bob(http: httpx.AsyncClient, mcp_url: str, bob: Person) -> Caller:
    """Call tools as bob."""
    return Caller(http, mcp_url, bob)


@pytest.fixture
def as_charlie(http: httpx.AsyncClient, mcp_url: str, charlie: Person) -> Caller:
    """Call tools as charlie."""
    return Caller(http, mcp_url, charlie)
