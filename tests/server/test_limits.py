"""Each key calls as fast as it may, counted by Redis for all processes, and by each process while Redis is away."""

import asyncio
import time
from uuid import uuid4

import pytest
from redis.asyncio import Redis
from starlette.applications import Starlette

from accounts.keys import KeyGrant
from accounts.organizations import RateLimit
from memoria.database import Database
from server.limits import REDIS_TIMEOUT_SECONDS, REOPEN_SECONDS, LocalBuckets, RateLimiter
from tests.people import Person, add_key, client_of

pytestmark = pytest.mark.anyio

PATIENCE_SECONDS = 10.0  # a busy machine is no absent Redis
SLOW = RateLimit(per_second=0.001, burst=3)


class Clock:
    """Stand still until told to go on."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """Read the time."""
        return self.now


async def take_many(limiter: RateLimiter, count: int, rate: RateLimit) -> int:
    """Take at once, and count what was allowed."""
    bucket = uuid4().hex
    taken = await asyncio.gather(*(limiter.take(bucket, rate) for _ in range(count)))
    return sum(allowance.allowed for allowance in taken)


async def test_a_burst_is_allowed_to_the_last_token_and_not_beyond(redis_url: str) -> None:
    limiter = RateLimiter.open(redis_url, PATIENCE_SECONDS)
    try:
        assert await take_many(limiter, 50, RateLimit(per_second=0.001, burst=20)) == 20
        assert limiter.is_shared
    finally:
        await limiter.close()


async def test_two_processes_share_one_bucket(redis_url: str) -> None:
    one, other, bucket = (
        RateLimiter.open(redis_url, PATIENCE_SECONDS),
        RateLimiter.open(redis_url, PATIENCE_SECONDS),
        uuid4().hex,
    )
    try:
        allowed = [(await limiter.take(bucket, SLOW)).allowed for limiter in (one, other, one, other)]
    finally:
        await one.close()
        await other.close()
    assert allowed == [True, True, True, False]


async def test_a_full_bucket_leaves_no_trace_in_redis_for_long(redis_url: str) -> None:
    limiter, bucket = RateLimiter.open(redis_url, PATIENCE_SECONDS), uuid4().hex
    try:
        await limiter.take(bucket, RateLimit(per_second=10, burst=20))
        async with Redis.from_url(redis_url) as redis:
            assert 0 < await redis.pttl(f"rate:{bucket}") <= 3000
    finally:
        await limiter.close()


def test_local_buckets_fill_with_time() -> None:
    clock = Clock()
    buckets, rate = LocalBuckets(clock), RateLimit(per_second=2, burst=2)
    assert [buckets.take("a", rate).allowed for _ in range(3)] == [True, True, False]
    clock.now += 0.5
    assert [buckets.take("a", rate).allowed for _ in range(2)] == [True, False]
    assert buckets.take("b", rate).allowed


async def test_while_redis_is_away_the_process_limits_by_itself_and_recovers(redis_url: str) -> None:
    clock = Clock()
    away = RateLimiter(Redis(port=1, socket_connect_timeout=0.05), clock)
    try:
        allowed = [(await away.take("a", SLOW)).allowed for _ in range(4)]
        assert allowed == [True, True, True, False]
        assert not away.is_shared
    finally:
        await away.close()
    flaky = RateLimiter.open(redis_url, PATIENCE_SECONDS)
    flaky._clock = clock
    flaky._note_away(TimeoutError())
    try:
        bucket = uuid4().hex
        await flaky.take(bucket, SLOW)
        assert not flaky.is_shared
        clock.now += REOPEN_SECONDS
        await flaky.take(bucket, SLOW)
        assert flaky.is_shared
    finally:
        await flaky.close()


async def test_a_redis_that_hangs_costs_one_wait() -> None:
    async def never_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(never_answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    limiter = RateLimiter.open(f"redis://127.0.0.1:{port}/0")
    try:
        begin = time.perf_counter()
        assert await take_many(limiter, 20, RateLimit(1, 100)) == 20
        first = time.perf_counter()
        assert await take_many(limiter, 20, RateLimit(1, 100)) == 20
        second = time.perf_counter()
    finally:
        await limiter.close()
        server.close()
        await server.wait_closed()
    assert first - begin < 4 * REDIS_TIMEOUT_SECONDS
    assert second - first < REDIS_TIMEOUT_SECONDS


async def test_a_key_that_calls_too_fast_is_told_when_to_come_back(
    app: Starlette, database: Database, alice: Person
) -> None:
    key = await add_key(database, alice.organization, KeyGrant(rate=RateLimit(per_second=0.5, burst=2)))
    async with client_of(app, key.secret) as client:
        answers = [await client.get("/v1/stats") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert [answer.headers["ratelimit-remaining"] for answer in answers] == ["1", "0", "0"]
    assert all(answer.headers["ratelimit-limit"] == "2" for answer in answers)
    assert 1 <= int(answers[0].headers["ratelimit-reset"]) <= 2
    refused = answers[2]
    assert refused.json()["code"] == "RATE_LIMIT_EXCEEDED"
    assert 1 <= int(refused.headers["retry-after"]) <= 2
    assert refused.json()["details"]["retry_after_seconds"] == int(refused.headers["retry-after"])
    assert (await alice.client.get("/v1/stats")).status_code == 200


async def test_the_readiness_tells_who_limits(app: Starlette, alice: Person) -> None:
    ready = (await alice.client.get("/v1/health/ready")).json()
    assert ready == {"status": "ok", "database": "ok", "redis": "ok", "limiter": "shared"}
