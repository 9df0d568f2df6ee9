"""Put vectors of large namespaces into the graph index.

An encode leaves its vectors outside: an insert into the graph costs as much as all the rest of it. Recall scans what is
outside, so nothing is missed meanwhile. A round takes one batch from each of a few namespaces.
"""

from datetime import datetime

from memoria.database import Database
from memoria.embeddings import index_vectors
from memoria.maintenance import find_unindexed_namespaces

BATCH_ROWS = 500  # about a second of work: a round can be stopped soon, and holds its locks no longer


async def run(database: Database, now: datetime) -> int:
    """Index one batch a namespace and return how many vectors went in."""
    async with database.untenanted() as connection:
        places = await find_unindexed_namespaces(connection)
    done = 0
    for org_id, namespace_id in places:
        async with database.tenant(org_id) as connection:
            done += await index_vectors(connection, org_id, namespace_id, BATCH_ROWS)
    return done
