"""Measure how consolidation grows with a namespace, and what recalls notice of it.

    python -m benchmarks.scale [--sizes 1000,10000,100000] [--recalls 200]

Needs nothing but the project: it starts its own Postgres, Redis, server and worker. For each size a namespace is
filled, recalls are timed on the idle machine, a consolidation of everything is asked for, and recalls are timed while
the worker does it; then it is done once more, to see that nothing changes.
"""

import argparse
import asyncio
import contextlib
import math
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import httpx

from benchmarks.latency import timing
from benchmarks.latency.corpus import Corpus, make_corpus
from benchmarks.latency.loading import index_vectors, tidy
from benchmarks.latency.serving import running_server
from benchmarks.latency.timing import Spread
from benchmarks.scale.notes import Filled, fill
from memoria.database import Database
from memoria.migrations import migrate
from server.embedded import EmbeddedServers

RECALL_PAUSE_SECONDS = 0.1  # ten recalls a second: a server that is used, and not a load test
WINDOW_HOURS = 24 * 30


@dataclass(frozen=True, slots=True)
class Outcome:
    """Hold what one size took: seconds of the job and of its repetition, the worker's peak, recalls' times."""

    size: int
    counts: dict[str, int]
    again: dict[str, int]
    seconds: float
    again_seconds: float
    peak_mb: float
    idle: Spread
    during: Spread
    recalls: int


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--sizes", default="1000,10000,100000", help="memories in a namespace, with commas")
    parser.add_argument("--recalls", type=int, default=200, help="recalls timed on the idle machine")
    parser.add_argument("--once", action="store_true", help="leave out the repetition that changes nothing")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    with tempfile.TemporaryDirectory(prefix="memoria-scale-") as temporary:
        folder = Path(temporary)
        folder.chmod(0o711)  # the servers run as another user when this one is root
        with EmbeddedServers(folder) as servers:
            os.environ["MEMORIA_EMBEDDER"] = "fake"  # of the server and the worker
            asyncio.run(run(servers, folder, sizes, options.recalls, repeat=not options.once))


async def run(servers: EmbeddedServers, folder: Path, sizes: Sequence[int], recalls: int, *, repeat: bool) -> None:
    """Measure every size and print the table."""
    print(f"machine: {timing.describe_machine()}; reference loop {timing.reference_seconds():.2f} s")
    await _migrate(servers.database_url)
    corpus = make_corpus()
    outcomes = []
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(running_server(servers.database_url, servers.redis_url, folder))
        client = await stack.enter_async_context(httpx.AsyncClient(base_url=server.url, timeout=120))
        for size in sizes:
            filled = await _fill(servers.database_url, corpus, size)
            async with running_worker(servers.database_url, folder) as worker_id:
                outcomes.append(await measure(client, filled, corpus, worker_id, recalls=recalls, repeat=repeat))
            print(describe(outcomes[-1]), file=sys.stderr, flush=True)
    print_table(outcomes)
    print(f"machine at the end: {timing.describe_machine()}; reference loop {timing.reference_seconds():.2f} s")


async def _migrate(database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    try:
        await migrate(connection)
    finally:
        await connection.close()


async def _fill(database_url: str, corpus: Corpus, size: int) -> Filled:
    database = await Database.open(database_url, pool_size=2)
    try:
        filled = await fill(database, corpus, size)
    finally:
        await database.close()
    await index_vectors(database_url, [str(filled.principal.org_id)])
    await tidy(database_url)
    return filled


@asynccontextmanager
async def running_worker(database_url: str, home: Path) -> AsyncIterator[int]:
    """Start a worker as its own process, niced as in production, and stop it at the end."""
    environment = os.environ | {
        "DATABASE_URL": database_url,
        "MEMORIA_HOME": str(home),
        "MEMORIA_LOG_LEVEL": "warning",
    }
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "benchmarks.scale.worker", env=environment)
    try:
        yield process.pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def measure(
    client: httpx.AsyncClient, filled: Filled, corpus: Corpus, worker_id: int, *, recalls: int, repeat: bool
) -> Outcome:
    """Time recalls, consolidate while timing recalls, and consolidate again."""
    headers = {"authorization": f"Bearer {filled.key}"}
    questions = corpus.questions(recalls + 20, filled.size, seed=filled.size)
    asked = iter(questions * 1000)
    warm = [await _recall(client, headers, next(asked)) for _ in range(20)]
    assert warm
    idle = []
    for _ in range(recalls):
        idle.append(await _recall(client, headers, next(asked)))
        await asyncio.sleep(RECALL_PAUSE_SECONDS)
    during: list[float] = []
    counts, seconds = await _consolidate(client, headers, during, asked)
    again, again_seconds = (await _consolidate(client, headers, [], asked)) if repeat else ({}, math.nan)
    return Outcome(
        filled.size,
        counts,
        again,
        seconds,
        again_seconds,
        timing.peak_mb(worker_id),
        Spread.of(idle),
        Spread.of(during),
        len(during),
    )


async def _recall(client: httpx.AsyncClient, headers: dict[str, str], question: str) -> float:
    start = time.perf_counter()
    answer = await client.post("/v1/memories/recall", json={"query": question, "learn": False}, headers=headers)
    answer.raise_for_status()
    return (time.perf_counter() - start) * 1000


async def _consolidate(
    client: httpx.AsyncClient, headers: dict[str, str], during: list[float], asked: Any
) -> tuple[dict[str, int], float]:
    """Enqueue a consolidation and recall until it has ended; returns its counts and how long it took."""
    start = time.perf_counter()
    answer = await client.post("/v1/consolidate", json={"window_hours": WINDOW_HOURS}, headers=headers)
    answer.raise_for_status()
    while True:
        during.append(await _recall(client, headers, next(asked)))
        await asyncio.sleep(RECALL_PAUSE_SECONDS)
        job = (await client.get(f"/v1/jobs/{answer.json()['job_id']}", headers=headers)).json()
        if job["state"] not in ("Queued", "Running"):
            break
    if job["state"] != "Succeeded":
        sys.exit(f"the job ended as {job['state']}: {job['error']}")
    return job["result"], time.perf_counter() - start


def describe(outcome: Outcome) -> str:
    """Say in one line what a size did."""
    again = {name: count for name, count in outcome.again.items() if count and name != "considered"}
    repeated = "" if not outcome.again else f"; the second time {again or 'nothing'}"
    return f"{outcome.size:,}: {outcome.counts}{repeated}"


def print_table(outcomes: Sequence[Outcome]) -> None:
    """Print a row a size; the growth is that of the time over that of n·log n, since the row before."""
    print("\nrecalls: p50 / p95 in ms over HTTP, ten a second; peak: resident memory of the worker process")
    heads = ("memories", "consolidated in", "growth / n·log n", "again in", "peak", "recall, idle", "recall, meanwhile")
    print("  ".join(f"{head:>17}" for head in heads))
    before: Outcome | None = None
    for each in outcomes:
        growth = "" if before is None else f"{_growth(before, each):.2f}"
        cells = (
            f"{each.size:,}",
            f"{each.seconds:.1f} s",
            growth,
            f"{each.again_seconds:.1f} s",
            f"{each.peak_mb:.0f} MB",
            f"{each.idle}",
            f"{each.during}",
        )
        print("  ".join(f"{cell:>17}" for cell in cells) + f"   p95 x {each.during.p95 / each.idle.p95:.2f}")
        before = each


def _growth(before: Outcome, after: Outcome) -> float:
    expected = after.size * math.log(after.size) / (before.size * math.log(before.size))
    return after.seconds / before.seconds / expected


if __name__ == "__main__":
    main()
