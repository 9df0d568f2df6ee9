"""Encode: turn what a client sends into stored memories with their postings, vectors and edges."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

import numpy as np

from memoria import archive, edges, embeddings, memories, namespaces, postings
from memoria.causes import Told, find_causes, states_cause
from memoria.chunking import chunk_text
from memoria.database import Connection
from memoria.edges import NewEdge
from memoria.embedding.port import Embedder
from memoria.identifiers import IdMaker
from memoria.lexical import term_hash, terms
from memoria.memories import MemoryRow
from memoria.memory_fields import MemoryFields
from memoria.namespaces import Namespace
from memoria.passages import embedded_text, mean_direction, passages_of
from memoria.records import Memory, NewMemory
from memoria.salience import judge_salience
from memoria.succession import Denials, settle
from memoria.temporal import Moment, link_in_time
from memoria.tiers import TIERS_AS_TYPES, first_tier
from memoria.tokens import count_tokens
from memoria.validation import check_content, hash_duplicate, validate_memory
from memoria.vocabulary import (
    CHUNK_TOKENS,
    SEMANTIC_EDGE_COSINE,
    SEMANTIC_EDGE_LIMIT,
    STATED_CAUSE_WEIGHT,
    TEMPORAL_EDGE_MINUTES,
    EdgeType,
)

NEIGHBORS = 20  # stored memories that a new one is compared with

Vectors = Mapping[tuple[str, ...], np.ndarray]
"""The vectors (p, d) of each text, found by its passages: equal texts share them, whatever else differs."""


class MovedError(Exception):
    """Say that another transaction has changed what this one was computed from: compute it again."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Hold one memory on its way into the store, with all that can be computed without the database.

    `passages` are the texts to embed (none for a document stored with `chunk`: its parts are embedded instead).
    """

    new: NewMemory
    fields: MemoryFields
    frequencies: Mapping[int, int]
    length: int
    passages: tuple[str, ...]
    parts: tuple["Prepared", ...] = ()


@dataclass(frozen=True, slots=True)
class Stored:
    """Say under which id a prepared memory is stored, whether it was there before, and the ids of its parts.

    `supersedes` and `contradicts` are what it denies: the older memories' ids.
    """

    memory_id: int
    duplicate: bool
    part_ids: tuple[int, ...] = ()
    supersedes: tuple[int, ...] = ()
    contradicts: tuple[int, ...] = ()


def searchable_text(fields: MemoryFields) -> str:
    """Join what recall finds a memory by: its title and its content."""
    return embedded_text(fields.title, fields.content)


def prepare(new: NewMemory, now: datetime, embedder: Embedder) -> Prepared:
    """Validate a memory and compute its terms and passages. Raises InvalidInputError, ContentTooLargeError."""
    fields = validate_memory(new, now)
    if new.chunk:
        return _prepare_document(new, fields, embedder)
    return prepare_whole(new, fields, embedder)


def prepare_whole(new: NewMemory, fields: MemoryFields, embedder: Embedder) -> Prepared:
    """Compute a memory's terms and passages from fields that are checked already."""
    text = searchable_text(fields)
    frequencies: Counter[int] = Counter()
    for term, count in terms("\n".join((text, *fields.tags))).items():
        frequencies[term_hash(term)] += count
    passages = passages_of(embedder, text)
    return Prepared(new, fields, frequencies, frequencies.total(), tuple(passages))


def _prepare_document(new: NewMemory, fields: MemoryFields, embedder: Embedder) -> Prepared:
    chunks = chunk_text(fields.content, CHUNK_TOKENS, count_tokens)
    if len(chunks) == 1:
        return prepare_whole(new, fields, embedder)
    parts = tuple(
        _prepare_part(new, fields, chunk.index, chunk.content, embedder) for chunk in chunks if chunk.content.strip()
    )
    return Prepared(new, fields, {}, 0, (), parts)


def _prepare_part(new: NewMemory, document: MemoryFields, index: int, content: str, embedder: Embedder) -> Prepared:
    own_hash = hash_duplicate(document.duplicate_hash + bytes(f"{index}", "ascii"), None, {})
    part = replace(document, content=content, metadata=None, duplicate_hash=own_hash)
    return prepare_whole(new, part, embedder)


