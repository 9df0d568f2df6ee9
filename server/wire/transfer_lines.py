"""Define the lines of exports and imports: write them of the engine's records, and read them into these."""

from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, Field, PlainSerializer, TypeAdapter, ValidationError
from pydantic_core import to_json

from memoria.errors import ContentTooLargeError, MemoriaError
from memoria.records import Policy, PolicyChanges
from memoria.transfer_records import (
    Carried,
    CarriedDampening,
    CarriedEdge,
    CarriedEvent,
    CarriedIntention,
    CarriedMember,
    CarriedMemory,
    CarriedPart,
    CarriedRefusal,
    CarriedStanding,
    CarriedSummary,
    Export,
    ExportEnd,
    ExportHeader,
    ImportLine,
    LineRefusal,
    TransferCounts,
)
from memoria.validation import change_policy
from memoria.vocabulary import (
    MAX_CATEGORY_CHARACTERS,
    MAX_LINE_BYTES,
    MAX_PROJECT_CHARACTERS,
    MAX_RELATED_URLS,
    MAX_TAGS,
    MAX_TITLE_CHARACTERS,
    EdgeType,
    MemoryState,
    MemoryType,
    Source,
    Tier,
)
from server.problems import MalformedRequestError
from server.wire.fields import Body, JsonDocument, Moment, Name, Namespace, Pairs, Share, Text, Whole, enum_of, pascal
from server.wire.intention_lines import IntentionLine, render_intention_line
from server.wire.line_fields import DetectorName, MemoryId
from server.wire.mark_lines import DampeningLine, RefusedMergeLine
from server.wire.parsing import explain, parse_json
from server.wire.retention import PolicyBody

LARGEST_COUNT = 2**62
LARGEST_INTEGER = 2**31 - 1
MAX_PARTS = 10_000
MAX_LABEL_CHARACTERS = 500
EVENT_NAME = r"^[a-z_]{1,50}$"
LINE_END = b"\n"


def _parse_uuid(value: object) -> object:
    try:
        return UUID(value) if isinstance(value, str) else value
    except ValueError:
        raise ValueError("must be the id of a key") from None


KeyId = Annotated[UUID, BeforeValidator(_parse_uuid)]
Count = Annotated[Whole, Field(ge=0, le=LARGEST_COUNT)]
Ordinal = Annotated[Whole, Field(ge=1, le=LARGEST_INTEGER)]
TypeName = Annotated[MemoryType, BeforeValidator(enum_of(MemoryType))]
TierName = Annotated[Tier, BeforeValidator(enum_of(Tier))]
StateName = Annotated[MemoryState, BeforeValidator(enum_of(MemoryState)), PlainSerializer(pascal)]
SourceName = Annotated[Source, BeforeValidator(enum_of(Source))]
Cosine = Annotated[float, Field(ge=-1.001, le=1.001)]
Label = Annotated[Text, Field(max_length=MAX_LABEL_CHARACTERS)]
EdgeName = Annotated[EdgeType, BeforeValidator(enum_of(EdgeType))]


class CountsLine(Body):
    """Count lines by what they hold."""

    policies: Count
    memories: Count
    members: Count
    events: Count
    edges: Count
    dampenings: Count = 0
    refused_merges: Count = 0
    intentions: Count = 0


class HeaderLine(Body):
    """Begin an export."""

    kind: Literal["Header"] = "Header"
    format: Ordinal
    namespace: Namespace
    embedder: Text | None
    exported_at: Moment
    counts: CountsLine

    def to_record(self) -> Carried:
        """Make the engine's record."""
        counts = TransferCounts(**self.counts.model_dump())
        return ExportHeader(self.format, self.namespace, self.embedder, self.exported_at, counts)


class EndLine(Body):
    """End an export."""

    kind: Literal["End"] = "End"
    counts: CountsLine

    def to_record(self) -> Carried:
        """Make the engine's record."""
        return ExportEnd(TransferCounts(**self.counts.model_dump()))


class PolicyLine(PolicyBody):
    """Be the policy that a namespace was given."""

    kind: Literal["Policy"] = "Policy"

    def to_record(self) -> Carried:
        """Make the engine's record. Raises InvalidInputError."""
        return change_policy(Policy(), PolicyChanges(self.model_dump(exclude_unset=True, exclude={"kind"})))


