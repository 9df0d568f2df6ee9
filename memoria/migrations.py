"""Bring a database to the newest schema: forward only, checksummed in a ledger, one process at a time."""

import hashlib
from dataclasses import dataclass

import asyncpg

from memoria.errors import UnavailableError
from memoria.statements import load_statements, sql_folder


@dataclass(frozen=True, slots=True)
class Migration:
    """Be one migration file: its number and words (`0001_accounts`), its SQL and the SHA-256 of that SQL."""

    name: str
    sql: str
    checksum: str


def load_migrations() -> list[Migration]:
    """Read the migration files in order."""
    files = sorted((sql_folder("postgres") / "migrations").iterdir(), key=lambda entry: entry.name)
    texts = [(file.name.removesuffix(".sql"), file.read_text(encoding="utf-8")) for file in files]
    return [Migration(name, text, hashlib.sha256(text.encode()).hexdigest()) for name, text in texts]


async def migrate(connection: asyncpg.Connection) -> list[str]:
    """Apply what is missing, each migration in a transaction of its own, and name what was applied.

    `connection` belongs to the role that owns the schema. Raises UnavailableError when an applied migration has
    changed since: the files and the database do not belong together.
    """
    statements = load_statements("postgres")
    await connection.execute(statements["lock_migrations"].sql)
    try:
        await connection.execute(statements["create_migration_ledger"].sql)
        rows = await connection.fetch(statements["list_applied_migrations"].sql)
        applied = {row["name"]: row["checksum"] for row in rows}
        done = []
        for migration in load_migrations():
            if migration.name not in applied:
                await _apply(connection, migration)
                done.append(migration.name)
            elif applied[migration.name] != migration.checksum:
                raise UnavailableError(f"The applied migration {migration.name} differs from its file.")
        await connection.execute(statements["share_migration_ledger"].sql)
        return done
    finally:
        await connection.execute(statements["unlock_migrations"].sql)


async def missing_migrations(connection: asyncpg.Connection) -> list[str]:
    """Name the migrations that the database lacks; those of a newer release in it are no fault."""
    try:
        rows = await connection.fetch(load_statements("postgres")["list_applied_migrations"].sql)
    except (asyncpg.UndefinedTableError, asyncpg.InsufficientPrivilegeError):
        rows = []
    applied = {row["name"] for row in rows}
    return [migration.name for migration in load_migrations() if migration.name not in applied]


async def _apply(connection: asyncpg.Connection, migration: Migration) -> None:
    statements = load_statements("postgres")
    async with connection.transaction():
        await connection.execute(statements["limit_lock_wait"].sql)
        await connection.execute(migration.sql)
        await connection.execute(statements["record_migration"].sql, migration.name, migration.checksum)
