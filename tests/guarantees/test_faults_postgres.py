"""A database that is away or hangs is said to be so, by every route and soon, and nothing needs a restart after it."""

import asyncio
import time

import httpx
import pytest

from memoria.database import (
    ANSWER_TIMEOUT_SECONDS,
    CONNECT_TIMEOUT_SECONDS,
    QUEUE_TIMEOUT_SECONDS,
    STALL_SECONDS,
    STATEMENT_TIMEOUT_SECONDS,
)
from server.routes import OPERATIONS
from tests.fault_rig import Machines, Running, is_ready, paused, wait_until
from tests.live_server import Person
from tests.store_checks import assert_memories_are_whole, assert_no_transaction_stays_open

pytestmark = pytest.mark.anyio

SLACK_SECONDS = 5.0  # of a busy machine
BOUND_SECONDS = STALL_SECONDS + max(ANSWER_TIMEOUT_SECONDS, CONNECT_TIMEOUT_SECONDS) + SLACK_SECONDS
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_memories", "arguments": {}}}


def requests_of_every_route() -> list[tuple[str, str, object]]:
    """List each route of the table and the MCP endpoint, as (method, path, body)."""
    listed: list[tuple[str, str, object]] = [("POST", "/v1/mcp", CALL)]
    for operation in OPERATIONS:
        path = operation.path.replace("{id}", "mem_0000000000000")
        listed.append((operation.method, path, {} if operation.body else None))
    return listed


async def ask_every_route(running: Running, headers: dict[str, str]) -> dict[str, httpx.Response]:
    """Send one request to every route at once."""
    async with httpx.AsyncClient(base_url=running.url, headers=headers, timeout=60) as client:
        listed = requests_of_every_route()
        answers = await asyncio.gather(*(client.request(method, path, json=body) for method, path, body in listed))
    return {f"{method} {path}": answer for (method, path, _), answer in zip(listed, answers, strict=True)}


def assert_all_unavailable(answers: dict[str, httpx.Response]) -> None:
    told = {where: (answer.status_code, answer.json()["code"]) for where, answer in answers.items()}
    assert told == dict.fromkeys(told, (503, "UNAVAILABLE"))
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in answers.values())


async def assert_only_liveness(running: Running) -> None:
    async with httpx.AsyncClient(base_url=running.url, timeout=60) as client:
        health, ready = await asyncio.gather(client.get("/v1/health"), client.get("/v1/health/ready"))
    assert health.status_code == 200
    assert (ready.status_code, ready.json()["status"], ready.json()["database"]) == (503, "unavailable", "away")
    assert ready.json()["redis"] == "ok"


async def test_with_the_database_stopped_every_route_is_unavailable_and_comes_back_by_itself(
    rig: Machines, running: Running, caller: Person
) -> None:
    assert is_ready(running)
    rig.postgres.stop()
    try:
        assert_all_unavailable(await ask_every_route(running, caller.headers))
        # Nobody is let in unchecked, and nobody is told that a key is wrong when it could not be looked up.
        assert_all_unavailable(await ask_every_route(running, {"Authorization": "Bearer mem_dev_unknown"}))
        await assert_only_liveness(running)
    finally:
        rig.postgres.start()
    wait_until(lambda: is_ready(running), "the server has found its database again")
    async with httpx.AsyncClient(base_url=running.url, headers=caller.headers, timeout=60) as client:
        assert (await client.post("/v1/memories", json={"content": "the database is back"})).status_code == 201


async def test_with_the_database_hanging_every_route_is_unavailable_in_bounded_time(
    rig: Machines, running: Running, caller: Person
) -> None:
    assert not any(answer.status_code == 503 for answer in (await ask_every_route(running, caller.headers)).values())
    with paused(rig.postmaster()):
        begin = time.monotonic()
        # More at once than there are connections: those who queue are sent away with those who were first.
        first, second, _ = await asyncio.gather(
            ask_every_route(running, caller.headers),
            ask_every_route(running, caller.headers),
            assert_only_liveness(running),
        )
        took = time.monotonic() - begin
        assert_all_unavailable(first)
        assert_all_unavailable(second)
    assert took < BOUND_SECONDS
    wait_until(lambda: is_ready(running), "the server has found its database again")
    answers = await ask_every_route(running, caller.headers)
    assert not any(answer.status_code == 503 for answer in answers.values())
    await assert_no_transaction_stays_open(rig.database_url)


async def test_what_is_written_while_the_database_hangs_is_stored_or_not_as_was_said(
    rig: Machines, running: Running, caller: Person
) -> None:
    async with httpx.AsyncClient(base_url=running.url, headers=caller.headers, timeout=60) as client:

        async def write(number: int) -> httpx.Response:
            return await client.post("/v1/memories", json={"content": f"{caller.namespace} writes {number}"})

        started = [asyncio.create_task(write(number)) for number in range(100)]
        await asyncio.wait(started, return_when=asyncio.FIRST_COMPLETED)
        with paused(rig.postmaster()):
            begin = time.monotonic()
            late = await asyncio.gather(*(write(number) for number in range(100, 110)))
            assert {answer.status_code for answer in late} == {503}
            assert time.monotonic() - begin < BOUND_SECONDS
        answers = await asyncio.gather(*started)
        wait_until(lambda: is_ready(running), "the server has found its database again")
        assert {answer.status_code for answer in answers} <= {201, 503}
        for answer in answers:
            if answer.status_code == 201:
                assert (await client.get(f"/v1/memories/{answer.json()['id']}")).status_code == 200
    await assert_memories_are_whole(rig.database_url)
    await assert_no_transaction_stays_open(rig.database_url)


@pytest.mark.long
async def test_a_request_caught_by_a_database_that_hangs_for_long_ends_in_bounded_time(
    rig: Machines, running: Running, caller: Person
) -> None:
    async with httpx.AsyncClient(base_url=running.url, headers=caller.headers, timeout=120) as client:

        async def write(number: int) -> int:
            answer = await client.post("/v1/memories", json={"content": f"{caller.namespace} holds {number}"})
            return answer.status_code

        begin = time.monotonic()
        started = [asyncio.create_task(write(number)) for number in range(200)]
        await asyncio.wait(started, return_when=asyncio.FIRST_COMPLETED)
        with paused(rig.postmaster()):
            statuses = await asyncio.gather(*started)
            took = time.monotonic() - begin
    assert set(statuses) == {201, 503}
    assert took < STATEMENT_TIMEOUT_SECONDS + QUEUE_TIMEOUT_SECONDS + BOUND_SECONDS
    wait_until(lambda: is_ready(running), "the server has found its database again")

    await assert_no_transaction_stays_open(rig.database_url)
    await assert_memories_are_whole(rig.database_url)
