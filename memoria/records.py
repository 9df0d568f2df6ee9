"""Define the immutable records that cross the engine's boundary."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from memoria.intention_records import Intention
from memoria.vocabulary import (
    CONTEXT_TOKENS,
    PRUNE_THRESHOLD,
    TIER_HALF_LIFE_DAYS,
    Confidence,
    ContextMode,
    EdgeType,
    Granularity,
    Intent,
    Intervention,
    MemoryState,
    MemoryType,
    Scope,
    Source,
    Tier,
)

JsonObject = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Principal:
    """Say who is calling: one key (or person) of one organization, and what it may touch.

    `namespace_patterns` are exact names or prefixes that end in `*`; empty means every namespace of the organization.
    """

    org_id: UUID
    own_namespace: str
    key_id: UUID | None = None
    scopes: frozenset[Scope] = frozenset(Scope)
    namespace_patterns: tuple[str, ...] = ()
    default_namespace: str | None = None


@dataclass(frozen=True, slots=True)
class NewMemory:
    """Hold what a client asks to store; the engine validates it.

    `type` may also be `buffer` or `core`, which mean Episodic with that first tier. `salience` and `salience_hint`
    are 0–1; times are timezone-aware; `context` is up to 32 string pairs.
    """

    content: str
    type: str = "Episodic"
    namespace: str | None = None
    salience: float | None = None
    salience_hint: float | None = None
    confidence: float = 0.8
    title: str | None = None
    tags: tuple[str, ...] = ()
    category: str | None = None
    source: str | None = None
    url: str | None = None
    related_urls: tuple[str, ...] = ()
    project: str | None = None
    context: Mapping[str, str] = field(default_factory=dict)
    metadata: JsonObject | None = None
    occurred_at: datetime | None = None
    expires_at: datetime | None = None
    ttl_seconds: int | None = None
    pinned: bool = False
    chunk: bool = False


@dataclass(frozen=True, slots=True)
class Memory:
    """Be one stored memory. Ids are 64-bit; `identifiers.format_id` gives the public form."""

    id: int
    namespace: str
    content: str
    type: MemoryType
    tier: Tier
    state: MemoryState
    salience: float
    utility: float
    confidence: float
    title: str | None
    tags: tuple[str, ...]
    category: str | None
    source: Source | None
    url: str | None
    site: str | None
    related_urls: tuple[str, ...]
    project: str | None
    context: Mapping[str, str]
    metadata: JsonObject | None
    pinned: bool
    part_of: int | None
    occurred_at: datetime
    created_at: datetime
    updated_at: datetime
    last_accessed_at: datetime
    expires_at: datetime | None
    access_count: int
    version: int
    content_hash: bytes


@dataclass(frozen=True, slots=True)
class Encoded:
    """Answer an encode: the memory, whether it was already there, and the request's fields that were not applied then.

    `chunk_ids` are the parts of a memory stored with `chunk`, in reading order; `supersedes` and `contradicts` the
    older memories that it takes the place of, or gives another value than.
    """

    memory: Memory
    duplicate: bool = False
    ignored_fields: tuple[str, ...] = ()
    chunk_ids: tuple[int, ...] = ()
    supersedes: tuple[int, ...] = ()
    contradicts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class EncodeFailure:
    """Say why one item of a batch that is not atomic was refused."""

    code: str
    message: str
    details: JsonObject


@dataclass(frozen=True, slots=True)
class Filters:
    """Narrow a recall, a search, a list or a forget; a field that is None (or empty) does not narrow.

    `project` also lets through the memories that have none. `context` pairs must all match. Ranges are
    half-open: `…_after` is included, `…_before` is not.
    """

    types: tuple[MemoryType, ...] = ()
    tiers: tuple[Tier, ...] = ()
    states: tuple[MemoryState, ...] = ()
    tags_any: tuple[str, ...] = ()
    tags_all: tuple[str, ...] = ()
    tags_none: tuple[str, ...] = ()
    category: str | None = None
    source: Source | None = None
    site: str | None = None
    url: str | None = None
    project: str | None = None
    context: Mapping[str, str] = field(default_factory=dict)
    created_after: datetime | None = None
    created_before: datetime | None = None
    occurred_after: datetime | None = None
    occurred_before: datetime | None = None
    salience_min: float | None = None
    salience_max: float | None = None


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """Ask for what a query lights up. Either `query` or `url` must be given.

    `limit` is 1–100 results, `token_budget` caps their summed tokens, `include` adds states that are hidden by
    default (`archived`, `quarantined`, `expired`), `min_score` drops weaker results, `learn=False` leaves no trace.
    `at` looks back: it returns what was valid at that moment alone, scored as of then, and teaches nothing. `time_zone`
    is where the query's words of time ("yesterday") are meant: an IANA name.
    `spreading=False` returns the seeds alone and is for measuring.
    """

    query: str | None
    namespace: str | None = None
    limit: int = 10
    token_budget: int | None = None
    filters: Filters = Filters()
    include: tuple[str, ...] = ()
    min_score: float | None = None
    url: str | None = None
    explain: bool = False
    learn: bool = True
    spreading: bool = True
    at: datetime | None = None
    time_zone: str = "UTC"


@dataclass(frozen=True, slots=True)
class PathStep:
    """Be one crossing on the strongest path from a seed to a result."""

    memory_id: int
    edge_type: EdgeType
    weight: float


@dataclass(frozen=True, slots=True)
class Hit:
    """Be one recalled memory: its score, its activation, the hops to it and the path from the seed (first id) to it.

    `factors` maps every factor of the score to its value and is filled when `explain` was asked for.
    """

    memory: Memory
    score: float
    activation: float
    hops: int
    seed_id: int
    path: tuple[PathStep, ...]
    tokens: int
    factors: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TimeRange:
    """Be a half-open range of time, in UTC; None is open. `phrase` are the words that name it, in small letters."""

    start: datetime | None
    end: datetime | None
    phrase: str
    granularity: Granularity


@dataclass(frozen=True, slots=True)
class Recall:
    """Answer a recall, best first.

    `candidates` (every candidate, also those cut) is filled by `explain` alone. `requery` says that the same key asked
    much the same in the same namespace a moment ago. `intentions` are those that it triggers.
    """

    recall_id: int
    hits: tuple[Hit, ...]
    intent: Intent
    total_candidates: int
    tokens_used: int
    context_mode: ContextMode
    confidence: Confidence = Confidence.NONE
    intervention: Intervention = Intervention.NONE
    requery: bool = False
    time_range: TimeRange | None = None
    candidates: tuple[Hit, ...] = ()
    intentions: tuple[Intention, ...] = ()


@dataclass(frozen=True, slots=True)
class ContextRequest:
    """Ask for a text block of at most `token_budget` tokens, ready to stand in a model's prompt."""

    query: str | None
    namespace: str | None = None
    token_budget: int = CONTEXT_TOKENS
    url: str | None = None
    project: str | None = None
    format: str = "markdown"
    time_zone: str = "UTC"


