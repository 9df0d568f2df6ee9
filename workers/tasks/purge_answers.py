"""Delete the answers kept for idempotency keys once they have outlived their day."""

from datetime import datetime

from memoria.database import Database
from memoria.maintenance import delete_outlived_answers, find_outlived_answers


async def run(database: Database, now: datetime) -> int:
    """Delete the outlived answers of a few organizations and return how many there were."""
    async with database.untenanted() as connection:
        organizations = await find_outlived_answers(connection, now)
    done = 0
    for org_id in organizations:
        async with database.tenant(org_id) as connection:
            done += await delete_outlived_answers(connection, org_id, now)
    return done
