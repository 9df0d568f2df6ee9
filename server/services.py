"""Hold what every request needs, opened once for the life of the application."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from accounts.key_uses import KeyUses
from memoria.engine import Engine
from server.limits import RateLimiter
from server.metrics import Metrics


@dataclass(frozen=True, slots=True)
class Services:
    """Be the opened parts of the application."""

    engine: Engine
    limiter: RateLimiter
    metrics: Metrics
    key_uses: KeyUses
    clock: Callable[[], datetime]


def utc_now() -> datetime:
    """Read the clock."""
    return datetime.now(UTC)
