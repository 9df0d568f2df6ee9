"""Tasks run side by side; one that fails disturbs no other and is tried again; a stop ends rounds, not work."""

import asyncio
from datetime import datetime

import pytest
import structlog
from structlog.testing import capture_logs

from memoria.database import Database
from workers import schedule
from workers.schedule import Task, run_tasks

pytestmark = pytest.mark.anyio

DATABASE: Database = None  # type: ignore[assignment]  # these tasks do not touch it


@pytest.fixture(autouse=True)
def every_level_is_logged() -> None:
    """Undo the level that an application of another test has set."""
    structlog.reset_defaults()


async def test_a_task_with_work_is_repeated_at_once_and_rests_without() -> None:
    stop, left = asyncio.Event(), [3, 2, 1, 0]

    async def work(database: Database, now: datetime) -> int:
        done = left.pop(0)
        if not left:
            stop.set()
        return done

    with capture_logs() as logs:
        await asyncio.wait_for(run_tasks([Task("work", 3600.0, work)], DATABASE, stop), timeout=5)
    assert [entry["done"] for entry in logs if entry["event"] == "round"] == [3, 2, 1]


async def test_a_failing_task_is_tried_again_and_disturbs_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "AWAY_SECONDS", 0.01)
    stop, failures, successes = asyncio.Event(), [], []

    async def fail(database: Database, now: datetime) -> int:
        failures.append(now)
        raise ValueError("a secret that must not be logged")

    async def succeed(database: Database, now: datetime) -> int:
        successes.append(now)
        if len(failures) >= 3 and len(successes) >= 3:
            stop.set()
        return 0

    tasks = [Task("fail", 0.01, fail), Task("succeed", 0.01, succeed)]
    with capture_logs() as logs:
        await asyncio.wait_for(run_tasks(tasks, DATABASE, stop), timeout=5)
    told = [entry for entry in logs if entry["event"] == "round_failed"]
    assert len(told) >= 3
    assert "secret" not in repr(told)


async def test_a_round_that_has_begun_is_ended_before_the_stop() -> None:
    stop, ended = asyncio.Event(), []

    async def work(database: Database, now: datetime) -> int:
        stop.set()
        await asyncio.sleep(0)
        ended.append(now)
        return 1

    await asyncio.wait_for(run_tasks([Task("work", 1.0, work)], DATABASE, stop), timeout=5)
    assert len(ended) == 1
