"""Store vectors and find the nearest: by scan in small namespaces, through the graph index in large ones."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import numpy as np

from memoria.database import Connection, encode_half_vector, unpack_ids
from memoria.namespaces import Namespace
from memoria.vocabulary import EXACT_SCAN_ROWS

HALF_VECTOR_HEADER_WORDS = 2  # int16 dimensions and int16 zero before the components
PASSAGE = np.dtype([("memory_id", ">i8"), ("cosine", ">f8")])
SLICE_ROWS = 10_000  # vectors read at once for a multiplication: 8 MB
MULTIPLIED_ROWS_A_VECTOR = 500  # so many products cost as much as one search of the graph (benchmarks/latency)
SMALLEST_NORM = 1e-12  # passages that cancel out have no direction: do not divide by zero
PASSAGE_SPARE = 2  # the graph answers passages: ask for more, so that enough memories remain


@dataclass(frozen=True, slots=True)
class Nearest:
    """Hold memories by falling cosine: `ids` int64 (n,), `cosines` float64 (n,)."""

    ids: np.ndarray
    cosines: np.ndarray


async def insert_embeddings(
    connection: Connection, org_id: UUID, namespace_id: int, passages: Sequence[tuple[int, np.ndarray]]
) -> int:
    """Store each memory's passages, given as (memory id, vectors (p, d)). Returns the number of vectors."""
    memory_ids = [memory_id for memory_id, vectors in passages for _ in vectors]
    await connection.execute(
        "insert_embeddings",
        org_id=org_id,
        namespace_id=namespace_id,
        memory_ids=memory_ids,
        passages=[passage for _, vectors in passages for passage in range(len(vectors))],
        embeddings=[encode_half_vector(vector) for _, vectors in passages for vector in vectors],
    )
    return len(memory_ids)


async def delete_embeddings(connection: Connection, org_id: UUID, namespace_id: int, memory_ids: Sequence[int]) -> int:
    """Delete the vectors of memories. Returns how many there were."""
    return await connection.execute(
        "delete_embeddings", org_id=org_id, namespace_id=namespace_id, memory_ids=memory_ids
    )


async def index_vectors(connection: Connection, org_id: UUID, namespace_id: int, limit: int) -> int:
    """Put up to `limit` vectors that wait outside the graph index into it, oldest first; returns how many went in.

    Call it until it returns 0, each time in a transaction of its own: an insert into the graph takes milliseconds.
    Two callers at once share the work. Meanwhile every vector is found, in the graph or by scan.
    """
    return await connection.execute("index_vectors", org_id=org_id, namespace_id=namespace_id, limit=limit)


async def find_nearest(
    connection: Connection, org_id: UUID, namespace: Namespace, vector: np.ndarray, limit: int
) -> Nearest:
    """Find the `limit` memories nearest to a vector, each by its nearest passage.

    The application chooses the shape by the namespace's size, never the planner: with a filter by tenant a shared
    graph index returns nothing to small tenants. A graph answer that is too short is asked again by scan.
    """
    place = {"org_id": org_id, "namespace_id": namespace.id, "vector": encode_half_vector(vector)}
    if namespace.embedding_count > EXACT_SCAN_ROWS:
        packed = await connection.fetch_value("nearest_by_graph", limit=limit * PASSAGE_SPARE, **place)
        found = _best_passages(packed, limit)
        if len(found.ids) == limit:
            return found
    rows = await connection.fetch("nearest_by_scan", limit=limit, **place)
    return _nearest([row["memory_id"] for row in rows], [row["cosine"] for row in rows])


async def find_nearest_among(
    connection: Connection, org_id: UUID, namespace: Namespace, vector: np.ndarray, ids: np.ndarray, limit: int
) -> Nearest:
    """Find the nearest among given memories (those that pass a filter), exactly."""
    rows = await connection.fetch(
        "nearest_among",
        org_id=org_id,
        namespace_id=namespace.id,
        vector=encode_half_vector(vector),
        ids=ids.tolist(),
        limit=limit,
    )
    return _nearest([row["memory_id"] for row in rows], [row["cosine"] for row in rows])


async def find_nearest_in_time(
    connection: Connection,
    org_id: UUID,
    namespace: Namespace,
    vector: np.ndarray,
    *,
    since: datetime | None,
    until: datetime | None,
    compared: int,
) -> Nearest:
    """Compare a vector with the latest `compared` memories of a time: all of them, nearest first."""
    packed = await connection.fetch_value(
        "nearest_in_time",
        org_id=org_id,
        namespace_id=namespace.id,
        vector=encode_half_vector(vector),
        since=since,
        until=until,
        compared=compared,
    )
    return _best_passages(packed, compared)


async def read_cosines(
    connection: Connection, org_id: UUID, namespace: Namespace, vector: np.ndarray, ids: Sequence[int]
) -> dict[int, float]:
    """Compare a vector with given memories, each by its nearest passage."""
    rows = await connection.fetch(
        "read_cosines", org_id=org_id, namespace_id=namespace.id, vector=encode_half_vector(vector), ids=ids
    )
    return {row["memory_id"]: row["cosine"] for row in rows}


