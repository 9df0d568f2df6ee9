"""The command `python -m workers`: run jobs and background tasks until SIGTERM or SIGINT."""

import argparse
import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence

import structlog

from accounts.environment import SettingsError
from accounts.language import open_writer
from accounts.logs import configure_logging
from accounts.metrics import serve_metrics
from memoria.database import Database
from memoria.errors import UnavailableError
from workers.clock import utc_now
from workers.embedder import LazyEmbedder
from workers.kinds import Kind
from workers.metrics import JobMetrics
from workers.planning import plan_task
from workers.registry import KINDS, TASKS
from workers.runner import Pace, Runner
from workers.schedule import AWAY_SECONDS, Task, run_tasks
from workers.settings import Settings, describe_settings, read_settings

CONNECTIONS_PER_JOB = 2  # its own, and that of its heartbeat
CONNECTIONS_OF_TASKS = 3  # shared by the rounds of upkeep and by claims
NICENESS = 10  # requests come first

_DESCRIPTION = """\
Run Memoria's jobs and background tasks. Several such processes are safe together.

  index_vectors   puts the vectors of large namespaces into the graph index
  plan_jobs       enqueues the jobs of schedules
  purge_answers   deletes answers kept for idempotency keys after 24 hours
  purge_jobs      deletes jobs 30 days after their end
  purge_recalls   deletes recalls after 30 days, when feedback no longer refers to them
  expire          deletes memories 30 days after they have expired
"""


def main(
    arguments: Sequence[str],
    environ: Mapping[str, str],
    kinds: Sequence[Kind] = KINDS,
    tasks: Sequence[Task] = TASKS,
    pace: Pace | None = None,
) -> int:
    """Run until a signal says to stop, end the rounds that have begun, and return the exit code."""
    argparse.ArgumentParser(
        prog="python -m workers",
        description=_DESCRIPTION,
        epilog=f"Settings are environment variables (defaults in brackets):\n\n{describe_settings()}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    ).parse_args(arguments)
    try:
        settings = read_settings(environ)
    except SettingsError as error:
        print(error, file=sys.stderr)
        return 1
    configure_logging(settings.log_level)
    os.nice(NICENESS)
    asyncio.run(_work(settings, kinds, [*tasks, plan_task(kinds)], pace or Pace()))
    return 0


async def _work(settings: Settings, kinds: Sequence[Kind], tasks: Sequence[Task], pace: Pace) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    database = await _open_database(settings, CONNECTIONS_PER_JOB * settings.slots + CONNECTIONS_OF_TASKS, stop)
    if database is None:
        return
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(database.close)
        embedder, metrics = LazyEmbedder(settings.embedder, settings.home), JobMetrics()
        stack.push_async_callback(embedder.close)
        if settings.metrics_port is not None:
            tasks = [*tasks, metrics.count_task()]
            stack.callback(serve_metrics(metrics.registry, settings.host, settings.metrics_port))
        writer = open_writer(settings.language)
        if writer is not None:
            stack.push_async_callback(writer.close)
        runner = Runner(
            database,
            kinds,
            utc_now,
            embedder.get,
            slots=settings.slots,
            pace=pace,
            note=metrics.note,
            writer=writer,
        )
        structlog.get_logger().info(
            "worker_started",
            tasks=[task.name for task in tasks],
            kinds=[kind.name for kind in kinds],
            slots=settings.slots,
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(run_tasks(tasks, database, stop))
            group.create_task(runner.run(stop))
    structlog.get_logger().info("worker_stopped")


async def _open_database(settings: Settings, pool_size: int, stop: asyncio.Event) -> Database | None:
    """Connect, however long the database takes to come up; None when told to stop first."""
    while not stop.is_set():
        try:
            return await Database.open(settings.database_url, pool_size=pool_size)
        except UnavailableError as error:
            structlog.get_logger().warning("database_away", reason=error.message)
        try:
            await asyncio.wait_for(stop.wait(), AWAY_SECONDS)
        except TimeoutError:
            continue
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
