"""Define the JSON that the service answers."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, Field, WithJsonSchema

from memoria.vocabulary import Confidence, ContextMode, Granularity, Intervention
from server.wire.fields import pascal
from server.wire.intentions import IntentionOut


def names(kind: type[StrEnum]) -> WithJsonSchema:
    """Describe a field by the names of an enum's members."""
    return WithJsonSchema({"type": "string", "enum": [pascal(member.value) for member in kind]})


class EncodedOut(BaseModel):
    """Answer an encode."""

    id: str
    tier: str
    namespace: str
    type: str
    salience: float
    state: str
    duplicate: bool
    ignored_fields: list[str]
    chunk_ids: list[str]
    supersedes: list[str]
    contradicts: list[str]
    version: int
    created_at: datetime


class MemoryOut(BaseModel):
    """Be one memory."""

    id: str
    namespace: str
    content: str
    type: str
    tier: str
    state: str
    salience: float
    utility: float
    confidence: float
    title: str | None
    tags: list[str]
    category: str | None
    source: str | None
    url: str | None
    site: str | None
    related_urls: list[str]
    project: str | None
    context: dict[str, str]
    metadata: dict[str, Any] | None
    pinned: bool
    part_of: str | None
    occurred_at: datetime
    created_at: datetime
    updated_at: datetime
    last_accessed_at: datetime
    expires_at: datetime | None
    access_count: int
    version: int
    content_hash: str


class MemoryPageOut(BaseModel):
    """Be one page of memories."""

    items: list[MemoryOut]
    next_cursor: str | None
    total: int


class PathStepOut(BaseModel):
    """Be one memory on the way from a seed; the seed itself was reached by no edge."""

    id: str
    edge: str | None
    weight: float | None


class HitOut(MemoryOut):
    """Be one recalled memory and why it was recalled; `factors` is filled when `explain` was asked for."""

    score: float
    activation: float
    hops: int
    path: list[PathStepOut]
    tokens: int
    factors: dict[str, float]


class TimeRangeOut(BaseModel):
    """Be the time that a query asks about: `phrase` are its words for it; a side that is null is open."""

    start: datetime | None
    end: datetime | None
    phrase: str
    granularity: Annotated[str, names(Granularity), Field(description="How exact it is; an event bounds it.")]


class RecallOut(BaseModel):
    """Answer a recall, best first; `candidates` is filled when `explain` was asked for."""

    results: list[HitOut]
    recall_id: str
    confidence: Annotated[str, names(Confidence), Field(description="How far to trust it; None: it is empty.")]
    context_mode: Annotated[str, names(ContextMode), Field(description="What the namespace holds, by its name.")]
    intervention: Annotated[str, names(Intervention), Field(description="What was done about too few or too many.")]
    requery: Annotated[bool, Field(description="The same key asked much the same here, less than 2 minutes ago.")]
    time_range: TimeRangeOut | None
    intent: str
    total_candidates: int
    tokens_used: int
    took_ms: float
    candidates: list[HitOut]
    intentions: Annotated[list[IntentionOut], Field(description="Those that the query or the time triggers.")]


class RecallBatchOut(BaseModel):
    """Answer several recalls, in the order asked."""

    items: list[RecallOut]
    took_ms: float


class ContextOut(BaseModel):
    """Be a text block for a prompt; `memories_used` are the ids of what it quotes."""

    context: str
    memories_used: list[str]
    tokens_used: int
    recall_id: str
    warnings: list[str]


class SearchHitOut(MemoryOut):
    """Be one found memory."""

    score: float
    matched_terms: list[str]


class SearchPageOut(BaseModel):
    """Be one page of a search; `total` counts what passes the filters."""

    items: list[SearchHitOut]
    next_cursor: str | None
    total: int


class HistoryEntryOut(BaseModel):
    """Be one event of a memory's life; `fields` holds what it was about, such as the content of a version."""

    event: str
    version: int
    at: datetime
    key_id: str | None
    fields: dict[str, Any]


class HistoryOut(BaseModel):
    """Be a memory's life, in order."""

    items: list[HistoryEntryOut]


class NeighborOut(BaseModel):
    """Be one edge and the memory at its other end; `outgoing` says which way the edge points."""

    edge: str
    weight: float
    outgoing: bool
    created_at: datetime
    memory: MemoryOut


class NeighborPageOut(BaseModel):
    """Be one page of a memory's edges."""

    items: list[NeighborOut]
    next_cursor: str | None
    total: int


class DeletedOut(BaseModel):
    """Confirm a deletion."""

    deleted: bool


class BatchErrorOut(BaseModel):
    """Say why one item was refused."""

    code: str
    message: str
    details: dict[str, Any]


class BatchItemOut(BaseModel):
    """Be the outcome of one item: what was stored, or the error."""

    status: int
    memory: EncodedOut | None
    error: BatchErrorOut | None


class BatchOut(BaseModel):
    """Be the outcome of a batch, in the order sent; `ids` holds null where an item was refused."""

    ids: list[str | None]
    items: list[BatchItemOut]
    encoded: int


class ForgottenOut(BaseModel):
    """Name what was deleted or, in a dry run, would be."""

    ids: list[str]
    deleted_count: int
    dry_run: bool


class DeletedCountOut(BaseModel):
    """Count what was deleted."""

    deleted_count: int


class ChunkOut(BaseModel):
    """Be one piece of a text; offsets are characters of the whole."""

    index: int
    content: str
    start: int
    end: int
    tokens: int


class ChunksOut(BaseModel):
    """Be a text in pieces."""

    chunks: list[ChunkOut]


class StatsOut(BaseModel):
    """Count what a namespace holds."""

    namespace: str
    memories: int
    by_tier: dict[str, int]
    by_type: dict[str, int]
    by_state: dict[str, int]
    edges_by_type: dict[str, int]


class NamespaceOut(BaseModel):
    """Be one namespace and its size."""

    name: str
    memories: int
    created_at: datetime


class NamespacePageOut(BaseModel):
    """Be one page of namespaces."""

    items: list[NamespaceOut]
    next_cursor: str | None
    total: int


class HealthOut(BaseModel):
    """Say that the process answers."""

    status: str
    version: str


class ReadyOut(BaseModel):
    """Say which of the parts answer: `ok`, `away`, or for the limiter `local` while each process limits by itself."""

    status: str
    database: str
    redis: str
    limiter: str
