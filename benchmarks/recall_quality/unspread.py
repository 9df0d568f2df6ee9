"""Run the same recalls in this process, on the server's database, with spreading activation switched off."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime

from accounts.embedders import open_embedder
from accounts.environment import SettingsError
from accounts.keys import find_key
from benchmarks.recall_quality.dataset import Question
from benchmarks.recall_quality.service import RECALL_LIMIT, Stored, units_of
from memoria.engine import Engine
from memoria.identifiers import format_id
from memoria.records import Filters, Principal, RecallRequest
from server.local import local_servers
from server.settings import read_settings


class UnspreadRecall:
    """Answer questions from the seeds alone."""

    def __init__(self, engine: Engine, principal: Principal) -> None:
        self._engine = engine
        self._principal = principal

    async def recall(self, stored: Stored, question: Question) -> list[str]:
        """Name the units that the seeds find, best first."""
        request = RecallRequest(
            query=question.text,
            namespace=stored.namespace,
            limit=RECALL_LIMIT,
            filters=Filters(occurred_before=question.before),
            learn=False,
            spreading=False,
        )
        answer = await self._engine.recall(self._principal, request)
        return units_of(stored, [format_id(hit.memory.id) for hit in answer.hits])


@contextlib.asynccontextmanager
async def open_unspread(environ: Mapping[str, str], key: str) -> AsyncIterator[UnspreadRecall]:
    """Open the engine on the database that the settings (or the local server's home folder) name.

    Raises SettingsError, EmbeddedError or MemoriaError when that database is not to be had here.
    """
    with local_servers(read_settings(environ), join=True) as settings:
        if settings.database_url is None:
            raise SettingsError("DATABASE_URL is not set.")
        embedder = open_embedder(settings.embedder, settings.home)
        engine = await Engine.open(settings.database_url, embedder, clock=lambda: datetime.now(UTC), pool_size=2)
        try:
            async with engine.database.untenanted() as connection:
                found = await find_key(connection, key)
            if found is None:
                raise SettingsError("The key opens nothing in this database.")
            yield UnspreadRecall(engine, found.principal)
        finally:
            await engine.close()
            await embedder.close()
