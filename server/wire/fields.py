"""Define the kinds of values that requests hold, each with the JSON schema that is true of it."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from memoria.vocabulary import (
    CLIENT_EDGE_TYPES,
    MAX_NAMESPACE_CHARACTERS,
    JobState,
    MemoryState,
    MemoryType,
    Source,
    Tier,
)

RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?(?P<offset>[Zz]|[+-]\d\d:\d\d)?", re.ASCII)
MAX_TTL_SECONDS = 100 * 366 * 24 * 3600
MAX_JSON_DEPTH = 64
FIRST_TIER_TYPES = ("Buffer", "Core")


class Body(BaseModel):
    """Be a request: unknown fields and values of a wrong JSON type are refused, nothing is guessed."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


def check_text(text: str) -> str:
    """Refuse what Postgres and UTF-8 cannot hold: NUL characters and halves of surrogate pairs."""
    if "\x00" in text:
        raise ValueError("text may not hold NUL characters")
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("text may not hold lone surrogates")
    return text


def check_json(value: object, depth: int = 0) -> Any:
    """Refuse JSON that could not be stored and given back as it is."""
    if depth > MAX_JSON_DEPTH:
        raise ValueError(f"JSON may be nested {MAX_JSON_DEPTH} levels deep at most")
    if isinstance(value, str):
        return check_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("numbers must be finite")
    if isinstance(value, Mapping):
        for key, item in value.items():
            check_text(key)
            check_json(item, depth + 1)
    elif isinstance(value, list):
        for item in value:
            check_json(item, depth + 1)
    return value


def parse_moment(value: object) -> object:
    """Read an RFC 3339 time into UTC; a time without an offset is refused, because it names no moment."""
    if isinstance(value, datetime):
        return value
    match = RFC_3339.fullmatch(value) if isinstance(value, str) else None
    if match is None or not isinstance(value, str):
        raise ValueError("must be an RFC 3339 time such as 2026-05-01T09:30:00Z")
    if match["offset"] is None:
        raise ValueError("must say its offset from UTC, such as 2026-05-01T09:30:00Z or +02:00")
    try:
        return datetime.fromisoformat(value.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError("is no moment of the calendar") from None


def _parse_whole(value: object) -> object:
    # To JSON, 3.0 is a whole number.
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _parse_pairs(value: object) -> object:
    if not isinstance(value, list):
        return value
    pairs: dict[object, object] = {}
    for pair in value:
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str):
            raise ValueError("must be an object, or a list of [key, value] pairs")
        if pair[0] in pairs:
            raise ValueError("names a key twice")
        pairs[pair[0]] = pair[1]
    return pairs


def parse_several(value: object) -> object:
    """Read one value as a list of one."""
    return value if isinstance(value, list) else [value]


def one_of(*names: str) -> tuple[BeforeValidator, WithJsonSchema]:
    """Describe and read one of several names, in any spelling of case."""
    by_spelling = {name.lower(): name for name in names}

    def parse(value: object) -> str:
        found = by_spelling.get(value.lower()) if isinstance(value, str) else None
        if found is None:
            raise ValueError(f"must be one of {', '.join(names)}")
        return found

    return BeforeValidator(parse), WithJsonSchema({"type": "string", "enum": list(names)})


def several(schema: Mapping[str, Any]) -> WithJsonSchema:
    """Describe one value, or a list of such values."""
    return WithJsonSchema({"anyOf": [schema, {"type": "array", "items": schema}]})


def pascal(name: str) -> str:
    """Write an enum's value as HTTP shows it."""
    return name[:1].upper() + name[1:]


def enum_of(kind: type[StrEnum]) -> Callable[[object], StrEnum]:
    """Make the reader of an enum's names as HTTP shows them."""
    return _enum(kind, *(pascal(member.value) for member in kind))


