"""Fill namespaces of any size through the store's own functions: embedding so many texts would take hours.

A memory is three sentences of the latency corpus, in conversations of 20. Of every 50, three say the same but for a
full stop or an exclamation mark. Vectors are those of the fake embedder, near where words are shared.
"""

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from benchmarks.latency.corpus import MEMORIES_A_CONVERSATION, Corpus
from benchmarks.latency.loading import open_namespace, show_progress
from memoria import embeddings, memories, namespaces, postings
from memoria.database import Connection, Database
from memoria.embedding import FakeEmbedder
from memoria.encode import Prepared, Vectors, embed_prepared, prepare
from memoria.identifiers import IdMaker
from memoria.memories import MemoryRow
from memoria.records import NewMemory, Principal

BATCH_MEMORIES = 1000
REPEATED_EVERY = 50
ENDINGS = ("", ".", "!")
STEP = timedelta(seconds=90)  # between two memories of a conversation: six of them fall within ten minutes


@dataclass(frozen=True, slots=True)
class Filled:
    """Be a filled namespace, its owner and a key to it."""

    size: int
    principal: Principal
    key: str


def texts_of(corpus: Corpus, first: int, count: int) -> list[str]:
    """Write the memories numbered from `first`; three of each 50 say the same."""
    plain = corpus.texts(first, count)
    return [
        plain[number - number % REPEATED_EVERY - first].removesuffix(".") + ENDINGS[number % REPEATED_EVERY]
        if number % REPEATED_EVERY < len(ENDINGS) and number - number % REPEATED_EVERY >= first
        else plain[number - first]
        for number in range(first, first + count)
    ]


def notes_of(corpus: Corpus, first: int, count: int, began: datetime) -> Iterator[NewMemory]:
    """Make the memories numbered from `first`."""
    for number, text in enumerate(texts_of(corpus, first, count), first):
        conversation = number // MEMORIES_A_CONVERSATION
        at = began + timedelta(hours=1) * conversation + STEP * (number % MEMORIES_A_CONVERSATION)
        yield NewMemory(text, context={"session_id": f"conversation-{conversation}"}, occurred_at=at)


async def fill(database: Database, corpus: Corpus, size: int) -> Filled:
    """Store so many memories in a namespace of a new organization."""
    principal, key = await open_namespace(database, f"scale-{size}")
    embedder, now, started = FakeEmbedder(), datetime.now(UTC), time.perf_counter()
    ids = IdMaker(lambda: datetime.now(UTC))
    began = now - timedelta(hours=1) * (size // MEMORIES_A_CONVERSATION + 1)
    for first in range(0, size, BATCH_MEMORIES):
        count = min(BATCH_MEMORIES, size - first)
        prepared = [prepare(note, now, embedder) for note in notes_of(corpus, first, count, began)]
        unique = list({item.fields.duplicate_hash: item for item in prepared}.values())
        vectors = await embed_prepared(embedder, unique)
        async with database.tenant(principal.org_id) as connection:
            await _store(connection, principal, unique, vectors, ids, embedder.name)
        show_progress(f"filling {size:,}", first + count, size, time.perf_counter() - started)
    return Filled(size, principal, key)


async def _store(
    connection: Connection,
    principal: Principal,
    items: Sequence[Prepared],
    vectors: Vectors,
    ids: IdMaker,
    embedder_name: str,
) -> None:
    org_id, now = principal.org_id, datetime.now(UTC)
    namespace = await namespaces.ensure_namespace(
        connection, org_id, principal.own_namespace, new_id=ids.next(), embedder=embedder_name, now=now
    )
    rows = [
        MemoryRow(ids.next(), None, replace(item.fields, salience=0.3), tuple(item.frequencies), item.length)
        for item in items
    ]
    stored = await memories.insert_memories(connection, org_id, namespace.id, rows, now)
    if stored != len(rows):
        sys.exit("two memories of the corpus are equal: choose another seed")
    terms = [
        postings.MemoryTerms(row.memory_id, item.frequencies, item.length)
        for row, item in zip(rows, items, strict=True)
    ]
    await postings.insert_postings(connection, org_id, namespace.id, terms)
    passages = [(row.memory_id, vectors[item.passages]) for row, item in zip(rows, items, strict=True)]
    count = await embeddings.insert_embeddings(connection, org_id, namespace.id, passages)
    await namespaces.grow_namespace(
        connection,
        org_id,
        namespace.id,
        memories=len(rows),
        terms=sum(item.length for item in items),
        embeddings=count,
    )
