"""Erase: delete whole namespaces, in transactions of bounded size, and prove that nothing is left.

A namespace is first taken out of reach, by a change of its name; what is being written to it meanwhile is erased with
it. Then its memories go slice by slice, and what is left goes with the namespace itself in one last transaction. Every
step may be repeated.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from memoria import erasures
from memoria.database import Connection
from memoria.forget import delete_released

SLICE_MEMORIES = 500
SLICE_RECALLS = 2_000
# Transactions that had begun when the name was taken away may commit so much later.
LATE_ANSWERS = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class ErasureStep:
    """Say how many memories a step deleted; `after` are the rows that are left, once there is nothing more to do."""

    deleted: int
    after: Mapping[str, int] | None = None


async def erase_step(connection: Connection, org_id: UUID, namespace_id: int, withdrawn_at: datetime) -> ErasureStep:
    """Do the next step in the caller's transaction. Call it, each time in a new one, until it returns `after`."""
    ids = await erasures.list_ids_to_erase(connection, org_id, namespace_id, SLICE_MEMORIES)
    if ids:
        return ErasureStep(len(await delete_released(connection, org_id, ids)))
    if await erasures.erase_recalls(connection, org_id, namespace_id, SLICE_RECALLS) == SLICE_RECALLS:
        return ErasureStep(0)
    return await _finish(connection, org_id, namespace_id, withdrawn_at)


async def _finish(connection: Connection, org_id: UUID, namespace_id: int, withdrawn_at: datetime) -> ErasureStep:
    until = withdrawn_at + LATE_ANSWERS
    name = await erasures.lock_to_erase(connection, org_id, namespace_id)
    if name is None:
        return ErasureStep(0, await erasures.count_namespace_rows(connection, org_id, namespace_id, "", until))
    if await erasures.list_ids_to_erase(connection, org_id, namespace_id, 1):
        return ErasureStep(0)  # written by a transaction that had begun before the name was taken away
    await erasures.erase_rest(connection, org_id, namespace_id, name, until)
    return ErasureStep(0, await erasures.count_namespace_rows(connection, org_id, namespace_id, name, until))
