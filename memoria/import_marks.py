"""Import marks on memories: for which queries they did not help, and which must not be merged again."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

import numpy as np

from memoria import dampenings, memories, transfers
from memoria.dampenings import Asked, Dampening
from memoria.database import Connection, encode_half_vector
from memoria.encode import MovedError
from memoria.errors import MemoriaError, NotFoundError
from memoria.identifiers import IdMaker
from memoria.import_outcomes import MISSING, Outcome
from memoria.transfer_records import CarriedDampening, CarriedRefusal, LineRefusal
from memoria.validation import check_content, check_past

Dampenings = Sequence[tuple[int, CarriedDampening]]
Refusals = Sequence[tuple[int, CarriedRefusal]]


def check_marks(batch: Dampenings, now: datetime) -> tuple[list[tuple[int, CarriedDampening]], list[LineRefusal]]:
    """Check marks, given with the numbers of their lines."""
    ready, refusals = [], []
    for line, carried in batch:
        try:
            check_content(carried.query, "query")
            check_past(carried.updated_at, "updated_at", now)
            ready.append((line, carried))
        except MemoriaError as error:
            refusals.append(LineRefusal(line, error.code, error.message))
    return ready, refusals


async def find_queries(connection: Connection, org_id: UUID, batch: Dampenings) -> list[str]:
    """List the queries that nothing is stored of, each once: those need vectors."""
    known = await dampenings.find_known(connection, org_id, [carried.memory_id for _, carried in batch])
    unknown = (carried.query for _, carried in batch if (carried.memory_id, carried.query) not in known)
    return list(dict.fromkeys(unknown))


async def store_dampenings(
    connection: Connection,
    org_id: UUID,
    namespace_id: int,
    batch: Dampenings,
    vectors: Mapping[str, np.ndarray],
    ids: IdMaker,
) -> Outcome:
    """Store the counts that are not there; a count for the same query stays as it is.

    Raises MovedError when another transaction has deleted one that was there.
    """
    outcome = Outcome()
    wanted = sorted({carried.memory_id for _, carried in batch})
    homes = await memories.find_homes(connection, org_id, wanted)
    known = await dampenings.find_known(connection, org_id, wanted)
    for line, carried in batch:
        home = homes.get(carried.memory_id)
        if home is None or home[0] != namespace_id:
            outcome.refusals.append(LineRefusal(line, NotFoundError.code, MISSING))
        elif (carried.memory_id, carried.query) in known:
            outcome.skipped += 1
        elif carried.query not in vectors:
            raise MovedError("what was there has been deleted meanwhile")
        else:
            asked = Asked(carried.query, encode_half_vector(vectors[carried.query]))
            begun = Dampening(ids.next(), carried.marks)
            await dampenings.insert_dampening(
                connection, org_id, namespace_id, carried.memory_id, asked, begun, carried.updated_at
            )
            known.add((carried.memory_id, carried.query))
            outcome.imported += 1
    return outcome


async def store_refusals(connection: Connection, org_id: UUID, namespace_id: int, batch: Refusals) -> Outcome:
    """Remember what must not be merged again."""
    outcome = Outcome()
    refused = [carried for _, carried in batch]
    homes = await memories.find_homes(connection, org_id, sorted({carried.memory_id for carried in refused}))
    inserted = await transfers.import_refusals(connection, org_id, namespace_id, refused)
    for line, carried in batch:
        home = homes.get(carried.memory_id)
        if home is None or home[0] != namespace_id:
            outcome.refusals.append(LineRefusal(line, NotFoundError.code, MISSING))
        elif (carried.group, carried.memory_id) in inserted:
            inserted.discard((carried.group, carried.memory_id))
            outcome.imported += 1
        else:
            outcome.skipped += 1
    return outcome
