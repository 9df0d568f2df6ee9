"""Define the JSON bodies that the service takes, and make the engine's records of them."""

from dataclasses import replace
from typing import Annotated, Any

from pydantic import ConfigDict, Field, model_validator

from memoria.errors import InvalidInputError
from memoria.records import ContextRequest, Filters, MemoryPatch, NewMemory, RecallRequest, SearchRequest
from memoria.vocabulary import (
    CHUNK_TOKENS,
    CONTEXT_TOKENS,
    DEFAULT_CONFIDENCE,
    MAX_BATCH_MEMORIES,
    MAX_BATCH_QUERIES,
    MAX_CATEGORY_CHARACTERS,
    MAX_CHUNK_TOKENS,
    MAX_CONTEXT_TOKENS,
    MAX_FORGET_IDS,
    MAX_PAGE_LIMIT,
    MAX_PROJECT_CHARACTERS,
    MAX_RECALL_LIMIT,
    MAX_RELATED_URLS,
    MAX_TAGS,
    MAX_TITLE_CHARACTERS,
    MIN_CHUNK_TOKENS,
    MIN_CONTEXT_TOKENS,
)
from server.wire.fields import (
    MAX_TTL_SECONDS,
    Body,
    ClientSource,
    ContextFormat,
    HiddenState,
    JsonDocument,
    Moment,
    Name,
    Namespace,
    NewType,
    Pairs,
    SearchSort,
    Share,
    Text,
    Whole,
)
from server.wire.filters import FiltersBody

MAX_TOKEN_BUDGET = 1_000_000
ContextTokenBudget = Annotated[Whole, Field(ge=MIN_CONTEXT_TOKENS, le=MAX_CONTEXT_TOKENS)]
TokenBudget = Annotated[Whole, Field(ge=1, le=MAX_TOKEN_BUDGET)]
QUERY_OR_URL = ConfigDict(json_schema_extra={"anyOf": [{"required": ["query"]}, {"required": ["url"]}]})
TimeZone = Annotated[Text, Field(max_length=64, description="Where `yesterday` is meant: an IANA name.")]
Ttl = Annotated[Whole, Field(ge=1, le=MAX_TTL_SECONDS)]


def _absent() -> Any:
    """Leave a field of a patch out: it has no default to show, and null means another thing."""
    return None


class MemoryFields(Body):
    """Hold the fields of a memory that may have no value."""

    title: Annotated[Text | None, Field(max_length=MAX_TITLE_CHARACTERS)] = None
    category: Annotated[Text | None, Field(max_length=MAX_CATEGORY_CHARACTERS)] = None
    source: ClientSource | None = None
    url: Text | None = None
    project: Annotated[Text | None, Field(max_length=MAX_PROJECT_CHARACTERS)] = None
    metadata: JsonDocument | None = None
    expires_at: Moment | None = None
    ttl_seconds: Ttl | None = None


class EncodeBody(MemoryFields):
    """Store one memory."""

    content: Annotated[Name, Field(description="1 character to 64 KiB of UTF-8.")]
    type: NewType = "Episodic"
    namespace: Namespace | None = None
    salience: Annotated[Share | None, Field(description="Importance; without it, it is computed.")] = None
    salience_hint: Annotated[Share | None, Field(description="One signal among those it is computed from.")] = None
    confidence: Share = DEFAULT_CONFIDENCE
    tags: Annotated[list[Text], Field(max_length=MAX_TAGS)] = Field(default_factory=list)
    related_urls: Annotated[list[Text], Field(max_length=MAX_RELATED_URLS)] = Field(default_factory=list)
    context: Pairs = Field(default_factory=dict)
    occurred_at: Moment | None = None
    pinned: bool = False
    chunk: Annotated[bool, Field(description="Also store the parts of a long text, each linked to the whole.")] = False

    def to_record(self, namespace: str | None) -> NewMemory:
        """Make the engine's record; `namespace` applies where the body names none."""
        return NewMemory(
            content=self.content,
            type=self.type,
            namespace=self.namespace or namespace,
            salience=self.salience,
            salience_hint=self.salience_hint,
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
            occurred_at=self.occurred_at,
            expires_at=self.expires_at,
            ttl_seconds=self.ttl_seconds,
            pinned=self.pinned,
            chunk=self.chunk,
        )


class PatchBody(MemoryFields):
    """Change the fields that are named; null clears an optional one."""

    content: Name = Field(default_factory=_absent)
    type: NewType = Field(default_factory=_absent)
    salience: Share = Field(default_factory=_absent)
    confidence: Share = Field(default_factory=_absent)
    tags: Annotated[list[Text], Field(max_length=MAX_TAGS)] = Field(default_factory=_absent)
    related_urls: Annotated[list[Text], Field(max_length=MAX_RELATED_URLS)] = Field(default_factory=_absent)
    context: Pairs = Field(default_factory=_absent)
    occurred_at: Moment = Field(default_factory=_absent)
    pinned: bool = Field(default_factory=_absent)

    def to_patch(self, expected_version: int | None) -> MemoryPatch:
        """Make the engine's record."""
        changes = {name: getattr(self, name) for name in self.model_fields_set}
        for name in ("tags", "related_urls"):
            if name in changes:
                changes[name] = tuple(changes[name])
        return MemoryPatch(changes, expected_version)


