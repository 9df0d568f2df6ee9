"""Define the JSON of prospective memory: intentions and what triggers them."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Discriminator, Field, Tag, WithJsonSchema

from memoria.identifiers import IdKind, format_id
from memoria.intention_records import (
    EventTrigger,
    Intention,
    IntentionCheck,
    IntentionPatch,
    KeywordTrigger,
    NewIntention,
    SemanticTrigger,
    TimeTrigger,
    Trigger,
)
from memoria.vocabulary import (
    DEFAULT_PRIORITY,
    MAX_EVENT_CHARACTERS,
    MAX_INTENTION_CHARACTERS,
    MAX_KEYWORD_CHARACTERS,
    MAX_KEYWORDS,
    MAX_THRESHOLD,
    MAX_TRIGGER_TEXT_CHARACTERS,
    MIN_THRESHOLD,
    TRIGGER_THRESHOLD,
    IntentionStatus,
    TriggerType,
)
from server.wire.fields import (
    Body,
    Moment,
    Name,
    Namespace,
    Share,
    Text,
    as_tuple,
    enum_of,
    one_of,
    parse_several,
    pascal,
    several,
)
from server.wire.filters import NamespaceQuery, PageQuery

STATUS_NAMES = tuple(pascal(status) for status in IntentionStatus)
TYPE_NAMES = tuple(str(kind) for kind in TriggerType)

Phrases = Annotated[list[Annotated[Name, Field(max_length=MAX_KEYWORD_CHARACTERS)]], Field(max_length=MAX_KEYWORDS)]
Content = Annotated[Name, Field(max_length=MAX_INTENTION_CHARACTERS)]
Statuses = Annotated[
    list[Annotated[IntentionStatus, BeforeValidator(enum_of(IntentionStatus))]],
    BeforeValidator(parse_several),
    several({"type": "string", "enum": list(STATUS_NAMES)}),
]


class KeywordBody(Body):
    """Wait for words: every phrase of `all`, and one of `any` if there are any. At least one phrase must be given."""

    type: Annotated[str, *one_of("Keyword")]
    any: Annotated[Phrases, Field(description="One of these must be there.")] = Field(default_factory=list)
    all: Annotated[Phrases, Field(description="Each of these must be there.")] = Field(default_factory=list)

    def to_record(self) -> Trigger:
        """Make the engine's record."""
        return KeywordTrigger(tuple(self.any), tuple(self.all))


class TimeBody(Body):
    """Wait for a moment and, with `every`, again and again."""

    type: Annotated[str, *one_of("Time")]
    at: Moment
    every: Annotated[Name | None, Field(description="`P1D`, `PT12H`, or a rule such as `FREQ=WEEKLY;BYDAY=MO`.")] = None
    time_zone: Annotated[Name, Field(description="IANA name: whose calendar days are counted by.")] = "UTC"

    def to_record(self) -> Trigger:
        """Make the engine's record."""
        return TimeTrigger(self.at, self.every, self.time_zone)


class SemanticBody(Body):
    """Wait for a text that means much the same."""

    type: Annotated[str, *one_of("Semantic")]
    text: Annotated[Name, Field(max_length=MAX_TRIGGER_TEXT_CHARACTERS)]
    threshold: Annotated[float, Field(ge=MIN_THRESHOLD, le=MAX_THRESHOLD, description="Cosine.")] = TRIGGER_THRESHOLD

    def to_record(self) -> Trigger:
        """Make the engine's record."""
        return SemanticTrigger(self.text, self.threshold)


class EventBody(Body):
    """Wait for an event that a check names."""

    type: Annotated[str, *one_of("Event")]
    name: Annotated[Name, Field(max_length=MAX_EVENT_CHARACTERS)]

    def to_record(self) -> Trigger:
        """Make the engine's record."""
        return EventTrigger(self.name)


def _type_of(value: Any) -> str | None:
    named = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    found = next((name for name in TYPE_NAMES if isinstance(named, str) and named.lower() == name.lower()), None)
    return found and f"[{found}]"  # as other parts of unions that are no fields


TriggerBody = Annotated[
    Annotated[KeywordBody, Tag("[Keyword]")]
    | Annotated[TimeBody, Tag("[Time]")]
    | Annotated[SemanticBody, Tag("[Semantic]")]
    | Annotated[EventBody, Tag("[Event]")],
    Discriminator(
        _type_of,
        custom_error_type="trigger_type",
        custom_error_message=f"must be an object whose `type` is one of {', '.join(TYPE_NAMES)}",
    ),
]