def prepare_cut(new: NewMemory, contents: Sequence[str], now: datetime, embedder: Embedder) -> Prepared:
    """Prepare a memory that has been cut into parts with these contents, or into none. Raises as `prepare`."""
    fields = validate_memory(new, now)
    if not contents:
        return prepare_whole(new, fields, embedder)
    parts = tuple(
        _prepare_part(new, fields, index, check_content(content), embedder) for index, content in enumerate(contents)
    )
    return Prepared(new, fields, {}, 0, (), parts)


def with_parts(items: Sequence[Prepared]) -> list[Prepared]:
    """List the memories and, after each, its parts."""
    return [each for item in items for each in (item, *item.parts)]


def differing_fields(new: NewMemory, fields: MemoryFields, stored: Memory) -> tuple[str, ...]:
    """Name the fields that a repeated memory asked for and that the stored one does not have: they are not applied."""
    asked: dict[str, object] = {
        "type": fields.type,
        "title": fields.title,
        "tags": fields.tags,
        "category": fields.category,
        "source": fields.source,
        "url": fields.url,
        "related_urls": fields.related_urls,
        "metadata": fields.metadata,
        "confidence": fields.confidence,
        "pinned": fields.pinned,
    }
    given = {"salience": new.salience, "occurred_at": new.occurred_at, "expires_at": fields.expires_at}
    asked |= {name: value for name, value in given.items() if value is not None}
    return tuple(name for name, value in asked.items() if value != getattr(stored, name))


async def embed_prepared(embedder: Embedder, items: Sequence[Prepared]) -> Vectors:
    """Embed the passages of items and their parts together.

    Raises EmbedderUnavailableError. Hold no connection meanwhile.
    """
    texts = list(dict.fromkeys(item.passages for item in with_parts(items) if item.passages))
    if not texts:
        return {}
    vectors = await embedder.embed([passage for passages in texts for passage in passages])
    ends = np.cumsum([len(passages) for passages in texts])
    return dict(zip(texts, np.split(vectors, ends[:-1]), strict=True))


async def find_stored(
    connection: Connection, org_id: UUID, namespace: str, items: Sequence[Prepared]
) -> dict[bytes, int]:
    """Find which of the items are stored already, by duplicate hash: those need no vectors."""
    found = await namespaces.find_namespace(connection, org_id, namespace)
    if found is None:
        return {}
    hashes = [item.fields.duplicate_hash for item in items]
    return await memories.find_duplicates(connection, org_id, found.id, hashes)


