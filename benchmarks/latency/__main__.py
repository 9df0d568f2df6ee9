"""Measure recall and encode over HTTP beside their floor, batch ingestion, and the memory of a server process.

    python -m benchmarks.latency [--sizes 1000,10000,100000] [--rounds 60] [--keep DIR]

Needs nothing but the project: it starts its own Postgres, Redis and server. The floor of a recall is what no engine
over HTTP can go below: one embedding of the query, one bare pgvector query (ef_search 100) on the same table, and one
empty authenticated request. Each is taken in every round, between the calls that are compared with it.
"""

import argparse
import asyncio
import contextlib
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import asyncpg
import httpx

from benchmarks.latency import timing
from benchmarks.latency.corpus import Corpus, MixingEmbedder, make_corpus
from benchmarks.latency.loading import Loaded, load_sizes, open_namespace
from benchmarks.latency.measuring import (
    NEW_MEMORIES,
    WARM_UP,
    Bench,
    Ingestion,
    Latency,
    connect_bare,
    measure_ingestion,
    measure_latency,
)
from benchmarks.latency.serving import running_server
from memoria.database import Database
from memoria.embedding import Embedder, open_minilm
from memoria.migrations import migrate
from server.embedded import EmbeddedServers

BATCHES = 5
ATTEMPT_GAP = 1_000_000  # numbers between the texts of two ingestion measurements


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--sizes", default="1000,10000,100000", help="memories in a namespace, with commas")
    parser.add_argument("--rounds", type=int, default=60, help="recalls (and encodes) measured at each size")
    parser.add_argument("--keep", type=Path, help="folder for the loaded database, to use it again")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    with contextlib.ExitStack() as stack:
        temporary = stack.enter_context(tempfile.TemporaryDirectory(prefix="memoria-latency-"))
        folder = options.keep.absolute() if options.keep else Path(temporary)
        Path(temporary).chmod(0o711)  # the servers run as another user when this one is root
        folder.mkdir(parents=True, exist_ok=True)
        servers = stack.enter_context(EmbeddedServers(folder))
        asyncio.run(run(servers, folder, sizes, options.rounds))


async def run(servers: EmbeddedServers, folder: Path, sizes: Sequence[int], rounds: int) -> None:
    """Load what is missing, measure every size, print the tables."""
    print(f"machine: {timing.describe_machine()}; reference loop {timing.reference_seconds():.2f} s")
    await _migrate(servers.database_url)
    embedder = open_minilm(folder / "models")
    corpus = make_corpus()
    loaded = await _load(servers, embedder, corpus, sizes, folder)
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(running_server(servers.database_url, servers.redis_url, folder))
        client = await stack.enter_async_context(httpx.AsyncClient(base_url=server.url, timeout=60))
        connection = await connect_bare(servers.database_url)
        stack.push_async_callback(connection.close)
        bench = Bench(client, connection, embedder, corpus)
        print_latencies([await measure_latency(bench, each, rounds) for each in loaded], rounds)
        print_ingestion(await _ingest(bench, servers.database_url, loaded))
        print(f"\nresident memory of the server process: {timing.resident_mb(server.process_id):.0f} MB")
    await embedder.close()
    print(f"machine at the end: {timing.describe_machine()}; reference loop {timing.reference_seconds():.2f} s")


async def _migrate(database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    try:
        await migrate(connection)
    finally:
        await connection.close()


async def _load(
    servers: EmbeddedServers, embedder: Embedder, corpus: Corpus, sizes: Sequence[int], folder: Path
) -> list[Loaded]:
    mixing = await MixingEmbedder.make(embedder, corpus)
    loaded = await load_sizes(servers.database_url, mixing, corpus, sizes, folder)
    print(
        f"loaded through the engine: {', '.join(f'{each.size:,} in {each.seconds:.0f} s' for each in loaded)};"
        f" each memory is 3 of {len(corpus.sentences):,} sentences, its vector the direction of their"
        " embeddings' sum and noise; conversations of 20"
    )
    return loaded


async def _ingest(bench: Bench, database_url: str, loaded: Sequence[Loaded]) -> list[Ingestion]:
    """Measure batches into a new namespace and into each loaded one; the latter are left as they were."""
    database = await Database.open(database_url, pool_size=1)
    _, key = await open_namespace(database, "latency-new")
    await database.close()
    first = NEW_MEMORIES + int(time.time()) % ATTEMPT_GAP * ATTEMPT_GAP
    rows = [await measure_ingestion(bench, key, "new", BATCHES, first, forget=False)]
    for each in loaded:
        first += ATTEMPT_GAP
        rows.append(await measure_ingestion(bench, each.key, f"{each.size:,}", BATCHES, first, forget=True))
    return rows


def print_latencies(rows: Sequence[Latency], rounds: int) -> None:
    """Print the table of recall and encode; p50 / p95 in ms."""
    print(f"\np50 / p95 in ms of {rounds} rounds after {WARM_UP} to warm up")
    heads = ("embedding", "vector query", "empty request", "floor", "recall", "encode")
    print(f"{'memories':>9}  " + "".join(f"{head:>17}" for head in heads) + "  recall p50 / floor p50")
    for row in rows:
        spreads = (row.embedding, row.vector_query, row.empty_request, row.floor, row.recall, row.encode)
        print(f"{row.size:>9,}  " + "".join(f"{spread!s:>17}" for spread in spreads) + f"  {row.ratio:.2f}")


def print_ingestion(rows: Sequence[Ingestion]) -> None:
    """Print the table of ingestion."""
    print(f"\nbatches of 100 over HTTP, one after another ({BATCHES} after one to warm up), in memories a second")
    print(f"{'namespace':>9}  {'ingested':>10}{'embedder alone':>16}  share")
    for row in rows:
        print(f"{row.label:>9}  {row.ingested:>10.0f}{row.embedded:>16.0f}  {row.share:.0%}")


if __name__ == "__main__":
    main()
