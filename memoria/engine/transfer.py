"""Move whole namespaces: out, in, and out of existence."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from functools import partial

from memoria import erasures, export, import_lines, jobs, namespaces
from memoria.database import Connection, Database
from memoria.embedding.port import Embedder
from memoria.engine.transactions import Clock, Transactions
from memoria.erase import LATE_ANSWERS, ErasureStep, erase_step
from memoria.identifiers import IdMaker
from memoria.job_records import NewJob
from memoria.records import Principal
from memoria.transfer_records import Erasure, Export, ImportLine, ImportResult
from memoria.vocabulary import INLINE_ERASURE, JobKind, Scope

ERASE_AGAIN = timedelta(minutes=2)  # a job finishes what a server that was stopped has begun


class Transfer:
    """Export, import and erase namespaces, confined to those of the principal that each call names."""

    def __init__(
        self, database: Database, transactions: Transactions, ids: IdMaker, embedder: Embedder, clock: Clock
    ) -> None:
        self._database = database
        self._transactions = transactions
        self._ids = ids
        self._embedder = embedder
        self._clock = clock

    async def export(self, principal: Principal, namespace: str | None = None) -> Export:
        """Begin an export; its pages are read while they are consumed, each in a transaction of its own.

        What is written meanwhile may be in it or not; memories that are made meanwhile are not. A namespace that does
        not exist is exported as an empty one.
        """
        namespaces.require_scope(principal, Scope.READ)
        name = namespaces.resolve_namespace(principal, namespace)
        return await export.begin(self._database, principal.org_id, name, self._clock())

    async def import_lines(
        self, principal: Principal, lines: AsyncIterator[ImportLine], namespace: str | None = None
    ) -> ImportResult:
        """Store what an export holds, in the namespace it came from unless another is named.

        Done in batches, each committed by itself: whoever sends the same again after an interruption gets the rest.
        What is there already stays as it is.
        """
        namespaces.require_scope(principal, Scope.WRITE)
        asked = None if namespace is None else namespaces.resolve_namespace(principal, namespace)
        run = import_lines.ImportRun(
            self._database, self._transactions.retry, self._ids, self._embedder, self._clock, principal, asked
        )
        return await run.take_all(lines)

    async def erase(self, principal: Principal, namespace: str) -> Erasure:
        """Delete a namespace and all that is in it, for good. From the first moment on no call finds it.

        A large one is left to a job, whose id is in the answer. Whatever happens to the caller, a job finishes what
        was begun. What another call is writing to the namespace meanwhile is erased with it; what is written later
        makes a new namespace of the same name.
        """
        namespaces.require_scope(principal, Scope.ADMIN)
        name = namespaces.resolve_namespace(principal, namespace)
        begun = await self._transactions.retry(
            lambda: self._transactions.write(principal, partial(self._begin, principal=principal, name=name))
        )
        erasure, namespace_id, now = begun
        if namespace_id is None:
            return erasure
        step = ErasureStep(0)
        while step.after is None:
            again = partial(erase_step, org_id=principal.org_id, namespace_id=namespace_id, withdrawn_at=now)
            step = await self._transactions.retry(partial(self._transactions.write, principal, again))
        return Erasure(name, erasure.before, step.after)

    async def _begin(
        self, connection: Connection, principal: Principal, name: str
    ) -> tuple[Erasure, int | None, datetime]:
        """Take the namespace out of reach, and enqueue the job that erases it unless the caller does; whose id then."""
        org_id, now = principal.org_id, self._clock()
        found = await erasures.withdraw(connection, org_id, name)
        earlier = None if found else await erasures.find_withdrawn(connection, org_id, name)
        namespace_id = found.id if found else earlier or 0
        until = now + LATE_ANSWERS
        before = await erasures.count_namespace_rows(connection, org_id, namespace_id, name, until)
        if not namespace_id:
            return Erasure(name, before, before), None, now
        inline = found is not None and found.memory_count <= INLINE_ERASURE
        payload = {"namespace_id": namespace_id, "before": before, "at": now.isoformat()}
        new = NewJob(JobKind.ERASE, None, payload, key=str(namespace_id), run_at=now + ERASE_AGAIN if inline else now)
        job = await jobs.enqueue(connection, org_id, new, new_id=self._ids.next(), now=now)
        return Erasure(name, before, None, job.job_id), namespace_id if inline else None, now
