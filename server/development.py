"""Give a local server an account to begin with, and tell its owner how to use it."""

import shlex
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from accounts.accounts import create_account, require_organization
from accounts.keys import KeyGrant, find_key, insert_key
from accounts.organizations import RateLimit
from memoria.database import Database
from memoria.errors import NotFoundError
from memoria.vocabulary import Scope
from server.local import write_private
from server.settings import Settings

_EMAIL = "dev@localhost"
_RATE = RateLimit(per_second=200.0, burst=2000)
_GRANT = KeyGrant(name="development", scopes=frozenset(Scope), rate=_RATE)

_WELCOME = """
Memoria is ready on {url}  (documentation: {url}/v1/docs)

  namespace  {namespace}
  key        {shown_key}

Both are in {file}; to have them in a shell:

  set -a; . {file}; set +a

Store a memory:

  curl -X POST {url}/v1/memories -H "Authorization: Bearer {key}" \\
    -H "Content-Type: application/json" \\
    -d '{{"content":"We deploy on Fridays after 2pm","type":"Episodic","namespace":"{namespace}"}}'

Give Claude Code a memory:

  claude mcp add --transport http memoria {url}/v1/mcp --header "Authorization: Bearer {key}"
"""


@dataclass(frozen=True, slots=True)
class LocalAccount:
    """The account of a local server; `is_new` says that its key has never been shown."""

    url: str
    namespace: str
    key: str = field(repr=False)
    file: Path
    is_new: bool

    def welcome(self) -> str:
        """Return what to print at the start: how to use the server, with the key itself the first time only."""
        return _WELCOME.format(
            url=self.url,
            namespace=self.namespace,
            file=shlex.quote(str(self.file)),
            key=self.key if self.is_new else "$MEMORIA_KEY",
            shown_key=self.key if self.is_new else "shown at the first start",
        )


async def ensure_local_account(settings: Settings) -> LocalAccount:
    """Return the local account; make it, or a new key for it, when the key in `dev.env` opens nothing.

    Writes MEMORIA_URL, MEMORIA_KEY and MEMORIA_NAMESPACE into `dev.env` in the home folder, readable by its
    owner alone. Raises `UnavailableError` when the database does not answer.
    """
    now = datetime.now(UTC)
    file = settings.home / "dev.env"
    if settings.database_url is None:
        message = "the local servers have not been started"
        raise ValueError(message)
    database = await Database.open(settings.database_url, pool_size=1)
    try:
        kept = _read_variables(file).get("MEMORIA_KEY", "")
        namespace = await _namespace_of(database, kept, now)
        if namespace is not None:
            account = LocalAccount(settings.public_url, namespace, kept, file, is_new=False)
        else:
            namespace, key = await _make_key(database, now)
            account = LocalAccount(settings.public_url, namespace, key, file, is_new=True)
    finally:
        await database.close()
    settings.home.mkdir(parents=True, exist_ok=True)
    write_private(
        file,
        f"MEMORIA_URL={account.url}\nMEMORIA_KEY={account.key}\nMEMORIA_NAMESPACE={account.namespace}\n",
    )
    return account


async def _namespace_of(database: Database, key: str, now: datetime) -> str | None:
    async with database.untenanted() as connection:
        found = await find_key(connection, key)
    return found.principal.own_namespace if found is not None and found.opens(now) else None


async def _make_key(database: Database, now: datetime) -> tuple[str, str]:
    """Return the namespace and a new key of the local account, which is created unless it is there."""
    try:
        organization = await require_organization(database, _EMAIL)
    except NotFoundError:
        opened = await create_account(database, _EMAIL, now, name="Local development", rate=_RATE, grant=_GRANT)
        return opened.organization.own_namespace, opened.key.secret
    async with database.tenant(organization.org_id) as connection:
        key = await insert_key(connection, organization.org_id, _GRANT, now)
    return organization.own_namespace, key.secret


def _read_variables(file: Path) -> dict[str, str]:
    if not file.exists():
        return {}
    lines = (line.partition("=") for line in file.read_text().splitlines())
    return {name: value for name, _, value in lines}
