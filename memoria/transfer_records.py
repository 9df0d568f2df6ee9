"""Define the records of export, import and erasure that cross a boundary."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from memoria.intention_records import Trigger
from memoria.records import JsonObject, Policy
from memoria.vocabulary import Detector, EdgeType, IntentionStatus, MemoryState, MemoryType, Source, Tier

# Export and import


@dataclass(frozen=True, slots=True)
class CarriedStanding:
    """Hold what a memory has come to since it was written: what only the service writes."""

    tier: Tier
    state: MemoryState
    salience: float
    utility: float
    created_at: datetime
    updated_at: datetime
    last_accessed_at: datetime
    tier_since: datetime | None
    access_count: int
    useful_count: int
    version: int


@dataclass(frozen=True, slots=True)
class CarriedPart:
    """Be a part of a document, with its own text and standing; all else it has from the document.

    `weight` and `joined_at` are those of the edge that joins it to the document.
    """

    id: int
    content: str
    standing: CarriedStanding
    weight: float
    joined_at: datetime


@dataclass(frozen=True, slots=True)
class CarriedSummary:
    """Say how consolidation made a memory; its members are carried by themselves."""

    detector: Detector
    cosine: float | None
    writer: str
    scope: str
    started_at: datetime
    made_at: datetime
    updated_at: datetime
    adopted_at: datetime | None


@dataclass(frozen=True, slots=True)
class CarriedMemory:
    """Be a memory on its way out or in, a document with its parts in reading order."""

    id: int
    content: str
    type: MemoryType
    confidence: float
    title: str | None
    tags: tuple[str, ...]
    category: str | None
    source: Source | None
    url: str | None
    related_urls: tuple[str, ...]
    project: str | None
    context: Mapping[str, str]
    metadata: JsonObject | None
    pinned: bool
    occurred_at: datetime
    expires_at: datetime | None
    standing: CarriedStanding
    parts: tuple[CarriedPart, ...] = ()
    summary: CarriedSummary | None = None


@dataclass(frozen=True, slots=True)
class CarriedMember:
    """Say that a memory is a member of a summary."""

    summary_id: int
    member_id: int
    state_before: MemoryState
    cosine: float | None
    joined_at: datetime


@dataclass(frozen=True, slots=True)
class CarriedEvent:
    """Be one event of a memory's history."""

    memory_id: int
    number: int
    event: str
    version: int
    at: datetime
    key_id: UUID | None
    fields: JsonObject


@dataclass(frozen=True, slots=True)
class CarriedEdge:
    """Be an edge; `linked` says that a client made it."""

    source_id: int
    target_id: int
    type: EdgeType
    weight: float
    created_at: datetime
    linked: bool


@dataclass(frozen=True, slots=True)
class CarriedDampening:
    """Be the count of unhelpful marks of a memory for queries like one; its vector is made anew."""

    memory_id: int
    query: str
    marks: int
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class CarriedRefusal:
    """Say that a memory must not be merged again with the others of a group, which was undone."""

    group: int
    memory_id: int
    detector: Detector
    at: datetime


@dataclass(frozen=True, slots=True)
class CarriedIntention:
    """Be an intention as it stood; the vector of a meaning is made anew."""

    id: int
    content: str
    trigger: Trigger
    priority: float
    status: IntentionStatus
    next_at: datetime | None
    is_told: bool
    triggered_count: int
    triggered_at: datetime | None
    completed_at: datetime | None
    expires_at: datetime | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class TransferCounts:
    """Count what an export holds, or one outcome of an import. Parts are counted with their documents."""

    policies: int = 0
    memories: int = 0
    members: int = 0
    events: int = 0
    edges: int = 0
    dampenings: int = 0
    refused_merges: int = 0
    intentions: int = 0


@dataclass(frozen=True, slots=True)
class ExportHeader:
    """Begin an export: `counts` are those of the moment it began."""

    format: int
    namespace: str
    embedder: str | None
    exported_at: datetime
    counts: TransferCounts


@dataclass(frozen=True, slots=True)
class ExportEnd:
    """End an export: what comes without it was cut off. `counts` are those of the lines before."""

    counts: TransferCounts


@dataclass(frozen=True, slots=True)
class LineRefusal:
    """Say why a line of an import was not taken: its number, from 1, and the code and message of the error."""

    line: int
    code: str
    message: str


Carried = (
    ExportHeader
    | Policy
    | CarriedMemory
    | CarriedMember
    | CarriedEvent
    | CarriedEdge
    | CarriedDampening
    | CarriedRefusal
    | CarriedIntention
    | ExportEnd
)


@dataclass(frozen=True, slots=True)
class Export:
    """Be a namespace on its way out: the header, and then, page by page, all that belongs to it."""

    header: ExportHeader
    pages: AsyncIterator[list[Carried]]


@dataclass(frozen=True, slots=True)
class ImportLine:
    """Be one line of an import, as it was read, or why it could not be."""

    number: int
    size_bytes: int
    carried: Carried | LineRefusal


@dataclass(frozen=True, slots=True)
class ImportResult:
    """Say what became of every line.

    `skipped` were there already, as they are. `mapped` counts the memories that live under another id than in the
    export, `mappings` has the first of these ids; `refusals` are the first of `refused`. `is_complete` says that the
    export's last line was seen.
    """

    namespace: str
    lines: int
    is_complete: bool
    imported: TransferCounts
    skipped: TransferCounts
    mapped: int
    mappings: Mapping[int, int] = field(default_factory=dict)
    refused: int = 0
    refusals: tuple[LineRefusal, ...] = ()


# Erasure


@dataclass(frozen=True, slots=True)
class Erasure:
    """Prove an erasure: the rows of each table before and after; `after` is None while a job is at it."""

    namespace: str
    before: Mapping[str, int]
    after: Mapping[str, int] | None
    job_id: int | None = None
