"""Define the fields that several lines of an export have."""

from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer

from memoria.errors import NotFoundError
from memoria.identifiers import format_id, parse_id
from memoria.vocabulary import Detector

SUMMARY_DETECTORS = (Detector.REPETITION.value, Detector.BURST.value)


def _parse_memory_id(value: object) -> object:
    if not isinstance(value, str):
        raise ValueError("must be the id of a memory")  # noqa: TRY004
    try:
        return parse_id(value)
    except NotFoundError:
        raise ValueError("must be the id of a memory") from None


def _parse_detector(value: object) -> object:
    if value not in SUMMARY_DETECTORS:
        raise ValueError(f"must be one of {', '.join(SUMMARY_DETECTORS)}")
    return Detector(value)


MemoryId = Annotated[int, BeforeValidator(_parse_memory_id), PlainSerializer(format_id)]
DetectorName = Annotated[Detector, BeforeValidator(_parse_detector)]
