"""What was acknowledged survives any crash; what was not is there whole or not at all, and can be sent again."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import httpx
import pytest

from tests.fault_rig import Machines, Running, is_ready, server, wait_until
from tests.live_server import Person, open_people
from tests.store_checks import assert_memories_are_whole

pytestmark = pytest.mark.anyio

WRITES = 1000
FEWER_WRITES = 200  # where the server goes on with them after the crash
BATCH = 5
DOCUMENT_EVERY = 50
NAMESPACES = 4
LONG_LOOPS = 12  # of either kind
ACKNOWLEDGED = (10, 60)  # before the crash
REPEATS = 40  # of the writes of which nothing is stored; all others are repeated


@dataclass(slots=True)
class Write:
    """Be one request that writes, and what became of it."""

    path: str
    body: dict[str, Any]
    key: str | None
    contents: tuple[str, ...]
    atomic: bool
    status: int | None = None
    ids: tuple[str, ...] = ()

    @property
    def headers(self) -> dict[str, str]:
        """The header of the request's own."""
        return {"idempotency-key": self.key} if self.key else {}


@dataclass(slots=True)
class Crash:
    """Kill something once so many writes are acknowledged."""

    after: int
    kill: Callable[[], object]
    acknowledged: int = 0
    happened: bool = False

    def count(self) -> None:
        """Count an acknowledged write."""
        self.acknowledged += 1
        if self.acknowledged == self.after:
            self.happened = True
            # Here and not in another thread: Postgres ends with the thread that has started it.
            self.kill()


def make_write(run: str, number: int) -> Write:
    """Make singles, documents with parts, and batches of both kinds, two in three with a key."""
    namespace = f"crash/{run}/{number % NAMESPACES}"
    key = f"{run}-{number}" if number % 3 else None
    text = f"note {number} of run {run} says {uuid4().hex}"
    if number % DOCUMENT_EVERY == 0:
        text += ". " + " ".join(f"Sentence {line} of document {number} has a few words." for line in range(80))
        body = {"content": text, "namespace": namespace, "chunk": True}
        return Write("/v1/memories", body, key, (text,), True)
    if number % 4 == 0:
        texts = tuple(f"{text} item {item}" for item in range(BATCH))
        atomic = number % 8 == 0
        body = {"memories": [{"content": one} for one in texts], "namespace": namespace, "atomic": atomic}
        return Write("/v1/memories/batch", body, key, texts, atomic)
    return Write("/v1/memories", {"content": text, "namespace": namespace}, key, (text,), True)


async def send(client: httpx.AsyncClient, write: Write) -> httpx.Response | None:
    """Send a write; None where no answer came."""
    try:
        answer = await client.post(write.path, json=write.body, headers=write.headers)
    except httpx.TransportError:
        return None
    write.status = answer.status_code
    if answer.is_success:
        told = answer.json()
        write.ids = tuple(told["ids"]) if "ids" in told else (told["id"],)
    return answer