def _enum(kind: type[StrEnum], *names: str) -> Callable[[object], StrEnum]:
    parse = one_of(*names)[0].func

    def parse_member(value: object) -> StrEnum:
        if isinstance(value, kind):
            return value
        name = parse(value)  # type: ignore[call-arg]
        return next(member for member in kind if member.lower() == name.lower())

    return parse_member


TYPE_NAMES = tuple(str(kind) for kind in MemoryType)
TIER_NAMES = tuple(str(tier) for tier in Tier)
STATE_NAMES = tuple(pascal(state) for state in MemoryState)
SOURCE_NAMES = tuple(str(source) for source in Source)
CLIENT_EDGE_NAMES = tuple(str(edge_type) for edge_type in CLIENT_EDGE_TYPES)
CLIENT_SOURCES = tuple(str(source) for source in Source if source is not Source.SYSTEM)
HIDDEN_STATES = ("Archived", "Quarantined", "Superseded", "Expired")

Text = Annotated[str, AfterValidator(check_text)]
Name = Annotated[str, Field(min_length=1), AfterValidator(check_text)]
# The engine says what is wrong with a namespace; the schema only describes it.
Namespace = Annotated[
    str,
    Field(min_length=1),
    AfterValidator(check_text),
    WithJsonSchema(
        {
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_NAMESPACE_CHARACTERS,
            "pattern": "^[A-Za-z0-9][A-Za-z0-9._~:/@+-]*$",
        }
    ),
]
Share = Annotated[float, Field(ge=0, le=1)]
Whole = Annotated[int, BeforeValidator(_parse_whole), WithJsonSchema({"type": "integer"})]
Moment = Annotated[datetime, BeforeValidator(parse_moment), WithJsonSchema({"type": "string", "format": "date-time"})]
Pairs = Annotated[
    dict[Text, Text],
    BeforeValidator(_parse_pairs),
    WithJsonSchema(
        {
            "description": "String pairs, as an object or as a list of pairs.",
            "anyOf": [
                {"type": "object", "additionalProperties": {"type": "string"}},
                {
                    "type": "array",
                    "items": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2},
                },
            ],
        }
    ),
]
JsonDocument = Annotated[dict[str, Any], AfterValidator(check_json)]
NewType = Annotated[str, *one_of(*TYPE_NAMES, *FIRST_TIER_TYPES)]
ClientSource = Annotated[str, *one_of(*CLIENT_SOURCES)]
ClientEdge = Annotated[str, *one_of(*CLIENT_EDGE_NAMES)]
HiddenState = Annotated[str, *one_of(*HIDDEN_STATES)]
SearchSort = Annotated[str, *one_of("relevance", "recent", "salience")]
ContextFormat = Annotated[str, *one_of("markdown", "xml")]
AnySource = Annotated[
    Source,
    BeforeValidator(_enum(Source, *SOURCE_NAMES)),
    WithJsonSchema({"type": "string", "enum": list(SOURCE_NAMES)}),
]
Types = Annotated[
    list[Annotated[MemoryType, BeforeValidator(_enum(MemoryType, *TYPE_NAMES))]],
    BeforeValidator(parse_several),
    several({"type": "string", "enum": list(TYPE_NAMES)}),
]
Tiers = Annotated[
    list[Annotated[Tier, BeforeValidator(_enum(Tier, *TIER_NAMES))]],
    BeforeValidator(parse_several),
    several({"type": "string", "enum": list(TIER_NAMES)}),
]
States = Annotated[
    list[Annotated[MemoryState, BeforeValidator(_enum(MemoryState, *STATE_NAMES))]],
    BeforeValidator(parse_several),
    several({"type": "string", "enum": list(STATE_NAMES)}),
]
JobStates = Annotated[
    list[Annotated[JobState, BeforeValidator(_enum(JobState, *map(pascal, JobState)))]],
    BeforeValidator(parse_several),
    several({"type": "string", "enum": [pascal(state) for state in JobState]}),
]


def as_tuple(values: Sequence[Any] | None) -> tuple[Any, ...]:
    """Turn a list that may be missing into what records hold."""
    return tuple(values or ())
