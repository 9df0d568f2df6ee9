"""Take a batch through encoding: prepare its items, find out what is new, store it namespace by namespace."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memoria import memories
from memoria.database import Connection
from memoria.embedding.port import Embedder
from memoria.encode import Encoder, MovedError, Prepared, Stored, Vectors, differing_fields, find_stored, prepare
from memoria.errors import MemoriaError
from memoria.namespaces import resolve_namespace
from memoria.records import Encoded, EncodeFailure, NewMemory, Principal

# Cutting and stemming so much text would hold up every other request: it goes to a thread.
THREAD_CHARACTERS = 8_000


@dataclass(frozen=True, slots=True)
class Ingest:
    """Hold a prepared batch: by position either a memory with its namespace, or why it was refused."""

    items: Mapping[int, tuple[str, Prepared]]
    failures: Mapping[int, EncodeFailure]

    def by_namespace(self) -> list[tuple[str, list[int]]]:
        """Group the positions by namespace, namespaces in order so that two batches never lock crosswise."""
        groups: dict[str, list[int]] = defaultdict(list)
        for position, (namespace, _) in self.items.items():
            groups[namespace].append(position)
        return sorted(groups.items())

    async def find_unknown(self, connection: Connection, org_id: UUID) -> list[Prepared]:
        """List the items that are not stored yet, of equal ones in a namespace the first: those need vectors."""
        unknown: list[Prepared] = []
        for namespace, positions in self.by_namespace():
            items = [self.items[position][1] for position in positions]
            known = set(await find_stored(connection, org_id, namespace, items))
            for item in items:
                if item.fields.duplicate_hash not in known:
                    known.add(item.fields.duplicate_hash)
                    unknown.append(item)
        return unknown

    async def store(self, encoder: Encoder, vectors: Vectors) -> tuple[Encoded | EncodeFailure, ...]:
        """Store the batch in the caller's transaction and answer in the order sent.

        Raises MovedError when another transaction has stored or deleted an equal memory meanwhile.
        """
        stored: dict[int, Stored] = {}
        for namespace, positions in self.by_namespace():
            answers = await encoder.store(namespace, [self.items[position][1] for position in positions], vectors)
            stored |= dict(zip(positions, answers, strict=True))
        ids = [answer.memory_id for answer in stored.values()]
        found = await memories.read_memories(encoder.connection, encoder.org_id, ids)
        if not found.keys() >= set(ids):
            raise MovedError("a duplicate was deleted after it had been found")
        outcomes: dict[int, Encoded | EncodeFailure] = dict(self.failures)
        for position, answer in stored.items():
            prepared, memory = self.items[position][1], found[answer.memory_id]
            ignored = differing_fields(prepared.new, prepared.fields, memory) if answer.duplicate else ()
            outcomes[position] = Encoded(
                memory, answer.duplicate, ignored, answer.part_ids, answer.supersedes, answer.contradicts
            )
        return tuple(outcomes[position] for position in sorted(outcomes))


async def prepare_batch(
    principal: Principal, items: Sequence[NewMemory], now: datetime, embedder: Embedder, *, atomic: bool
) -> Ingest:
    """Validate every item and compute its terms and passages.

    Atomic: raises the first item's error, with the item's `index` among its details (a batch of one has none).
    """
    if sum(len(item.content) for item in items) <= THREAD_CHARACTERS:
        return _prepare_all(principal, items, now, embedder, atomic)
    return await asyncio.to_thread(_prepare_all, principal, items, now, embedder, atomic)


def _prepare_all(
    principal: Principal, items: Sequence[NewMemory], now: datetime, embedder: Embedder, atomic: bool
) -> Ingest:
    prepared: dict[int, tuple[str, Prepared]] = {}
    failures: dict[int, EncodeFailure] = {}
    for index, new in enumerate(items):
        try:
            prepared[index] = (resolve_namespace(principal, new.namespace), prepare(new, now, embedder))
        except MemoriaError as error:
            if atomic and len(items) == 1:
                raise
            if atomic:
                raise type(error)(error.message, **error.details, index=index) from error
            failures[index] = EncodeFailure(error.code, error.message, error.details)
    return Ingest(prepared, failures)
