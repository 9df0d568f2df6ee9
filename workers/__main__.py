"""The command `python -m workers`: run the background tasks until SIGTERM or SIGINT."""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Mapping, Sequence

import structlog

from accounts.logs import configure_logging
from memoria.database import Database
from memoria.errors import UnavailableError
from workers.schedule import AWAY_SECONDS, Task, run_tasks
from workers.settings import Settings, SettingsError, read_settings
from workers.tasks import index_vectors, purge_answers

TASKS = (
    Task("index_vectors", rest_seconds=5.0, run=index_vectors.run),
    Task("purge_answers", rest_seconds=600.0, run=purge_answers.run),
)
POOL_SIZE = len(TASKS)

_DESCRIPTION = """\
Run Memoria's background tasks. Several such processes are safe together.

  index_vectors   puts the vectors of large namespaces into the graph index
  purge_answers   deletes answers kept for idempotency keys after 24 hours

Settings are environment variables: DATABASE_URL, MEMORIA_LOG_LEVEL (info).
"""


def main(arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run until a signal says to stop, end the rounds that have begun, and return the exit code."""
    argparse.ArgumentParser(
        prog="python -m workers", description=_DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args(arguments)
    try:
        settings = read_settings(environ)
    except SettingsError as error:
        print(error, file=sys.stderr)
        return 1
    configure_logging(settings.log_level)
    asyncio.run(_work(settings))
    return 0


async def _work(settings: Settings) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    database = await _open_database(settings, stop)
    if database is None:
        return
    structlog.get_logger().info("worker_started", tasks=[task.name for task in TASKS])
    try:
        await run_tasks(TASKS, database, stop)
    finally:
        await database.close()
    structlog.get_logger().info("worker_stopped")


async def _open_database(settings: Settings, stop: asyncio.Event) -> Database | None:
    """Connect, however long the database takes to come up; None when told to stop first."""
    while not stop.is_set():
        try:
            return await Database.open(settings.database_url, pool_size=POOL_SIZE)
        except UnavailableError as error:
            structlog.get_logger().warning("database_away", reason=error.message)
        try:
            await asyncio.wait_for(stop.wait(), AWAY_SECONDS)
        except TimeoutError:
            continue
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
