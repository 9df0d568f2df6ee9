"""Say what becomes of an intention: made, triggered, completed, changed. Pure; the status is that of the moment.

Pending and Triggered are open, the others ended. An open one whose `expires_at` has come is Expired, whoever looks.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from memoria.errors import ConflictError, InvalidInputError
from memoria.intention_records import Intention, NewIntention
from memoria.triggers import check_trigger, first_due, next_due
from memoria.validation import check_share, check_text, check_time, parse_word
from memoria.vocabulary import MAX_INTENTION_CHARACTERS, IntentionStatus

CHANGEABLE = frozenset({"content", "trigger", "priority", "expires_at", "status"})
OPEN = (IntentionStatus.PENDING, IntentionStatus.TRIGGERED)


def check_intention(new: NewIntention, now: datetime) -> NewIntention:
    """Bring a new intention into its stored form. Raises InvalidInputError."""
    return replace(
        new,
        content=_content(new.content),
        trigger=check_trigger(new.trigger, now),
        priority=check_share(new.priority, "priority"),
        expires_at=_expiry(new.expires_at, now),
    )


def _content(content: str) -> str:
    return check_text(content, "content", limit=MAX_INTENTION_CHARACTERS)


def _expiry(moment: datetime | None, now: datetime) -> datetime | None:
    expires_at = check_time(moment, "expires_at")
    if expires_at is not None and expires_at <= now:
        raise InvalidInputError("`expires_at` must be in the future.", field="expires_at")
    return expires_at


def arm(intention: Intention, now: datetime) -> Intention:
    """Let an intention wait for its trigger, from now on."""
    return replace(
        intention,
        status=IntentionStatus.PENDING,
        is_told=False,
        next_at=first_due(intention.trigger, now),
    )


def trigger(intention: Intention, now: datetime, *, tell: bool) -> Intention:
    """Trigger an intention whose trigger is met; `tell` says that somebody is answered with it now.

    One that the clock has triggered before, and nobody was told of, is only told. A recurrence is set to its next
    occurrence after `now`, however many were missed.
    """
    is_due = intention.next_at is not None and intention.next_at <= now
    if intention.status is IntentionStatus.TRIGGERED and not is_due:
        return replace(intention, is_told=tell)
    return replace(
        intention,
        status=IntentionStatus.TRIGGERED,
        is_told=tell,
        next_at=next_due(intention.trigger, now),
        triggered_at=now,
        triggered_count=intention.triggered_count + 1,
    )


def complete(intention: Intention, now: datetime) -> Intention:
    """Complete an intention; one that recurs waits for its next occurrence. Raises ConflictError if cancelled."""
    if intention.status is IntentionStatus.CANCELLED:
        raise ConflictError("This intention was cancelled.")
    if intention.status is IntentionStatus.COMPLETED:
        return intention
    next_at = None if intention.status is IntentionStatus.EXPIRED else next_due(intention.trigger, now)
    return replace(
        intention,
        status=IntentionStatus.COMPLETED if next_at is None else IntentionStatus.PENDING,
        is_told=next_at is None,
        next_at=next_at,
        completed_at=now,
        updated_at=now,
    )


def change(intention: Intention, changes: Mapping[str, Any], now: datetime) -> Intention:
    """Apply a patch. A new trigger, or a later expiry of an expired one, arms an intention that is not ended otherwise.

    `status` may become Pending, which arms it whatever it was, or Cancelled. Raises InvalidInputError.
    """
    if unknown := sorted(changes.keys() - CHANGEABLE):
        raise InvalidInputError(f"`{unknown[0]}` cannot be changed.", field=unknown[0])
    status = _asked_status(changes)
    changed = replace(intention, updated_at=now, **_checked(changes, now))
    if status is IntentionStatus.CANCELLED:
        return replace(changed, status=status, is_told=True, next_at=None)
    revived = intention.status is IntentionStatus.EXPIRED and "expires_at" in changes
    rearmed = "trigger" in changes and intention.status in OPEN
    if status is not IntentionStatus.PENDING and not revived and not rearmed:
        return changed
    if changed.expires_at is not None and changed.expires_at <= now:
        raise InvalidInputError("The intention has expired: give a later `expires_at`, too.", field="expires_at")
    return arm(changed, now)


def _checked(changes: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    checks: dict[str, Callable[[Any], Any]] = {
        "content": _content,
        "trigger": lambda value: check_trigger(value, now),
        "priority": lambda value: check_share(value, "priority"),
        "expires_at": lambda value: _expiry(value, now),
    }
    for name in changes.keys() - {"expires_at"}:
        if changes[name] is None:
            raise InvalidInputError(f"`{name}` cannot be empty.", field=name)
    return {name: check(changes[name]) for name, check in checks.items() if name in changes}


def _asked_status(changes: Mapping[str, Any]) -> IntentionStatus | None:
    if changes.get("status") is None:
        return None
    status = parse_word(changes["status"], IntentionStatus, "status")
    if status not in (IntentionStatus.PENDING, IntentionStatus.CANCELLED):
        raise InvalidInputError("`status` can be set to Pending or Cancelled; to complete is a call.", field="status")
    return status
