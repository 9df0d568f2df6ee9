"""Run tasks side by side, each at its own pace, until told to stop."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog

from memoria.database import Database
from memoria.errors import UnavailableError
from workers.clock import utc_now

AWAY_SECONDS = 5.0  # how long to wait for a database that is away


@dataclass(frozen=True, slots=True)
class Task:
    """Be one background task. `run` does a round and returns how much it did; with nothing done it rests.

    A round must be safe to repeat and to run in several processes at once.
    """

    name: str
    rest_seconds: float
    run: Callable[[Database, datetime], Awaitable[int]]


async def run_tasks(tasks: Sequence[Task], database: Database, stop: asyncio.Event) -> None:
    """Run every task until `stop` is set; a round that has begun is ended first."""
    async with asyncio.TaskGroup() as group:
        for task in tasks:
            group.create_task(_repeat(task, database, stop), name=task.name)


async def _repeat(task: Task, database: Database, stop: asyncio.Event) -> None:
    while not stop.is_set():
        done, rest = await _run_round(task, database)
        if not done:
            await _wait(stop, rest)


async def _run_round(task: Task, database: Database) -> tuple[int, float]:
    """Do one round; return what it did and how long to rest if that was nothing."""
    log = structlog.get_logger().bind(task=task.name)
    started = time.monotonic()
    try:
        done = await task.run(database, utc_now())
    except UnavailableError:
        log.warning("database_away")
        return 0, AWAY_SECONDS
    except Exception as error:
        # The edge of a round: the others go on, and this one is tried again.
        log.error("round_failed", error=type(error).__name__)
        return 0, max(task.rest_seconds, AWAY_SECONDS)
    if done:
        log.info("round", done=done, ms=round((time.monotonic() - started) * 1000, 1))
    return done, task.rest_seconds


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(stop.wait(), seconds)
    except TimeoutError:
        return
