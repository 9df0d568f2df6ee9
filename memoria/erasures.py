"""Take namespaces out of reach, count what they hold in every table, and delete what is left."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memoria.database import Connection
from memoria.vocabulary import JobKind

NAMESPACE_FIELD = '"namespace":"{name}"'  # as rendered answers name it


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """Be a namespace without its name. Answers that mention it count as its own up to `until`."""

    id: int
    memory_count: int


def _mention(name: str) -> bytes:
    return NAMESPACE_FIELD.format(name=name).encode()


async def withdraw(connection: Connection, org_id: UUID, name: str) -> Withdrawn | None:
    """Take a namespace's name away: from the commit on no call finds it. None when there is none of this name."""
    row = await connection.fetch_row("withdraw_namespace", org_id=org_id, name=name)
    return None if row is None else Withdrawn(row["namespace_id"], row["memory_count"])


async def find_withdrawn(connection: Connection, org_id: UUID, name: str) -> int | None:
    """Find a namespace that had this name and is still being erased."""
    found: int | None = await connection.fetch_value("find_withdrawn_namespace", org_id=org_id, name=name)
    return found


async def withdraw_all(connection: Connection, org_id: UUID) -> None:
    """Take the names of all namespaces of an organization away."""
    await connection.execute("withdraw_all_namespaces", org_id=org_id)


async def list_all_namespace_ids(connection: Connection, org_id: UUID) -> list[int]:
    """List every namespace of an organization, also those that are being erased."""
    return [row["namespace_id"] for row in await connection.fetch("list_all_namespace_ids", org_id=org_id)]


async def list_ids_to_erase(connection: Connection, org_id: UUID, namespace_id: int, limit: int) -> list[int]:
    """Read the ids of some memories of a namespace."""
    rows = await connection.fetch("list_ids_to_erase", org_id=org_id, namespace_id=namespace_id, limit=limit)
    return [row["memory_id"] for row in rows]


async def erase_recalls(connection: Connection, org_id: UUID, namespace_id: int, limit: int) -> int:
    """Delete some of a namespace's recalls, and return how many there were."""
    return await connection.execute("erase_recalls", org_id=org_id, namespace_id=namespace_id, limit=limit)


async def lock_to_erase(connection: Connection, org_id: UUID, namespace_id: int) -> str | None:
    """Wait for the writers of a namespace and keep others out; returns its former name, None when it is gone."""
    name: str | None = await connection.fetch_value("lock_namespace_to_erase", org_id=org_id, namespace_id=namespace_id)
    return name


async def erase_rest(connection: Connection, org_id: UUID, namespace_id: int, name: str, until: datetime) -> None:
    """Delete a locked namespace whose memories are gone, with all that is left of it in other tables."""
    place = {"org_id": org_id, "namespace_id": namespace_id}
    await connection.execute("erase_postings", **place)
    await connection.execute("erase_embeddings", **place)
    await connection.execute("erase_answers", org_id=org_id, until=until, mention=_mention(name))
    await connection.execute("erase_waiting_job", org_id=org_id, kind=JobKind.ERASE, key=str(namespace_id))
    await connection.execute("delete_namespace_jobs", **place)
    await connection.execute("erase_namespace", **place)


async def count_namespace_rows(
    connection: Connection, org_id: UUID, namespace_id: int, name: str, until: datetime
) -> Mapping[str, int]:
    """Count a namespace's rows by table; answers kept for idempotency keys count when they name it."""
    row = await connection.fetch_row(
        "count_namespace_rows", org_id=org_id, namespace_id=namespace_id, mention=_mention(name), until=until
    )
    return dict(row or {})


async def count_organization_rows(connection: Connection, org_id: UUID) -> Mapping[str, int]:
    """Count an organization's rows by table."""
    return dict(await connection.fetch_row("count_organization_rows", org_id=org_id) or {})
