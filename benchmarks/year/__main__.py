"""Simulate a year of forgetting, check it against the policy, and measure a run over a large namespace.

    python -m benchmarks.year [--memories 2000] [--large 100000] [--seed 7]

Needs nothing but the project: it starts a Postgres of its own. Ends with 1 if a pinned memory was lost or anything was
forgotten before its policy says so.
"""

import argparse
import asyncio
import resource
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import asyncpg

from accounts.organizations import DEFAULT_RATE, Organization, insert_organization
from benchmarks.year.checks import check_year
from benchmarks.year.decay_run import fill, next_day, run_policy
from benchmarks.year.life import SORTS, plan_year
from benchmarks.year.simulation import BEGIN, Clock, Year, live
from memoria.database import Database
from memoria.embedding import FakeEmbedder
from memoria.engine import Engine
from memoria.migrations import migrate
from memoria.records import Principal
from memoria.vocabulary import Tier
from server.embedded import EmbeddedServers

FAULTS_SHOWN = 20


def main() -> int:
    """Read the options, run, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.year", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--memories", type=int, default=2000, help="stored in the year")
    parser.add_argument("--large", type=int, default=100_000, help="memories of the namespace that a run is timed on")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memoria-year-") as folder:
        Path(folder).chmod(0o711)  # the server runs as another user when this one is root
        with EmbeddedServers(Path(folder)) as servers:
            return asyncio.run(run(servers.database_url, options.memories, options.large, options.seed))


async def run(database_url: str, memories: int, large: int, seed: int) -> int:
    """Migrate, simulate, check and measure."""
    connection = await asyncpg.connect(database_url)
    await migrate(connection)
    async with _opened(database_url) as database:
        faults = await _simulate(database, memories, seed)
    # With connections of its own, and the statistics that Postgres makes by itself a minute after a bulk load: else
    # plans that were made for a small database would be measured.
    async with _opened(database_url) as database:
        principal = await _open_organization(database)
        await fill(database, principal.org_id, BEGIN, large)
    await connection.execute("analyze")
    await connection.close()
    async with _opened(database_url) as database:
        await _measure(database, principal, large)
    return 1 if faults else 0


@asynccontextmanager
async def _opened(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url, pool_size=4)
    try:
        yield database
    finally:
        await database.close()


async def _open_organization(database: Database) -> Principal:
    organization = Organization(uuid4(), f"org:year-{uuid4().hex[:6]}")
    async with database.tenant(organization.org_id) as connection:
        await insert_organization(connection, organization, "year", DEFAULT_RATE, BEGIN)
    return Principal(organization.org_id, organization.own_namespace)


async def _simulate(database: Database, memories: int, seed: int) -> list[str]:
    clock = Clock()
    engine, principal = Engine(database, FakeEmbedder(), clock), await _open_organization(database)
    began = time.perf_counter()
    year = await live(engine, principal, clock, plan_year(memories, seed))
    faults = await check_year(engine, principal, year)
    _print_year(year)
    print(f"\n{len(year.ids)} memories, {sum(map(len, year.used_at.values()))} recalls that found something, ", end="")
    print(f"365 runs in {time.perf_counter() - began:.0f} s")
    kept = [memory for memory in year.ids.values() if memory.sort.pinned]
    print(f"{len(kept)} pinned memories, {sum('pinned' in fault for fault in faults)} of them lost or moved down")
    print(f"{len(faults)} moves against the policy")
    for fault in faults[:FAULTS_SHOWN]:
        print(f"  {fault}")
    return faults


def _print_year(year: Year) -> None:
    print("What is stored: " + ", ".join(f"{sort.share:.0%} {sort.name}" for sort in SORTS) + "\n")
    columns = ("month", *Tier, "archived", "deleted", "moved up", "moved down", "found", "missed")
    print(" ".join(f"{column:>10}" for column in columns))
    for number, month in enumerate(year.months, 1):
        tiers = [month.by_tier[tier] for tier in Tier]
        numbers = (number, *tiers, month.archived, month.deleted, month.moved_up, month.moved_down)
        print(" ".join(f"{value:>10}" for value in (*numbers, month.found, month.missed)))


async def _measure(database: Database, principal: Principal, memories: int) -> None:
    print(f"\nA run over {memories:,} memories")
    for name, now in (("the first", BEGIN), ("the next day's", next_day(BEGIN))):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        made = await run_policy(database, principal.org_id, now)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        counts = made.counts
        print(f"  {name}: {counts.moved_up:,} up, {counts.moved_down:,} down, {counts.archived:,} archived", end="")
        print(f" in {made.seconds:.1f} s, {made.steps} steps, the slowest {made.slowest_step_seconds:.2f} s", end="")
        print(f"; peak resident memory rose by {grown:.0f} MB")
    traced = await run_policy(database, principal.org_id, next_day(next_day(BEGIN)), trace=True)
    print(f"  held by Python at most: {traced.peak_bytes / 1e6:.1f} MB")


if __name__ == "__main__":
    sys.exit(main())
