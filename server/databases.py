"""Check at the start what the database URLs lead to, and say in one sentence what is wrong with one."""

import asyncpg

from accounts.environment import SettingsError
from memoria.database import CONNECTION_ERRORS
from memoria.errors import UnavailableError
from memoria.migrations import missing_migrations
from server.settings import Settings

# What Postgres answers to a wrong role, password or database. Its sentences name these, but no password.
_REFUSALS = (
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.InsufficientPrivilegeError,
)


async def connect(url: str | None, variable: str) -> asyncpg.Connection:
    """Connect. Raises `SettingsError` when the server refuses what `variable` says, `UnavailableError` without one."""
    try:
        return await asyncpg.connect(url)
    except _REFUSALS as error:
        message = f"{variable} is refused by the database: {error}."
        raise SettingsError(message) from error
    except CONNECTION_ERRORS as error:
        message = f"The database does not answer: {type(error).__name__}."
        raise UnavailableError(message) from error


async def require_schema(settings: Settings) -> None:
    """Raise `SettingsError` when the database is older than this release, or was never migrated."""
    connection = await connect(settings.database_url, "DATABASE_URL")
    try:
        missing = await missing_migrations(connection)
    finally:
        await connection.close()
    if missing:
        message = f"The database of DATABASE_URL lacks {', '.join(missing)}: run python -m server migrate first."
        raise SettingsError(message)