@dataclass(frozen=True, slots=True)
class Encoder:
    """Store prepared memories within the caller's transaction."""

    connection: Connection
    org_id: UUID
    ids: IdMaker
    now: datetime
    embedder_name: str
    key_id: UUID | None = None

    async def store(self, namespace_name: str, items: Sequence[Prepared], vectors: Vectors) -> list[Stored]:
        """Store items of one namespace in order.

        An item that equals a stored one (or an earlier one of the list) is a duplicate. Raises MovedError when
        another transaction has stored or deleted an equal memory meanwhile.
        """
        namespace = await namespaces.ensure_namespace(
            self.connection,
            self.org_id,
            namespace_name,
            new_id=self.ids.next(),
            embedder=self.embedder_name,
            now=self.now,
        )
        known = await memories.find_duplicates(
            self.connection, self.org_id, namespace.id, [item.fields.duplicate_hash for item in items]
        )
        fresh: dict[bytes, Prepared] = {}
        for item in items:
            if item.fields.duplicate_hash not in known:
                fresh.setdefault(item.fields.duplicate_hash, item)
        new_ids, denials = await self._insert(namespace, list(fresh.values()), vectors) if fresh else ({}, Denials())
        if known:
            expiries = {
                known[key]: item.fields.expires_at for item in items if (key := item.fields.duplicate_hash) in known
            }
            await memories.touch_memories(self.connection, self.org_id, expiries, self.now)
            # What was sent is acknowledged, so it must be recalled: one that was archived comes back.
            await archive.restore(
                self.connection, self.org_id, sorted(expiries), self.now, key_id=self.key_id, why=archive.SENT_AGAIN
            )
        return self._answer(items, known, new_ids, denials)

    def _answer(
        self,
        items: Sequence[Prepared],
        known: Mapping[bytes, int],
        new_ids: Mapping[bytes, int],
        denials: Denials,
    ) -> list[Stored]:
        answers = []
        seen: set[bytes] = set()
        for item in items:
            key = item.fields.duplicate_hash
            duplicate = key in known or key in seen
            if duplicate:
                answers.append(Stored(known.get(key) or new_ids[key], duplicate=True))
            else:
                part_ids = tuple(new_ids[part.fields.duplicate_hash] for part in item.parts)
                supersedes, contradicts = denials.made_by(new_ids[key])
                answers.append(Stored(new_ids[key], False, part_ids, supersedes, contradicts))
            seen.add(key)
        return answers

    async def add_parts(
        self,
        namespace: Namespace,
        document_id: int,
        parts: Sequence[Prepared],
        vectors: Vectors,
    ) -> list[int]:
        """Store the parts of a document that is there already (and whose earlier parts are gone); returns their ids."""
        ids, _ = await self._insert(namespace, parts, vectors, document_id)
        return list(ids.values())

    async def _insert(
        self,
        namespace: Namespace,
        fresh: Sequence[Prepared],
        vectors: Vectors,
        document_id: int | None = None,
    ) -> tuple[dict[bytes, int], Denials]:
        """Store memories that are not there, with everything that hangs on them.

        Returns their ids by duplicate hash, and what denies what since then.
        """
        everything = with_parts(fresh)
        embedded = [item for item in everything if item.passages]
        if any(item.passages not in vectors for item in embedded):
            raise MovedError("a duplicate was deleted after it had been found")
        ids = {item.fields.duplicate_hash: self.ids.next() for item in everything}
        documents = np.array([mean_direction(vectors[item.passages]) for item in embedded])
        near = await self._compare(namespace, [ids[item.fields.duplicate_hash] for item in embedded], documents)
        nearest = {item.fields.duplicate_hash: found for item, found in zip(embedded, near, strict=True)}
        rows = [
            self._row(item, ids, nearest, namespace.memory_count + position) for position, item in enumerate(everything)
        ]
        documents_of = _documents_of(fresh, ids, document_id)
        in_time = await self._link_in_time(namespace, [] if document_id is not None else fresh, ids)
        causal = await self._link_causes(fresh, ids, in_time)
        rows = _in_step(rows, documents_of)
        if await memories.insert_memories(self.connection, self.org_id, namespace.id, rows, self.now) < len(rows):
            raise MovedError("an equal memory arrived meanwhile")
        await self._insert_traces(namespace, everything, ids, vectors)
        new_edges = [edge for key, pairs in nearest.items() for edge in semantic_edges(ids[key], pairs)]
        new_edges += [NewEdge(part, document, EdgeType.PART_OF, 1.0) for part, document in documents_of.items()]
        await edges.insert_edges(self.connection, self.org_id, namespace.id, new_edges + in_time + causal, self.now)
        whole = {ids[key]: pairs for key, pairs in nearest.items() if ids[key] not in documents_of}
        denials = await settle(self.connection, self.org_id, namespace.id, whole, self.now)
        grown = await namespaces.grow_namespace(
            self.connection,
            self.org_id,
            namespace.id,
            memories=len(rows),
            terms=sum(item.length for item in everything),
            embeddings=sum(len(item.passages) for item in embedded),
            embedder=self.embedder_name,
        )
        if not grown:
            raise MovedError("the namespace has changed over to another embedder")
        return ids, denials

    async def _compare(
        self, namespace: Namespace, new_ids: Sequence[int], documents: np.ndarray
    ) -> list[list[tuple[int, float]]]:
        """Find each new memory's nearest: among those stored and visible, and among those before it in the batch."""
        if not len(documents):
            return []
        hidden = await memories.list_hidden_ids(self.connection, self.org_id, namespace.id, self.now)
        stored = await embeddings.find_nearest_to_each(self.connection, self.org_id, namespace, documents, NEIGHBORS)
        among_new = documents @ documents.T
        near = []
        for position, found in enumerate(stored):
            visible = ~np.isin(found.ids, hidden)
            pairs = list(zip(found.ids[visible].tolist(), found.cosines[visible].tolist(), strict=True))
            earlier = np.argsort(-among_new[position, :position], kind="stable")[:NEIGHBORS]
            pairs += [(new_ids[index], float(among_new[position, index])) for index in earlier]
            near.append(sorted(pairs, key=lambda pair: -pair[1])[:NEIGHBORS])
        return near

    def _row(
        self,
        item: Prepared,
        ids: Mapping[bytes, int],
        nearest: Mapping[bytes, list[tuple[int, float]]],
        namespace_memories: int,
    ) -> MemoryRow:
        key = item.fields.duplicate_hash
        pairs = nearest.get(key)
        salience = judge_salience(
            explicit=item.new.salience,
            hint=item.new.salience_hint,
            text=searchable_text(item.fields),
            nearest_cosine=pairs[0][1] if pairs else None,
            namespace_memories=namespace_memories,
        )
        given = TIERS_AS_TYPES.get(item.new.type.casefold())
        fields = replace(item.fields, salience=salience, tier=given or first_tier(item.fields.type, salience))
        return MemoryRow(ids[key], None, fields, tuple(item.frequencies), item.length)

    async def _insert_traces(
        self,
        namespace: Namespace,
        everything: Sequence[Prepared],
        ids: Mapping[bytes, int],
        vectors: Vectors,
    ) -> None:
        """Put memories into the lexical and the vector index."""
        terms = [
            postings.MemoryTerms(ids[item.fields.duplicate_hash], item.frequencies, item.length) for item in everything
        ]
        await postings.insert_postings(self.connection, self.org_id, namespace.id, terms)
        passages = [(ids[item.fields.duplicate_hash], vectors[item.passages]) for item in everything if item.passages]
        await embeddings.insert_embeddings(self.connection, self.org_id, namespace.id, passages)

    async def _link_in_time(
        self, namespace: Namespace, items: Sequence[Prepared], ids: Mapping[bytes, int]
    ) -> list[NewEdge]:
        """Find what stands before and after new memories in time. Call it before they are inserted."""
        moments = [
            Moment(ids[item.fields.duplicate_hash], item.fields.session, item.fields.occurred_at) for item in items
        ]
        stored = await memories.find_temporal_neighbors(
            self.connection, self.org_id, namespace.id, moments, TEMPORAL_EDGE_MINUTES
        )
        return [
            NewEdge(earlier, later, EdgeType.TEMPORAL, 1.0)
            for earlier, later in link_in_time(moments, stored, TEMPORAL_EDGE_MINUTES)
        ]

    async def _link_causes(
        self, items: Sequence[Prepared], ids: Mapping[bytes, int], in_time: Sequence[NewEdge]
    ) -> list[NewEdge]:
        """Find the causes that new memories state, among themselves and just before them."""
        before = {edge.target_id: edge.source_id for edge in in_time}
        own = {ids[item.fields.duplicate_hash]: item for item in items}
        told = [
            Told(
                memory_id, item.fields.content, frozenset(item.frequencies), item.fields.session, before.get(memory_id)
            )
            for memory_id, item in own.items()
        ]
        stating = [each for each in told if states_cause(each.text)]
        if not stating:
            return []
        around = [each.before for each in stating if each.before is not None and each.before not in own]
        stored = await memories.read_terms(self.connection, self.org_id, around) if around else {}
        return [
            NewEdge(cause, effect, EdgeType.CAUSAL, STATED_CAUSE_WEIGHT) for cause, effect in find_causes(told, stored)
        ]


