"""Define the line of an export that holds an intention."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PlainSerializer

from memoria.errors import NotFoundError
from memoria.identifiers import IdKind, format_id, parse_id
from memoria.transfer_records import Carried, CarriedIntention
from memoria.vocabulary import IntentionStatus
from server.wire.fields import Body, Moment, Share, Whole, enum_of, pascal
from server.wire.intentions import Content, TriggerBody, render_trigger

LARGEST_INTEGER = 2**31 - 1


def _parse_intention_id(value: object) -> object:
    if not isinstance(value, str):
        raise ValueError("must be the id of an intention")  # noqa: TRY004
    try:
        return parse_id(value, IdKind.INTENTION)
    except NotFoundError:
        raise ValueError("must be the id of an intention") from None


class IntentionLine(Body):
    """Be an intention; `told` says that a check or a recall has answered it since it was triggered."""

    kind: Literal["Intention"] = "Intention"
    id: Annotated[
        int,
        BeforeValidator(_parse_intention_id),
        PlainSerializer(lambda intention_id: format_id(intention_id, IdKind.INTENTION)),
    ]
    content: Content
    trigger: TriggerBody
    priority: Share
    status: Annotated[IntentionStatus, BeforeValidator(enum_of(IntentionStatus)), PlainSerializer(pascal)]
    next_at: Moment | None
    told: bool
    triggered_count: Annotated[Whole, Field(ge=0, le=LARGEST_INTEGER)]
    triggered_at: Moment | None
    completed_at: Moment | None
    expires_at: Moment | None
    created_at: Moment
    updated_at: Moment

    def to_record(self) -> Carried:
        """Make the engine's record."""
        values = {name: getattr(self, name) for name in IntentionLine.model_fields if name not in ("kind", "told")}
        return CarriedIntention(**values | {"trigger": self.trigger.to_record(), "is_told": self.told})


def render_intention_line(carried: CarriedIntention) -> IntentionLine:
    """Show an intention as a line."""
    values = {name: getattr(carried, name) for name in CarriedIntention.__slots__ if name != "is_told"}
    trigger = render_trigger(carried.trigger)
    return IntentionLine.model_construct(**values | {"trigger": trigger, "told": carried.is_told})
