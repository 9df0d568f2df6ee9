"""Revise: edit a memory into a new version, archive it, restore it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg
import numpy as np

from memoria import (
    archive,
    consolidations,
    edges,
    embeddings,
    memories,
    memory_events,
    namespaces,
    postings,
    successions,
)
from memoria.database import Connection
from memoria.embedding.port import Embedder
from memoria.encode import NEIGHBORS, Encoder, MovedError, Prepared, Vectors, prepare, semantic_edges
from memoria.errors import ConflictError, InvalidInputError
from memoria.forget import delete_everywhere, delete_released
from memoria.memories import MemoryRow, memory_from_row, no_such_memory
from memoria.memory_fields import MemoryFields
from memoria.namespaces import Namespace, may_use
from memoria.passages import mean_direction
from memoria.records import Memory, MemoryPatch, NewMemory, Principal
from memoria.release import release_members, rewrite_episodes_of
from memoria.succession import NEWER_ARCHIVED, give_back, settle
from memoria.tiers import TIERS_AS_TYPES
from memoria.validation import hash_own
from memoria.vocabulary import EdgeType, MemoryState, MemoryType, Source, Tier

PATCHABLE = frozenset(field.name for field in fields(NewMemory)) - {"namespace", "chunk", "salience_hint"}
# What a version remembers of the one before it.
VERSIONED = (
    "content",
    "type",
    "salience",
    "confidence",
    "title",
    "tags",
    "category",
    "source",
    "url",
    "related_urls",
    "project",
    "context",
    "metadata",
    "pinned",
    "occurred_at",
    "expires_at",
)
# What a summary quotes or was made by, and what an episode was made by: with another value a member is none any more.
LEAVING_SUMMARIES = ("content", "url")
LEAVING_EPISODES = ("type", "project", "context", "expires_at", "occurred_at")
DUPLICATE_CONSTRAINT = "memories_duplicate_key"


@dataclass(frozen=True, slots=True)
class Revision:
    """Hold a patch applied to a memory of a known version, ready to be embedded and stored.

    `part_ids` are the parts that the memory has if it is a document: they are replaced by those of its new text.
    """

    base: Memory
    prepared: Prepared
    given_tier: str | None
    part_ids: tuple[int, ...]


def apply_patch(
    memory: Memory, part_ids: Sequence[int], patch: MemoryPatch, now: datetime, embedder: Embedder
) -> Revision:
    """Put the changes on a memory. Raises InvalidInputError and ConflictError (the version has moved on)."""
    if unknown := sorted(set(patch.changes) - PATCHABLE):
        raise InvalidInputError(f"`{unknown[0]}` cannot be changed.", field=unknown[0])
    if patch.expected_version not in (None, memory.version):
        raise ConflictError(
            f"The memory is at version {memory.version}, not {patch.expected_version}.", version=memory.version
        )
    if memory.part_of is not None:
        raise ConflictError("This is a part of a document: edit the document instead.", field="id")
    new = replace(_as_new(memory), chunk=bool(part_ids), **_without_none(patch.changes))
    keeps_past_expiry = new.ttl_seconds is None and new.expires_at == memory.expires_at
    prepared = prepare(replace(new, expires_at=None) if keeps_past_expiry else new, now, embedder)
    if keeps_past_expiry:
        prepared = replace(prepared, fields=replace(prepared.fields, expires_at=memory.expires_at))
    if memory.source is Source.SYSTEM and not _takes_over(memory, prepared.fields):
        own_hash = hash_own(prepared.fields.content_hash, memory.id)
        prepared = replace(
            prepared, fields=replace(prepared.fields, source=Source.SYSTEM, duplicate_hash=own_hash), parts=()
        )
    return Revision(memory, prepared, patch.changes.get("type"), tuple(part_ids))


def _takes_over(memory: Memory, fields: MemoryFields) -> bool:
    """Say whether an edit makes a memory of the service its editor's own.

    It does when it changes what the memory says, is, or comes from; and in any case with an episode.
    """
    is_episode = memory.type is MemoryType.EPISODIC
    return is_episode or (fields.content, fields.type, fields.source) != (memory.content, memory.type, None)


def _differ(memory: Memory, fields: MemoryFields, names: Sequence[str]) -> bool:
    return any(getattr(memory, name) != getattr(fields, name) for name in names)


def _without_none(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Turn None into the empty value of a field that has no None; raises InvalidInputError where none exists."""
    empty: dict[str, Any] = {"tags": (), "related_urls": (), "context": {}, "pinned": False}
    for name in ("content", "type", "confidence", "salience", "occurred_at"):
        if name in changes and changes[name] is None:
            raise InvalidInputError(f"`{name}` cannot be empty.", field=name)
    if changes.get("ttl_seconds") is not None and "expires_at" not in changes:
        changes = {**changes, "expires_at": None}
    return {name: empty.get(name) if value is None else value for name, value in changes.items()}


