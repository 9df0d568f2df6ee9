"""Remember which keys were used, and write it down now and then: no request waits for a row lock."""

from datetime import datetime
from uuid import UUID

from accounts.keys import record_key_uses
from memoria.database import Database
from memoria.errors import UnavailableError


class KeyUses:
    """Gather the last use of each key in memory. A crash loses the uses since the last flush, and nothing else."""

    def __init__(self) -> None:
        self._pending: dict[tuple[UUID, UUID], datetime] = {}

    def note(self, org_id: UUID, key_id: UUID, at: datetime) -> None:
        """Note a use."""
        self._pending[org_id, key_id] = at

    async def flush(self, database: Database) -> None:
        """Write what was noted, one transaction for each organization; what fails is kept for the next flush."""
        pending, self._pending = self._pending, {}
        by_org: dict[UUID, list[tuple[UUID, datetime]]] = {}
        for (org_id, key_id), at in pending.items():
            by_org.setdefault(org_id, []).append((key_id, at))
        for org_id, uses in by_org.items():
            try:
                async with database.tenant(org_id) as connection:
                    await record_key_uses(connection, org_id, uses)
            except UnavailableError:
                for key_id, at in uses:
                    self._pending.setdefault((org_id, key_id), at)
