"""Store which memories deny which: what a newer statement contradicts, or takes the place of."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memoria.database import Connection

LONGEST_CLAIM = 600  # characters: a longer text is no single statement


@dataclass(frozen=True, slots=True)
class Claim:
    """Be one statement that is in force: what it says, since when, and within which project and context."""

    memory_id: int
    content: str
    occurred_at: datetime
    project: str | None
    context: dict[str, str]


@dataclass(frozen=True, slots=True)
class Restated:
    """Be one memory whose state has changed, with its version."""

    memory_id: int
    version: int


async def read_claims(connection: Connection, org_id: UUID, namespace_id: int, ids: Sequence[int]) -> dict[int, Claim]:
    """Read those of the memories that state something and are in force; long texts, parts and code do not."""
    rows = await connection.fetch(
        "read_claims", org_id=org_id, namespace_id=namespace_id, ids=ids, longest=LONGEST_CLAIM
    )
    return {
        row["memory_id"]: Claim(row["memory_id"], row["content"], row["occurred_at"], row["project"], row["context"])
        for row in rows
    }


async def supersede_memories(connection: Connection, org_id: UUID, ids: Sequence[int], now: datetime) -> list[Restated]:
    """Take memories out of force, and return those that were in it."""
    rows = await connection.fetch("supersede_memories", org_id=org_id, ids=ids, now=now)
    return [Restated(row["memory_id"], row["version"]) for row in rows]


async def list_superseded_by(connection: Connection, org_id: UUID, ids: Sequence[int]) -> list[int]:
    """List what the given memories have taken the place of; what a summary stands for is not among them."""
    rows = await connection.fetch("list_superseded_by", org_id=org_id, ids=ids)
    return [row["memory_id"] for row in rows]


async def reinstate_memories(
    connection: Connection, org_id: UUID, ids: Sequence[int], leaving: Sequence[int], now: datetime
) -> list[Restated]:
    """Put memories back in force that nothing supersedes but what is `leaving`, and return them."""
    rows = await connection.fetch("reinstate_memories", org_id=org_id, ids=ids, leaving=leaving, now=now)
    return [Restated(row["memory_id"], row["version"]) for row in rows]


async def delete_denials(connection: Connection, org_id: UUID, memory_id: int) -> None:
    """Take back what a memory has contradicted or superseded by itself, and what did so to it."""
    await connection.execute("delete_denials", org_id=org_id, memory_id=memory_id)
