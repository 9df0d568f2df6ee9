"""Delete recalls once feedback may no longer refer to them."""

from datetime import datetime

from memoria.database import Database
from memoria.recalls import delete_outlived_recalls, find_outlived_recalls


async def run(database: Database, now: datetime) -> int:
    """Delete the outlived recalls of a few organizations and return how many there were."""
    async with database.untenanted() as connection:
        organizations = await find_outlived_recalls(connection, now)
    done = 0
    for org_id in organizations:
        async with database.tenant(org_id) as connection:
            done += await delete_outlived_recalls(connection, org_id, now)
    return done