def client_of(running: Running, person: Person) -> httpx.AsyncClient:
    """Make a client without limits of its own."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    return httpx.AsyncClient(base_url=running.url, headers=person.headers, limits=limits, timeout=60)


async def write_until_killed(running: Running, person: Person, writes: list[Write], crash: Crash) -> None:
    """Send every write at once and let the crash come among them."""

    async def one(client: httpx.AsyncClient, write: Write) -> None:
        answer = await send(client, write)
        assert answer is None or answer.is_success or answer.status_code == 503, running.events("request_failed")[:3]
        if answer is not None and answer.is_success:
            crash.count()

    async with client_of(running, person) as client:
        await asyncio.gather(*(one(client, write) for write in writes))
    assert crash.happened


async def stored_contents(database_url: str, run: str) -> dict[str, list[str]]:
    """Read the ids of each content that one run has stored, parts of documents left out."""
    connection = await asyncpg.connect(database_url)
    try:
        rows = await connection.fetch(
            "select memory_id, content from memories join namespaces using (org_id, namespace_id)"
            " where part_of is null and starts_with(name, $1)",
            f"crash/{run}/",
        )
    finally:
        await connection.close()
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row["content"], []).append(row["memory_id"])
    return found


async def assert_nothing_is_lost(database_url: str, run: str, writes: list[Write]) -> set[int]:
    """Check the store after a crash; return the places of writes that are stored, acknowledged or not."""
    await assert_memories_are_whole(database_url)
    stored = await stored_contents(database_url, run)
    there = set()
    for place, write in enumerate(writes):
        found = [content in stored for content in write.contents]
        assert all(found) or not write.ids, "an acknowledged memory is lost"
        assert all(found) or not any(found) or not write.atomic, "half a batch is stored"
        if all(found):
            there.add(place)
    return there


async def assert_repeats_are_stored_once(
    running: Running, person: Person, database_url: str, run: str, writes: list[Write]
) -> None:
    """Send what was not acknowledged again: each is there once, and what was stored already answers as it had."""
    there = await assert_nothing_is_lost(database_url, run, writes)
    lost = [place for place, write in enumerate(writes) if not write.ids]
    chosen = [place for place in lost if place in there] + [place for place in lost if place not in there][:REPEATS]
    repeated = [(place, writes[place]) for place in chosen]
    async with client_of(running, person) as client:
        answers = await asyncio.gather(*(send(client, write) for _, write in repeated))
    for (place, write), answer in zip(repeated, answers, strict=True):
        assert answer is not None
        assert answer.is_success, answer.text
        replayed = "idempotency-replayed" in answer.headers
        assert replayed == (write.key is not None and place in there)
    await assert_memories_are_whole(database_url)
    counts = Counter({content: len(ids) for content, ids in (await stored_contents(database_url, run)).items()})
    assert set(counts.values()) == {1}
    assert all(content in counts for write in writes if write.ids for content in write.contents)


async def kill_the_server(rig: Machines, folder: Path) -> None:
    """Kill the server among its writes, start another, and check everything."""
    alice = (await open_people(rig.database_url)).alice
    run = uuid4().hex[:8]
    writes = [make_write(run, number) for number in range(WRITES)]
    with server(folder, rig.database_url, rig.redis_url) as running:
        await write_until_killed(running, alice, writes, Crash(random.randrange(*ACKNOWLEDGED), running.kill))
    assert any(write.status is None for write in writes)
    with server(folder, rig.database_url, rig.redis_url) as again:
        await assert_repeats_are_stored_once(again, alice, rig.database_url, run, writes)


async def kill_the_database(rig: Machines, folder: Path, count: int = FEWER_WRITES) -> None:
    """Kill Postgres among the writes; the server outlives it, and everything is checked."""
    alice = (await open_people(rig.database_url)).alice
    run = uuid4().hex[:8]
    writes = [make_write(run, number) for number in range(count)]
    with server(folder, rig.database_url, rig.redis_url) as running:
        crash = Crash(random.randrange(*ACKNOWLEDGED), rig.kill_postgres)
        await write_until_killed(running, alice, writes, crash)
        wait_until(lambda: is_ready(running), "the server has found its database again")
        assert any(write.status == 503 for write in writes)
        await assert_repeats_are_stored_once(running, alice, rig.database_url, run, writes)


async def test_a_killed_server_loses_no_acknowledged_memory_and_leaves_no_half_of_one(
    rig: Machines, tmp_path: Path
) -> None:
    await kill_the_server(rig, tmp_path)


async def test_a_killed_database_loses_no_acknowledged_memory_and_leaves_no_half_of_one(
    rig: Machines, tmp_path: Path
) -> None:
    await kill_the_database(rig, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("kill", [kill_the_server, kill_the_database])
async def test_no_crash_of_many_loses_or_halves_a_memory(rig: Machines, tmp_path: Path, kill: Any) -> None:
    for _ in range(LONG_LOOPS):
        await kill(rig, tmp_path)


@pytest.mark.long
async def test_a_database_killed_under_a_thousand_writes_loses_none(rig: Machines, tmp_path: Path) -> None:
    await kill_the_database(rig, tmp_path, WRITES)
