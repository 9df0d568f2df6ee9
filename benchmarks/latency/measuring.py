"""Time calls over HTTP, each between the parts of its floor, so that a busy moment falls on both alike."""

import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import asyncpg
import httpx
import numpy as np

from benchmarks.latency.corpus import Corpus
from benchmarks.latency.loading import Loaded
from benchmarks.latency.timing import Spread
from memoria.database import encode_half_vector
from memoria.embedding import Embedder
from memoria.vocabulary import EXACT_SCAN_ROWS

NEAREST = 10
WARM_UP = 10
BATCH_MEMORIES = 100
NEW_MEMORIES = 10_000_000  # texts from this number on are in no namespace
GRAPH_QUERY = """
    select memory_id from embeddings
    where org_id = $1 and namespace_id = $2 and in_graph order by embedding <=> $3::halfvec limit $4
"""
SCAN_QUERY = """
    select memory_id from embeddings
    where org_id = $1 and namespace_id = $2 order by (embedding <=> $3::halfvec) + 0 limit $4
"""
SESSION = ("set hnsw.ef_search = 100", "set hnsw.iterative_scan = relaxed_order", "set enable_sort = off")

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Latency:
    """Hold the times of one size: the floor with its parts, recall and encode over HTTP."""

    size: int
    embedding: Spread
    vector_query: Spread
    empty_request: Spread
    floor: Spread
    recall: Spread
    encode: Spread

    @property
    def ratio(self) -> float:
        """Recall's median over the floor's."""
        return self.recall.p50 / self.floor.p50


@dataclass(frozen=True, slots=True)
class Ingestion:
    """Hold the rates of one namespace, in memories a second: over HTTP in batches, and the embedder's alone."""

    label: str
    ingested: float
    embedded: float

    @property
    def share(self) -> float:
        """How much of the embedder's own rate is left."""
        return self.ingested / self.embedded


@dataclass(frozen=True, slots=True)
class Bench:
    """Hold what the measurements are made with."""

    client: httpx.AsyncClient
    connection: asyncpg.Connection
    embedder: Embedder
    corpus: Corpus

    async def call(self, key: str, path: str, body: dict[str, Any]) -> Any:
        """Make a call over HTTP and return its JSON."""
        answer = await self.client.post(path, json=body, headers={"authorization": f"Bearer {key}"})
        answer.raise_for_status()
        return answer.json()


async def connect_bare(database_url: str) -> asyncpg.Connection:
    """Open the connection of the bare vector query."""
    connection = await asyncpg.connect(database_url)
    schema = await connection.fetchval(
        "select n.nspname from pg_type t join pg_namespace n on n.oid = t.typnamespace where t.typname = 'halfvec'"
    )
    await connection.set_type_codec("halfvec", schema=schema, format="binary", encoder=bytes, decoder=bytes)
    for setting in SESSION:
        await connection.execute(setting)
    return connection


async def measure_latency(bench: Bench, loaded: Loaded, rounds: int) -> Latency:
    """Measure recall and encode beside the floor; what was encoded is forgotten again."""
    questions = bench.corpus.questions(WARM_UP + rounds, loaded.size, seed=loaded.size)
    texts = bench.corpus.texts(NEW_MEMORIES, WARM_UP + rounds)
    times: dict[str, list[float]] = {name: [] for name in ("embedding", "query", "empty", "recall", "encode")}
    ids = []
    for question, text in zip(questions, texts, strict=True):
        vectors, times["embedding"] = await _timed(times["embedding"], bench.embedder.embed([question]))
        _, times["query"] = await _timed(times["query"], _bare_query(bench, loaded, vectors[0]))
        _, times["empty"] = await _timed(
            times["empty"], bench.call(loaded.key, "/v1/chunks", {"content": "a few words"})
        )
        recall = bench.call(loaded.key, "/v1/memories/recall", {"query": question, "namespace": loaded.namespace})
        answer, times["recall"] = await _timed(times["recall"], recall)
        assert answer["results"]
        stored, times["encode"] = await _timed(
            times["encode"], bench.call(loaded.key, "/v1/memories", {"content": text})
        )
        ids.append(stored["id"])
    await bench.call(loaded.key, "/v1/memories/forget", {"ids": ids})
    kept = {name: np.array(values[WARM_UP:]) for name, values in times.items()}
    parts = [kept[name] for name in ("embedding", "query", "empty")]
    spreads = [Spread.of(each) for each in (*parts, sum(parts), kept["recall"], kept["encode"])]
    return Latency(loaded.size, *spreads)


async def measure_ingestion(bench: Bench, key: str, label: str, batches: int, first: int, *, forget: bool) -> Ingestion:
    """Post batches of 100, and embed the same texts alone, in turns."""
    posting, embedding = [], []
    for number in range(batches + 1):
        texts = bench.corpus.texts(first + number * BATCH_MEMORIES, BATCH_MEMORIES)
        _, embedding = await _timed(embedding, bench.embedder.embed(texts))
        body = {"memories": [{"content": text} for text in texts]}
        answer, posting = await _timed(posting, bench.call(key, "/v1/memories/batch", body))
        if forget:
            await bench.call(key, "/v1/memories/forget", {"ids": answer["ids"]})
    rates = [1000 * BATCH_MEMORIES * batches / sum(times[1:]) for times in (posting, embedding)]
    return Ingestion(label, *rates)


async def _bare_query(bench: Bench, loaded: Loaded, vector: np.ndarray) -> None:
    sql = GRAPH_QUERY if loaded.size > EXACT_SCAN_ROWS else SCAN_QUERY
    rows = await bench.connection.fetch(sql, loaded.org_id, loaded.namespace_id, encode_half_vector(vector), NEAREST)
    assert len(rows) == NEAREST


async def _timed(times: Sequence[float], work: Awaitable[Result]) -> tuple[Result, list[float]]:
    start = time.perf_counter()
    result = await work
    return result, [*times, (time.perf_counter() - start) * 1000]
