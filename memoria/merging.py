"""Merge memories that say the same: draft a summary without a connection, then store it if nothing has moved."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

import numpy as np
import numpy.typing as npt

from memoria import consolidations, edges, embeddings, memories, memory_events, namespaces, postings
from memoria.clustering import least_pair, medoid
from memoria.consolidation_records import Provenance
from memoria.consolidations import NewSummary
from memoria.database import Connection
from memoria.edges import NewEdge
from memoria.embedding.port import Embedder
from memoria.encode import MovedError, Prepared, Vectors, embed_prepared, prepare_whole, searchable_text, semantic_edges
from memoria.episodes import QUOTING, shared_pairs, shared_tags
from memoria.errors import MemoriaError
from memoria.identifiers import format_id
from memoria.language.port import LanguageUnavailableError, SummaryWriter
from memoria.memories import MemoryRow
from memoria.memory_fields import MemoryFields
from memoria.namespaces import Namespace
from memoria.records import Memory, NewMemory
from memoria.release import superseded_by
from memoria.summaries import says_only, summarize
from memoria.tiers import TIERS, first_tier
from memoria.validation import SESSION_KEY, check_text, hash_content, hash_own
from memoria.vocabulary import SUMMARY_CHARACTERS, Detector, EdgeType, MemoryState, MemoryType, Source

Floats = npt.NDArray[np.float64]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Cluster:
    """Be memories that say the same, with the cosines (n, n) among them; `scope` is what they share besides."""

    members: tuple[Memory, ...]
    cosines: Floats
    scope: str


@dataclass(frozen=True, slots=True)
class Draft:
    """Be a summary ready to be stored; without `vectors` it takes those of the member that it quotes."""

    cluster: Cluster
    quoted: int
    writer: str
    memory_id: int
    prepared: Prepared
    vectors: Vectors | None

    @property
    def quoted_member(self) -> Memory:
        """The member whose text it is, or begins with."""
        return self.cluster.members[self.quoted]


@dataclass(frozen=True, slots=True)
class Extension:
    """Be a memory that joins a summary; with `prepared`, the summary says more than before.

    `cosine` is to the summary, `least_cosine` that of the two members that are now least alike.
    """

    summary: Memory
    member: Memory
    cosine: float
    least_cosine: float
    prepared: Prepared | None
    vectors: Vectors


async def draft_summary(cluster: Cluster, embedder: Embedder, writer: SummaryWriter | None, *, new_id: int) -> Draft:
    """Write the summary of a cluster. Raises EmbedderUnavailableError. Hold no connection meanwhile."""
    quoted = medoid(cluster.cosines)
    texts = [member.content for member in cluster.members]
    text, written_by = await _write(texts, writer), writer.name if writer else QUOTING
    if text is None:
        text, written_by = summarize(texts, quoted).text, QUOTING
    fields = _fields(new_id, text, cluster.members)
    prepared = prepare_whole(NewMemory(text), fields, embedder)
    own = cluster.members[quoted]
    is_copy = searchable_text(fields) == (f"{own.title}\n{own.content}" if own.title else own.content)
    vectors = None if is_copy else await embed_prepared(embedder, [prepared])
    return Draft(cluster, quoted, written_by, new_id, prepared, vectors)


async def _write(texts: Sequence[str], writer: SummaryWriter | None) -> str | None:
    """Let a language model write; None where there is none, it fails, or it says what no member says."""
    if writer is None:
        return None
    try:
        text = check_text((await writer.write(texts)).strip(), "summary", limit=SUMMARY_CHARACTERS)
    except LanguageUnavailableError as error:
        log.warning("a summary is quoted instead of written: %s", error.message)
        return None
    except MemoriaError as error:
        log.warning("a written summary cannot be stored: %s", error.code)
        return None
    if not says_only(text, texts):
        log.warning("a written summary says more than its members: it is quoted instead")
        return None
    return text


def _fields(memory_id: int, text: str, members: Sequence[Memory]) -> MemoryFields:
    first = members[0]
    salience = max(member.salience for member in members)
    tier = max((first_tier(MemoryType.SEMANTIC, salience), *(m.tier for m in members)), key=TIERS.index)
    context = shared_pairs(members)
    content_hash = hash_content(text)
    return MemoryFields(
        content=text,
        type=MemoryType.SEMANTIC,
        tier=tier,
        salience=salience,
        confidence=max(member.confidence for member in members),
        title=_shared([member.title for member in members]),
        tags=shared_tags(members),
        category=_shared([member.category for member in members]),
        source=Source.SYSTEM,
        url=first.url,
        site=first.site,
        related_urls=(),
        project=first.project,
        context=context,
        metadata=None,
        pinned=False,
        session=context.get(SESSION_KEY),
        occurred_at=max(member.occurred_at for member in members),
        expires_at=None,
        content_hash=content_hash,
        duplicate_hash=hash_own(content_hash, memory_id),
    )


def _shared(values: Sequence[str | None]) -> str | None:
    return values[0] if len(set(values)) == 1 else None


async def store_summary(
    connection: Connection,
    org_id: UUID,
    namespace: Namespace,
    draft: Draft,
    near: Sequence[tuple[int, float]],
    now: datetime,
) -> bool:
    """Store a draft and supersede its members; False when one of them has changed meanwhile.

    `near` are the quoted member's nearest by falling cosine, for the summary's own edges.
    """
    members = draft.cluster.members
    if not await _are_unchanged(connection, org_id, members):
        return False
    fields = draft.prepared.fields
    row = MemoryRow(draft.memory_id, None, fields, tuple(draft.prepared.frequencies), draft.prepared.length)
    await memories.insert_memories(connection, org_id, namespace.id, [row], now)
    embedded = await _index(connection, org_id, namespace.id, draft)
    cosines = draft.cluster.cosines[draft.quoted].tolist()
    joined: dict[int, float | None] = {m.id: cosine for m, cosine in zip(members, cosines, strict=True)}
    made = NewSummary(
        summary_id=draft.memory_id,
        detector=Detector.REPETITION,
        cosine=least_pair(draft.cluster.cosines),
        writer=draft.writer,
        scope=draft.cluster.scope,
        started_at=min(member.occurred_at for member in members),
        members=joined,
    )
    await consolidations.insert_summaries(connection, org_id, namespace.id, [made], now)
    await _supersede(connection, org_id, namespace.id, draft.memory_id, members, now)
    others = [(memory_id, cosine) for memory_id, cosine in near if memory_id not in joined]
    await edges.insert_edges(connection, org_id, namespace.id, semantic_edges(draft.memory_id, others), now)
    event = {"detector": Detector.REPETITION.value, "members": [format_id(memory_id) for memory_id in joined]}
    await memory_events.record_event(
        connection, org_id, draft.memory_id, event="consolidated", version=1, at=now, key_id=None, fields=event
    )
    await _grow(connection, org_id, namespace, memories=1, terms=draft.prepared.length, embeddings=embedded)
    return True


async def _grow(
    connection: Connection, org_id: UUID, namespace: Namespace, *, memories: int, terms: int, embeddings: int
) -> None:
    """Move the counters. Raises MovedError when the namespace has changed over to another embedder meanwhile."""
    if not await namespaces.grow_namespace(
        connection,
        org_id,
        namespace.id,
        memories=memories,
        terms=terms,
        embeddings=embeddings,
        embedder=namespace.embedder,
    ):
        raise MovedError("the namespace has changed over to another embedder")


async def _index(connection: Connection, org_id: UUID, namespace_id: int, draft: Draft) -> int:
    """Put a summary into both indexes; returns how many vectors it has."""
    terms = postings.MemoryTerms(draft.memory_id, draft.prepared.frequencies, draft.prepared.length)
    await postings.insert_postings(connection, org_id, namespace_id, [terms])
    if draft.vectors is None:
        return await embeddings.copy_embeddings(
            connection, org_id, namespace_id, draft.quoted_member.id, new_id=draft.memory_id
        )
    passages = [(draft.memory_id, draft.vectors[draft.prepared.passages])]
    return await embeddings.insert_embeddings(connection, org_id, namespace_id, passages)


async def _are_unchanged(connection: Connection, org_id: UUID, members: Sequence[Memory]) -> bool:
    """Lock memories, and see whether they still are what they were when they were compared."""
    ids = sorted(member.id for member in members)
    await memories.lock_memories(connection, org_id, ids)
    found = await memories.read_memories(connection, org_id, ids)
    return all(
        (now := found.get(member.id)) is not None
        and (now.version, now.pinned, now.state) == (member.version, False, MemoryState.ACTIVE)
        for member in members
    )


async def _supersede(
    connection: Connection,
    org_id: UUID,
    namespace_id: int,
    summary_id: int,
    members: Sequence[Memory],
    now: datetime,
) -> None:
    await edges.insert_edges(
        connection,
        org_id,
        namespace_id,
        [NewEdge(summary_id, member.id, EdgeType.SUPERSEDES, 1.0) for member in members],
        now,
    )
    ids = [member.id for member in members]
    await memories.set_state(connection, org_id, ids, MemoryState.SUPERSEDED, now)
    events = [superseded_by(member.id, member.version, summary_id, member.state.value) for member in members]
    await memory_events.record_events(connection, org_id, events, at=now, key_id=None)
    await consolidations.carry_learning(connection, org_id, summary_id, ids)
    await consolidations.inherit_denials(connection, org_id, summary_id, ids, now)


async def draft_extension(
    summary: Memory, made: Provenance, member: Memory, cosines: Floats, embedder: Embedder
) -> Extension:
    """Prepare for a memory to join a summary; `cosines` are the memory's to the summary and to each of its members.

    Where the memory adds something, its sentence is quoted too. Raises EmbedderUnavailableError. Hold no connection.
    """
    least = min(float(cosines.min()), 1.0 if made.cosine is None else made.cosine)
    text = summarize([summary.content, member.content], 0).text
    if text == summary.content.strip():
        return Extension(summary, member, float(cosines[0]), least, None, {})
    content_hash = hash_content(text)
    base = _fields(summary.id, text, [summary])
    fields = replace(
        base, tier=summary.tier, content_hash=content_hash, duplicate_hash=hash_own(content_hash, summary.id)
    )
    prepared = prepare_whole(NewMemory(text), fields, embedder)
    return Extension(summary, member, float(cosines[0]), least, prepared, await embed_prepared(embedder, [prepared]))


async def store_extension(
    connection: Connection, org_id: UUID, namespace: Namespace, extension: Extension, now: datetime
) -> bool:
    """Let a memory join a summary; False when one of the two has changed meanwhile."""
    summary, member = extension.summary, extension.member
    if not await _are_unchanged(connection, org_id, [summary, member]):
        return False
    made = (await consolidations.read_provenances(connection, org_id, [summary.id])).get(summary.id)
    if made is None or made.adopted_at is not None:
        return False
    await consolidations.add_members(connection, org_id, {summary.id: {member.id: extension.cosine}}, now)
    await _supersede(connection, org_id, namespace.id, summary.id, [member], now)
    writer = made.writer
    version = summary.version
    if extension.prepared is not None:
        await _rewrite(connection, org_id, namespace, extension, now)
        writer, version = QUOTING, version + 1
    await consolidations.update_summary(
        connection, org_id, summary.id, cosine=extension.least_cosine, writer=writer, now=now
    )
    await memory_events.record_event(
        connection,
        org_id,
        summary.id,
        event="extended",
        version=version,
        at=now,
        key_id=None,
        fields={"members": [format_id(member.id)]},
    )
    return True


async def _rewrite(
    connection: Connection, org_id: UUID, namespace: Namespace, extension: Extension, now: datetime
) -> None:
    """Give a summary its longer text, in the memory and in both indexes."""
    summary, prepared = extension.summary, extension.prepared
    if prepared is None:
        return
    row = await memories.lock_memory(connection, org_id, summary.id)
    if row is None:
        raise memories.no_such_memory()
    new_row = MemoryRow(summary.id, None, prepared.fields, tuple(prepared.frequencies), prepared.length)
    await memories.update_memory(connection, org_id, new_row, version=summary.version + 1, now=now)
    await postings.delete_postings(connection, org_id, namespace.id, row["terms"], [summary.id])
    terms = postings.MemoryTerms(summary.id, prepared.frequencies, prepared.length)
    await postings.insert_postings(connection, org_id, namespace.id, [terms])
    removed = await embeddings.delete_embeddings(connection, org_id, namespace.id, [summary.id])
    passages = [(summary.id, extension.vectors[prepared.passages])]
    inserted = await embeddings.insert_embeddings(connection, org_id, namespace.id, passages)
    longer = prepared.length - row["term_count"]
    await _grow(connection, org_id, namespace, memories=0, terms=longer, embeddings=inserted - removed)