class StandingFields(Body):
    """Hold what a memory has come to since it was written."""

    tier: TierName
    state: StateName
    salience: Share
    utility: Share
    created_at: Moment
    updated_at: Moment
    last_accessed_at: Moment
    tier_since: Moment | None
    access_count: Count
    useful_count: Count
    version: Ordinal

    def to_standing(self) -> CarriedStanding:
        """Make the engine's record."""
        return CarriedStanding(**{name: getattr(self, name) for name in StandingFields.model_fields})


class PartLine(StandingFields):
    """Be a part of a document, inside the document's line."""

    id: MemoryId
    content: Name
    weight: Share
    joined_at: Moment

    def to_part(self) -> CarriedPart:
        """Make the engine's record."""
        return CarriedPart(self.id, self.content, self.to_standing(), self.weight, self.joined_at)


class SummaryLine(Body):
    """Say how consolidation made a memory, inside the memory's line."""

    detector: DetectorName
    cosine: Cosine | None
    writer: Label
    scope: Label
    started_at: Moment
    made_at: Moment
    updated_at: Moment
    adopted_at: Moment | None

    def to_summary(self) -> CarriedSummary:
        """Make the engine's record."""
        return CarriedSummary(**{name: getattr(self, name) for name in SummaryLine.model_fields})


class MemberLine(Body):
    """Say that a memory is a member of a summary."""

    kind: Literal["Member"] = "Member"
    summary_id: MemoryId
    member_id: MemoryId
    state_before: StateName
    cosine: Cosine | None
    joined_at: Moment

    def to_record(self) -> Carried:
        """Make the engine's record."""
        return CarriedMember(self.summary_id, self.member_id, self.state_before, self.cosine, self.joined_at)


class MemoryLine(StandingFields):
    """Be a memory; a document with its parts."""

    kind: Literal["Memory"] = "Memory"
    id: MemoryId
    content: Name
    type: TypeName
    confidence: Share
    title: Annotated[Text | None, Field(max_length=MAX_TITLE_CHARACTERS)]
    tags: Annotated[list[Text], Field(max_length=MAX_TAGS)]
    category: Annotated[Text | None, Field(max_length=MAX_CATEGORY_CHARACTERS)]
    source: SourceName | None
    url: Text | None
    related_urls: Annotated[list[Text], Field(max_length=MAX_RELATED_URLS)]
    project: Annotated[Text | None, Field(max_length=MAX_PROJECT_CHARACTERS)]
    context: Pairs
    metadata: JsonDocument | None
    pinned: bool
    occurred_at: Moment
    expires_at: Moment | None
    parts: Annotated[list[PartLine], Field(max_length=MAX_PARTS)] = Field(default_factory=list)
    summary: SummaryLine | None = None

    def to_record(self) -> Carried:
        """Make the engine's record."""
        return CarriedMemory(
            id=self.id,
            content=self.content,
            type=self.type,
            confidence=self.confidence,
            title=self.title,
            tags=tuple(self.tags),
            category=self.category,
            source=self.source,
            url=self.url,
            related_urls=tuple(self.related_urls),
            project=self.project,
            context=self.context,
            metadata=self.metadata,
            pinned=self.pinned,
            occurred_at=self.occurred_at,
            expires_at=self.expires_at,
            standing=self.to_standing(),
            parts=tuple(part.to_part() for part in self.parts),
            summary=None if self.summary is None else self.summary.to_summary(),
        )


class EventLine(Body):
    """Be one event of a memory's history."""

    kind: Literal["Event"] = "Event"
    memory_id: MemoryId
    number: Ordinal
    event: Annotated[Text, Field(pattern=EVENT_NAME)]
    version: Ordinal
    at: Moment
    key_id: KeyId | None
    fields: JsonDocument

    def to_record(self) -> Carried:
        """Make the engine's record."""
        return CarriedEvent(self.memory_id, self.number, self.event, self.version, self.at, self.key_id, self.fields)


class EdgeLine(Body):
    """Be an edge between two memories."""

    kind: Literal["Edge"] = "Edge"
    source_id: MemoryId
    target_id: MemoryId
    type: EdgeName
    weight: Share
    created_at: Moment
    linked: bool

    def to_record(self) -> Carried:
        """Make the engine's record."""
        return CarriedEdge(self.source_id, self.target_id, self.type, self.weight, self.created_at, self.linked)


