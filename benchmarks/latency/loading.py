"""Fill namespaces through the engine itself, so that postings, vectors and edges are those that encoding makes."""

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg

from accounts.accounts import create_account
from accounts.organizations import RateLimit
from benchmarks.latency.corpus import Corpus
from memoria.database import Database
from memoria.embedding import Embedder
from memoria.engine import Engine
from memoria.namespaces import find_namespace
from memoria.records import Principal
from memoria.vocabulary import EXACT_SCAN_ROWS

BATCH_MEMORIES = 500
NO_LIMIT = RateLimit(per_second=100_000.0, burst=100_000)
LOADED_FILE = "loaded.json"


@dataclass(frozen=True, slots=True)
class Loaded:
    """Be a namespace with its memories, in an organization of its own, and a key to it."""

    size: int
    org_id: str
    namespace: str
    namespace_id: int
    key: str
    seconds: float

    @property
    def principal(self) -> Principal:
        """The owner, for calls to the engine itself."""
        return Principal(UUID(self.org_id), self.namespace)


async def load_sizes(
    database_url: str, embedder: Embedder, corpus: Corpus, sizes: Sequence[int], folder: Path
) -> list[Loaded]:
    """Load a namespace of each size, unless an earlier run left it in the folder; then let Postgres tidy up."""
    file = folder / LOADED_FILE
    kept = {row["size"]: Loaded(**row) for row in json.loads(file.read_text())} if file.exists() else {}
    added = [size for size in sizes if size not in kept]
    engine = await Engine.open(database_url, embedder)
    try:
        for size in added:
            kept[size] = await _load(engine, corpus, size)
            file.write_text(json.dumps([asdict(loaded) for loaded in kept.values()]))
    finally:
        await engine.close()
    if added:
        print("building the graph index", file=sys.stderr, flush=True)
        await index_vectors(database_url, [each.org_id for each in kept.values() if each.size > EXACT_SCAN_ROWS])
    await tidy(database_url)
    return [kept[size] for size in sizes]


async def open_namespace(database: Database, label: str) -> tuple[Principal, str]:
    """Open an account that has nothing yet; returns its owner and its key."""
    email = f"{label}-{uuid4().hex[:12]}@example.com"
    opened = await create_account(database, email, datetime.now(UTC), rate=NO_LIMIT)
    return Principal(opened.organization.org_id, opened.organization.own_namespace), opened.key.secret


async def _load(engine: Engine, corpus: Corpus, size: int) -> Loaded:
    start = time.perf_counter()
    principal, key = await open_namespace(engine.database, f"latency-{size}")
    for first in range(0, size, BATCH_MEMORIES):
        await engine.encode_batch(principal, corpus.memories(first, min(BATCH_MEMORIES, size - first)))
        done = min(first + BATCH_MEMORIES, size)
        show_progress(f"loading {size:,}", done, size, time.perf_counter() - start)
    async with engine.database.tenant(principal.org_id) as connection:
        namespace = await find_namespace(connection, principal.org_id, principal.own_namespace)
    assert namespace is not None
    seconds = time.perf_counter() - start
    return Loaded(size, str(principal.org_id), principal.own_namespace, namespace.id, key, seconds)


async def index_vectors(database_url: str, org_ids: Sequence[str]) -> None:
    """Put the vectors of organizations into the graph, all at once: one by one they would take minutes."""
    connection = await asyncpg.connect(database_url)
    try:
        definition = await connection.fetchval("select pg_get_indexdef('embeddings_graph_idx'::regclass)")
        async with connection.transaction():
            await connection.execute("drop index embeddings_graph_idx")
            update = "update embeddings set in_graph = true where org_id = any($1::uuid[])"
            await connection.execute(update, list(org_ids))
            await connection.execute("set local maintenance_work_mem = '1GB'")
            await connection.execute(definition.replace(" ON ONLY ", " ON "), timeout=3600)
    finally:
        await connection.close()


async def tidy(database_url: str) -> None:
    """Do what autovacuum does in quiet minutes, so that it does not run beside the measurement."""
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute("vacuum analyze", timeout=600)
        await connection.execute("checkpoint", timeout=600)
    finally:
        await connection.close()


def show_progress(label: str, done: int, total: int, seconds: float) -> None:
    """Draw a bar on a terminal, and a line each tenth elsewhere."""
    if sys.stderr.isatty():
        bar = "#" * (30 * done // total)
        left = seconds / done * (total - done)
        end = "\n" if done == total else ""
        print(f"\r{label} [{bar:<30}] {done:,}/{total:,}  {left:.0f} s left ", end=end, file=sys.stderr, flush=True)
    elif done == total or 10 * done // total > 10 * (done - BATCH_MEMORIES) // total:
        print(f"{label}: {done:,} of {total:,} after {seconds:.0f} s", file=sys.stderr, flush=True)
