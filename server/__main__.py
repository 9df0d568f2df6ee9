"""The command `python -m server`: serve, migrate, administer."""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Sequence

import asyncpg

from accounts.environment import SettingsError
from memoria.errors import MemoriaError
from memoria.migrations import migrate
from server import admin
from server.databases import connect, require_schema
from server.development import LocalAccount, ensure_local_account
from server.embedded import EmbeddedError
from server.listener import listen
from server.local import local_servers, local_worker
from server.settings import Settings, describe_settings, read_settings

_DESCRIPTION = """\
Serve Memoria over REST and MCP.

  python -m server                 serve; with nothing set, a local server with its own Postgres and Redis
  python -m server migrate         bring the database to the newest schema
  python -m server admin --help    create accounts and keys
"""


def main(arguments: Sequence[str], environ: dict[str, str]) -> int:
    """Run one command and return its exit code. What a person can mend is one sentence on stderr and code 1."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    parsed = _parser().parse_args(arguments)
    try:
        settings = read_settings(environ)
        if parsed.command == "admin":
            return _administer(settings, parsed.arguments)
        if parsed.command == "migrate":
            return _migrate(settings)
        return _serve(settings, is_development=parsed.development or settings.database_url is None)
    except (SettingsError, EmbeddedError, MemoriaError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m server",
        description=_DESCRIPTION,
        epilog=f"Settings are environment variables (defaults in brackets):\n\n{describe_settings()}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--development",
        action="store_true",
        help="migrate at the start and create a local account, also with DATABASE_URL",
    )
    parser.set_defaults(command="serve")
    commands = parser.add_subparsers(dest="command", metavar="command")
    commands.add_parser("serve", help="serve (the default)")
    commands.add_parser("migrate", help="bring the database to the newest schema")
    # No word begins with this prefix, so that all that follow reach the parser of the commands, `--help` too.
    administer = commands.add_parser("admin", help="create accounts and keys", add_help=False, prefix_chars="\0")
    administer.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser


def _serve(settings: Settings, *, is_development: bool) -> int:
    with listen(settings.host, settings.port) as listener, local_servers(settings) as complete:
        # Imported late: what can be said about settings, port and folder is said before two seconds of imports.
        from server.serving import serve

        if not is_development:
            asyncio.run(require_schema(complete))
            return serve(complete, listener, lambda: print(f"Memoria listens on {complete.public_url}", flush=True))
        account = asyncio.run(_prepare_development(complete))
        with local_worker(complete):
            return serve(complete, listener, lambda: print(account.welcome(), flush=True))


def _migrate(settings: Settings) -> int:
    with local_servers(settings, join=True) as complete:
        applied = asyncio.run(_apply_migrations(complete))
    print("\n".join(f"applied {name}" for name in applied) or "the schema is up to date")
    return 0


def _administer(settings: Settings, arguments: Sequence[str]) -> int:
    admin.make_parser().parse_args(arguments)  # help and wrong arguments end here, before any server starts
    with local_servers(settings, join=True) as complete:
        if settings.database_url is None:
            # A local server migrates by itself, also when its first command is one of these.
            asyncio.run(_apply_migrations(complete))
        return admin.main(arguments, complete)


async def _prepare_development(settings: Settings) -> LocalAccount:
    await _apply_migrations(settings)
    return await ensure_local_account(settings)


async def _apply_migrations(settings: Settings) -> list[str]:
    is_owner_named = settings.owner_database_url != settings.database_url
    variable = "MEMORIA_OWNER_DATABASE_URL" if is_owner_named else "DATABASE_URL"
    connection = await connect(settings.owner_database_url, variable)
    try:
        return await migrate(connection)
    except asyncpg.InsufficientPrivilegeError as error:
        message = f"{variable} must name the role that owns the schema: {error}."
        raise SettingsError(message) from error
    finally:
        await connection.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], dict(os.environ)))
