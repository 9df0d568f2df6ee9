"""Define the JSON of learning: feedback, dampening and links."""

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field

from memoria.edges import NewEdge
from memoria.identifiers import IdKind, format_id, parse_id
from memoria.records import Edge
from memoria.reward import Feedback, FeedbackResult
from memoria.vocabulary import LEARNED_LEAST, EdgeType
from server.wire.fields import Body, ClientEdge, Name, Text

Weight = Annotated[float, Field(ge=LEARNED_LEAST, le=1)]


class FeedbackBody(Body):
    """Say whether a memory helped."""

    useful: bool
    recall_id: Annotated[Text | None, Field(description="The recall that returned it; counts once.")] = None
    query: Annotated[Name | None, Field(description="What was asked, where no recall is named.")] = None

    def to_record(self, memory_id: int) -> Feedback:
        """Make the engine's record. Raises NotFoundError for what is no id of a recall."""
        recall_id = None if self.recall_id is None else parse_id(self.recall_id, IdKind.RECALL)
        return Feedback(memory_id, self.useful, recall_id, self.query)


class DampenBody(Body):
    """Name the kind of query that a memory does not help with."""

    query: Name


class EdgeBody(Body):
    """Join two memories of one namespace."""

    source_id: Text
    target_id: Text
    type: ClientEdge
    weight: Weight = 1.0

    def to_record(self) -> NewEdge:
        """Make the engine's record. Raises NotFoundError for what is no id."""
        return NewEdge(parse_id(self.source_id), parse_id(self.target_id), EdgeType(self.type), self.weight)


def _only(value: object) -> object:
    # In a query string `type` may be given several times; an edge has one.
    return value[0] if isinstance(value, list) and len(value) == 1 else value


class EdgeQuery(Body):
    """Name one edge."""

    source_id: Text
    target_id: Text
    type: Annotated[ClientEdge, BeforeValidator(_only)]


class FeedbackOut(BaseModel):
    """Answer feedback; what did not count (it was given before) has moved nothing."""

    id: str
    counted: bool
    prediction_error: float
    utility: float
    salience: float
    dampening: float


class DampenedOut(BaseModel):
    """Tell what the memory's score is multiplied with, for such queries."""

    id: str
    dampening: float


class EdgeOut(BaseModel):
    """Be one edge."""

    source_id: str
    target_id: str
    type: str
    weight: float
    created_at: datetime


def render_feedback(result: FeedbackResult) -> FeedbackOut:
    """Show what feedback did."""
    return FeedbackOut(
        id=format_id(result.memory_id),
        counted=result.counted,
        prediction_error=result.prediction_error,
        utility=result.utility,
        salience=result.salience,
        dampening=result.dampening,
    )


def render_edge(edge: Edge) -> EdgeOut:
    """Show an edge."""
    return EdgeOut(
        source_id=format_id(edge.source_id),
        target_id=format_id(edge.target_id),
        type=str(edge.type),
        weight=edge.weight,
        created_at=edge.created_at,
    )
