"""Make keys, store their SHA-256 alone, find them by it, list and revoke them."""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID, uuid4

from asyncpg import Record

from accounts.organizations import RateLimit
from memoria.database import Connection
from memoria.errors import InvalidInputError, NotFoundError
from memoria.namespaces import NAMESPACE_FORM
from memoria.records import Principal
from memoria.vocabulary import MAX_NAMESPACE_CHARACTERS, Scope

KEY_MARK = "mem_dev_"
KEY_BYTES = 32  # 43 URL-safe characters
SHOWN_CHARACTERS = len(KEY_MARK) + 4
MAX_KEY_NAME_CHARACTERS = 100
MAX_KEY_PATTERNS = 50


@dataclass(frozen=True, slots=True)
class KeyGrant:
    """Say what a new key is called and may do.

    `namespace_patterns` are exact names or prefixes that end in `*`; empty means every namespace of the organization.
    Without a `rate` the organization's applies.
    """

    name: str = "default"
    scopes: frozenset[Scope] = frozenset({Scope.READ, Scope.WRITE})
    namespace_patterns: tuple[str, ...] = ()
    default_namespace: str | None = None
    rate: RateLimit | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class NewKey:
    """Hold a key just made; `secret` is shown to its owner once and stored nowhere."""

    key_id: UUID
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class FoundKey:
    """Be a stored key as a request meets it: who calls, within which limits, until when."""

    principal: Principal
    rate: RateLimit
    expires_at: datetime | None
    revoked_at: datetime | None

    def opens(self, now: datetime) -> bool:
        """Tell whether the key is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True, slots=True)
class KeyListing:
    """Describe a key to its owner; `prefix` is its beginning, to recognise it by."""

    key_id: UUID
    prefix: str
    grant: KeyGrant
    created_at: datetime
    revoked_at: datetime | None
    last_used_at: datetime | None


def make_secret() -> str:
    """Make a key: a mark that scanners recognise, and 256 random bits."""
    return KEY_MARK + secrets.token_urlsafe(KEY_BYTES)


def hash_secret(secret: str) -> bytes:
    """Compute what is stored of a key. The key is random, so a plain SHA-256 cannot be guessed back."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def check_grant(grant: KeyGrant) -> None:
    """Raise InvalidInputError for a grant that cannot be meant."""
    if not 0 < len(grant.name) <= MAX_KEY_NAME_CHARACTERS:
        raise InvalidInputError(f"A key's name has 1 to {MAX_KEY_NAME_CHARACTERS} characters.", field="name")
    if not grant.scopes:
        raise InvalidInputError("A key has at least one scope.", field="scopes")
    if len(grant.namespace_patterns) > MAX_KEY_PATTERNS:
        raise InvalidInputError(f"A key has at most {MAX_KEY_PATTERNS} patterns.", field="namespace_patterns")
    for pattern in grant.namespace_patterns:
        is_name = NAMESPACE_FORM.fullmatch(pattern.removesuffix("*")) and len(pattern) <= MAX_NAMESPACE_CHARACTERS
        if not is_name and pattern != "*":
            raise InvalidInputError(
                f"{pattern!r} is no namespace and no prefix that ends in *.", field="namespace_patterns"
            )
    if grant.rate is not None and not (0 < grant.rate.per_second <= 1e6 and 0 < grant.rate.burst <= 1e6):
        raise InvalidInputError("A rate and its burst are above 0 and at most a million.", field="rate_per_second")


async def insert_key(connection: Connection, org_id: UUID, grant: KeyGrant, at: datetime) -> NewKey:
    """Make a key and store it. Raises InvalidInputError."""
    check_grant(grant)
    key = NewKey(uuid4(), make_secret())
    await connection.execute(
        "insert_key",
        org_id=org_id,
        key_id=key.key_id,
        key_hash=hash_secret(key.secret),
        key_prefix=key.secret[:SHOWN_CHARACTERS],
        name=grant.name,
        scopes=sorted(grant.scopes),
        namespace_patterns=list(grant.namespace_patterns),
        default_namespace=grant.default_namespace,
        rate_per_second=grant.rate.per_second if grant.rate else None,
        burst=grant.rate.burst if grant.rate else None,
        expires_at=grant.expires_at,
        created_at=at,
    )
    return key


async def find_key(connection: Connection, secret: str) -> FoundKey | None:
    """Find a key by its hash; needs no tenant. The caller decides whether it still opens."""
    row = await connection.fetch_row("find_key", key_hash=hash_secret(secret))
    if row is None:
        return None
    principal = Principal(
        org_id=row["org_id"],
        own_namespace=row["own_namespace"],
        key_id=row["key_id"],
        scopes=frozenset(Scope(scope) for scope in row["scopes"]),
        namespace_patterns=tuple(row["namespace_patterns"]),
        default_namespace=row["default_namespace"],
    )
    rate = RateLimit(row["rate_per_second"], row["burst"])
    return FoundKey(principal, rate, row["expires_at"], row["revoked_at"])


async def list_keys(connection: Connection, org_id: UUID) -> tuple[KeyListing, ...]:
    """List an organization's keys, oldest first, revoked ones included."""
    return tuple(_listing(row) for row in await connection.fetch("list_keys", org_id=org_id))


async def revoke_key(connection: Connection, org_id: UUID, key_id: UUID, at: datetime) -> None:
    """End a key: the next request with it is refused. Raises NotFoundError."""
    if not await connection.execute("revoke_key", org_id=org_id, key_id=key_id, revoked_at=at):
        raise NotFoundError("There is no key with this id.", key_id=str(key_id))


async def record_key_uses(connection: Connection, org_id: UUID, uses: Sequence[tuple[UUID, datetime]]) -> None:
    """Note when an organization's keys were last used."""
    # In the order of the ids, so that two processes that write the same keys do not wait for each other in a circle.
    ordered = sorted(uses)
    await connection.execute(
        "record_key_uses",
        org_id=org_id,
        key_ids=[key_id for key_id, _ in ordered],
        times=[at for _, at in ordered],
    )


def _listing(row: Record) -> KeyListing:
    rate = RateLimit(row["rate_per_second"], row["burst"] or 1) if row["rate_per_second"] else None
    grant = KeyGrant(
        name=row["name"],
        scopes=frozenset(Scope(scope) for scope in row["scopes"]),
        namespace_patterns=tuple(row["namespace_patterns"]),
        default_namespace=row["default_namespace"],
        rate=rate,
        expires_at=row["expires_at"],
    )
    return KeyListing(
        row["key_id"], row["key_prefix"], grant, row["created_at"], row["revoked_at"], row["last_used_at"]
    )
