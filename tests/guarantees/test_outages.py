"""While Postgres is away nobody is let in and everybody is told to come back; while Redis is away nothing changes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from server.app import create_app
from tests.live_server import settings_for_tests
from tests.people import Person, client_of

pytestmark = pytest.mark.anyio


class Wire:
    """Carry connections to a Unix socket, until it is cut."""

    def __init__(self, socket_path: str) -> None:
        self._socket_path = socket_path
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self.port = 0

    async def join(self) -> None:
        """Carry connections, from now on or again."""
        self._server = await asyncio.start_server(self._carry, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def cut(self) -> None:
        """Refuse new connections and break those that are open."""
        if self._server is not None:
            self._server.close()
            for writer in self._writers:
                writer.transport.abort()
            await self._server.wait_closed()
            self._server = None

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_unix_connection(self._socket_path)
        ends = {writer, far_writer}
        self._writers |= ends
        try:
            await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))
        finally:
            self._writers -= ends
            for end in ends:
                end.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while chunk := await reader.read(65536):
            writer.write(chunk)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


@asynccontextmanager
async def wired(socket_path: str) -> AsyncIterator[Wire]:
    """Join a wire, and cut it at the end."""
    wire = Wire(socket_path)
    await wire.join()
    try:
        yield wire
    finally:
        await wire.cut()


@pytest.fixture
def postgres_socket(postgres_url: str) -> str:
    """The path of the socket on which Postgres listens."""
    folder = parse_qs(urlsplit(postgres_url).query)["host"][0]
    return next(str(path) for path in Path(folder).glob(".s.PGSQL.*") if path.suffix != ".lock")


@pytest.fixture
async def postgres_wire(postgres_socket: str) -> AsyncIterator[Wire]:
    """A wire to Postgres."""
    async with wired(postgres_socket) as wire:
        yield wire


@pytest.fixture
async def redis_wire(redis_url: str) -> AsyncIterator[Wire]:
    """A wire to Redis."""
    async with wired(urlsplit(redis_url).path) as wire:
        yield wire


async def test_postgres_away_is_503_and_it_recovers_by_itself(
    alice: Person, postgres_url: str, redis_url: str, postgres_wire: Wire
) -> None:
    database = urlsplit(postgres_url).path
    url = f"postgresql://memoria_app@127.0.0.1:{postgres_wire.port}{database}?sslmode=disable"
    app = create_app(settings_for_tests(url, redis_url))
    async with app.router.lifespan_context(app), client_of(app, alice.key.secret) as client:
        assert (await client.post("/v1/memories", json={"content": "before"})).status_code == 201
        await postgres_wire.cut()
        for secret in (alice.key.secret, "mem_dev_" + "x" * 43):
            async with client_of(app, secret) as caller:
                refused = await caller.post("/v1/memories", json={"content": "meanwhile"})
            assert (refused.status_code, refused.json()["code"]) == (503, "UNAVAILABLE")
            assert int(refused.headers["retry-after"]) >= 1
        assert (await client.get("/v1/health")).status_code == 200
        ready = await client.get("/v1/health/ready")
        assert (ready.status_code, ready.json()["database"]) == (503, "away")
        await postgres_wire.join()
        assert (await client.get("/v1/health/ready")).status_code == 200
        listed = (await client.get("/v1/memories")).json()
        assert [item["content"] for item in listed["items"]] == ["before"]


async def test_redis_away_changes_nothing_but_who_counts(
    alice: Person, postgres_url: str, redis_url: str, redis_wire: Wire, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"redis://127.0.0.1:{redis_wire.port}/{urlsplit(redis_url).query.removeprefix('db=')}"
    app = create_app(settings_for_tests(postgres_url, url, MEMORIA_LOG_LEVEL="info"))
    async with app.router.lifespan_context(app), client_of(app, alice.key.secret) as client:
        assert (await client.get("/v1/health/ready")).json()["limiter"] == "shared"
        await redis_wire.cut()
        for number in range(5):
            stored = await client.post("/v1/memories", json={"content": f"note {number}"})
            assert stored.status_code == 201
            assert "ratelimit-remaining" in stored.headers
        ready = (await client.get("/v1/health/ready")).json()
        assert ready == {"status": "ok", "database": "ok", "redis": "away", "limiter": "local"}
        await redis_wire.join()
        assert (await client.get("/v1/health/ready")).json()["limiter"] == "shared"
    assert capsys.readouterr().out.count('"event": "redis_away"') == 1