class RecallBody(Body):
    """Ask for what a query, or a page, brings to mind."""

    model_config = QUERY_OR_URL

    query: Text | None = None
    namespace: Namespace | None = None
    token_budget: TokenBudget | None = None
    limit: Annotated[Whole, Field(ge=1, le=MAX_RECALL_LIMIT)] = 10
    filters: FiltersBody = FiltersBody()
    project: Text | None = None
    include: list[HiddenState] = Field(default_factory=list)
    min_score: Annotated[float, Field(ge=0)] | None = None
    url: Annotated[Text | None, Field(description="Boosts what belongs to this page, then to its site.")] = None
    explain: Annotated[bool, Field(description="Also answer every candidate and every factor.")] = False
    learn: Annotated[bool, Field(description="False leaves no trace of this recall.")] = True
    at: Annotated[Moment | None, Field(description="Answer only what was valid at this time.")] = None
    time_zone: TimeZone = "UTC"

    @model_validator(mode="after")
    def _asks_something(self) -> "RecallBody":
        if self.query is None and self.url is None:
            raise ValueError("either query or url must be given")
        return self

    def to_request(self, namespace: str | None) -> RecallRequest:
        """Make the engine's record."""
        return RecallRequest(
            query=self.query,
            namespace=self.namespace or namespace,
            limit=self.limit,
            token_budget=self.token_budget,
            filters=narrow_to_project(self.filters.to_filters(), self.project),
            include=tuple(state.lower() for state in self.include),
            min_score=self.min_score,
            url=self.url,
            explain=self.explain,
            learn=self.learn,
            at=self.at,
            time_zone=self.time_zone,
        )


class RecallBatchBody(Body):
    """Ask several queries at once."""

    queries: Annotated[list[RecallBody], Field(min_length=1, max_length=MAX_BATCH_QUERIES)]


class ContextBody(Body):
    """Ask for a text block that is ready to stand in a prompt."""

    model_config = QUERY_OR_URL

    query: Text | None = None
    namespace: Namespace | None = None
    token_budget: ContextTokenBudget = CONTEXT_TOKENS
    url: Text | None = None
    project: Text | None = None
    format: ContextFormat = "markdown"
    time_zone: TimeZone = "UTC"

    @model_validator(mode="after")
    def _asks_something(self) -> "ContextBody":
        if self.query is None and self.url is None:
            raise ValueError("either query or url must be given")
        return self

    def to_request(self, namespace: str | None) -> ContextRequest:
        """Make the engine's record."""
        return ContextRequest(
            query=self.query,
            namespace=self.namespace or namespace,
            token_budget=self.token_budget,
            url=self.url,
            project=self.project,
            format=self.format,
            time_zone=self.time_zone,
        )


class SearchBody(Body):
    """Ask for a ranked page; it spreads no activation and leaves no trace."""

    query: Text = ""
    namespace: Namespace | None = None
    filters: FiltersBody = FiltersBody()
    project: Text | None = None
    include: list[HiddenState] = Field(default_factory=list)
    sort: SearchSort = "relevance"
    limit: Annotated[Whole, Field(ge=1, le=MAX_PAGE_LIMIT)] = 50
    cursor: Text | None = None

    def to_request(self, namespace: str | None) -> SearchRequest:
        """Make the engine's record."""
        return SearchRequest(
            query=self.query,
            namespace=self.namespace or namespace,
            filters=narrow_to_project(self.filters.to_filters(), self.project),
            include=tuple(state.lower() for state in self.include),
            sort=self.sort,
            limit=self.limit,
            cursor=self.cursor,
        )


class BatchBody(Body):
    """Store several memories: all or none, or each on its own with `atomic` false."""

    memories: Annotated[list[EncodeBody], Field(min_length=1, max_length=MAX_BATCH_MEMORIES)]
    namespace: Annotated[Namespace | None, Field(description="For the memories that name none.")] = None
    atomic: bool = True


class LooseBatchBody(BatchBody):
    """Be a batch whose memories are read one by one, so that one wrong item does not refuse the others."""

    memories: Annotated[list[Any], Field(min_length=1, max_length=MAX_BATCH_MEMORIES)]


class ForgetBody(Body):
    """Delete the memories that are named, or all that match; `dry_run` only says which."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": ["ids"]}, {"required": ["filters"]}]})

    ids: Annotated[list[Text], Field(min_length=1, max_length=MAX_FORGET_IDS)] | None = None
    filters: FiltersBody | None = None
    namespace: Namespace | None = None
    dry_run: bool = False

    @model_validator(mode="after")
    def _names_what(self) -> "ForgetBody":
        if (self.ids is None) == (self.filters is None):
            raise ValueError("either ids or filters must be given")
        if self.ids is not None and self.dry_run:
            raise ValueError("dry_run goes with filters")
        if self.filters is not None and self.filters.to_filters() == Filters():
            raise ValueError("filters must narrow: at least one must be given")
        return self


class DeleteByContextBody(Body):
    """Delete every memory of a namespace whose context holds this pair."""

    key: Name
    value: Text
    namespace: Namespace | None = None


class ChunkBody(Body):
    """Cut a text; nothing is stored."""

    content: Name
    max_tokens: Annotated[Whole, Field(ge=MIN_CHUNK_TOKENS, le=MAX_CHUNK_TOKENS)] = CHUNK_TOKENS


def narrow_to_project(filters: Filters, project: str | None) -> Filters:
    """Apply the `project` that stands beside the filters. Raises InvalidInputError when the two differ."""
    if project is None:
        return filters
    if filters.project not in (None, project):
        raise InvalidInputError("project and filters.project differ.", field="project")
    return replace(filters, project=project)
