"""Check triggers, tell when the clock meets them, and write them as they are stored. Nothing here reads a clock."""

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from memoria.errors import InvalidInputError
from memoria.intention_records import EventTrigger, KeywordTrigger, SemanticTrigger, TimeTrigger, Trigger
from memoria.phrases import Spoken, read_phrase
from memoria.recurrence import check_every, occurrence_from
from memoria.validation import check_text, check_time, check_time_zone
from memoria.vocabulary import (
    MAX_EVENT_CHARACTERS,
    MAX_KEYWORD_CHARACTERS,
    MAX_KEYWORDS,
    MAX_THRESHOLD,
    MAX_TRIGGER_TEXT_CHARACTERS,
    MIN_THRESHOLD,
    PAST_YEARS,
    TRIGGER_YEARS,
    TriggerType,
)

YEAR = timedelta(days=366)
NEXT = timedelta(microseconds=1)


def check_trigger(trigger: Trigger, now: datetime) -> Trigger:
    """Bring a trigger into its stored form. Raises InvalidInputError naming the field."""
    if isinstance(trigger, KeywordTrigger):
        return _check_keywords(trigger)
    if isinstance(trigger, TimeTrigger):
        return _check_times(trigger, now)
    if isinstance(trigger, SemanticTrigger):
        return _check_meaning(trigger)
    name = check_event(trigger.name, "trigger.name")
    return EventTrigger(name)


def _check_keywords(trigger: KeywordTrigger) -> KeywordTrigger:
    checked = KeywordTrigger(_phrases(trigger.any, "trigger.any"), _phrases(trigger.all, "trigger.all"))
    if not checked.any and not checked.all:
        raise InvalidInputError("`trigger` must name keywords in `any`, in `all`, or in both.", field="trigger.any")
    return checked


def _phrases(phrases: Sequence[str], field: str) -> tuple[str, ...]:
    if len(phrases) > MAX_KEYWORDS:
        raise InvalidInputError(f"`{field}` holds more than {MAX_KEYWORDS} phrases.", field=field, limit=MAX_KEYWORDS)
    for phrase in phrases:
        check_text(phrase, field, limit=MAX_KEYWORD_CHARACTERS)
        if not read_phrase(phrase):
            raise InvalidInputError(f"`{field}` holds a phrase without a word.", field=field)
    return tuple(dict.fromkeys(phrases))


def _check_times(trigger: TimeTrigger, now: datetime) -> TimeTrigger:
    at = check_time(trigger.at, "trigger.at")
    if at is None or not now - PAST_YEARS * YEAR <= at <= now + TRIGGER_YEARS * YEAR:
        raise InvalidInputError(
            f"`trigger.at` must lie within the last {PAST_YEARS} and the next {TRIGGER_YEARS} years.",
            field="trigger.at",
        )
    at = at.replace(microsecond=0)
    zone = check_time_zone(trigger.time_zone, "trigger.time_zone")
    every = (
        None
        if trigger.every is None
        else check_every(at, check_text(trigger.every, "trigger.every", limit=10**6), zone)
    )
    return TimeTrigger(at, every, zone)


def _check_meaning(trigger: SemanticTrigger) -> SemanticTrigger:
    text = check_text(trigger.text, "trigger.text", limit=MAX_TRIGGER_TEXT_CHARACTERS)
    if not MIN_THRESHOLD <= trigger.threshold <= MAX_THRESHOLD:
        raise InvalidInputError(
            f"`trigger.threshold` must be between {MIN_THRESHOLD} and {MAX_THRESHOLD}.", field="trigger.threshold"
        )
    return SemanticTrigger(text, trigger.threshold)


def check_event(name: str, field: str) -> str:
    """Return the name of an event. Raises InvalidInputError."""
    return check_text(name, field, limit=MAX_EVENT_CHARACTERS)


def event_key(name: str) -> str:
    """Bring the name of an event into the form that is compared: any spelling of case and white space is the same."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def says(trigger: KeywordTrigger, spoken: Spoken) -> bool:
    """Say whether a text meets a trigger by its words."""
    return all(map(spoken.holds, trigger.all)) and (not trigger.any or any(map(spoken.holds, trigger.any)))


def first_due(trigger: Trigger, now: datetime) -> datetime | None:
    """Return when the clock first meets a trigger that is armed now; None when it never does.

    A single moment that has passed is due at once, while of a recurrence only what is still to come counts.
    """
    if not isinstance(trigger, TimeTrigger):
        return None
    if trigger.every is None:
        return trigger.at
    return occurrence_from(trigger.at, trigger.every, trigger.time_zone, max(now, trigger.at))


def next_due(trigger: Trigger, now: datetime) -> datetime | None:
    """Return when a recurrence comes after `now`: what was missed before counts as one. None when it is over."""
    if not isinstance(trigger, TimeTrigger) or trigger.every is None:
        return None
    return occurrence_from(trigger.at, trigger.every, trigger.time_zone, max(now + NEXT, trigger.at))


def pack_trigger(trigger: Trigger) -> dict[str, Any]:
    """Write a trigger as it is stored; `type` has a column of its own."""
    if isinstance(trigger, KeywordTrigger):
        return {"any": list(trigger.any), "all": list(trigger.all)}
    if isinstance(trigger, TimeTrigger):
        return {"at": trigger.at.isoformat(), "every": trigger.every, "time_zone": trigger.time_zone}
    if isinstance(trigger, SemanticTrigger):
        return {"text": trigger.text, "threshold": trigger.threshold}
    return {"name": trigger.name}


def unpack_trigger(kind: str, packed: Mapping[str, Any]) -> Trigger:
    """Read a trigger as it was stored."""
    return UNPACKED[TriggerType(kind)](packed)


UNPACKED: dict[TriggerType, Callable[[Mapping[str, Any]], Trigger]] = {
    TriggerType.KEYWORD: lambda packed: KeywordTrigger(tuple(packed["any"]), tuple(packed["all"])),
    TriggerType.TIME: lambda packed: TimeTrigger(
        datetime.fromisoformat(packed["at"]), packed["every"], packed["time_zone"]
    ),
    TriggerType.SEMANTIC: lambda packed: SemanticTrigger(packed["text"], packed["threshold"]),
    TriggerType.EVENT: lambda packed: EventTrigger(packed["name"]),
}