def semantic_edges(memory_id: int, nearest: Sequence[tuple[int, float]]) -> list[NewEdge]:
    """Join a memory to its nearest, as (id, cosine) by falling cosine: at most 5 of cosine ≥ 0.60."""
    close = [(other, cosine) for other, cosine in nearest if cosine >= SEMANTIC_EDGE_COSINE]
    return [
        NewEdge(memory_id, other, EdgeType.SEMANTIC, min(1.0, cosine)) for other, cosine in close[:SEMANTIC_EDGE_LIMIT]
    ]


def _in_step(rows: Sequence[MemoryRow], documents_of: Mapping[int, int]) -> list[MemoryRow]:
    """Tie parts to their documents; those stored with their document have its tier and salience, as filters expect."""
    by_id = {row.memory_id: row.fields for row in rows}
    tied = []
    for row in rows:
        document_id = documents_of.get(row.memory_id)
        document = by_id.get(document_id) if document_id is not None else None
        fields = replace(row.fields, tier=document.tier, salience=document.salience) if document else row.fields
        tied.append(replace(row, part_of=document_id, fields=fields))
    return tied


def _documents_of(fresh: Sequence[Prepared], ids: Mapping[bytes, int], document_id: int | None) -> dict[int, int]:
    """Map the id of each part to that of its document: the given one, or the item that it was cut from."""
    if document_id is not None:
        return {ids[item.fields.duplicate_hash]: document_id for item in fresh}
    return {ids[part.fields.duplicate_hash]: ids[item.fields.duplicate_hash] for item in fresh for part in item.parts}
