"""Trigger intentions whose time has come, and mark those that have expired.

Whoever asks sees both to the second without this; it lets lists and counts say so, too.
"""

from datetime import datetime

from memoria.database import Database
from memoria.intentions import find_due_intentions
from memoria.ring import ring


async def run(database: Database, now: datetime) -> int:
    """Do some of it for a few organizations and return how many intentions there were."""
    async with database.untenanted() as connection:
        organizations = await find_due_intentions(connection, now)
    done = 0
    for org_id in organizations:
        async with database.tenant(org_id) as connection:
            done += await ring(connection, org_id, now)
    return done
