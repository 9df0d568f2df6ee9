"""Remind: find what an occasion triggers in a namespace, and tell each of it once."""

import asyncio
from collections.abc import Sequence
from itertools import islice
from uuid import UUID

from memoria import intentions
from memoria.database import Connection
from memoria.intention_records import Intention
from memoria.intentions import Found, Occasion
from memoria.phrases import Spoken
from memoria.prospective import trigger
from memoria.triggers import says

THREAD_PHRASES = 100
THREAD_CHARACTERS = 2_000


async def remind(
    connection: Connection, org_id: UUID, namespace_id: int, occasion: Occasion, *, limit: int, tell: bool
) -> tuple[Intention, ...]:
    """Return what an occasion triggers, the highest priority first; what is beyond `limit` stays for the next one.

    With `tell` these are triggered by it: nobody else is told of them again. Two at once share them. Without it nothing
    changes. Call it last in a transaction: it locks what it tells.
    """
    found = await intentions.list_met(connection, org_id, namespace_id, occasion)
    met = await _meet(found, occasion.text, limit)
    if not met:
        return ()
    if not tell:
        return tuple(await intentions.read_intentions(connection, org_id, met, occasion.not_expired_at))
    # Another may have been told of them, or changed them, since they were found.
    locked = await intentions.lock_intentions(connection, org_id, met, occasion.not_expired_at)
    again = await intentions.list_met(connection, org_id, namespace_id, occasion, only=met)
    still = set(await _meet(again, occasion.text, limit))
    told = [trigger(intention, occasion.now, tell=True) for intention in locked if intention.id in still]
    await intentions.set_intentions(connection, org_id, told)
    return tuple(told)


async def _meet(found: Sequence[Found], text: str, limit: int) -> list[int]:
    """List what is met. Many phrases, or a long text, would hold up every other request: they go to a thread."""
    phrases = sum(len(each.keywords.any) + len(each.keywords.all) for each in found if each.keywords is not None)
    if phrases > THREAD_PHRASES or (phrases and len(text) > THREAD_CHARACTERS):
        return await asyncio.to_thread(_met, found, text, limit)
    return _met(found, text, limit)


def _met(found: Sequence[Found], text: str, limit: int) -> list[int]:
    spoken = Spoken(text) if any(each.keywords is not None for each in found) else None
    met = (
        each.intention_id
        for each in found
        if each.keywords is None or (spoken is not None and says(each.keywords, spoken))
    )
    return list(islice(met, limit))
