"""Import memories: check them like a client's, find out which are there already, and store the others as they were."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from memoria import embeddings, memories, namespaces, postings, transfers
from memoria.database import Connection
from memoria.embedding.port import Embedder
from memoria.encode import MovedError, Prepared, Vectors, prepare_cut, with_parts
from memoria.errors import ConflictError, MemoriaError
from memoria.identifiers import IdMaker, format_id
from memoria.memories import MemoryRow
from memoria.namespaces import Namespace
from memoria.records import Memory, NewMemory
from memoria.transfer_records import CarriedEdge, CarriedMemory, CarriedStanding, LineRefusal
from memoria.transfers import ImportedRow
from memoria.validation import check_past, check_time, hash_own
from memoria.vocabulary import EdgeType, Source

# What a writer decides, beside the content, and only an edit changes: where it differs, the memory is another one.
WRITTEN = ("type", "title", "tags", "category", "url", "related_urls", "project", "context", "metadata", "occurred_at")
PAST_TIMES = ("created_at", "updated_at", "last_accessed_at", "tier_since")


@dataclass(frozen=True, slots=True)
class Arriving:
    """Be one memory of an import, checked and ready to be embedded, and the number of its line."""

    line: int
    memory: CarriedMemory
    prepared: Prepared

    @property
    def hash(self) -> bytes:
        """By what an equal memory is found."""
        return self.prepared.fields.duplicate_hash


@dataclass(slots=True)
class Arrived:
    """Collect what became of a batch.

    `new_ids` maps exported ids to those they are stored under, where they differ. `merged` are exported ids whose
    memory is an equal one that has a history of its own, `conflicting` those whose id belongs to a different memory.
    """

    imported: int = 0
    skipped: int = 0
    mapped: int = 0
    new_ids: dict[int, int] = field(default_factory=dict)
    merged: set[int] = field(default_factory=set)
    conflicting: set[int] = field(default_factory=set)
    refusals: list[LineRefusal] = field(default_factory=list)


def prepare_all(
    batch: Sequence[tuple[int, CarriedMemory]], now: datetime, embedder: Embedder, *, trusted: bool
) -> tuple[list[Arriving], list[LineRefusal]]:
    """Check memories, given with the numbers of their lines, and compute what needs no database.

    Unless `trusted`, none counts as made by the service, whatever its line says.
    """
    ready, refusals = [], []
    for line, memory in batch:
        try:
            known = memory if trusted else replace(memory, summary=None)
            ready.append(Arriving(line, known, _prepare(known, now, embedder)))
        except MemoriaError as error:
            refusals.append(LineRefusal(line, error.code, error.message))
    return ready, refusals


def _prepare(memory: CarriedMemory, now: datetime, embedder: Embedder) -> Prepared:
    new = NewMemory(
        content=memory.content,
        type=memory.type.value,
        salience=memory.standing.salience,
        confidence=memory.confidence,
        title=memory.title,
        tags=memory.tags,
        category=memory.category,
        source=_source(memory.source),
        url=memory.url,
        related_urls=memory.related_urls,
        project=memory.project,
        context=memory.context,
        metadata=memory.metadata,
        occurred_at=memory.occurred_at,
        pinned=memory.pinned,
    )
    for standing in (memory.standing, *(part.standing for part in memory.parts)):
        _check_standing(standing, now)
    prepared = prepare_cut(new, [part.content for part in memory.parts], now, embedder)
    prepared = _expiring(prepared, check_time(memory.expires_at, "expires_at"))
    if memory.summary is None or memory.source is not Source.SYSTEM:
        return prepared
    own_hash = hash_own(prepared.fields.content_hash, memory.id)
    return replace(prepared, fields=replace(prepared.fields, source=Source.SYSTEM, duplicate_hash=own_hash))


def _source(source: Source | None) -> str | None:
    # A file can claim anything: without its provenance, what the service has written is an agent's word from here on.
    return None if source is None else (Source.AGENT if source is Source.SYSTEM else source).value


def _check_standing(standing: CarriedStanding, now: datetime) -> None:
    for name in PAST_TIMES:
        check_past(getattr(standing, name), name, now)


def _expiring(prepared: Prepared, expires_at: datetime | None) -> Prepared:
    """Let a memory have its expiry, which may have passed: it was right when it was stored."""
    fields = replace(prepared.fields, expires_at=expires_at)
    return replace(prepared, fields=fields, parts=tuple(_expiring(part, expires_at) for part in prepared.parts))


async def find_unknown(
    connection: Connection, org_id: UUID, namespace: str, batch: Sequence[Arriving]
) -> list[Prepared]:
    """List what is not stored yet, and so needs vectors."""
    found = await namespaces.find_namespace(connection, org_id, namespace)
    known: dict[bytes, int] = {}
    if found is not None:
        known = await memories.find_duplicates(connection, org_id, found.id, [each.hash for each in batch])
    return [each.prepared for each in batch if each.hash not in known]


@dataclass(frozen=True, slots=True)
class Importer:
    """Store arriving memories within the caller's transaction."""

    connection: Connection
    org_id: UUID
    ids: IdMaker
    namespace: Namespace

    async def store(self, batch: Sequence[Arriving], vectors: Vectors) -> Arrived:
        """Store those that are not there, under their own ids where these are free.

        Raises MovedError when another transaction has stored or deleted one of them meanwhile.
        """
        arrived = Arrived()
        homes = await memories.find_duplicates(
            self.connection, self.org_id, self.namespace.id, [each.hash for each in batch]
        )
        own_ids = {each.memory.id for each in batch} | {part.id for each in batch for part in each.memory.parts}
        stored = await memories.read_memories(self.connection, self.org_id, sorted(own_ids | set(homes.values())))
        fresh: list[tuple[Arriving, dict[int, int]]] = []
        taken = set(stored)
        for each in batch:
            home = homes.get(each.hash)
            if home is not None:
                await self._meet(arrived, each, home, stored.get(home))
            elif each.memory.id in taken and not self._lives_elsewhere(stored.get(each.memory.id)):
                _refuse(arrived, each)
            else:
                new_ids = self._choose_ids(each.memory, taken)
                homes[each.hash] = new_ids[each.memory.id]
                taken |= set(new_ids.values())
                fresh.append((each, new_ids))
        await self._insert(fresh, vectors)
        for each, new_ids in fresh:
            _note_ids(arrived, each.memory, new_ids)
        arrived.imported += len(fresh)
        return arrived

    def _lives_elsewhere(self, stored: Memory | None) -> bool:
        return stored is not None and stored.namespace != self.namespace.name

    def _choose_ids(self, memory: CarriedMemory, taken: set[int]) -> dict[int, int]:
        """Give a memory and its parts their own ids, or new ones where another memory has those."""
        wanted = [memory.id, *(part.id for part in memory.parts)]
        chosen: dict[int, int] = {}
        for wish in wanted:
            chosen[wish] = self.ids.next() if wish in taken or wish in chosen else wish
        return chosen

    async def _meet(self, arrived: Arrived, each: Arriving, home: int, stored: Memory | None) -> None:
        """Settle what becomes of a memory that equals one which is there, or one of the lines before."""
        memory = each.memory
        if stored is not None and home == memory.id and _differs(stored, each):
            _refuse(arrived, each)
            return
        new_ids = {memory.id: home, **await self._pair_parts(memory, home)}
        is_same = stored is None or stored.created_at == memory.standing.created_at
        if home == memory.id or is_same:
            arrived.skipped += 1
        else:
            arrived.merged |= {memory.id, *(part.id for part in memory.parts)}
        _note_ids(arrived, memory, new_ids)

    async def _pair_parts(self, memory: CarriedMemory, home: int) -> dict[int, int]:
        if not memory.parts or home == memory.id:
            return {part.id: part.id for part in memory.parts}
        stored = await memories.list_part_ids(self.connection, self.org_id, home)
        own = [part.id for part in memory.parts]
        return dict(zip(own, stored, strict=True)) if len(own) == len(stored) else {}

    async def _insert(self, fresh: Sequence[tuple[Arriving, dict[int, int]]], vectors: Vectors) -> None:
        rows = [row for each, new_ids in fresh for row in _rows(each, new_ids)]
        if not rows:
            return
        items = [item for each, _ in fresh for item in with_parts([each.prepared])]
        ids = [imported.row.memory_id for imported in rows]
        if any(item.passages and item.passages not in vectors for item in items):
            raise MovedError("a duplicate was deleted after it had been found")
        inserted = await transfers.import_memories(self.connection, self.org_id, self.namespace.id, rows)
        if len(inserted) < len(rows):
            raise MovedError("an equal memory, or one with the same id, arrived meanwhile")
        terms = [
            postings.MemoryTerms(memory_id, item.frequencies, item.length)
            for memory_id, item in zip(ids, items, strict=True)
        ]
        await postings.insert_postings(self.connection, self.org_id, self.namespace.id, terms)
        passages = [
            (memory_id, vectors[item.passages]) for memory_id, item in zip(ids, items, strict=True) if item.passages
        ]
        count = await embeddings.insert_embeddings(self.connection, self.org_id, self.namespace.id, passages)
        summaries = {new_ids[each.memory.id]: each.memory.summary for each, new_ids in fresh if each.memory.summary}
        await transfers.import_summaries(self.connection, self.org_id, self.namespace.id, summaries)
        joined = [edge for each, new_ids in fresh for edge in _part_edges(each.memory, new_ids)]
        await transfers.import_edges(self.connection, self.org_id, self.namespace.id, joined)
        await self._grow(len(rows), sum(item.length for item in items), count)

    async def _grow(self, memory_count: int, term_count: int, embedding_count: int) -> None:
        grown = await namespaces.grow_namespace(
            self.connection,
            self.org_id,
            self.namespace.id,
            memories=memory_count,
            terms=term_count,
            embeddings=embedding_count,
            embedder=self.namespace.embedder,
        )
        if not grown:
            raise MovedError("the namespace has changed over to another embedder")


