"""Two servers on one database are one service: duplicates, idempotency keys, revocation and limits hold across both."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime

import asyncpg
import httpx
import pytest

from accounts.accounts import OpenedAccount, create_account
from accounts.keys import revoke_key
from accounts.organizations import RateLimit
from memoria.database import Database
from tests.fault_rig import Machines, Running, server
from tests.live_server import Person, open_people
from tests.store_checks import assert_memories_are_whole

pytestmark = pytest.mark.anyio

ROUNDS = 20
BURST = 30


@pytest.fixture(scope="module")
def other(rig: Machines, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Another server on the same machines."""
    with server(tmp_path_factory.mktemp("other"), rig.database_url, rig.redis_url) as started:
        yield started


@asynccontextmanager
async def clients(headers: dict[str, str], *servers: Running) -> AsyncIterator[list[httpx.AsyncClient]]:
    """Make a client of each server, with one key."""
    async with AsyncExitStack() as stack:
        made = [httpx.AsyncClient(base_url=one.url, headers=headers, timeout=60) for one in servers]
        yield [await stack.enter_async_context(client) for client in made]


async def open_account(rig: Machines, rate: RateLimit) -> OpenedAccount:
    """Open an account with a limit of its own."""
    database = await Database.open(rig.database_url, pool_size=1)
    now = datetime.now(UTC)
    try:
        return await create_account(database, f"two-{now.timestamp()}@example.com", now, rate=rate)
    finally:
        await database.close()


async def test_the_same_memory_sent_to_both_at_once_is_stored_once(
    rig: Machines, running: Running, other: Running, caller: Person
) -> None:
    async with clients(caller.headers, running, other) as both:
        for number in range(ROUNDS):
            body = {"content": f"{caller.namespace} sends {number} to both", "namespace": "two/duplicates"}
            answers = await asyncio.gather(*(client.post("/v1/memories", json=body) for client in both * 2))
            assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 201]
            assert len({answer.json()["id"] for answer in answers}) == 1
    await assert_memories_are_whole(rig.database_url)


async def test_an_idempotency_key_holds_across_servers_also_at_once(
    rig: Machines, running: Running, other: Running, caller: Person
) -> None:
    async with clients(caller.headers, running, other) as both:
        for number in range(ROUNDS):
            texts = [{"content": f"{caller.namespace} batch {number} item {item}"} for item in range(3)]
            body = {"memories": texts, "namespace": "two/idempotency"}
            headers = {"idempotency-key": f"both-{number}"}
            answers = await asyncio.gather(
                *(client.post("/v1/memories/batch", json=body, headers=headers) for client in both * 2)
            )
            assert {answer.status_code for answer in answers} == {201}
            assert len({answer.content for answer in answers}) == 1
            assert sum("idempotency-replayed" in answer.headers for answer in answers) == 3
            changed = {**body, "namespace": "two/elsewhere"}
            refused = await both[1].post("/v1/memories/batch", json=changed, headers=headers)
            assert (refused.status_code, refused.json()["code"]) == (409, "CONFLICT")
    connection = await asyncpg.connect(rig.database_url)
    try:
        namespaces = await connection.fetch("select name from namespaces where name = 'two/elsewhere'")
    finally:
        await connection.close()
    assert namespaces == []


async def test_a_revoked_key_is_refused_by_both_with_the_next_request(
    rig: Machines, running: Running, other: Running
) -> None:
    account = await open_account(rig, RateLimit(1000.0, 1000))
    headers = {"Authorization": f"Bearer {account.key.secret}"}
    async with clients(headers, running, other) as both:
        assert {(await client.get("/v1/stats")).status_code for client in both} == {200}
        database = await Database.open(rig.database_url, pool_size=1)
        async with database.tenant(account.organization.org_id) as connection:
            await revoke_key(connection, account.organization.org_id, account.key.key_id, datetime.now(UTC))
        await database.close()
        assert {(await client.get("/v1/stats")).status_code for client in both} == {401}


async def test_a_limit_is_one_for_both(rig: Machines, running: Running, other: Running) -> None:
    account = await open_account(rig, RateLimit(0.001, BURST))
    headers = {"Authorization": f"Bearer {account.key.secret}"}
    async with clients(headers, running, other) as both:
        answers = await asyncio.gather(*(client.get("/v1/stats") for client in both * BURST))
    assert sum(answer.status_code == 200 for answer in answers) == BURST
    refused = [answer for answer in answers if answer.status_code != 200]
    assert {answer.status_code for answer in refused} == {429}
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in refused)


async def test_what_one_stores_the_other_recalls_and_what_one_forgets_the_other_does_not(
    rig: Machines, running: Running, other: Running
) -> None:
    person = (await open_people(rig.database_url)).alice
    async with clients(person.headers, running, other) as (one, two):
        for number in range(ROUNDS):
            stored = await one.post("/v1/memories", json={"content": f"the {number}th word is saffron"})
            recalled = await two.post("/v1/memories/recall", json={"query": f"the {number}th word"})
            assert stored.json()["id"] in {hit["id"] for hit in recalled.json()["results"]}
            assert (await two.delete(f"/v1/memories/{stored.json()['id']}")).status_code == 200
            again = await one.post("/v1/memories/recall", json={"query": f"the {number}th word"})
            assert again.json()["results"] == []
