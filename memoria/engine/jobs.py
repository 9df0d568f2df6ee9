"""Let an organization see its background jobs."""

from collections.abc import Sequence

from memoria import jobs
from memoria.cursors import check_limit, fingerprint, read_cursor, write_cursor
from memoria.database import Database
from memoria.job_records import Job, JobPage
from memoria.namespaces import may_use, require_scope
from memoria.records import Principal
from memoria.vocabulary import JobState, Scope


class Jobs:
    """Read jobs, confined to the organization and the namespaces of the principal that each call names."""

    def __init__(self, database: Database) -> None:
        self._database = database

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


def _may_see(principal: Principal, job: Job) -> bool:
    """A key that is bound to namespaces sees their jobs alone: none of the organization, none of a namespace gone."""
    if job.namespace is None:
        return not principal.namespace_patterns
    return may_use(principal, job.namespace)
