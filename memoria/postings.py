"""Store the lexical index: one posting for each distinct term of each memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from memoria.database import Connection

MAX_FREQUENCY = 32_767  # of a smallint; BM25 has long saturated there


@dataclass(frozen=True, slots=True)
class MemoryTerms:
    """Hold a memory's hashed terms with their frequencies, and its length in tokens."""

    memory_id: int
    frequencies: Mapping[int, int]
    length: int


async def insert_postings(
    connection: Connection, org_id: UUID, namespace_id: int, memories: Sequence[MemoryTerms]
) -> None:
    """Add memories to the lexical index."""
    rows = [
        (term, memory.memory_id, min(frequency, MAX_FREQUENCY), memory.length)
        for memory in memories
        for term, frequency in memory.frequencies.items()
    ]
    terms, memory_ids, frequencies, lengths = zip(*rows, strict=True) if rows else ((), (), (), ())
    await connection.execute(
        "insert_postings",
        org_id=org_id,
        namespace_id=namespace_id,
        terms=terms,
        memory_ids=memory_ids,
        frequencies=frequencies,
        lengths=lengths,
    )


async def read_postings(
    connection: Connection, org_id: UUID, namespace_id: int, terms: Sequence[int]
) -> dict[int, bytes]:
    """Read the packed postings of each term that occurs (records of int8 memory id, int2 frequency, int4 length)."""
    rows = await connection.fetch("read_postings", org_id=org_id, namespace_id=namespace_id, terms=terms)
    return {row["term"]: row["packed"] for row in rows}


async def delete_postings(
    connection: Connection, org_id: UUID, namespace_id: int, terms: Sequence[int], memory_ids: Sequence[int]
) -> None:
    """Take memories out of the lexical index; `terms` are those of all of them together."""
    await connection.execute(
        "delete_postings", org_id=org_id, namespace_id=namespace_id, terms=terms, memory_ids=memory_ids
    )
