"""Shortcuts for tests of prospective memory, at the engine itself."""

from datetime import datetime
from typing import Any

from memoria.intention_records import (
    EventTrigger,
    Intention,
    IntentionCheck,
    IntentionPatch,
    KeywordTrigger,
    NewIntention,
    TimeTrigger,
    Trigger,
)
from memoria.records import Replay
from tests.tenants import Tenant

RELEASE = KeywordTrigger(any=("release", "deploy"))


async def intend(tenant: Tenant, content: str = "Tell Nadia", trigger: Trigger = RELEASE, **fields: Any) -> Intention:
    """Store one intention."""
    made = await tenant.engine.intentions.create(tenant.principal, NewIntention(content, trigger, **fields))
    assert not isinstance(made, Replay)
    return made


async def check(tenant: Tenant, text: str | None = None, **fields: Any) -> list[str]:
    """Check, and return the contents of what was triggered."""
    told = await tenant.engine.intentions.check(tenant.principal, IntentionCheck(text, **fields))
    assert not isinstance(told, Replay)
    return [intention.content for intention in told]


async def read(tenant: Tenant, intention: Intention) -> Intention:
    """Read an intention as it stands now."""
    return await tenant.engine.intentions.get(tenant.principal, intention.id)


async def complete(tenant: Tenant, intention: Intention) -> Intention:
    """Complete an intention."""
    done = await tenant.engine.intentions.complete(tenant.principal, intention.id)
    assert not isinstance(done, Replay)
    return done


async def patch(tenant: Tenant, intention: Intention, **changes: Any) -> Intention:
    """Change an intention."""
    return await tenant.engine.intentions.update(tenant.principal, intention.id, IntentionPatch(changes))


def at(text: str, every: str | None = None, zone: str = "UTC") -> TimeTrigger:
    """Make a trigger of the clock."""
    return TimeTrigger(datetime.fromisoformat(text), every, zone)


def on(name: str) -> EventTrigger:
    """Make a trigger of an event."""
    return EventTrigger(name)
