"""The verbs of consolidation: consolidate a namespace, say what a summary was made of, undo it."""

from datetime import timedelta
from functools import partial

from memoria import consolidations, jobs, listing, namespaces, undo
from memoria.consolidate import consolidate
from memoria.consolidation_records import Consolidated, ConsolidationAnswer, Counts, Provenance, Unconsolidated
from memoria.consolidation_run import Means
from memoria.database import Connection, Database
from memoria.embedding.port import Embedder
from memoria.engine.transactions import Clock, Transactions
from memoria.errors import InvalidInputError, NotFoundError
from memoria.identifiers import IdMaker
from memoria.job_records import NewJob
from memoria.language.port import SummaryWriter
from memoria.namespaces import Namespace
from memoria.records import Once, Principal, Replay
from memoria.vocabulary import (
    CONSOLIDATE_AT_ONCE,
    CONSOLIDATION_HOURS,
    MAX_CONSOLIDATION_HOURS,
    JobKind,
    Scope,
)


class Consolidation:
    """Make of many memories what lasts, confined to the organization of the principal that each call names.

    Methods raise what those of Engine raise.
    """

    def __init__(
        self,
        database: Database,
        embedder: Embedder,
        clock: Clock,
        ids: IdMaker,
        transactions: Transactions,
        writer: SummaryWriter | None = None,
    ) -> None:
        self._database = database
        self._embedder = embedder
        self._clock = clock
        self._ids = ids
        self._transactions = transactions
        self._writer = writer

    async def consolidate(
        self,
        principal: Principal,
        *,
        namespace: str | None = None,
        window_hours: float = CONSOLIDATION_HOURS,
        wait: bool = False,
        once: Once | None = None,
    ) -> ConsolidationAnswer | Replay:
        """Consolidate what was made or changed in a namespace within the window: as a job, or at once with `wait`.

        A window of more than 2,000 memories is always left to a job. Raises ConflictError while another run of the
        namespace is under way.
        """
        namespaces.require_scope(principal, Scope.WRITE)
        name = namespaces.resolve_namespace(principal, namespace)
        window = check_window(window_hours)
        if once and (replay := await self._transactions.find_answer(principal, once)):
            return replay
        found, size = await self._survey(principal, name, window)
        if found is None or (wait and size <= CONSOLIDATE_AT_ONCE):
            done = await self._run(principal, name, found, window)
            return await self._transactions.write_once(principal, once, partial(_give, ConsolidationAnswer(done, None)))
        # A job that waits for another window is another job; the two take turns.
        key = "" if window_hours == CONSOLIDATION_HOURS else f"{window_hours:g} hours"
        new = NewJob(JobKind.CONSOLIDATE, found.id, {"window_hours": window_hours}, key)

        async def work(connection: Connection) -> ConsolidationAnswer:
            enqueued = await jobs.enqueue(connection, principal.org_id, new, new_id=self._ids.next(), now=self._clock())
            return ConsolidationAnswer(None, enqueued.job_id)

        return await self._transactions.retry(lambda: self._transactions.write_once(principal, once, work))

    async def provenance(self, principal: Principal, memory_id: int) -> Provenance:
        """Say what a summary or an episode was made of. Raises NotFoundError for a memory that somebody wrote."""
        namespaces.require_scope(principal, Scope.READ)
        async with self._database.tenant(principal.org_id) as connection:
            await listing.read_visible(connection, principal, memory_id)
            made = await consolidations.read_provenances(connection, principal.org_id, [memory_id])
        if memory_id not in made:
            raise NotFoundError("This memory was not made by consolidation.")
        return made[memory_id]

    async def unconsolidate(
        self, principal: Principal, memory_id: int, once: Once | None = None
    ) -> Unconsolidated | Replay:
        """Delete a summary or an episode and give its members their states back; it is not made again."""
        namespaces.require_scope(principal, Scope.WRITE)

        async def work(connection: Connection) -> Unconsolidated:
            return await undo.unconsolidate(connection, principal, memory_id, self._clock())

        return await self._transactions.retry(lambda: self._transactions.write_once(principal, once, work))

    async def _survey(self, principal: Principal, name: str, window: timedelta) -> tuple[Namespace | None, int]:
        async with self._database.tenant(principal.org_id) as connection:
            found = await namespaces.find_namespace(connection, principal.org_id, name)
            if found is None:
                return None, 0
            since = self._clock() - window
            return found, await consolidations.count_window(connection, principal.org_id, found.id, since)

    async def _run(self, principal: Principal, name: str, found: Namespace | None, window: timedelta) -> Consolidated:
        now = self._clock()
        if found is None:
            return Consolidated(name, now - window, now, Counts())
        means = Means(
            org_id=principal.org_id,
            transaction=lambda: self._database.tenant(principal.org_id),
            embedder=self._open_embedder,
            ids=self._ids,
            clock=self._clock,
            writer=self._writer,
        )
        return await consolidate(means, found.id, holder=f"call {self._ids.next()}", window=window)

    async def _open_embedder(self) -> Embedder:
        return self._embedder


async def _give(answer: ConsolidationAnswer, connection: Connection) -> ConsolidationAnswer:
    return answer


def check_window(hours: float) -> timedelta:
    """Return a window of more than nothing and at most ten years. Raises InvalidInputError."""
    if not 0 < hours <= MAX_CONSOLIDATION_HOURS:
        raise InvalidInputError(
            f"`window_hours` must be above 0 and at most {MAX_CONSOLIDATION_HOURS:,}.",
            field="window_hours",
            limit=MAX_CONSOLIDATION_HOURS,
        )
    return timedelta(hours=hours)
