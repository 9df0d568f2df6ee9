"""Re-embed: make the vectors of another model beside those that serve, and change over when all are there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from memoria import staged_embeddings as staged
from memoria.database import Connection
from memoria.embedding.port import Embedder
from memoria.passages import embed_queries, embedded_text, passages_of
from memoria.staged_embeddings import Staged, Unstaged


@dataclass(frozen=True, slots=True)
class Directions:
    """Hold the vectors (d,) of a namespace's dampened queries, by the id of the dampening."""

    vectors: Mapping[int, np.ndarray]


async def embed_texts(embedder: Embedder, memories: Sequence[Unstaged]) -> list[Staged]:
    """Embed memories. Raises EmbedderUnavailableError. Hold no connection meanwhile."""
    passages = [passages_of(embedder, embedded_text(memory.title, memory.content)) for memory in memories]
    vectors = await embedder.embed([passage for texts in passages for passage in texts])
    ends = np.cumsum([len(texts) for texts in passages])
    return [
        Staged(memory.memory_id, memory.version, part)
        for memory, part in zip(memories, np.split(vectors, ends[:-1]), strict=True)
    ]


async def embed_dampened(embedder: Embedder, queries: Mapping[int, str]) -> Directions:
    """Embed the queries of dampenings. Raises EmbedderUnavailableError. Hold no connection meanwhile."""
    vectors = await embed_queries(embedder, list(queries.values()))
    return Directions({key: vector for key, vector in zip(queries, vectors, strict=True) if vector is not None})


async def change_over(
    connection: Connection, org_id: UUID, namespace_id: int, embedder_name: str, directions: Directions
) -> bool:
    """Let the staged vectors serve, in the caller's transaction; False when something was written meanwhile.

    Writers of the namespace wait for it, and what they have computed with the other model is computed again.
    """
    if await staged.lock_embedder(connection, org_id, namespace_id) is None:
        return True
    queries = await staged.list_dampened_queries(connection, org_id, namespace_id)
    waiting = await staged.list_unstaged(connection, org_id, namespace_id, after=0, limit=1)
    if waiting or queries.keys() - directions.vectors.keys():
        return False
    known = {key: directions.vectors[key] for key in queries}
    await staged.install(connection, org_id, namespace_id, embedder_name, known)
    return True
