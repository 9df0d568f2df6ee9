"""Answer the calls about background jobs."""

from server.call import Answer, Call
from server.wire.filters import NoQuery
from server.wire.jobs import JobPageOut, JobsQuery, render_job


async def get_job(call: Call[NoQuery]) -> Answer:
    """Read a job."""
    return Answer.of(render_job(await call.engine.jobs.get(call.principal, call.id)))


async def list_jobs(call: Call[JobsQuery]) -> Answer:
    """List jobs, newest first."""
    asked = call.input
    page = await call.engine.jobs.list(call.principal, states=asked.to_states(), limit=asked.limit, cursor=asked.cursor)
    items = [render_job(job) for job in page.items]
    return Answer.of(JobPageOut(items=items, next_cursor=page.next_cursor, total=page.total))
