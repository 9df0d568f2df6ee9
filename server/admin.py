"""The operator's commands: create accounts, create, list and revoke keys, see and retry jobs."""

import argparse
import asyncio
import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from accounts.accounts import OWNER_GRANT, create_account, require_organization
from accounts.keys import KeyGrant, KeyListing, insert_key, list_keys, revoke_key
from accounts.organizations import DEFAULT_RATE, Organization, RateLimit
from memoria.database import Database
from memoria.errors import MemoriaError
from memoria.namespaces import resolve_namespace
from memoria.records import Principal
from memoria.vocabulary import Scope
from server import admin_erasure, admin_jobs
from server.settings import Settings

BURST_SECONDS = 5  # a key may save up so many seconds of its rate
RFC_3339_HINT = "an RFC 3339 time with its offset, such as 2027-01-31T00:00:00Z"
DEFAULT_SCOPES = (Scope.READ, Scope.WRITE)


def main(arguments: Sequence[str], settings: Settings) -> int:
    """Run one command; answer its exit code: 0, 1 for what the database refuses, 2 for wrong arguments."""
    parser = make_parser()
    parsed = parser.parse_args(arguments)
    if getattr(parsed, "burst", None) and parsed.rate is None:
        parser.error("--burst goes with --rate")
    try:
        for line in asyncio.run(_run(parsed, settings)):
            print(line)
    except MemoriaError as error:
        print(error.message, file=sys.stderr)
        return 1
    return 0


