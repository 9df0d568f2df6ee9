"""Write and read the opaque cursors of paginated answers."""

import base64
import binascii
import hashlib
import json
from typing import TypeVar

from memoria.errors import InvalidInputError
from memoria.identifiers import MAX_ID
from memoria.vocabulary import MAX_PAGE_LIMIT

FINGERPRINT_CHARACTERS = 12

Position = TypeVar("Position", int, str)


def fingerprint(*request: object) -> str:
    """Digest what a page was asked with, so that a cursor cannot go on with another question."""
    return hashlib.sha256(repr(request).encode("utf-8")).hexdigest()[:FINGERPRINT_CHARACTERS]


def write_cursor(position: int | str, request: str) -> str:
    """Write where the next page begins; `request` is the fingerprint of the question."""
    return base64.urlsafe_b64encode(json.dumps([position, request]).encode()).decode().rstrip("=")


def read_cursor(cursor: str | None, request: str, kind: type[Position]) -> Position | None:
    """Read a cursor; None begins at the start. Raises InvalidInputError for one that does not belong here."""
    if cursor is None:
        return None
    try:
        position, asked = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (binascii.Error, ValueError, TypeError, RecursionError) as error:
        raise InvalidInputError("`cursor` is not one that this list gave.", field="cursor") from error
    if type(position) is not kind or not _is_storable(position) or asked != request:
        raise InvalidInputError("`cursor` belongs to another question.", field="cursor")
    return position


def _is_storable(position: int | str) -> bool:
    """Say whether the database has such ids, ranks and names: a cursor passes through hands that may change it."""
    if isinstance(position, int):
        return 0 <= position <= MAX_ID
    return position.isprintable()


def check_limit(limit: int, most: int = MAX_PAGE_LIMIT) -> int:
    """Return a page size between 1 and `most`. Raises InvalidInputError."""
    if not 1 <= limit <= most:
        raise InvalidInputError(f"`limit` must be between 1 and {most}.", field="limit", limit=most)
    return limit