def _as_new(memory: Memory) -> NewMemory:
    return NewMemory(
        content=memory.content,
        type=memory.type.value,
        salience=memory.salience,
        confidence=memory.confidence,
        title=memory.title,
        tags=memory.tags,
        category=memory.category,
        source=memory.source.value if memory.source and memory.source is not Source.SYSTEM else None,
        url=memory.url,
        related_urls=memory.related_urls,
        project=memory.project,
        context=memory.context,
        metadata=memory.metadata,
        occurred_at=memory.occurred_at,
        expires_at=memory.expires_at,
        pinned=memory.pinned,
    )


async def lock_visible(connection: Connection, principal: Principal, memory_id: int) -> asyncpg.Record:
    """Lock one memory that the principal may touch. Raises NotFoundError."""
    row = await memories.lock_memory(connection, principal.org_id, memory_id)
    if row is None or not may_use(principal, row["namespace"]):
        raise no_such_memory()
    return row


async def store_revision(encoder: Encoder, principal: Principal, revision: Revision, vectors: Vectors) -> Memory:
    """Write a memory's new version with its postings, vectors and neighbours, and remember the old one.

    Raises ConflictError when the memory has moved on since the revision was made, or when it now equals another one.
    """
    connection, org_id, now = encoder.connection, encoder.org_id, encoder.now
    base, prepared = revision.base, revision.prepared
    row = await lock_visible(connection, principal, base.id)
    if row["version"] != base.version:
        raise ConflictError(f"The memory has moved on to version {row['version']}.", version=row["version"])
    row = await _part_from_summaries(connection, principal, row, revision, now)
    tier = TIERS_AS_TYPES.get((revision.given_tier or "").casefold()) or Tier(row["tier"])
    new_fields = replace(prepared.fields, tier=tier)
    new_row = MemoryRow(base.id, None, new_fields, tuple(prepared.frequencies), prepared.length)
    try:
        await memories.update_memory(connection, org_id, new_row, version=base.version + 1, now=now)
    except asyncpg.UniqueViolationError as error:
        if error.constraint_name != DUPLICATE_CONSTRAINT:
            raise
        raise ConflictError("Another memory already holds exactly this.", field="content") from error
    await _reindex(connection, row, revision, vectors, encoder)
    await rewrite_episodes_of(connection, org_id, base.id, now)
    await memory_events.record_event(
        connection,
        org_id,
        base.id,
        event="edited",
        version=base.version + 1,
        at=now,
        key_id=principal.key_id,
        fields={name: _plain(getattr(base, name)) for name in _versioned(base)},
    )
    return (await memories.read_memories(connection, org_id, [base.id]))[base.id]


def _versioned(base: Memory) -> Sequence[str]:
    """Name what is kept of an earlier version: of what the service wrote not the words, they are its members'."""
    return [name for name in VERSIONED if base.source is not Source.SYSTEM or name not in ("content", "title")]


async def _part_from_summaries(
    connection: Connection, principal: Principal, row: asyncpg.Record, revision: Revision, now: datetime
) -> asyncpg.Record:
    """Let go of a summary that quotes a memory that is about to change, and of one that becomes its editor's.

    An episode keeps a member that still happened there. Returns the memory's row, which may be active again.
    """
    base, fields = revision.base, revision.prepared.fields
    if base.source is Source.SYSTEM:
        if fields.source is not Source.SYSTEM:
            await consolidations.adopt_summary(connection, principal.org_id, base.id, now)
        return row
    leaves_episode = _differ(base, fields, LEAVING_EPISODES)
    if not leaves_episode and not _differ(base, fields, LEAVING_SUMMARIES):
        return row
    quoting = await release_members(
        connection, principal.org_id, [base.id], now, are_going=False, from_episodes=leaves_episode
    )
    await delete_released(connection, principal.org_id, quoting)
    return await lock_visible(connection, principal, base.id)


