"""Remind: find what an occasion triggers in a namespace, and tell each of it once."""

from collections.abc import Sequence
from uuid import UUID

from memoria import intentions
from memoria.database import Connection
from memoria.intention_records import Intention
from memoria.intentions import Found, Occasion
from memoria.phrases import Spoken
from memoria.prospective import trigger
from memoria.triggers import says


async def remind(
    connection: Connection, org_id: UUID, namespace_id: int, occasion: Occasion, *, limit: int, tell: bool
) -> tuple[Intention, ...]:
    """Return what an occasion triggers, the highest priority first; what is beyond `limit` stays for the next one.

    With `tell` these are triggered by it: nobody else is told of them again. Two at once share them. Without it nothing
    changes. Call it last in a transaction: it locks what it tells.
    """
    spoken = Spoken(occasion.text)
    met = _met(await intentions.list_met(connection, org_id, namespace_id, occasion), spoken)[:limit]
    if not met:
        return ()
    if not tell:
        return tuple(await intentions.read_intentions(connection, org_id, met, occasion.not_expired_at))
    # Another may have been told of them, or changed them, since they were found.
    locked = await intentions.lock_intentions(connection, org_id, met, occasion.not_expired_at)
    still = set(_met(await intentions.list_met(connection, org_id, namespace_id, occasion, only=met), spoken))
    told = [trigger(intention, occasion.now, tell=True) for intention in locked if intention.id in still]
    await intentions.set_intentions(connection, org_id, told)
    return tuple(told)


def _met(found: Sequence[Found], spoken: Spoken) -> list[int]:
    return [each.intention_id for each in found if each.keywords is None or says(each.keywords, spoken)]
