"""Read the clock, in the one place where workers do."""

from datetime import UTC, datetime


def utc_now() -> datetime:
    """Read the clock."""
    return datetime.now(UTC)
