"""Told to stop, a server ends what it has begun, takes nothing new, and leaves nothing running."""

import asyncio
import os
from pathlib import Path

import httpx
import pytest

from tests.embedding_gate import endpoint
from tests.fault_rig import STOP_SECONDS, Machines, family, paused, server, wait_until
from tests.live_server import Person
from tests.store_checks import assert_memories_are_whole

pytestmark = pytest.mark.anyio

CROWD = 10


def is_running(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}")  # noqa: PTH110 - a process, not a file


async def refuses(url: str) -> bool:
    """Tell whether no new connection is taken."""
    async with httpx.AsyncClient(timeout=5) as client:
        try:
            await client.get(f"{url}/v1/health")
        except httpx.TransportError:
            return True
    return False


async def test_a_stop_lets_requests_end_and_refuses_new_ones(rig: Machines, caller: Person, tmp_path: Path) -> None:
    with endpoint() as embedder:
        chosen = {
            "MEMORIA_EMBEDDER": "openai",
            "MEMORIA_EMBEDDER_URL": embedder.url,
            "MEMORIA_EMBEDDER_MODEL": "anything",
        }
        with server(tmp_path, rig.database_url, rig.redis_url, **chosen) as running:
            everything = family(running.process.pid)
            embedder.open.clear()
            async with httpx.AsyncClient(base_url=running.url, headers=caller.headers, timeout=60) as client:
                texts = [f"{caller.namespace} was told to stop {number}" for number in range(CROWD)]
                started = [asyncio.create_task(client.post("/v1/memories", json={"content": text})) for text in texts]
                await asyncio.to_thread(wait_until, lambda: embedder.waiting == CROWD, "the requests have begun")
                running.process.terminate()
                deadline = asyncio.get_running_loop().time() + STOP_SECONDS
                while not await refuses(running.url):
                    assert asyncio.get_running_loop().time() < deadline
                embedder.open.set()
                answers = await asyncio.gather(*started)
            assert {answer.status_code for answer in answers} == {201}
            assert await asyncio.to_thread(running.process.wait, STOP_SECONDS) == 0
            assert "Traceback" not in running.log.read_text()
            assert not any(is_running(pid) for pid in everything)
    await assert_memories_are_whole(rig.database_url)


async def test_a_stop_ends_while_the_database_and_redis_hang(rig: Machines, caller: Person, tmp_path: Path) -> None:
    with server(tmp_path, rig.database_url, rig.redis_url) as running:
        async with httpx.AsyncClient(base_url=running.url, headers=caller.headers, timeout=60) as client:
            assert (await client.post("/v1/memories/recall", json={"query": "anything"})).status_code == 200
        with paused(rig.postmaster()), paused(rig.redis_process()):
            assert await asyncio.to_thread(running.stop) == 0
        assert "Traceback" not in running.log.read_text()
