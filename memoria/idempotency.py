"""Make a write happen once: claim the client's key in the write's own transaction and keep the answer there."""

from datetime import datetime, timedelta
from uuid import UUID

from memoria.database import Connection
from memoria.errors import ConflictError
from memoria.records import Once, Principal, Replay
from memoria.vocabulary import IDEMPOTENCY_HOURS

NO_KEY = UUID(int=0)  # a principal without a key: the embedded engine's own


async def find_answer(connection: Connection, principal: Principal, once: Once, now: datetime) -> Replay | None:
    """Read the answer this key got before. Raises ConflictError when it came with another request."""
    row = await connection.fetch_row(
        "find_idempotent_answer",
        org_id=principal.org_id,
        principal_id=principal.key_id or NO_KEY,
        key=once.key,
        not_before=now - timedelta(hours=IDEMPOTENCY_HOURS),
    )
    if row is None:
        return None
    if row["request_digest"] != once.request_digest:
        raise ConflictError("This idempotency key was used with another request.", field="Idempotency-Key")
    return Replay(row["answer"])


async def claim_key(connection: Connection, principal: Principal, once: Once, now: datetime) -> Replay | None:
    """Take the key for this transaction, or read its answer once the transaction that holds it has ended.

    Raises ConflictError when the key came with another request.
    """
    claimed = await connection.execute(
        "claim_idempotency_key",
        org_id=principal.org_id,
        principal_id=principal.key_id or NO_KEY,
        key=once.key,
        request_digest=once.request_digest,
        now=now,
        not_before=now - timedelta(hours=IDEMPOTENCY_HOURS),
    )
    return None if claimed else await find_answer(connection, principal, once, now)


async def store_answer(connection: Connection, principal: Principal, once: Once, answer: bytes) -> None:
    """Keep the answer for repeats; it is committed with the write or not at all."""
    await connection.execute(
        "store_idempotent_answer",
        org_id=principal.org_id,
        principal_id=principal.key_id or NO_KEY,
        key=once.key,
        answer=answer,
    )
