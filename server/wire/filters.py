"""Read filters, from a JSON body or from a query string."""

from typing import Annotated

from pydantic import Field

from memoria.records import Filters
from memoria.vocabulary import MAX_PAGE_LIMIT
from server.wire.fields import (
    AnySource,
    Body,
    HiddenState,
    Moment,
    Namespace,
    Pairs,
    Share,
    States,
    Text,
    Tiers,
    Types,
    Whole,
    as_tuple,
)

# How a query string's texts are read: which parameters may be repeated, and which are numbers.
LIST_PARAMETERS = frozenset({"type", "tier", "state", "status", "tags_any", "tags_all", "tags_none", "include"})
NUMBER_PARAMETERS = frozenset({"limit", "salience_min", "salience_max"})


class FiltersBody(Body):
    """Narrow what is looked at: every filter given must hold, and one that is left out does not narrow."""

    type: Types | None = None
    tier: Tiers | None = None
    state: States | None = None
    tags_any: list[Text] | None = None
    tags_all: list[Text] | None = None
    tags_none: list[Text] | None = None
    category: Text | None = None
    source: AnySource | None = None
    site: Text | None = None
    url: Text | None = None
    project: Annotated[Text | None, Field(description="Also lets through the memories that have no project.")] = None
    context: Pairs | None = None
    created_after: Moment | None = None
    created_before: Moment | None = None
    occurred_after: Moment | None = None
    occurred_before: Moment | None = None
    salience_min: Share | None = None
    salience_max: Share | None = None

    def to_filters(self) -> Filters:
        """Make the engine's record."""
        return Filters(
            types=as_tuple(self.type),
            tiers=as_tuple(self.tier),
            states=as_tuple(self.state),
            tags_any=as_tuple(self.tags_any),
            tags_all=as_tuple(self.tags_all),
            tags_none=as_tuple(self.tags_none),
            category=self.category,
            source=self.source,
            site=self.site,
            url=self.url,
            project=self.project,
            context=self.context or {},
            created_after=self.created_after,
            created_before=self.created_before,
            occurred_after=self.occurred_after,
            occurred_before=self.occurred_before,
            salience_min=self.salience_min,
            salience_max=self.salience_max,
        )


class PageQuery(Body):
    """Choose a page of a list."""

    limit: Annotated[Whole, Field(ge=1, le=MAX_PAGE_LIMIT)] = 50
    cursor: Annotated[Text | None, Field(description="`next_cursor` of the page before.")] = None


class NamespaceQuery(Body):
    """Choose a namespace; without one the header, the key's default or the organization's own applies."""

    namespace: Namespace | None = None


class ListQuery(FiltersBody, PageQuery, NamespaceQuery):
    """Filter and page a list by query parameters; a list of values is the parameter repeated."""

    include: Annotated[list[HiddenState] | None, Field(description="States that are left out unless asked for.")] = None


class NoQuery(Body):
    """Take no query parameters."""
