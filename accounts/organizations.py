"""Store organizations, and name the namespace that each one owns."""

import re
import secrets
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memoria.database import Connection

MAX_SLUG_CHARACTERS = 32
DEFAULT_SLUG = "org"
SUFFIX_BYTES = 3  # six hexadecimal digits


@dataclass(frozen=True, slots=True)
class RateLimit:
    """Allow `per_second` requests on average, and `burst` at once after a rest."""

    per_second: float
    burst: int

    def times(self, factor: int) -> "RateLimit":
        """Make a limit that is so many times as wide."""
        return RateLimit(self.per_second * factor, self.burst * factor)


DEFAULT_RATE = RateLimit(per_second=20.0, burst=100)


@dataclass(frozen=True, slots=True)
class Organization:
    """Be one tenant and the namespace that is its own."""

    org_id: UUID
    own_namespace: str


def make_own_namespace(email: str) -> str:
    """Make `org:<you>-<6 hex>` from the part of an e-mail address before the @."""
    local_part = email.partition("@")[0].lower()
    slug = re.sub(r"[^a-z0-9]+", "-", local_part)[:MAX_SLUG_CHARACTERS].strip("-")
    return f"org:{slug or DEFAULT_SLUG}-{secrets.token_hex(SUFFIX_BYTES)}"


async def insert_organization(
    connection: Connection, organization: Organization, name: str, rate: RateLimit, at: datetime
) -> None:
    """Store a new organization, inside a transaction of that same tenant."""
    await connection.execute(
        "insert_organization",
        org_id=organization.org_id,
        name=name,
        own_namespace=organization.own_namespace,
        rate_per_second=rate.per_second,
        burst=rate.burst,
        created_at=at,
    )


async def find_organization(connection: Connection, email: str) -> Organization | None:
    """Find the organization that an account belongs to; needs no tenant."""
    row = await connection.fetch_row("find_organization", email=email)
    return Organization(row["org_id"], row["own_namespace"]) if row else None
