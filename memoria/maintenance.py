"""Find and do the upkeep of the store: what no request should wait for."""

from datetime import datetime, timedelta
from uuid import UUID

from memoria.database import Connection
from memoria.vocabulary import EXACT_SCAN_ROWS, IDEMPOTENCY_HOURS

PLACES_A_ROUND = 20  # namespaces or organizations that one round visits, so that none waits long for its turn


async def find_unindexed_namespaces(connection: Connection) -> list[tuple[UUID, int]]:
    """Find (organization, namespace) pairs that are large and hold vectors outside the graph index."""
    rows = await connection.fetch(
        "find_unindexed_namespaces", more_embeddings_than=EXACT_SCAN_ROWS, wanted=PLACES_A_ROUND
    )
    return [(row["org_id"], row["namespace_id"]) for row in rows]


async def find_outlived_answers(connection: Connection, now: datetime) -> list[UUID]:
    """Find organizations with answers for idempotency keys past their lifetime."""
    rows = await connection.fetch("find_outlived_answers", older_than=_outlived(now), wanted=PLACES_A_ROUND)
    return [row["org_id"] for row in rows]


async def delete_outlived_answers(connection: Connection, org_id: UUID, now: datetime) -> int:
    """Delete an organization's outlived answers and return how many there were."""
    return await connection.execute("delete_outlived_answers", org_id=org_id, older_than=_outlived(now))


def _outlived(now: datetime) -> datetime:
    return now - timedelta(hours=IDEMPOTENCY_HOURS)
