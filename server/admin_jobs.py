"""The operator's commands about background jobs of all organizations: see them, retry the dead, cancel the unwanted."""

import argparse
from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime
from typing import Any

from memoria import jobs
from memoria.database import Database
from memoria.errors import NotFoundError
from memoria.identifiers import IdKind, format_id, parse_id
from memoria.job_records import JobListing
from memoria.vocabulary import JobState

LISTED = 100


def add_job_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Describe the commands and their arguments."""
    listing = commands.add_parser("list-jobs", help="list background jobs of all organizations, the newest first")
    listing.add_argument("--state", type=JobState, choices=list(JobState), help="only jobs in this state")
    listing.add_argument("--limit", type=int, default=LISTED, help=f"at most so many; {LISTED} unless given")
    for name, does in (
        ("retry-job", "queue a dead job again, with all its attempts before it"),
        ("cancel-job", "take a job out of the queue, or stop it within seconds"),
    ):
        command = commands.add_parser(name, help=does)
        command.add_argument("--job-id", required=True, help="id of the job, as list-jobs shows it")


async def list_jobs(database: Database, parsed: argparse.Namespace) -> list[str]:
    """List jobs, a line each."""
    async with database.untenanted() as connection:
        found = await jobs.find_jobs_of_all(connection, state=parsed.state, wanted=parsed.limit)
    return [_describe(job) for job in found]


async def retry_job(database: Database, parsed: argparse.Namespace) -> list[str]:
    """Queue a dead job again. Raises NotFoundError when there is none, ConflictError while an equal one is begun."""
    job = await _find(database, parsed.job_id)
    async with database.tenant(job.org_id) as connection:
        if not await jobs.retry_dead(connection, job.org_id, job.job_id, datetime.now(UTC)):
            raise NotFoundError(f"The job is {job.state}, not dead.")
    return [f"MEMORIA_RETRIED_JOB_ID={format_id(job.job_id, IdKind.JOB)}"]


async def cancel_job(database: Database, parsed: argparse.Namespace) -> list[str]:
    """Cancel a job. Raises NotFoundError when there is none, or it has ended."""
    job = await _find(database, parsed.job_id)
    async with database.tenant(job.org_id) as connection:
        if not await jobs.cancel(connection, job.org_id, job.job_id, datetime.now(UTC)):
            raise NotFoundError(f"The job is {job.state}: there is nothing to cancel.")
    return [f"MEMORIA_CANCELLED_JOB_ID={format_id(job.job_id, IdKind.JOB)}"]


Command = Callable[[Database, argparse.Namespace], Coroutine[Any, Any, list[str]]]
COMMANDS: Mapping[str, Command] = {"list-jobs": list_jobs, "retry-job": retry_job, "cancel-job": cancel_job}


async def _find(database: Database, text: str) -> JobListing:
    job_id = parse_id(text, IdKind.JOB)
    async with database.untenanted() as connection:
        found = await jobs.find_jobs_of_all(connection, state=None, job_id=job_id, wanted=1)
    if not found:
        raise jobs.no_such_job()
    return found[0]


def _describe(job: JobListing) -> str:
    moment = (job.finished_at or job.run_at).isoformat(timespec="seconds")
    word = "ended" if job.finished_at else "runs" if job.state is JobState.RUNNING else "due"
    place = f"{job.org_id}/{job.namespace_id or '*'}"
    error = job.error_code or "-"
    name = format_id(job.job_id, IdKind.JOB)
    return f"{name}  {job.state:<9}  {job.kind:<14}  {place}  attempts {job.attempts}  {error}  {word} {moment}"