@dataclass(frozen=True, slots=True)
class Context:
    """Answer a context request; `warnings` are sentences for the caller (nothing found, results left out)."""

    text: str
    memories: tuple[Memory, ...]
    tokens_used: int
    recall_id: int
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """Ask for a ranked page without spreading or learning. `sort` is `relevance`, `recent` or `salience`."""

    query: str = ""
    namespace: str | None = None
    filters: Filters = Filters()
    include: tuple[str, ...] = ()
    sort: str = "relevance"
    limit: int = 50
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class SearchHit:
    """Be one found memory, its score (0–1 within the query) and the query's words that stand in it."""

    memory: Memory
    score: float
    matched_terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SearchPage:
    """Be one page of a search; `total` counts the memories that pass the filters."""

    items: tuple[SearchHit, ...]
    next_cursor: str | None
    total: int


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """Be one page of a list, newest first; `total` counts all that match."""

    items: tuple[Memory, ...]
    next_cursor: str | None
    total: int


@dataclass(frozen=True, slots=True)
class MemoryPatch:
    """Name the fields to change; a name that is absent from `changes` stays as it is.

    Keys are the writable field names of `NewMemory` but `namespace` and `chunk`; None clears an optional field.
    `expected_version` refuses the change with a conflict when the memory has moved on.
    """

    changes: Mapping[str, Any]
    expected_version: int | None = None


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """Be one event of a memory's life: a version (with the content it had) or a move between tiers or states."""

    event: str
    version: int
    at: datetime
    key_id: UUID | None
    fields: JsonObject