async def read_directions(
    connection: Connection, org_id: UUID, namespace_id: int, ids: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Read the direction of each memory, the mean of its passages: ids (n,) rising, float32 (n, d) of length 1.

    Memories without vectors are absent.
    """
    row = await connection.fetch_row("read_embeddings_of", org_id=org_id, namespace_id=namespace_id, ids=ids)
    owners = unpack_ids(row["memory_ids"] if row else None)
    if row is None or not len(owners):
        return np.empty(0, np.int64), np.empty((0, 0), np.float32)
    words = np.frombuffer(row["vectors"], dtype=">f2").reshape(len(owners), -1)
    vectors = words[:, HALF_VECTOR_HEADER_WORDS:].astype(np.float32)
    found, first = np.unique(owners, return_index=True)
    sums = np.add.reduceat(vectors, first, axis=0)
    return found, sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), SMALLEST_NORM)


async def copy_embeddings(
    connection: Connection, org_id: UUID, namespace_id: int, memory_id: int, *, new_id: int
) -> int:
    """Give a memory the vectors of another one with the same text; returns how many there are."""
    return await connection.execute(
        "copy_embeddings", org_id=org_id, namespace_id=namespace_id, memory_id=memory_id, new_id=new_id
    )


async def find_nearest_to_each(
    connection: Connection, org_id: UUID, namespace: Namespace, vectors: np.ndarray, limit: int
) -> list[Nearest]:
    """Find the nearest memories to each row of `vectors` (n, d): what a batch compares itself with.

    All vectors of the namespace are read and multiplied, exactly, where that is cheaper than n searches of the graph.
    """
    if len(vectors) == 1:
        return [await find_nearest(connection, org_id, namespace, vectors[0], limit)]
    if is_multiplied(namespace, len(vectors)):
        return await _multiply(connection, org_id, namespace, vectors, limit)
    return await _search_each(connection, org_id, namespace, vectors, limit)


def is_multiplied(namespace: Namespace, count: int) -> bool:
    """Say whether `find_nearest_to_each` compares so many vectors with all of the namespace's by multiplication."""
    return namespace.embedding_count <= max(EXACT_SCAN_ROWS, MULTIPLIED_ROWS_A_VECTOR * count)


async def _search_each(
    connection: Connection, org_id: UUID, namespace: Namespace, vectors: np.ndarray, limit: int
) -> list[Nearest]:
    rows = await connection.fetch(
        "nearest_to_each_by_graph",
        org_id=org_id,
        namespace_id=namespace.id,
        vectors=[encode_half_vector(vector) for vector in vectors],
        limit=limit * PASSAGE_SPARE,
    )
    passages: dict[int, bytes] = {row["number"]: row["passages"] for row in rows}
    near = [_best_passages(passages.get(number), limit) for number in range(1, len(vectors) + 1)]
    return [
        found if len(found.ids) == limit else await find_nearest(connection, org_id, namespace, vector, limit)
        for found, vector in zip(near, vectors, strict=True)
    ]


async def _multiply(
    connection: Connection, org_id: UUID, namespace: Namespace, vectors: np.ndarray, limit: int
) -> list[Nearest]:
    """Compare with every vector of the namespace, slice by slice, off the event loop."""
    asked = vectors.astype(np.float32)
    best = [_nearest([], []) for _ in vectors]
    first_id: int | None = -(1 << 63)
    while first_id is not None:
        row = await connection.fetch_row(
            "read_embeddings", org_id=org_id, namespace_id=namespace.id, first_id=first_id, limit=SLICE_ROWS
        )
        owners = unpack_ids(row["memory_ids"] if row else None)
        if row is None or not len(owners):
            break
        # The passages of a memory stand together; those of a full slice's last one may go on in the next.
        first_id = int(owners[-1]) if len(owners) == SLICE_ROWS else None
        whole = len(owners) if first_id is None else int(np.searchsorted(owners, first_id))
        best = await asyncio.to_thread(_best_of_slice, best, asked, owners[:whole], row["vectors"], limit)
    return best


def _best_of_slice(
    best: Sequence[Nearest], asked: np.ndarray, owners: np.ndarray, packed: bytes, limit: int
) -> list[Nearest]:
    """Join the best so far with those of a slice, whose `owners` rise."""
    words = np.frombuffer(packed, dtype=">f2").reshape(-1, HALF_VECTOR_HEADER_WORDS + asked.shape[1])
    stored = words[: len(owners), HALF_VECTOR_HEADER_WORDS:].astype(np.float32)
    ids, first = np.unique(owners, return_index=True)
    by_passage = asked @ stored.T
    by_memory = by_passage if len(ids) == len(owners) else np.maximum.reduceat(by_passage, first, axis=1)
    count = min(limit, len(ids))
    nearest = np.argpartition(by_memory, -count, axis=1)[:, -count:]
    joined = []
    for known, chosen, cosines in zip(best, nearest, by_memory, strict=True):
        all_ids = np.concatenate([known.ids, ids[chosen]])
        all_cosines = np.concatenate([known.cosines, cosines[chosen]])
        order = np.lexsort((-all_ids, -all_cosines))[:limit]
        joined.append(Nearest(all_ids[order], all_cosines[order]))
    return joined


def _best_passages(packed: bytes | None, limit: int) -> Nearest:
    """Keep each memory's nearest passage, and of the memories the nearest."""
    passages = np.frombuffer(packed or b"", PASSAGE)
    ids, cosines = passages["memory_id"].astype(np.int64), passages["cosine"].astype(np.float64)
    order = np.lexsort((-ids, -cosines))
    _, first = np.unique(ids[order], return_index=True)
    best = order[np.sort(first)][:limit]
    return Nearest(ids[best], cosines[best])


def _nearest(ids: list[int], cosines: list[float]) -> Nearest:
    return Nearest(np.array(ids, dtype=np.int64), np.array(cosines, dtype=np.float64))