class IntentionBody(Body):
    """Ask to be reminded."""

    content: Content
    trigger: TriggerBody
    priority: Annotated[Share, Field(description="What is triggered together comes by it, the highest first.")] = (
        DEFAULT_PRIORITY
    )
    expires_at: Moment | None = None
    namespace: Namespace | None = None

    def to_record(self, namespace: str | None) -> NewIntention:
        """Make the engine's record; `namespace` applies where the body names none."""
        return NewIntention(
            self.content, self.trigger.to_record(), self.priority, self.expires_at, self.namespace or namespace
        )


def _absent() -> Any:
    """Leave a field of a patch out: it has no default to show, and null means another thing."""
    return None


class IntentionPatchBody(Body):
    """Change the fields that are named."""

    content: Content = Field(default_factory=_absent)
    trigger: TriggerBody = Field(default_factory=_absent)
    priority: Share = Field(default_factory=_absent)
    expires_at: Moment | None = Field(default_factory=_absent)
    status: Annotated[str, *one_of("Pending", "Cancelled")] = Field(default_factory=_absent)

    def to_patch(self) -> IntentionPatch:
        """Make the engine's record."""
        changes = {name: getattr(self, name) for name in self.model_fields_set}
        if "trigger" in changes:
            changes["trigger"] = changes["trigger"].to_record()
        return IntentionPatch(changes)


class IntentionsQuery(PageQuery, NamespaceQuery):
    """Choose a page of intentions."""

    status: Annotated[Statuses | None, Field(description="Only intentions in one of these.")] = None

    def to_statuses(self) -> tuple[IntentionStatus, ...]:
        """Make the engine's words for the statuses; none means all."""
        return as_tuple(self.status)


class CheckBody(Body):
    """Say what may trigger intentions. Time that has passed always does."""

    text: Annotated[Text | None, Field(description="What was said or is being done.")] = None
    event: Annotated[Name | None, Field(max_length=MAX_EVENT_CHARACTERS, description="What has happened.")] = None
    now: Annotated[Moment | None, Field(description="Check as of then; by default by the service's clock.")] = None
    namespace: Namespace | None = None

    def to_record(self, namespace: str | None) -> IntentionCheck:
        """Make the engine's record; `namespace` applies where the body names none."""
        return IntentionCheck(self.text, self.event, self.now, self.namespace or namespace)


class KeywordOut(BaseModel):
    """Be a trigger by words."""

    type: Literal["Keyword"]
    any: list[str]
    all: list[str]


class TimeOut(BaseModel):
    """Be a trigger by the clock."""

    type: Literal["Time"]
    at: datetime
    every: str | None
    time_zone: str


class SemanticOut(BaseModel):
    """Be a trigger by meaning."""

    type: Literal["Semantic"]
    text: str
    threshold: float


class EventOut(BaseModel):
    """Be a trigger by an event."""

    type: Literal["Event"]
    name: str


TriggerOut = KeywordOut | TimeOut | SemanticOut | EventOut


class IntentionOut(BaseModel):
    """Be one intention. `next_at` is when the clock triggers it next, `triggered_at` when it was last triggered."""

    id: str
    namespace: str
    content: str
    trigger: TriggerOut
    priority: float
    status: Annotated[str, WithJsonSchema({"type": "string", "enum": list(STATUS_NAMES)})]
    next_at: datetime | None
    triggered_at: datetime | None
    triggered_count: int
    completed_at: datetime | None
    expires_at: datetime | None
    created_at: datetime
    updated_at: datetime


class IntentionPageOut(BaseModel):
    """Be one page of intentions, the highest priority first."""

    items: list[IntentionOut]
    next_cursor: str | None
    total: int


class TriggeredOut(BaseModel):
    """Be what a check has triggered, the highest priority first."""

    triggered: list[IntentionOut]


def render_trigger(trigger: Trigger) -> TriggerOut:
    """Show what an intention waits for."""
    if isinstance(trigger, KeywordTrigger):
        return KeywordOut(type="Keyword", any=list(trigger.any), all=list(trigger.all))
    if isinstance(trigger, TimeTrigger):
        return TimeOut(type="Time", at=trigger.at, every=trigger.every, time_zone=trigger.time_zone)
    if isinstance(trigger, SemanticTrigger):
        return SemanticOut(type="Semantic", text=trigger.text, threshold=trigger.threshold)
    return EventOut(type="Event", name=trigger.name)


def render_intention(intention: Intention) -> IntentionOut:
    """Show an intention."""
    return IntentionOut.model_construct(
        id=format_id(intention.id, IdKind.INTENTION),
        namespace=intention.namespace,
        content=intention.content,
        trigger=render_trigger(intention.trigger),
        priority=intention.priority,
        status=pascal(intention.status),
        next_at=intention.next_at,
        triggered_at=intention.triggered_at,
        triggered_count=intention.triggered_count,
        completed_at=intention.completed_at,
        expires_at=intention.expires_at,
        created_at=intention.created_at,
        updated_at=intention.updated_at,
    )
