"""Define the lines of an export that hold marks on memories."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PlainSerializer

from memoria.transfer_records import Carried, CarriedDampening, CarriedRefusal
from memoria.vocabulary import MAX_CONTENT_BYTES
from server.wire.fields import Body, Moment, Name, Whole
from server.wire.line_fields import DetectorName, MemoryId

LARGEST_MARKS = 2**15 - 1
LARGEST_GROUP = 2**63 - 1


def _parse_group(value: object) -> object:
    if not isinstance(value, str) or not (value.isascii() and value.isdecimal()) or int(value[:20]) > LARGEST_GROUP:
        raise ValueError("must be the number of a group, in quotes")
    return int(value[:20])


class DampeningLine(Body):
    """Be the count of unhelpful marks of a memory for queries like one."""

    kind: Literal["Dampening"] = "Dampening"
    memory_id: MemoryId
    query: Annotated[Name, Field(max_length=MAX_CONTENT_BYTES)]
    marks: Annotated[Whole, Field(ge=1, le=LARGEST_MARKS)]
    updated_at: Moment

    def to_record(self) -> Carried:
        """Make the engine's record."""
        return CarriedDampening(self.memory_id, self.query, self.marks, self.updated_at)


class RefusedMergeLine(Body):
    """Say that a memory must not be merged again with the others of its group."""

    kind: Literal["RefusedMerge"] = "RefusedMerge"
    group: Annotated[int, BeforeValidator(_parse_group), PlainSerializer(str)]
    memory_id: MemoryId
    detector: DetectorName
    at: Moment

    def to_record(self) -> Carried:
        """Make the engine's record."""
        return CarriedRefusal(self.group, self.memory_id, self.detector, self.at)
