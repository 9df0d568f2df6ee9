"""Ring: trigger what the clock has met, and mark what has expired, in bounded steps."""

from datetime import datetime
from uuid import UUID

from memoria import intentions
from memoria.database import Connection
from memoria.prospective import trigger

STEP_INTENTIONS = 200


async def ring(connection: Connection, org_id: UUID, now: datetime) -> int:
    """Trigger some due intentions of an organization and mark some expired ones; returns how many there were.

    The next check or recall tells of the former. Two at once share the work.
    """
    expired = await intentions.expire(connection, org_id, now, STEP_INTENTIONS)
    due = await intentions.lock_due(connection, org_id, now, STEP_INTENTIONS)
    if due:
        await intentions.set_intentions(connection, org_id, [trigger(each, now, tell=False) for each in due])
    return expired + len(due)
