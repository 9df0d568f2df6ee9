"""Store answered recalls for a bounded time: what was asked, what came back, and along which edges."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np

from memoria.database import Connection, encode_half_vector
from memoria.maintenance import PLACES_A_ROUND
from memoria.reward import Crossing
from memoria.vocabulary import RECALL_KEPT_DAYS, REQUERY_COSINE, REQUERY_SECONDS, EdgeType


@dataclass(frozen=True, slots=True)
class Result:
    """Be one result of a recall: its score, and the path from a seed to it as (edge type, memory reached)."""

    memory_id: int
    score: float
    seed_id: int
    steps: tuple[tuple[EdgeType, int], ...]

    @property
    def path(self) -> list[Crossing]:
        """The edges that were crossed, from the seed on."""
        reached = [self.seed_id, *(memory_id for _, memory_id in self.steps)]
        return [
            Crossing(before, after, edge_type)
            for before, after, (edge_type, _) in zip(reached, reached[1:], self.steps, strict=False)
        ]


@dataclass(frozen=True, slots=True)
class Recalled:
    """Be one answered recall that is to teach: the query, its direction (d,), and its results, best first.

    `vector` is None for a recall by page alone. `namespace_id` is that of every result.
    """

    org_id: UUID
    recall_id: int
    namespace_id: int
    key_id: UUID | None
    query: str
    vector: np.ndarray | None
    results: tuple[Result, ...]
    at: datetime

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids of the results, best first."""
        return tuple(result.memory_id for result in self.results)

    def only(self, memory_ids: Iterable[int]) -> "Recalled":
        """Keep of the results what really was used."""
        used = set(memory_ids)
        return replace(self, results=tuple(result for result in self.results if result.memory_id in used))


@dataclass(frozen=True, slots=True)
class StoredRecall:
    """Be a recall as it was stored; `vector` is in the form that queries take."""

    recall_id: int
    namespace_id: int
    query: str
    vector: bytes | None
    results: tuple[Result, ...]

    def result(self, memory_id: int) -> Result | None:
        """Return one of its results, or None when the recall did not return that memory."""
        return next((result for result in self.results if result.memory_id == memory_id), None)


async def insert_recalls(connection: Connection, org_id: UUID, recalls: Sequence[Recalled]) -> set[int]:
    """Store recalls and return the ids of those that were not there; one of a deleted namespace is passed over."""
    rows = await connection.fetch(
        "insert_recalls",
        org_id=org_id,
        recall_ids=[recalled.recall_id for recalled in recalls],
        namespace_ids=[recalled.namespace_id for recalled in recalls],
        key_ids=[recalled.key_id for recalled in recalls],
        queries=[recalled.query for recalled in recalls],
        embeddings=[None if recalled.vector is None else encode_half_vector(recalled.vector) for recalled in recalls],
        results=[[_pack(result) for result in recalled.results] for recalled in recalls],
        times=[recalled.at for recalled in recalls],
    )
    return {row["recall_id"] for row in rows}


def asks_again(recalled: Recalled, earlier: Recalled) -> bool:
    """Say whether a recall repeats an earlier one: the same key, namespace and meaning, soon after."""
    if recalled.vector is None or earlier.vector is None:
        return False
    return (
        (recalled.org_id, recalled.namespace_id, recalled.key_id)
        == (earlier.org_id, earlier.namespace_id, earlier.key_id)
        and timedelta(0) <= recalled.at - earlier.at <= timedelta(seconds=REQUERY_SECONDS)
        and float(recalled.vector @ earlier.vector) >= REQUERY_COSINE
    )


async def asked_before(connection: Connection, org_id: UUID, recalled: Recalled) -> bool:
    """Say whether a stored recall is one that this one repeats, as `asks_again` does."""
    if recalled.vector is None:
        return False
    return bool(
        await connection.fetch_value(
            "asked_before",
            org_id=org_id,
            namespace_id=recalled.namespace_id,
            key_id=recalled.key_id,
            embedding=encode_half_vector(recalled.vector),
            within=1.0 - REQUERY_COSINE,
            since=recalled.at - timedelta(seconds=REQUERY_SECONDS),
            now=recalled.at,
        )
    )


async def find_recall(connection: Connection, org_id: UUID, recall_id: int) -> StoredRecall | None:
    """Read one recall; None when it is not (or no longer, or not yet) stored."""
    row = await connection.fetch_row("find_recall", org_id=org_id, recall_id=recall_id)
    if row is None:
        return None
    results = tuple(_unpack(packed) for packed in row["results"])
    return StoredRecall(row["recall_id"], row["namespace_id"], row["query"], row["embedding"], results)


async def mark_result(connection: Connection, org_id: UUID, recall_id: int, memory_id: int) -> bool:
    """Note that feedback was given for a result; False when it was before. Waits for another who is giving it."""
    return bool(await connection.execute("mark_result", org_id=org_id, recall_id=recall_id, memory_id=memory_id))


async def find_outlived_recalls(connection: Connection, now: datetime) -> list[UUID]:
    """Find organizations with recalls past their lifetime."""
    rows = await connection.fetch("find_outlived_recalls", older_than=_outlived(now), wanted=PLACES_A_ROUND)
    return [row["org_id"] for row in rows]


async def delete_outlived_recalls(connection: Connection, org_id: UUID, now: datetime) -> int:
    """Delete an organization's outlived recalls and return how many there were."""
    return await connection.execute("delete_outlived_recalls", org_id=org_id, older_than=_outlived(now))


def _outlived(now: datetime) -> datetime:
    return now - timedelta(days=RECALL_KEPT_DAYS)


def _pack(result: Result) -> list[Any]:
    steps = [[edge_type.value, memory_id] for edge_type, memory_id in result.steps]
    return [result.memory_id, round(result.score, 6), result.seed_id, steps]


def _unpack(packed: list[Any]) -> Result:
    memory_id, score, seed_id, steps = packed
    return Result(memory_id, score, seed_id, tuple((EdgeType(edge_type), reached) for edge_type, reached in steps))
