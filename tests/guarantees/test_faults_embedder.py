"""An embedder that fails or hangs stops what needs vectors, and nothing else; nothing is half stored."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from memoria.embedding.openai_compatible import EndpointSettings
from server.app import create_app
from tests.embedding_gate import Endpoint, endpoint
from tests.fault_rig import wait_until
from tests.live_server import Person, open_people, serving, settings_for_tests
from tests.store_checks import assert_memories_are_whole, assert_no_transaction_stays_open

pytestmark = pytest.mark.anyio

CROWD = 20
POOL_SIZE = 2


@asynccontextmanager
async def served(
    embedder: Endpoint, postgres_url: str, redis_url: str
) -> AsyncIterator[tuple[httpx.AsyncClient, Person]]:
    """Serve the application with few connections and this embedder; yield a client of alice's."""
    settings = settings_for_tests(
        postgres_url,
        redis_url,
        MEMORIA_EMBEDDER="openai",
        MEMORIA_EMBEDDER_URL=embedder.url,
        MEMORIA_EMBEDDER_MODEL="anything",
        MEMORIA_POOL_SIZE=str(POOL_SIZE),
    )
    alice = (await open_people(postgres_url)).alice
    with serving(create_app(settings)) as url:
        async with httpx.AsyncClient(base_url=url, headers=alice.headers, timeout=60) as client:
            yield client, alice


async def encode(client: httpx.AsyncClient, number: int) -> httpx.Response:
    """Store a memory with an idempotency key."""
    headers = {"idempotency-key": f"crowd-{number}"}
    return await client.post("/v1/memories", json={"content": f"memory {number} waits"}, headers=headers)


async def test_no_connection_is_held_while_the_embedder_keeps_a_crowd_waiting(
    postgres_url: str, owner_url: str, redis_url: str
) -> None:
    with endpoint() as embedder:
        async with served(embedder, postgres_url, redis_url) as (client, alice):
            kept = await client.post("/v1/memories", json={"content": "stored before"})
            assert kept.status_code == 201
            embedder.open.clear()
            crowd = [asyncio.create_task(encode(client, number)) for number in range(CROWD)]
            await asyncio.to_thread(wait_until, lambda: embedder.waiting == CROWD, "the crowd waits for the embedder")
            await assert_no_transaction_stays_open(owner_url)
            read = await client.get(f"/v1/memories/{kept.json()['id']}")
            listed = await client.get("/v1/memories", params={"namespace": alice.namespace})
            assert (read.status_code, listed.status_code, listed.json()["total"]) == (200, 200, 1)
            embedder.open.set()
            assert {answer.status_code for answer in await asyncio.gather(*crowd)} == {201}


async def test_an_embedder_that_fails_is_unavailable_and_leaves_nothing(
    postgres_url: str, owner_url: str, redis_url: str
) -> None:
    with endpoint() as embedder:
        async with served(embedder, postgres_url, redis_url) as (client, alice):
            embedder.failing = True
            texts = [{"content": f"part {number}"} for number in range(3)]
            answers = await asyncio.gather(
                encode(client, 0),
                client.post("/v1/memories/batch", json={"memories": texts}),
                client.post("/v1/memories/recall", json={"query": "anything"}),
                client.post("/v1/memories/context", json={"query": "anything"}),
                client.post("/v1/memories/search", json={"query": "anything"}),
            )
            for answer in answers:
                assert (answer.status_code, answer.json()["code"]) == (503, "UNAVAILABLE")
                assert int(answer.headers["retry-after"]) >= 1
                assert embedder.url not in answer.text
            assert (await client.get("/v1/memories", params={"namespace": alice.namespace})).json()["total"] == 0
            embedder.failing = False
            first, second = await encode(client, 0), await encode(client, 0)
            assert (first.status_code, second.status_code) == (201, 201)
            assert first.json()["id"] == second.json()["id"]
            assert "idempotency-replayed" in second.headers
    await assert_memories_are_whole(owner_url)


@pytest.mark.long
async def test_an_embedder_that_never_answers_is_given_up_in_bounded_time(postgres_url: str, redis_url: str) -> None:
    with endpoint() as embedder:
        async with served(embedder, postgres_url, redis_url) as (client, _):
            embedder.open.clear()
            begin = time.monotonic()
            answer = await encode(client, 0)
            assert (answer.status_code, answer.json()["code"]) == (503, "UNAVAILABLE")
            assert time.monotonic() - begin < EndpointSettings("", "", 1).patience_seconds + 5
