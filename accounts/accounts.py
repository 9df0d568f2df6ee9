"""Open accounts: a person's address, an organization with its own namespace, and a first key."""

import re
from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

import asyncpg

from accounts.keys import KeyGrant, NewKey, check_grant, insert_key
from accounts.organizations import (
    DEFAULT_RATE,
    Organization,
    RateLimit,
    find_organization,
    insert_organization,
    make_own_namespace,
)
from memoria.database import Database
from memoria.errors import ConflictError, InvalidInputError, NotFoundError
from memoria.vocabulary import Scope

EMAIL = re.compile(r"[!-?A-~]+@[!-?A-~]+")  # printable ASCII with one @ inside
MAX_EMAIL_CHARACTERS = 254
NAMESPACE_DRAWS = 5
OWNER_GRANT = KeyGrant(name="first key", scopes=frozenset(Scope))


@dataclass(frozen=True, slots=True)
class OpenedAccount:
    """Be a new account: its organization and its first key, whose secret is known here alone."""

    organization: Organization
    key: NewKey


def normalize_email(email: str) -> str:
    """Strip and lower-case an address. Raises InvalidInputError for what is none."""
    normal = email.strip().lower()
    if len(normal) > MAX_EMAIL_CHARACTERS or not EMAIL.fullmatch(normal):
        raise InvalidInputError("This is no e-mail address.", field="email")
    return normal


async def create_account(
    database: Database,
    email: str,
    at: datetime,
    *,
    name: str | None = None,
    rate: RateLimit = DEFAULT_RATE,
    grant: KeyGrant = OWNER_GRANT,
) -> OpenedAccount:
    """Create an organization, its first account and its first key, all or none.

    Raises InvalidInputError for a wrong address and ConflictError for one that has an account.
    """
    address = normalize_email(email)
    check_grant(grant)
    for _ in range(NAMESPACE_DRAWS):
        organization = Organization(uuid4(), make_own_namespace(address))
        try:
            async with database.tenant(organization.org_id) as connection:
                await insert_organization(connection, organization, name or address, rate, at)
                await connection.execute(
                    "insert_account",
                    org_id=organization.org_id,
                    account_id=uuid4(),
                    email=address,
                    name=name,
                    created_at=at,
                )
                key = await insert_key(connection, organization.org_id, grant, at)
            return OpenedAccount(organization, key)
        except asyncpg.UniqueViolationError as error:
            if error.constraint_name != "organizations_own_namespace_key":
                raise ConflictError(f"There is an account for {address} already.", field="email") from error
    raise ConflictError("No free namespace was found for this address; try again.", field="email")


async def require_organization(database: Database, email: str) -> Organization:
    """Find the organization of an account. Raises NotFoundError."""
    address = normalize_email(email)
    async with database.untenanted() as connection:
        organization = await find_organization(connection, address)
    if organization is None:
        raise NotFoundError(f"There is no account for {address}.", field="email")
    return organization
