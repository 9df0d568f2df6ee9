"""Make the JSON that the service answers of the engine's records."""

from collections.abc import Mapping
from typing import Any

from memoria.identifiers import IdKind, format_id
from memoria.records import (
    Chunk,
    Context,
    Encoded,
    EncodeFailure,
    ForgetResult,
    HistoryEntry,
    Hit,
    Memory,
    NamespaceInfo,
    NamespaceStats,
    Neighbor,
    Recall,
    SearchHit,
    TimeRange,
)
from server.wire.fields import pascal
from server.wire.intentions import render_intention
from server.wire.responses import (
    BatchErrorOut,
    ChunkOut,
    ContextOut,
    EncodedOut,
    ForgottenOut,
    HistoryEntryOut,
    HitOut,
    MemoryOut,
    NamespaceOut,
    NeighborOut,
    PathStepOut,
    RecallOut,
    SearchHitOut,
    StatsOut,
    TimeRangeOut,
)


def render_recall_id(recall_id: int) -> str:
    """Write a recall's id."""
    return format_id(recall_id, IdKind.RECALL)


def render_encoded(encoded: Encoded) -> EncodedOut:
    """Show what an encode did."""
    memory = encoded.memory
    return EncodedOut.model_construct(
        id=format_id(memory.id),
        tier=str(memory.tier),
        namespace=memory.namespace,
        type=str(memory.type),
        salience=memory.salience,
        state=pascal(memory.state),
        duplicate=encoded.duplicate,
        ignored_fields=list(encoded.ignored_fields),
        chunk_ids=[format_id(chunk) for chunk in encoded.chunk_ids],
        supersedes=[format_id(older) for older in encoded.supersedes],
        contradicts=[format_id(older) for older in encoded.contradicts],
        version=memory.version,
        created_at=memory.created_at,
    )


def memory_values(memory: Memory) -> dict[str, Any]:
    """Name the public fields of a memory."""
    return {
        "id": format_id(memory.id),
        "namespace": memory.namespace,
        "content": memory.content,
        "type": str(memory.type),
        "tier": str(memory.tier),
        "state": pascal(memory.state),
        "salience": memory.salience,
        "utility": memory.utility,
        "confidence": memory.confidence,
        "title": memory.title,
        "tags": list(memory.tags),
        "category": memory.category,
        "source": None if memory.source is None else str(memory.source),
        "url": memory.url,
        "site": memory.site,
        "related_urls": list(memory.related_urls),
        "project": memory.project,
        "context": dict(memory.context),
        "metadata": None if memory.metadata is None else dict(memory.metadata),
        "pinned": memory.pinned,
        "part_of": None if memory.part_of is None else format_id(memory.part_of),
        "occurred_at": memory.occurred_at,
        "created_at": memory.created_at,
        "updated_at": memory.updated_at,
        "last_accessed_at": memory.last_accessed_at,
        "expires_at": memory.expires_at,
        "access_count": memory.access_count,
        "version": memory.version,
        "content_hash": memory.content_hash.hex(),
    }


def render_memory(memory: Memory) -> MemoryOut:
    """Show a memory."""
    return MemoryOut.model_construct(**memory_values(memory))


def render_hit(hit: Hit) -> HitOut:
    """Show a recalled memory; its path begins with the seed."""
    seed = PathStepOut.model_construct(id=format_id(hit.seed_id), edge=None, weight=None)
    steps = [
        PathStepOut.model_construct(id=format_id(step.memory_id), edge=str(step.edge_type), weight=step.weight)
        for step in hit.path
    ]
    return HitOut.model_construct(
        **memory_values(hit.memory),
        score=hit.score,
        activation=hit.activation,
        hops=hit.hops,
        path=[seed, *steps],
        tokens=hit.tokens,
        factors=dict(hit.factors),
    )


def _render_time_range(asked: TimeRange | None) -> TimeRangeOut | None:
    if asked is None:
        return None
    return TimeRangeOut.model_construct(
        start=asked.start, end=asked.end, phrase=asked.phrase, granularity=pascal(asked.granularity)
    )


def render_recall(recall: Recall, took_ms: float) -> RecallOut:
    """Show a recall."""
    return RecallOut.model_construct(
        results=[render_hit(hit) for hit in recall.hits],
        recall_id=render_recall_id(recall.recall_id),
        confidence=str(recall.confidence),
        context_mode=pascal(recall.context_mode),
        intervention=pascal(recall.intervention),
        requery=recall.requery,
        time_range=_render_time_range(recall.time_range),
        intent=pascal(recall.intent),
        total_candidates=recall.total_candidates,
        tokens_used=recall.tokens_used,
        took_ms=round(took_ms, 2),
        candidates=[render_hit(hit) for hit in recall.candidates],
        intentions=[render_intention(intention) for intention in recall.intentions],
    )


def render_context(context: Context) -> ContextOut:
    """Show a context block."""
    return ContextOut.model_construct(
        context=context.text,
        memories_used=[format_id(memory.id) for memory in context.memories],
        tokens_used=context.tokens_used,
        recall_id=render_recall_id(context.recall_id),
        warnings=list(context.warnings),
    )


def render_search_hit(hit: SearchHit) -> SearchHitOut:
    """Show a found memory."""
    return SearchHitOut.model_construct(
        **memory_values(hit.memory), score=hit.score, matched_terms=list(hit.matched_terms)
    )


def render_history_entry(entry: HistoryEntry) -> HistoryEntryOut:
    """Show an event of a memory's life."""
    return HistoryEntryOut.model_construct(
        event=pascal(entry.event),
        version=entry.version,
        at=entry.at,
        key_id=None if entry.key_id is None else str(entry.key_id),
        fields=dict(entry.fields),
    )


def render_neighbor(neighbor: Neighbor) -> NeighborOut:
    """Show an edge and its other end."""
    return NeighborOut.model_construct(
        edge=str(neighbor.edge.type),
        weight=neighbor.edge.weight,
        outgoing=neighbor.outgoing,
        created_at=neighbor.edge.created_at,
        memory=render_memory(neighbor.memory),
    )


def render_failure(failure: EncodeFailure) -> BatchErrorOut:
    """Show why an item was refused."""
    return BatchErrorOut(code=failure.code, message=failure.message, details=dict(failure.details))


def render_forgotten(result: ForgetResult) -> ForgottenOut:
    """Show what was deleted."""
    return ForgottenOut(
        ids=[format_id(memory_id) for memory_id in result.ids],
        deleted_count=0 if result.dry_run else len(result.ids),
        dry_run=result.dry_run,
    )


def render_chunk(chunk: Chunk) -> ChunkOut:
    """Show a piece of a text."""
    return ChunkOut(index=chunk.index, content=chunk.content, start=chunk.start, end=chunk.end, tokens=chunk.tokens)


def render_stats(stats: NamespaceStats) -> StatsOut:
    """Show the counts of a namespace."""
    return StatsOut(
        namespace=stats.namespace,
        memories=stats.memories,
        by_tier=dict(stats.by_tier),
        by_type=dict(stats.by_type),
        by_state=_pascal_keys(stats.by_state),
        edges_by_type=dict(stats.edges_by_type),
    )


def render_namespace(namespace: NamespaceInfo) -> NamespaceOut:
    """Show a namespace."""
    return NamespaceOut(name=namespace.name, memories=namespace.memories, created_at=namespace.created_at)


def _pascal_keys(counts: Mapping[str, int]) -> dict[str, int]:
    return {pascal(name): count for name, count in counts.items()}
