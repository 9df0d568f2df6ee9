"""Store the vectors that another model makes of a namespace, until they take the place of those that serve."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from memoria.database import Connection, encode_half_vector

PLACES_A_ROUND = 200  # namespaces that one round of planning visits


@dataclass(frozen=True, slots=True)
class Unstaged:
    """Be a version of a memory without staged vectors."""

    memory_id: int
    version: int
    title: str | None
    content: str


@dataclass(frozen=True, slots=True)
class Staged:
    """Be the vectors (p, d) of one version of a memory."""

    memory_id: int
    version: int
    vectors: np.ndarray


async def find_namespaces_to_reembed(connection: Connection, embedder: str) -> list[tuple[UUID, int]]:
    """Find (organization, namespace) pairs whose vectors another model has made, and that no job sees to."""
    rows = await connection.fetch("find_namespaces_to_reembed", embedder=embedder, wanted=PLACES_A_ROUND)
    return [(row["org_id"], row["namespace_id"]) for row in rows]


async def read_embedder(connection: Connection, org_id: UUID, namespace_id: int) -> tuple[str, int] | None:
    """Read the embedder of a namespace and how many memories it holds; None when it is gone."""
    row = await connection.fetch_row("read_namespace_embedder", org_id=org_id, namespace_id=namespace_id)
    return None if row is None else (row["embedder"], row["memory_count"])


async def lock_embedder(connection: Connection, org_id: UUID, namespace_id: int) -> str | None:
    """Lock a namespace against its writers and read its embedder; None when it is gone."""
    embedder: str | None = await connection.fetch_value(
        "lock_namespace_embedder", org_id=org_id, namespace_id=namespace_id
    )
    return embedder


async def begin(connection: Connection, org_id: UUID, namespace_id: int, embedder: str) -> int:
    """Delete what was staged for yet another model, and count the memories that are staged for this one."""
    place = {"org_id": org_id, "namespace_id": namespace_id}
    await connection.execute("delete_foreign_staged_embeddings", embedder=embedder, **place)
    count: int = await connection.fetch_value("count_staged_memories", **place)
    return count


async def list_unstaged(
    connection: Connection, org_id: UUID, namespace_id: int, *, after: int, limit: int
) -> list[Unstaged]:
    """Read memories whose present version is not staged, by rising id, from the one after `after` on."""
    rows = await connection.fetch(
        "list_memories_to_stage", org_id=org_id, namespace_id=namespace_id, after=after, limit=limit
    )
    return [Unstaged(row["memory_id"], row["version"], row["title"], row["content"]) for row in rows]


async def stage(
    connection: Connection, org_id: UUID, namespace_id: int, embedder: str, memories: Sequence[Staged]
) -> None:
    """Stage the vectors of memories; those that were deleted or edited meanwhile are left out."""
    place = {"org_id": org_id, "namespace_id": namespace_id}
    await connection.execute("delete_staged_embeddings", memory_ids=[memory.memory_id for memory in memories], **place)
    rows = [(memory, passage) for memory in memories for passage in range(len(memory.vectors))]
    await connection.execute(
        "insert_staged_embeddings",
        embedder=embedder,
        memory_ids=[memory.memory_id for memory, _ in rows],
        versions=[memory.version for memory, _ in rows],
        passages=[passage for _, passage in rows],
        embeddings=[encode_half_vector(memory.vectors[passage]) for memory, passage in rows],
        **place,
    )


async def list_dampened_queries(connection: Connection, org_id: UUID, namespace_id: int) -> dict[int, str]:
    """Read the queries of a namespace's dampenings by their ids."""
    rows = await connection.fetch("list_dampened_queries", org_id=org_id, namespace_id=namespace_id)
    return {row["dampening_id"]: row["query"] for row in rows}


async def list_trigger_texts(connection: Connection, org_id: UUID, namespace_id: int) -> dict[int, str]:
    """Read the texts of a namespace's Semantic triggers by the ids of their intentions."""
    rows = await connection.fetch("list_trigger_texts", org_id=org_id, namespace_id=namespace_id)
    return {row["intention_id"]: row["text"] for row in rows}


async def install(
    connection: Connection,
    org_id: UUID,
    namespace_id: int,
    embedder: str,
    dampened: Mapping[int, np.ndarray],
    triggers: Mapping[int, np.ndarray],
) -> None:
    """Let what is staged take the place of the vectors that serve, and those of queries and triggers with them."""
    place = {"org_id": org_id, "namespace_id": namespace_id}
    await connection.execute("delete_namespace_embeddings", **place)
    installed = await connection.execute("install_staged_embeddings", **place)
    await connection.execute("clear_staged_embeddings", **place)
    await connection.execute(
        "replace_dampening_embeddings",
        dampening_ids=list(dampened),
        embeddings=[encode_half_vector(vector) for vector in dampened.values()],
        **place,
    )
    await connection.execute(
        "replace_trigger_embeddings",
        intention_ids=list(triggers),
        embeddings=[encode_half_vector(vector) for vector in triggers.values()],
        **place,
    )
    await connection.execute("clear_recall_embeddings", **place)
    await connection.execute("switch_namespace_embedder", embedder=embedder, embeddings=installed, **place)
