"""Limit how fast each key may call: token buckets in Redis, and in this process while Redis is away."""

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

import structlog
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from accounts.organizations import RateLimit

REDIS_TIMEOUT_SECONDS = 0.25  # what a hanging Redis may cost one request; a crowded event loop is late by itself
REDIS_CONNECTIONS = 8  # a token takes a tenth of a millisecond: more connections would only cost
REOPEN_SECONDS = 3.0  # how long Redis is then left alone
MAX_LOCAL_BUCKETS = 10_000
FLOOD_FACTOR = 10  # a caller whose limit is told in results is cut off at so many times its rate

# One atomic step on the server's own clock. Answers {1 or 0, tokens left}; a full bucket is forgotten by itself.
TAKE_SCRIPT = """
local rate, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local clock = redis.call('TIME')
local now = clock[1] + clock[2] / 1000000
local bucket = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens, at = tonumber(bucket[1]) or burst, tonumber(bucket[2]) or now
tokens = math.min(burst, tokens + math.max(0, now - at) * rate)
local allowed = 0
if tokens >= 1 then
    allowed = 1
    tokens = tokens - 1
end
redis.call('HSET', KEYS[1], 'tokens', string.format('%.6f', tokens), 'at', string.format('%.6f', now))
redis.call('PEXPIRE', KEYS[1], math.ceil(burst / rate * 1000) + 1000)
return {allowed, string.format('%.6f', tokens)}
"""


@dataclass(frozen=True, slots=True)
class Allowance:
    """Say whether a call may go on, and what is left in its bucket."""

    allowed: bool
    tokens: float
    rate: RateLimit

    @property
    def retry_after_seconds(self) -> float:
        """Tell when the next token will be there."""
        return max(0.0, (1 - self.tokens) / self.rate.per_second)

    def headers(self) -> dict[str, str]:
        """Tell the client its limit, what remains of it, and the seconds until all of it is back."""
        full_in = (self.rate.burst - self.tokens) / self.rate.per_second
        return {
            "ratelimit-limit": str(self.rate.burst),
            "ratelimit-remaining": str(max(0, math.floor(self.tokens))),
            "ratelimit-reset": str(max(0, math.ceil(full_in))),
        }


class LocalBuckets:
    """Hold the buckets of this process alone; the longest unused are dropped first."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str, rate: RateLimit) -> Allowance:
        """Take a token if there is one."""
        now = self._clock()
        tokens, at = self._buckets.pop(name, (float(rate.burst), now))
        tokens = min(rate.burst, tokens + (now - at) * rate.per_second)
        allowed = tokens >= 1
        tokens -= 1 if allowed else 0
        self._buckets[name] = (tokens, now)
        if len(self._buckets) > MAX_LOCAL_BUCKETS:
            self._buckets.popitem(last=False)
        return Allowance(allowed, tokens, rate)


class RateLimiter:
    """Take tokens from Redis; while it is away, from this process, and try Redis again every few seconds."""

    def __init__(
        self,
        redis: Redis | None,
        clock: Callable[[], float] = time.monotonic,
        timeout_seconds: float = REDIS_TIMEOUT_SECONDS,
    ) -> None:
        self._redis = redis
        self._script = redis.register_script(TAKE_SCRIPT) if redis else None
        self._local = LocalBuckets(clock)
        self._clock = clock
        self._timeout_seconds = timeout_seconds
        self._closed_until = 0.0
        self._is_away = False

    @classmethod
    def open(cls, redis_url: str | None, timeout_seconds: float = REDIS_TIMEOUT_SECONDS) -> "RateLimiter":
        """Make a limiter; it connects with its first request."""
        if redis_url is None:
            return cls(None)
        pool = BlockingConnectionPool.from_url(
            redis_url,
            max_connections=REDIS_CONNECTIONS,
            timeout=timeout_seconds,
            socket_timeout=timeout_seconds,
            socket_connect_timeout=timeout_seconds,
            retry=Retry(NoBackoff(), 0),
        )
        return cls(Redis.from_pool(pool), timeout_seconds=timeout_seconds)

    @property
    def is_shared(self) -> bool:
        """Tell whether the limits are those of all processes together."""
        return self._redis is not None and not self._is_away

    async def close(self) -> None:
        """Close the connections."""
        if self._redis is not None:
            await self._redis.aclose()

    async def take(self, bucket: str, rate: RateLimit) -> Allowance:
        """Take a token of a bucket if there is one."""
        name = f"rate:{bucket}"
        if self._script is None or self._clock() < self._closed_until:
            return self._local.take(name, rate)
        # Only one request at a time waits for a Redis that was away; the others go on meanwhile.
        if self._is_away:
            self._closed_until = self._clock() + REOPEN_SECONDS
        try:
            async with asyncio.timeout(self._timeout_seconds):
                allowed, tokens = await self._script(keys=[name], args=[rate.per_second, rate.burst])
        except (RedisError, OSError, TimeoutError) as error:
            self._note_away(error)
            return self._local.take(name, rate)
        self._note_back()
        return Allowance(bool(allowed), float(tokens), rate)

    async def ping(self) -> bool:
        """Ask Redis whether it answers."""
        if self._redis is None:
            return False
        try:
            async with asyncio.timeout(self._timeout_seconds):
                await self._redis.ping()
        except (RedisError, OSError, TimeoutError) as error:
            self._note_away(error)
            return False
        self._note_back()
        return True

    def _note_away(self, error: Exception) -> None:
        self._closed_until = self._clock() + REOPEN_SECONDS
        if not self._is_away:
            self._is_away = True
            structlog.get_logger().warning("redis_away", error=type(error).__name__, limits="each process by itself")

    def _note_back(self) -> None:
        self._closed_until = 0.0
        if self._is_away:
            self._is_away = False
            structlog.get_logger().info("redis_back")
