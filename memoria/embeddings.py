"""Store vectors and find the nearest: by scan in small namespaces, through the graph index in large ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from memoria.database import Connection, encode_half_vector, unpack_ids
from memoria.namespaces import Namespace
from memoria.vocabulary import EXACT_SCAN_ROWS

HALF_VECTOR_HEADER_WORDS = 2  # int16 dimensions and int16 zero before the components
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
        rows = await connection.fetch("nearest_by_graph", limit=limit * PASSAGE_SPARE, **place)
        best: dict[int, float] = {}
        for row in rows:
            best[row["memory_id"]] = max(row["cosine"], best.get(row["memory_id"], -1.0))
        ranked = sorted(best.items(), key=lambda pair: (-pair[1], -pair[0]))[:limit]
        if len(ranked) == limit:
            return _nearest([pair[0] for pair in ranked], [pair[1] for pair in ranked])
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


async def read_cosines(
    connection: Connection, org_id: UUID, namespace: Namespace, vector: np.ndarray, ids: Sequence[int]
) -> dict[int, float]:
    """Compare a vector with given memories, each by its nearest passage."""
    rows = await connection.fetch(
        "read_cosines", org_id=org_id, namespace_id=namespace.id, vector=encode_half_vector(vector), ids=ids
    )
    return {row["memory_id"]: row["cosine"] for row in rows}


async def find_nearest_to_each(
    connection: Connection, org_id: UUID, namespace: Namespace, vectors: np.ndarray, limit: int
) -> list[Nearest]:
    """Find the nearest memories to each row of `vectors` (n, d): what a batch compares itself with.

    A small namespace is read once and multiplied; a large one is asked vector by vector.
    """
    if len(vectors) > 1 and namespace.embedding_count <= EXACT_SCAN_ROWS:
        return await _multiply(connection, org_id, namespace, vectors, limit)
    return [await find_nearest(connection, org_id, namespace, vector, limit) for vector in vectors]


async def _multiply(
    connection: Connection, org_id: UUID, namespace: Namespace, vectors: np.ndarray, limit: int
) -> list[Nearest]:
    row = await connection.fetch_row("read_all_embeddings", org_id=org_id, namespace_id=namespace.id)
    owners = unpack_ids(row["memory_ids"] if row else None)
    if row is None or not len(owners):
        return [_nearest([], []) for _ in vectors]
    words = np.frombuffer(row["vectors"], dtype=">f2").reshape(len(owners), -1)
    stored = words[:, HALF_VECTOR_HEADER_WORDS:].astype(np.float32)
    cosines = vectors.astype(np.float32) @ stored.T
    ids, first = np.unique(owners, return_index=True)  # owners are sorted: passages of a memory stand together
    by_memory = np.maximum.reduceat(cosines, first, axis=1)
    count = min(limit, len(ids))
    order = np.argsort(-by_memory, axis=1, kind="stable")[:, :count]
    return [Nearest(ids[row_order], scores[row_order]) for row_order, scores in zip(order, by_memory, strict=True)]


def _nearest(ids: list[int], cosines: list[float]) -> Nearest:
    return Nearest(np.array(ids, dtype=np.int64), np.array(cosines, dtype=np.float64))
