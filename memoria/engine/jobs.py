"""Let an organization see its background jobs, and plan those that the engine itself wants."""

from collections.abc import Sequence

from memoria import jobs, staged_embeddings
from memoria.cursors import check_limit, fingerprint, read_cursor, write_cursor
from memoria.database import Database
from memoria.engine.transactions import Clock
from memoria.identifiers import IdMaker
from memoria.job_records import Job, JobPage, JobPriority, NewJob
from memoria.namespaces import may_use, require_scope
from memoria.records import Principal
from memoria.vocabulary import JobKind, JobState, Scope


class Jobs:
    """Read jobs, confined to the organization and the namespaces of the principal that each call names."""

    def __init__(self, database: Database, embedder_name: str, ids: IdMaker, clock: Clock) -> None:
        self._database = database
        self._embedder_name = embedder_name
        self._ids = ids
        self._clock = clock

    async def get(self, principal: Principal, job_id: int) -> Job:
        """Read one job. Raises NotFoundError for one that the principal may not see."""
        require_scope(principal, Scope.READ)
        async with self._database.tenant(principal.org_id) as connection:
            job = await jobs.read_job(connection, principal.org_id, job_id)
        if job is None or not _may_see(principal, job):
            raise jobs.no_such_job()
        return job

    async def list(
        self, principal: Principal, *, states: Sequence[JobState] = (), limit: int = 50, cursor: str | None = None
    ) -> JobPage:
        """Read a page of jobs, newest first."""
        require_scope(principal, Scope.READ)
        request = fingerprint("jobs", sorted(states))
        before = read_cursor(cursor, request, int)
        async with self._database.tenant(principal.org_id) as connection:
            found, total = await jobs.list_jobs(
                connection, principal.org_id, principal, states=states, before=before, limit=check_limit(limit) + 1
            )
        page = found[:limit]
        more = len(found) > limit
        return JobPage(tuple(page), write_cursor(page[-1].id, request) if more else None, total)

    async def plan_reembedding(self) -> int:
        """Enqueue a job for each namespace that another embedder has embedded, and return how many there were.

        A bounded number at once; safe to repeat. One that was given up is not enqueued again.
        """
        name = self._embedder_name
        async with self._database.untenanted() as connection:
            places = await staged_embeddings.find_namespaces_to_reembed(connection, name)
        for org_id, namespace_id in places:
            # With the embedder as its key: a job that waits for yet another embedder does not serve for this one.
            new = NewJob(JobKind.REEMBED, namespace_id, {"embedder": name}, name, JobPriority.SCHEDULED)
            async with self._database.tenant(org_id) as connection:
                await jobs.enqueue(connection, org_id, new, new_id=self._ids.next(), now=self._clock())
        return len(places)


def _may_see(principal: Principal, job: Job) -> bool:
    """A key that is bound to namespaces sees their jobs alone: none of the organization, none of a namespace gone."""
    if job.namespace is None:
        return not principal.namespace_patterns
    return may_use(principal, job.namespace)