def _rows(each: Arriving, new_ids: dict[int, int]) -> list[ImportedRow]:
    """Make the rows of a memory and, after it, of its parts, which share its tier and state as filters expect."""
    memory, document_id = each.memory, new_ids[each.memory.id]
    standings = [memory.standing]
    standings += [
        replace(part.standing, tier=memory.standing.tier, state=memory.standing.state) for part in memory.parts
    ]
    own = [memory.id, *(part.id for part in memory.parts)]
    return [
        ImportedRow(
            MemoryRow(
                new_ids[memory_id],
                None if memory_id == memory.id else document_id,
                item.fields,
                tuple(item.frequencies),
                item.length,
            ),
            standing,
        )
        for memory_id, item, standing in zip(own, with_parts([each.prepared]), standings, strict=True)
    ]


def _part_edges(memory: CarriedMemory, new_ids: dict[int, int]) -> list[CarriedEdge]:
    document_id = new_ids[memory.id]
    return [
        CarriedEdge(new_ids[part.id], document_id, EdgeType.PART_OF, part.weight, part.joined_at, linked=False)
        for part in memory.parts
    ]


def _differs(stored: Memory, each: Arriving) -> bool:
    """Say whether a stored memory was written otherwise, or has been edited since."""
    fields, standing = each.prepared.fields, each.memory.standing
    return (
        stored.version != standing.version
        or stored.content != fields.content
        or any(getattr(stored, name) != getattr(fields, name) for name in WRITTEN)
    )


def _note_ids(arrived: Arrived, memory: CarriedMemory, new_ids: dict[int, int]) -> None:
    arrived.new_ids |= {old: new for old, new in new_ids.items() if old != new}
    arrived.mapped += int(new_ids[memory.id] != memory.id)


def _refuse(arrived: Arrived, each: Arriving) -> None:
    message = f"{format_id(each.memory.id)} is there with another content or version, and stays as it is."
    arrived.conflicting |= {each.memory.id, *(part.id for part in each.memory.parts)}
    arrived.refusals.append(LineRefusal(each.line, ConflictError.code, message))