def make_parser() -> argparse.ArgumentParser:
    """Describe the commands and their arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m server admin",
        description="Create accounts and keys, see and retry jobs. A key is shown here once and never again.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")

    create = commands.add_parser("create-account", help="open an account with a namespace and a first key of its own")
    create.add_argument("--email", required=True, help="address of the account's owner")
    create.add_argument("--name", help="name of the organization; the address unless given")
    _add_rate(create, "most requests a second of the organization's keys together with none of their own")

    key = commands.add_parser("create-key", help="make another key")
    key.add_argument("--email", required=True, help="address of an account of the organization")
    key.add_argument("--name", default="key", help="what the key is for")
    key.add_argument(
        "--scopes",
        type=_scopes,
        default=frozenset(DEFAULT_SCOPES),
        help=f"any of {','.join(Scope)}, with commas; {','.join(DEFAULT_SCOPES)} unless given",
    )
    key.add_argument(
        "--namespace",
        action="append",
        default=[],
        metavar="PATTERN",
        help="limit the key to a namespace, or to a prefix that ends in *; may be repeated",
    )
    key.add_argument("--default-namespace", help="namespace of calls that name none")
    key.add_argument("--expires", type=_moment, help=RFC_3339_HINT)
    _add_rate(key, "most requests a second with this key")

    keys = commands.add_parser("list-keys", help="list an organization's keys")
    keys.add_argument("--email", required=True, help="address of an account of the organization")

    revoke = commands.add_parser("revoke-key", help="end a key: its next request is refused")
    revoke.add_argument("--email", required=True, help="address of an account of the organization")
    revoke.add_argument("--key-id", required=True, type=_key_id, help="MEMORIA_KEY_ID of the key")

    admin_jobs.add_job_commands(commands)
    admin_erasure.add_erasure_command(commands)
    return parser


def _add_rate(parser: argparse.ArgumentParser, meaning: str) -> None:
    parser.add_argument("--rate", type=_positive_number, metavar="PER_SECOND", help=meaning)
    parser.add_argument(
        "--burst", type=_positive_whole, help=f"requests at once; {BURST_SECONDS} seconds of the rate unless given"
    )


async def _run(parsed: argparse.Namespace, settings: Settings) -> list[str]:
    if settings.database_url is None:
        raise MemoriaError("DATABASE_URL is not set.")
    database = await Database.open(settings.database_url, pool_size=1)
    try:
        return await COMMANDS[parsed.command](database, parsed)
    finally:
        await database.close()


async def _create_account(database: Database, parsed: argparse.Namespace) -> list[str]:
    rate = _rate(parsed) or DEFAULT_RATE
    opened = await create_account(database, parsed.email, _now(), name=parsed.name, rate=rate, grant=OWNER_GRANT)
    return [
        f"MEMORIA_NAMESPACE={opened.organization.own_namespace}",
        f"MEMORIA_KEY={opened.key.secret}",
        f"MEMORIA_KEY_ID={opened.key.key_id}",
    ]


async def _create_key(database: Database, parsed: argparse.Namespace) -> list[str]:
    organization = await require_organization(database, parsed.email)
    grant = KeyGrant(
        name=parsed.name,
        scopes=parsed.scopes,
        namespace_patterns=tuple(parsed.namespace),
        default_namespace=parsed.default_namespace,
        rate=_rate(parsed),
        expires_at=parsed.expires,
    )
    _check_default_namespace(organization, grant)
    async with database.tenant(organization.org_id) as connection:
        key = await insert_key(connection, organization.org_id, grant, _now())
    namespace = grant.default_namespace or organization.own_namespace
    return [f"MEMORIA_NAMESPACE={namespace}", f"MEMORIA_KEY={key.secret}", f"MEMORIA_KEY_ID={key.key_id}"]


def _check_default_namespace(organization: Organization, grant: KeyGrant) -> None:
    """Refuse a default that the key could not use: each call that names no namespace would fail."""
    if grant.default_namespace is not None:
        principal = Principal(
            organization.org_id, organization.own_namespace, None, grant.scopes, grant.namespace_patterns
        )
        resolve_namespace(principal, grant.default_namespace)


async def _list_keys(database: Database, parsed: argparse.Namespace) -> list[str]:
    organization = await require_organization(database, parsed.email)
    async with database.tenant(organization.org_id) as connection:
        return [_describe(key) for key in await list_keys(connection, organization.org_id)]


async def _revoke_key(database: Database, parsed: argparse.Namespace) -> list[str]:
    organization = await require_organization(database, parsed.email)
    async with database.tenant(organization.org_id) as connection:
        await revoke_key(connection, organization.org_id, parsed.key_id, _now())
    return [f"MEMORIA_REVOKED_KEY_ID={parsed.key_id}"]


COMMANDS = {
    "create-account": _create_account,
    "create-key": _create_key,
    "list-keys": _list_keys,
    "revoke-key": _revoke_key,
    **admin_jobs.COMMANDS,
    **admin_erasure.COMMANDS,
}


def _describe(key: KeyListing) -> str:
    state = "revoked" if key.revoked_at else "live"
    if key.grant.expires_at is not None and not key.revoked_at and key.grant.expires_at <= _now():
        state = "expired"
    used = key.last_used_at.isoformat(timespec="seconds") if key.last_used_at else "never"
    namespaces = ",".join(key.grant.namespace_patterns) or "*"
    scopes = ",".join(sorted(key.grant.scopes))
    return f"{key.key_id}  {key.prefix}…  {state:<7}  {scopes:<23}  {namespaces}  used {used}  {key.grant.name}"


def _rate(parsed: argparse.Namespace) -> RateLimit | None:
    if parsed.rate is None:
        return None
    return RateLimit(parsed.rate, parsed.burst or max(1, round(parsed.rate * BURST_SECONDS)))


def _scopes(text: str) -> frozenset[Scope]:
    try:
        return frozenset(Scope(word.strip().lower()) for word in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"scopes are {', '.join(Scope)}") from None


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be {RFC_3339_HINT}") from None
    if moment.tzinfo is None:
        raise argparse.ArgumentTypeError(f"must be {RFC_3339_HINT}")
    return moment.astimezone(UTC)


def _key_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise argparse.ArgumentTypeError("must be the id of a key, as list-keys shows it") from None


def _positive_number(text: str) -> float:
    if not re.fullmatch(r"\d{1,6}(\.\d{1,6})?", text) or float(text) <= 0:
        raise argparse.ArgumentTypeError("must be a number above 0")
    return float(text)


def _positive_whole(text: str) -> int:
    if not re.fullmatch(r"[1-9]\d{0,5}", text):
        raise argparse.ArgumentTypeError("must be a whole number above 0")
    return int(text)


def _now() -> datetime:
    return datetime.now(UTC)