async def _reindex(
    connection: Connection,
    row: asyncpg.Record,
    revision: Revision,
    vectors: Vectors,
    encoder: Encoder,
) -> None:
    """Replace what the old text left in the indexes, its parts, and the edges that were computed from it."""
    org_id, memory_id, namespace_id = encoder.org_id, row["memory_id"], row["namespace_id"]
    prepared = revision.prepared
    await postings.delete_postings(connection, org_id, namespace_id, row["terms"], [memory_id])
    removed = await embeddings.delete_embeddings(connection, org_id, namespace_id, [memory_id])
    await edges.delete_edges(connection, org_id, memory_id, [EdgeType.SEMANTIC])
    is_active = await _stand_anew(connection, org_id, row, encoder.now)
    await delete_everywhere(connection, org_id, revision.part_ids, encoder.now)
    namespace = await namespaces.find_namespace(connection, org_id, row["namespace"])
    if namespace is None:
        raise no_such_memory()
    namespaces.require_embedder(namespace, encoder.embedder_name)
    terms = postings.MemoryTerms(memory_id, prepared.frequencies, prepared.length)
    await postings.insert_postings(connection, org_id, namespace_id, [terms])
    passages = vectors[prepared.passages] if prepared.passages else np.empty((0, 0))
    if prepared.passages and is_active:
        await _join_nearest(encoder, namespace, memory_id, passages)
    if prepared.parts:
        await encoder.add_parts(namespace, memory_id, prepared.parts, vectors)
        await memories.align_parts(connection, org_id, memory_id)
    inserted = await embeddings.insert_embeddings(connection, org_id, namespace_id, [(memory_id, passages)])
    grown = await namespaces.grow_namespace(
        connection,
        org_id,
        namespace_id,
        memories=0,
        terms=prepared.length - row["term_count"],
        embeddings=inserted - removed,
        embedder=encoder.embedder_name,
    )
    if not grown:
        raise MovedError("the namespace has changed over to another embedder")


async def _stand_anew(connection: Connection, org_id: UUID, row: asyncpg.Record, now: datetime) -> bool:
    """Take back what a memory's old text denied, and what denied it; says whether it is in force then."""
    memory_id = row["memory_id"]
    await give_back(connection, org_id, [memory_id], now, why="the newer memory was edited")
    await successions.delete_denials(connection, org_id, memory_id)
    reinstated = await successions.reinstate_memories(connection, org_id, [memory_id], [], now)
    return row["state"] == MemoryState.ACTIVE or bool(reinstated)


async def _join_nearest(encoder: Encoder, namespace: Namespace, memory_id: int, passages: np.ndarray) -> None:
    """Join a memory to those its new text is nearest to."""
    connection, org_id = encoder.connection, encoder.org_id
    near = await embeddings.find_nearest(connection, org_id, namespace, mean_direction(passages), NEIGHBORS)
    hidden = set((await memories.list_hidden_ids(connection, org_id, namespace.id, encoder.now)).tolist())
    pairs = zip(near.ids.tolist(), near.cosines.tolist(), strict=True)
    visible = [(other, cosine) for other, cosine in pairs if other not in hidden]
    await edges.insert_edges(connection, org_id, namespace.id, semantic_edges(memory_id, visible), encoder.now)
    await settle(connection, org_id, namespace.id, {memory_id: visible}, encoder.now)


async def move_state(
    connection: Connection, principal: Principal, memory_id: int, state: MemoryState, now: datetime
) -> Memory:
    """Archive or restore a memory; a memory that is in that state already stays as it is.

    Parts follow their document. Raises NotFoundError, and ConflictError for a part by itself.
    """
    row = await lock_visible(connection, principal, memory_id)
    memory = memory_from_row(row)
    if memory.part_of is not None:
        raise ConflictError("This is a part of a document: archive or restore the document instead.", field="id")
    if memory.state is state or (state is MemoryState.ACTIVE and memory.state is not MemoryState.ARCHIVED):
        return memory
    if memory.state is MemoryState.ARCHIVED:
        await archive.restore(connection, principal.org_id, [memory_id], now, key_id=principal.key_id)
        return (await memories.read_memories(connection, principal.org_id, [memory_id]))[memory_id]
    await give_back(connection, principal.org_id, [memory_id], now, why=NEWER_ARCHIVED)
    part_ids = await memories.list_part_ids(connection, principal.org_id, memory_id)
    await memories.set_state(connection, principal.org_id, [memory_id, *part_ids], state, now)
    await memory_events.record_event(
        connection,
        principal.org_id,
        memory_id,
        event="archived",
        version=memory.version,
        at=now,
        key_id=principal.key_id,
        fields={"state_before": memory.state.value},
    )
    return replace(memory, state=state, updated_at=now)


def _plain(value: Any) -> Any:
    """Turn a field into what JSON can say."""
    if isinstance(value, datetime):
        return value.isoformat()
    return list(value) if isinstance(value, tuple) else value
