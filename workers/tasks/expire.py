"""Delete memories that have expired, once their time of grace is over.

Recall leaves an expired memory out from the second on; this only decides how long it can still be read and revived.
"""

from datetime import datetime

from memoria.database import Database
from memoria.decay import delete_expired
from memoria.policies import find_organizations_with_expired_memories


async def run(database: Database, now: datetime) -> int:
    """Delete some outlived memories of a few organizations and return how many there were."""
    async with database.untenanted() as connection:
        organizations = await find_organizations_with_expired_memories(connection, now)
    done = 0
    for org_id in organizations:
        async with database.tenant(org_id) as connection:
            done += await delete_expired(connection, org_id, now)
    return done
