"""Store the retention policies of namespaces, and find what has outlived its expiry."""

from datetime import datetime, timedelta
from uuid import UUID

from memoria.database import Connection
from memoria.records import Policy
from memoria.tiers import TIERS
from memoria.vocabulary import EXPIRED_GRACE_DAYS

PLACES_A_ROUND = 20  # organizations that one round visits


async def read_policy(connection: Connection, org_id: UUID, namespace_id: int) -> Policy:
    """Read the policy that holds in a namespace: the defaults where none was set."""
    return await find_policy(connection, org_id, namespace_id) or Policy()


async def find_policy(connection: Connection, org_id: UUID, namespace_id: int) -> Policy | None:
    """Read the policy that a namespace was given; None where none was."""
    row = await connection.fetch_row("read_policy", org_id=org_id, namespace_id=namespace_id)
    if row is None:
        return None
    return Policy(
        half_life_days=dict(zip(TIERS, row["half_life_days"], strict=True)),
        prune_threshold=row["prune_threshold"],
        max_memories=row["max_memories"],
        enabled=row["enabled"],
        delete_archived_after_days=row["delete_archived_after_days"],
    )


async def write_policy(connection: Connection, org_id: UUID, namespace_id: int, policy: Policy, now: datetime) -> None:
    """Give a namespace its policy, in place of the one that it had."""
    await connection.execute(
        "write_policy",
        org_id=org_id,
        namespace_id=namespace_id,
        enabled=policy.enabled,
        half_life_days=[policy.half_life_days[tier] for tier in TIERS],
        prune_threshold=policy.prune_threshold,
        max_memories=policy.max_memories,
        delete_archived_after_days=policy.delete_archived_after_days,
        now=now,
    )


async def find_organizations_with_expired_memories(connection: Connection, now: datetime) -> list[UUID]:
    """Find organizations with memories whose time of grace after expiry is over."""
    rows = await connection.fetch(
        "find_organizations_with_expired_memories", expired_by=grace_ended(now), wanted=PLACES_A_ROUND
    )
    return [row["org_id"] for row in rows]


def grace_ended(now: datetime) -> datetime:
    """Return the moment by which a memory must have expired to be deleted now."""
    return now - timedelta(days=EXPIRED_GRACE_DAYS)