@dataclass(frozen=True, slots=True)
class Edge:
    """Join two memories of one namespace; `weight` is 0–1."""

    source_id: int
    target_id: int
    type: EdgeType
    weight: float
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Neighbor:
    """Be one edge of a memory and the memory at its other end; `outgoing` says which way the edge points."""

    edge: Edge
    memory: Memory
    outgoing: bool


@dataclass(frozen=True, slots=True)
class NeighborPage:
    """Be one page of a memory's edges, heaviest first."""

    items: tuple[Neighbor, ...]
    next_cursor: str | None
    total: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """Be one piece of a text, cut on sentence and code-block borders; offsets are characters of the whole text."""

    index: int
    content: str
    start: int
    end: int
    tokens: int


@dataclass(frozen=True, slots=True)
class NamespaceStats:
    """Count what a namespace holds, by tier, type, state and edge type."""

    namespace: str
    memories: int
    by_tier: Mapping[str, int]
    by_type: Mapping[str, int]
    by_state: Mapping[str, int]
    edges_by_type: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class NamespaceInfo:
    """Name one namespace of the organization and its size."""

    name: str
    memories: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class NamespacePage:
    """Be one page of namespaces, by name."""

    items: tuple[NamespaceInfo, ...]
    next_cursor: str | None
    total: int


@dataclass(frozen=True, slots=True)
class ForgetResult:
    """Say which memories were deleted (or, in a dry run, would be)."""

    ids: tuple[int, ...]
    dry_run: bool


@dataclass(frozen=True, slots=True)
class Policy:
    """Say what a namespace keeps for how long; the values here hold where nothing was set.

    `half_life_days` names every tier. `max_memories` and `delete_archived_after_days` are off when None. With `enabled`
    off nothing moves, is archived or deleted in the background; expiry, which each memory asks for itself, goes on.
    """

    half_life_days: Mapping[Tier, float] = field(default_factory=lambda: dict(TIER_HALF_LIFE_DAYS))
    prune_threshold: float = PRUNE_THRESHOLD
    max_memories: int | None = None
    enabled: bool = True
    delete_archived_after_days: int | None = None


@dataclass(frozen=True, slots=True)
class PolicyChanges:
    """Name the fields of a policy that differ from the one they are put on, keys as the fields of `Policy`.

    `half_life_days` may name some tiers only; None turns off what can be off.
    """

    changes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NamespacePolicy:
    """Name a namespace and the policy that holds in it."""

    namespace: str
    policy: Policy


@dataclass(frozen=True, slots=True)
class PruneResult:
    """Count what a policy did to a namespace or, in a dry run, would do; `remaining` are the memories left in recall.

    Documents count once, their parts not at all.
    """

    namespace: str
    moved_up: int
    moved_down: int
    archived: int
    deleted: int
    remaining: int
    dry_run: bool


@dataclass(frozen=True, slots=True)
class Once:
    """Make a write happen once: the client's key, a digest of its request, and how its answer is stored.

    `render` turns the engine's result into the bytes that a repeat will be answered with.
    """

    key: str
    request_digest: bytes
    render: Callable[[Any], bytes]


@dataclass(frozen=True, slots=True)
class Replay:
    """Be the stored answer of an earlier request with the same idempotency key."""

    answer: bytes
