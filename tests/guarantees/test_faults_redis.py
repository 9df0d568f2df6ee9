"""Without Redis nothing changes but that each process limits by itself; it says so, once, and finds Redis again."""

import asyncio
import time
from dataclasses import dataclass

import httpx
import pytest
import redis

from server.limits import REDIS_TIMEOUT_SECONDS
from tests.fault_rig import Machines, Running, paused, wait_until
from tests.live_server import Person

pytestmark = pytest.mark.anyio

SLACK_SECONDS = 2.0  # of a busy machine


@dataclass(slots=True)
class Said:
    """Count what a server says of Redis, from now on."""

    running: Running
    away: int = 0
    back: int = 0

    def __post_init__(self) -> None:
        """Leave out what it has said before."""
        self.away, self.back = self.counts()

    def counts(self) -> tuple[int, int]:
        """Count the two events since the beginning."""
        return len(self.running.events("redis_away")), len(self.running.events("redis_back"))

    def since(self) -> tuple[int, int]:
        """Count the two events since this was made."""
        away, back = self.counts()
        return away - self.away, back - self.back


@pytest.fixture
def said(running: Running) -> Said:
    return Said(running)


def readiness(running: Running) -> tuple[int, str, str]:
    answer = httpx.get(f"{running.url}/v1/health/ready", timeout=30)
    return answer.status_code, answer.json()["redis"], answer.json()["limiter"]


async def call(running: Running, person: Person, times: int) -> list[tuple[int, float]]:
    """Read and write so many times, one after another; return each status and how long it took."""
    seen = []
    async with httpx.AsyncClient(base_url=running.url, headers=person.headers, timeout=30) as client:
        for number in range(times):
            begin = time.monotonic()
            answer = await client.post("/v1/memories", json={"content": f"without redis {number}"})
            seen.append((answer.status_code, time.monotonic() - begin))
            assert "ratelimit-remaining" in answer.headers
    return seen


async def assert_served_all_along(running: Running, person: Person, times: int = 40) -> None:
    """Find every call served; all of them together wait for Redis no more than a few times."""
    begin = time.monotonic()
    calls = await call(running, person, times)
    assert {status for status, _ in calls} <= {200, 201}
    assert max(seconds for _, seconds in calls) < REDIS_TIMEOUT_SECONDS + SLACK_SECONDS
    waits = sum(seconds >= REDIS_TIMEOUT_SECONDS for _, seconds in calls)
    assert waits <= times // 4 or time.monotonic() - begin < times * REDIS_TIMEOUT_SECONDS


async def test_redis_stopped_changes_nothing_but_who_counts(
    rig: Machines, running: Running, caller: Person, said: Said
) -> None:
    assert readiness(running) == (200, "ok", "shared")
    rig.redis.stop()
    try:
        await assert_served_all_along(running, caller)
        assert readiness(running) == (200, "away", "local")
    finally:
        rig.redis.start()
    wait_until(lambda: readiness(running) == (200, "ok", "shared"), "the server has found Redis again")
    await call(running, caller, 3)
    assert said.since() == (1, 1)


async def test_redis_hanging_costs_a_request_a_moment_and_no_more(
    rig: Machines, running: Running, caller: Person, said: Said
) -> None:
    await call(running, caller, 3)
    with paused(rig.redis_process()):
        crowd = await asyncio.gather(*(call(running, caller, 1) for _ in range(30)))
        assert {status for [(status, _)] in crowd} <= {200, 201}
        await assert_served_all_along(running, caller)
        assert readiness(running) == (200, "away", "local")
    wait_until(lambda: readiness(running) == (200, "ok", "shared"), "the server has found Redis again")
    assert said.since() == (1, 1)


async def test_requests_alone_find_redis_again(rig: Machines, running: Running, caller: Person, said: Said) -> None:
    with paused(rig.redis_process()):
        await call(running, caller, 3)
        assert said.since() == (1, 0)

    def found_again() -> bool:
        httpx.get(f"{running.url}/v1/memories", headers=caller.headers, timeout=30)
        return said.since() == (1, 1)

    wait_until(found_again, "a request has found Redis again")


async def test_redis_emptied_forgets_the_scripts_and_the_buckets_only(
    rig: Machines, running: Running, caller: Person, said: Said
) -> None:
    await call(running, caller, 3)
    with redis.Redis.from_url(rig.redis_url) as client:
        client.flushall()
        client.script_flush()
    await assert_served_all_along(running, caller, 10)
    assert readiness(running) == (200, "ok", "shared")
    assert said.since() == (0, 0)
