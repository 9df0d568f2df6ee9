"""Make 64-bit, time-ordered ids, and turn them to and from their public form.

An id is 41 bits of milliseconds since 2025-01-01 UTC and 22 random bits. The public form is a prefix that says what it
names (`mem_`, `rec_`, `job_`, `int_`) and 13 digits of Crockford's base 32 (lower case); clients treat it as opaque.
"""

import secrets
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from memoria.errors import NotFoundError

EPOCH = datetime(2025, 1, 1, tzinfo=UTC)
RANDOM_BITS = 22
DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
DIGIT_COUNT = 13
MAX_ID = 2**63 - 1

VALUES = {digit: value for value, digit in enumerate(DIGITS)}


class IdKind(StrEnum):
    """Say what an id names, by the prefix of its public form."""

    MEMORY = "mem_"
    RECALL = "rec_"
    JOB = "job_"
    INTENTION = "int_"


class IdMaker:
    """Make ids that rise with time and never repeat within one process.

    Two processes may draw the same number in the same millisecond (one in four million); the primary key refuses
    the second, and the caller draws again.
    """

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._last = 0

    def next(self) -> int:
        """Make the next id."""
        milliseconds = int((self._clock() - EPOCH).total_seconds() * 1000)
        drawn = (milliseconds << RANDOM_BITS) | secrets.randbits(RANDOM_BITS)
        self._last = drawn if drawn > self._last else self._last + 1 + secrets.randbelow(16)
        return self._last


def moment_of(value: int) -> datetime:
    """Tell when an id was made, to the millisecond."""
    return EPOCH + timedelta(milliseconds=value >> RANDOM_BITS)


def format_id(value: int, kind: IdKind = IdKind.MEMORY) -> str:
    """Write an id in its public form."""
    digits = []
    for _ in range(DIGIT_COUNT):
        value, digit = divmod(value, 32)
        digits.append(DIGITS[digit])
    return kind.value + "".join(reversed(digits))


def parse_id(text: str, kind: IdKind = IdKind.MEMORY) -> int:
    """Read a public id. Raises NotFoundError for what is no id: nothing can be stored under it."""
    digits = text.removeprefix(kind.value)
    if text.startswith(kind.value) and len(digits) == DIGIT_COUNT and all(digit in VALUES for digit in digits):
        value = 0
        for digit in digits:
            value = value * 32 + VALUES[digit]
        if value <= MAX_ID:
            return value
    raise NotFoundError(f"There is no {kind.name.lower()} with this id.", id=text[:64])
