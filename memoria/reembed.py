"""Re-embed: make the vectors of another model beside those that serve, and change over when all are there."""

from collections.abc import Collection, Mapping, Sequence
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
    """Hold the vectors (d,) of what a namespace compares beside its memories.

    `dampened` are those of queries, by the id of the dampening, `triggers` those of triggers' texts, by the text: an
    intention may change its own.
    """

    dampened: Mapping[int, np.ndarray]
    triggers: Mapping[str, np.ndarray]


async def embed_texts(embedder: Embedder, memories: Sequence[Unstaged]) -> list[Staged]:
    """Embed memories. Raises EmbedderUnavailableError. Hold no connection meanwhile."""
    passages = [passages_of(embedder, embedded_text(memory.title, memory.content)) for memory in memories]
    vectors = await embedder.embed([passage for texts in passages for passage in texts])
    ends = np.cumsum([len(texts) for texts in passages])
    return [
        Staged(memory.memory_id, memory.version, part)
        for memory, part in zip(memories, np.split(vectors, ends[:-1]), strict=True)
    ]


async def embed_directions(embedder: Embedder, queries: Mapping[int, str], triggers: Collection[str]) -> Directions:
    """Embed dampened queries and triggers' texts. Raises EmbedderUnavailableError. Hold no connection meanwhile."""
    texts = sorted({*queries.values(), *triggers})
    vectors = await embed_queries(embedder, texts)
    known = {text: vector for text, vector in zip(texts, vectors, strict=True) if vector is not None}
    dampened = {key: known[query] for key, query in queries.items() if query in known}
    return Directions(dampened, {text: known[text] for text in triggers if text in known})


async def change_over(
    connection: Connection, org_id: UUID, namespace_id: int, embedder_name: str, directions: Directions
) -> bool:
    """Let the staged vectors serve, in the caller's transaction; False when something was written meanwhile.

    Writers of the namespace wait for it, and what they have computed with the other model is computed again.
    """
    if await staged.lock_embedder(connection, org_id, namespace_id) is None:
        return True
    queries = await staged.list_dampened_queries(connection, org_id, namespace_id)
    triggers = await staged.list_trigger_texts(connection, org_id, namespace_id)
    waiting = await staged.list_unstaged(connection, org_id, namespace_id, after=0, limit=1)
    if waiting or queries.keys() - directions.dampened.keys() or set(triggers.values()) - directions.triggers.keys():
        return False
    dampened = {key: directions.dampened[key] for key in queries}
    told = {key: directions.triggers[text] for key, text in triggers.items()}
    await staged.install(connection, org_id, namespace_id, embedder_name, dampened, told)
    return True
