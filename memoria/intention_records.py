"""Define the records of prospective memory: intentions, what triggers them, and what was asked about them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memoria.vocabulary import DEFAULT_PRIORITY, TRIGGER_THRESHOLD, IntentionStatus, TriggerType


@dataclass(frozen=True, slots=True)
class KeywordTrigger:
    """Be met by a text that holds every phrase of `all` and, if there are any, one of `any`; by stems of words."""

    any: tuple[str, ...] = ()
    all: tuple[str, ...] = ()
    type: TriggerType = field(default=TriggerType.KEYWORD, init=False)


@dataclass(frozen=True, slots=True)
class TimeTrigger:
    """Be met from a moment on and, with `every`, again and again.

    `every` is an ISO 8601 duration or the rule of an RFC 5545 recurrence; days and longer are counted by the calendar
    of `time_zone`, an IANA name, hours and shorter by the clock.
    """

    at: datetime
    every: str | None = None
    time_zone: str = "UTC"
    type: TriggerType = field(default=TriggerType.TIME, init=False)


@dataclass(frozen=True, slots=True)
class SemanticTrigger:
    """Be met by a text that means much the same: a cosine of at least `threshold`."""

    text: str
    threshold: float = TRIGGER_THRESHOLD
    type: TriggerType = field(default=TriggerType.SEMANTIC, init=False)


@dataclass(frozen=True, slots=True)
class EventTrigger:
    """Be met by an event of this name, in any spelling of case."""

    name: str
    type: TriggerType = field(default=TriggerType.EVENT, init=False)


Trigger = KeywordTrigger | TimeTrigger | SemanticTrigger | EventTrigger


@dataclass(frozen=True, slots=True)
class NewIntention:
    """Hold what a client asks to be reminded of; the engine validates it. `priority` is 0–1."""

    content: str
    trigger: Trigger
    priority: float = DEFAULT_PRIORITY
    expires_at: datetime | None = None
    namespace: str | None = None


@dataclass(frozen=True, slots=True)
class Intention:
    """Be one intention as it stands at a moment: one whose `expires_at` has come is expired.

    `next_at` is when the clock triggers it next, None when it does not. `is_told` says that a check or a recall has
    answered it since it was triggered.
    """

    id: int
    namespace_id: int
    namespace: str
    content: str
    trigger: Trigger
    priority: float
    status: IntentionStatus
    next_at: datetime | None
    is_told: bool
    triggered_count: int
    triggered_at: datetime | None
    completed_at: datetime | None
    expires_at: datetime | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class IntentionPatch:
    """Name the fields to change: `content`, `trigger`, `priority`, `expires_at`, `status`; None clears `expires_at`."""

    changes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class IntentionPage:
    """Be one page of intentions, the highest priority first; `total` counts all that match."""

    items: tuple[Intention, ...]
    next_cursor: str | None
    total: int


@dataclass(frozen=True, slots=True)
class IntentionCheck:
    """Say what has happened that may trigger intentions: something said, an event, or time that has passed.

    `now` is the moment to check at, where it is not the engine's own.
    """

    text: str | None = None
    event: str | None = None
    now: datetime | None = None
    namespace: str | None = None