AnyLine = Annotated[
    HeaderLine
    | PolicyLine
    | MemoryLine
    | MemberLine
    | EventLine
    | EdgeLine
    | DampeningLine
    | RefusedMergeLine
    | IntentionLine
    | EndLine,
    Field(discriminator="kind"),
]
LINES: TypeAdapter[AnyLine] = TypeAdapter(AnyLine)


# Write


def render_line(carried: Carried) -> BaseModel:
    """Show one record as a line."""
    match carried:
        case ExportHeader():
            counts = _render_counts(carried.counts)
            return HeaderLine.model_construct(
                format=carried.format,
                namespace=carried.namespace,
                embedder=carried.embedder,
                exported_at=carried.exported_at,
                counts=counts,
            )
        case ExportEnd():
            return EndLine.model_construct(counts=_render_counts(carried.counts))
        case Policy():
            return _render_policy(carried)
        case CarriedMemory():
            return _render_memory(carried)
        case CarriedMember():
            return MemberLine.model_construct(**_values(carried))
        case CarriedEvent():
            return EventLine.model_construct(**_values(carried))
        case CarriedEdge():
            return EdgeLine.model_construct(**_values(carried))
        case CarriedDampening():
            return DampeningLine.model_construct(**_values(carried))
        case CarriedRefusal():
            return RefusedMergeLine.model_construct(**_values(carried))
        case CarriedIntention():
            return render_intention_line(carried)


def _render_counts(counts: TransferCounts) -> CountsLine:
    return CountsLine.model_construct(**_values(counts))


def _render_policy(policy: Policy) -> PolicyLine:
    days = {tier.value: value for tier, value in policy.half_life_days.items()}
    return PolicyLine.model_construct(**_values(policy) | {"half_life_days": days})


def _render_memory(memory: CarriedMemory) -> MemoryLine:
    values = _values(memory) | _values(memory.standing)
    parts = [
        PartLine.model_construct(
            id=part.id,
            content=part.content,
            weight=part.weight,
            joined_at=part.joined_at,
            **_values(part.standing),
        )
        for part in memory.parts
    ]
    del values["standing"]
    summary = None if memory.summary is None else SummaryLine.model_construct(**_values(memory.summary))
    return MemoryLine.model_construct(**values | {"parts": parts, "summary": summary})


def _values(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__slots__}


async def write_lines(export: Export) -> AsyncIterator[bytes]:
    """Write an export, a page at a time."""
    yield to_json(render_line(export.header)) + LINE_END
    async for page in export.pages:
        yield b"".join(to_json(render_line(carried)) + LINE_END for carried in page)


# Read


async def read_lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[ImportLine]:
    """Cut a body into lines and read each; what is wrong with one is told in its place. Blank lines say nothing."""
    number, rest, oversized = 0, bytearray(), 0
    async for chunk in chunks:
        *ended, last = chunk.split(LINE_END)
        for piece in ended:
            number += 1
            if line := _read_line(number, bytes(rest + piece), oversized + len(rest) + len(piece)):
                yield line
            rest, oversized = bytearray(), 0
        rest += last
        if len(rest) > MAX_LINE_BYTES:
            # Only counted from here on: no more of it is kept.
            rest, oversized = bytearray(), oversized + len(rest)
    if line := _read_line(number + 1, bytes(rest), oversized + len(rest)):
        yield line


def _read_line(number: int, text: bytes, size: int) -> ImportLine | None:
    if size > MAX_LINE_BYTES:
        return _refused(number, ContentTooLargeError(f"The line has {size:,} bytes; the limit is {MAX_LINE_BYTES:,}."))
    if not text.strip():
        return None
    try:
        return ImportLine(number, size, _parse_line(text))
    except MemoriaError as error:
        return _refused(number, error)


def _parse_line(text: bytes) -> Carried:
    try:
        value = parse_json(text)
    except MalformedRequestError:
        raise MalformedRequestError("The line is not JSON.") from None
    try:
        return LINES.validate_python(value).to_record()
    except ValidationError as error:
        raise explain(error) from None


def _refused(number: int, error: MemoriaError) -> ImportLine:
    return ImportLine(number, 0, LineRefusal(number, error.code, error.message))
