"""Store typed, weighted edges and read those that activation spreads along."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import numpy as np

from memoria.database import Connection
from memoria.records import Edge
from memoria.reward import Crossing
from memoria.spreading import Edges
from memoria.vocabulary import LEARNED_LEAST, EdgeType

CROSSING = np.dtype([("from_id", ">i8"), ("to_id", ">i8"), ("type", ">i2"), ("weight", ">f8")])


@dataclass(frozen=True, slots=True)
class NewEdge:
    """Be an edge to store."""

    source_id: int
    target_id: int
    type: EdgeType
    weight: float


async def insert_edges(
    connection: Connection, org_id: UUID, namespace_id: int, edges: Sequence[NewEdge], now: datetime
) -> None:
    """Join memories; of two edges with the same ends and type the heavier weight stays."""
    heaviest: dict[tuple[int, int, EdgeType], float] = {}
    for edge in edges:
        key = (edge.source_id, edge.target_id, edge.type)
        heaviest[key] = max(edge.weight, heaviest.get(key, 0.0))
    await connection.execute(
        "insert_edges",
        org_id=org_id,
        namespace_id=namespace_id,
        sources=[source for source, _, _ in heaviest],
        targets=[target for _, target, _ in heaviest],
        types=[edge_type.value for _, _, edge_type in heaviest],
        weights=list(heaviest.values()),
        now=now,
    )


async def strengthen_co_retrieval(
    connection: Connection,
    org_id: UUID,
    pairs: Mapping[tuple[int, int], int],
    *,
    gain: float,
    now: datetime,
) -> None:
    """Let the CoRetrieval edge of each pair gain `gain · (1 − weight)` as often as the two came up together."""
    ordered = sorted(pairs)
    await connection.execute(
        "strengthen_co_retrieval",
        org_id=org_id,
        sources=[source for source, _ in ordered],
        targets=[target for _, target in ordered],
        gains=[1.0 - (1.0 - gain) ** pairs[pair] for pair in ordered],
        now=now,
    )


async def read_crossings(
    connection: Connection,
    org_id: UUID,
    namespace_id: int,
    ids: Sequence[int],
    *,
    types: Sequence[EdgeType],
    limit: int,
) -> Edges:
    """Read the ways out of memories, walked in both directions, at most `limit` a memory and direction.

    `Edges.types` counts from 0 in the order of `types`. Tenant and namespace are checked at each edge.
    """
    packed = await connection.fetch_value(
        "read_edges",
        org_id=org_id,
        namespace_id=namespace_id,
        ids=ids,
        types=[edge_type.value for edge_type in types],
        limit=limit,
    )
    found = np.frombuffer(packed or b"", dtype=CROSSING)
    return Edges(
        found["from_id"].astype(np.int64),
        found["to_id"].astype(np.int64),
        found["type"].astype(np.int64) - 1,
        found["weight"].astype(np.float64),
    )


async def list_neighbors(
    connection: Connection, org_id: UUID, namespace_id: int, memory_id: int, *, limit: int, offset: int
) -> tuple[list[Edge], int]:
    """Read a page of the edges at a memory, heaviest first, and how many there are in all."""
    place = {"org_id": org_id, "namespace_id": namespace_id, "memory_id": memory_id}
    rows = await connection.fetch("list_neighbors", limit=limit, offset=offset, **place)
    total = await connection.fetch_value("count_neighbors", **place)
    edges = [
        Edge(row["source_id"], row["target_id"], EdgeType(row["type"]), row["weight"], row["created_at"])
        for row in rows
    ]
    return edges, total


async def delete_edges(connection: Connection, org_id: UUID, memory_id: int, types: Sequence[EdgeType]) -> None:
    """Delete the edges of some types at a memory."""
    await connection.execute(
        "delete_edges_by_type",
        org_id=org_id,
        memory_id=memory_id,
        types=[edge_type.value for edge_type in types],
    )


async def delete_member_edges(connection: Connection, org_id: UUID, episode_id: int, member_ids: Sequence[int]) -> None:
    """Part an episode from members that it no longer has."""
    await connection.execute("delete_member_edges", org_id=org_id, episode_id=episode_id, member_ids=member_ids)


async def reward_edges(
    connection: Connection, org_id: UUID, path: Sequence[Crossing], rewards: Sequence[float]
) -> None:
    """Move the weight of each crossed edge by its reward, within 0.01-1; edges that are gone are passed over."""
    await connection.execute(
        "reward_edges",
        org_id=org_id,
        from_ids=[crossing.from_id for crossing in path],
        to_ids=[crossing.to_id for crossing in path],
        types=[crossing.type.value for crossing in path],
        rewards=rewards,
        least_weight=LEARNED_LEAST,
    )


async def link_memories(
    connection: Connection, org_id: UUID, namespace_id: int, edge: NewEdge, now: datetime
) -> tuple[Edge, bool]:
    """Join two memories as a client says; returns the edge, and whether it is new."""
    row = await connection.fetch_row(
        "link_memories",
        org_id=org_id,
        namespace_id=namespace_id,
        source_id=edge.source_id,
        target_id=edge.target_id,
        type=edge.type.value,
        weight=edge.weight,
        now=now,
    )
    if row is None:
        raise RuntimeError("an edge was neither made nor changed")
    return Edge(edge.source_id, edge.target_id, edge.type, row["weight"], row["created_at"]), row["made"]


async def unlink_memories(
    connection: Connection, org_id: UUID, source_id: int, target_id: int, edge_type: EdgeType
) -> bool:
    """Delete one edge; False when it was not there."""
    return bool(
        await connection.execute(
            "unlink_memories", org_id=org_id, source_id=source_id, target_id=target_id, type=edge_type.value
        )
    )
