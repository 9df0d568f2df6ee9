"""Delete jobs that ended long ago."""

from datetime import datetime

from memoria.database import Database
from memoria.jobs import delete_outlived, find_outlived_jobs


async def run(database: Database, now: datetime) -> int:
    """Delete the outlived jobs of a few organizations and return how many there were."""
    async with database.untenanted() as connection:
        organizations = await find_outlived_jobs(connection, now)
    done = 0
    for org_id in organizations:
        async with database.tenant(org_id) as connection:
            done += await delete_outlived(connection, org_id, now)
    return done
