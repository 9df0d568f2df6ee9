"""Accounts are opened whole or not at all, and each has a namespace that is its own."""

import re
from datetime import UTC, datetime

import pytest

from accounts.accounts import create_account, normalize_email, require_organization
from accounts.keys import KeyGrant, check_grant, find_key, hash_secret, list_keys, make_secret, revoke_key
from accounts.organizations import RateLimit, make_own_namespace
from memoria.database import Database
from memoria.errors import ConflictError, InvalidInputError, NotFoundError
from memoria.vocabulary import Scope
from tests.people import Person

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 5, 1, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("email", "slug"),
    [
        ("ada@example.com", "ada"),
        ("Ada.Lovelace+news@example.com", "ada-lovelace-news"),
        ("--@example.com", "org"),
        ("x" * 60 + "@example.com", "x" * 32),
        ("x" * 31 + ".y@example.com", "x" * 31),
    ],
)
def test_the_own_namespace_is_made_of_the_address(email: str, slug: str) -> None:
    assert re.fullmatch(rf"org:{re.escape(slug)}-[0-9a-f]{{6}}", make_own_namespace(email))


@pytest.mark.parametrize(
    "email", ["", "ada", "@example.com", "ada@", "a b@example.com", "a@b@c", "é@x.com", "a" * 250 + "@b.com"]
)
def test_what_is_no_address_is_refused(email: str) -> None:
    with pytest.raises(InvalidInputError):
        normalize_email(email)


def test_a_key_is_a_mark_and_43_url_safe_characters() -> None:
    secrets = {make_secret() for _ in range(100)}
    assert len(secrets) == 100
    assert all(re.fullmatch(r"mem_dev_[A-Za-z0-9_-]{43}", secret) for secret in secrets)


@pytest.mark.parametrize(
    "grant",
    [
        KeyGrant(name=""),
        KeyGrant(scopes=frozenset()),
        KeyGrant(namespace_patterns=("a*b",)),
        KeyGrant(namespace_patterns=("",)),
        KeyGrant(namespace_patterns=("support desk/*",)),
        KeyGrant(rate=RateLimit(0, 1)),
        KeyGrant(rate=RateLimit(1, 0)),
    ],
)
def test_a_grant_that_cannot_be_meant_is_refused(grant: KeyGrant) -> None:
    with pytest.raises(InvalidInputError):
        check_grant(grant)


async def test_an_address_has_one_account(database: Database) -> None:
    opened = await create_account(database, "Grace@Example.com", NOW)
    with pytest.raises(ConflictError):
        await create_account(database, "grace@example.com ", NOW)
    assert await require_organization(database, "GRACE@example.com") == opened.organization


async def test_an_account_that_nobody_has_is_not_found(database: Database) -> None:
    with pytest.raises(NotFoundError):
        await require_organization(database, "nobody@example.com")


async def test_a_key_is_found_with_what_it_may_do(database: Database, alice: Person) -> None:
    async with database.untenanted() as connection:
        found = await find_key(connection, alice.key.secret)
        unknown = await find_key(connection, make_secret())
    assert found is not None
    assert found.principal.org_id == alice.organization.org_id
    assert found.principal.own_namespace == alice.namespace
    assert found.principal.scopes == frozenset(Scope)
    assert unknown is None


async def test_revoking_twice_keeps_the_first_time_and_an_unknown_key_is_not_found(
    database: Database, alice: Person, charlie: Person
) -> None:
    org_id, later = alice.organization.org_id, datetime(2027, 1, 1, tzinfo=UTC)
    async with database.tenant(org_id) as connection:
        await revoke_key(connection, org_id, alice.key.key_id, NOW)
        await revoke_key(connection, org_id, alice.key.key_id, later)
        assert [key.revoked_at for key in await list_keys(connection, org_id)] == [NOW]
        with pytest.raises(NotFoundError):
            await revoke_key(connection, org_id, charlie.key.key_id, NOW)


def test_the_hash_takes_any_text() -> None:
    assert len(hash_secret("mem_dev_\udcff")) == 32
