"""Every job ends once in its effect and none is lost: workers are killed, stopped, and left without a database."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from memoria import jobs
from memoria.database import Database
from memoria.job_records import NewJob
from tests.fault_rig import Machines, Running, program, wait_until
from tests.tenants import open_tenant
from tests.workers.job_load import EFFECTS_TABLE, PARTS_OF
from tests.workers.job_rig import IDS
from workers.clock import utc_now

TENANTS = 5
ENDED = "select count(*) from jobs where state not in ('queued', 'running')"


def worker(folder: Path, url: str) -> AbstractContextManager[Running]:
    """Run a worker that knows the kinds of the load."""
    return program("tests.workers.job_load", folder, DATABASE_URL=url, MEMORIA_WORKER_JOBS="3")


def ask(url: str, sql: str) -> list[asyncpg.Record]:
    """Run a statement as the owner of the database."""

    async def run() -> list[asyncpg.Record]:
        connection = await asyncpg.connect(url)
        try:
            return await connection.fetch(sql)
        finally:
            await connection.close()

    return asyncio.run(run())


def count(url: str, sql: str) -> int:
    """Read the number that a statement answers."""
    return int(ask(url, sql)[0][0])


def with_database(url: str, work: Callable[[Database], Coroutine[Any, Any, Any]]) -> Any:
    """Do something as the application."""

    async def run() -> Any:
        database = await Database.open(url, pool_size=2)
        try:
            return await work(database)
        finally:
            await database.close()

    return asyncio.run(run())


async def found(database: Database) -> list[UUID]:
    """Found a few organizations."""
    return [(await open_tenant(database, utc_now)).principal.org_id for _ in range(TENANTS)]  # type: ignore[arg-type]


def enqueue(url: str, org_ids: list[UUID], kinds: dict[str, int]) -> None:
    """Enqueue a mixed load."""

    async def work(database: Database) -> None:
        for kind in random.sample(list(kinds), counts=list(kinds.values()), k=sum(kinds.values())):
            org_id, new_id = random.choice(org_ids), IDS.next()
            async with database.tenant(org_id) as connection:
                new = NewJob(kind, key=str(new_id))
                await jobs.enqueue(connection, org_id, new, new_id=new_id, now=utc_now())

    with_database(url, work)


@pytest.fixture
def load(rig: Machines) -> Iterator[tuple[str, list[UUID]]]:
    """An empty queue, a table for traces, and organizations to enqueue for."""
    url = rig.database_url
    asyncio.run(_prepare(url))
    yield url, with_database(url, found)
    ask(url, "delete from jobs")


async def _prepare(url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(EFFECTS_TABLE)
    finally:
        await connection.close()


def assert_each_ended_once(url: str) -> None:
    """Find every job succeeded, and each of its traces once."""
    states = Counter(row["state"] for row in ask(url, "select state from jobs"))
    assert set(states) == {"succeeded"}, states
    traces = {
        row["job_id"]: (row["parts"], row["traces"])
        for row in ask(
            url, "select job_id, count(distinct part) as parts, count(*) as traces from job_effects group by job_id"
        )
    }
    for row in ask(url, "select job_id, kind from jobs"):
        parts = PARTS_OF[row["kind"]]
        assert traces.pop(row["job_id"]) == (parts, parts), row["kind"]
    assert traces == {}


def kill_at_random(folder: Path, url: str, org_ids: list[UUID], kills: int) -> list[str]:
    """Kill one of three workers again and again while jobs arrive; return how the attempts ended that were logged."""
    logs = []
    with ExitStack() as stack:
        workers = [stack.enter_context(worker(folder, url)) for _ in range(3)]
        for _ in range(kills):
            enqueue(url, org_ids, {"at_once": 12, "in_parts": 6, "at_the_second_attempt": 3, "for_long": 1})
            victim = random.randrange(len(workers))
            wait_until(lambda: bool(workers[victim].events("worker_started")), "the worker works", 60)  # noqa: B023
            time.sleep(random.uniform(0.0, 0.5))
            workers[victim].kill()
            logs.append(workers[victim])
            workers[victim] = stack.enter_context(worker(folder, url))
        total = count(url, "select count(*) from jobs")
        wait_until(lambda: count(url, ENDED) == total, "every job has ended", 120)
        for running in workers:
            wait_until(lambda: bool(running.events("worker_started")), "the worker works", 60)  # noqa: B023
        codes = [running.stop() for running in workers]
        assert codes == [0, 0, 0]
        return [str(event["outcome"]) for running in (*logs, *workers) for event in running.events("job")]


def test_jobs_of_workers_that_are_killed_end_once_in_effect(load: tuple[str, list[UUID]], tmp_path: Path) -> None:
    url, org_ids = load
    kill_at_random(tmp_path, url, org_ids, kills=4)
    assert_each_ended_once(url)


@pytest.mark.long
def test_fifty_kills_lose_no_job_and_double_none(load: tuple[str, list[UUID]], tmp_path: Path) -> None:
    url, org_ids = load
    outcomes = kill_at_random(tmp_path, url, org_ids, kills=50)
    assert_each_ended_once(url)
    assert outcomes.count("succeeded") <= count(url, "select count(*) from jobs")
    assert count(url, "select count(*) from jobs where attempt > 1 and kind <> 'at_the_second_attempt'") >= 25


def test_a_worker_that_is_told_to_stop_gives_back_what_it_cannot_end(
    load: tuple[str, list[UUID]], tmp_path: Path
) -> None:
    url, org_ids = load
    with worker(tmp_path, url) as first:
        enqueue(url, org_ids, {"for_long": 3})
        wait_until(lambda: count(url, "select count(*) from jobs where state = 'running'") > 0, "jobs run")
        assert first.stop() == 0
        ended = first.events("job")
        assert {event["outcome"] for event in ended} <= {"released", "succeeded"}
        assert any(event["outcome"] == "released" for event in ended)
    assert count(url, "select count(*) from jobs where state = 'running'") == 0
    assert count(url, "select count(*) from jobs where failures > 0") == 0
    with worker(tmp_path, url) as second:
        wait_until(lambda: count(url, ENDED) == 3, "another worker ends them", 60)
        assert second.stop() == 0
    assert_each_ended_once(url)


def test_a_worker_outlives_its_database(rig: Machines, load: tuple[str, list[UUID]], tmp_path: Path) -> None:
    url, org_ids = load
    with worker(tmp_path, url) as running:
        enqueue(url, org_ids, {"at_once": 40, "in_parts": 20, "for_long": 2})
        wait_until(lambda: count(url, ENDED) > 5, "jobs end", 60)
        rig.kill_postgres()
        enqueue(url, org_ids, {"at_once": 5})
        wait_until(lambda: count(url, ENDED) == 67, "every job has ended", 90)
        assert running.stop() == 0
    assert_each_ended_once(url)
