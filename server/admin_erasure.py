"""The operator's command that erases an organization, at once or by a worker."""

import argparse
from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime
from typing import Any

from accounts.accounts import require_organization
from accounts.erasure import erase_organization
from memoria import jobs
from memoria.database import Database
from memoria.errors import InvalidInputError
from memoria.identifiers import IdKind, IdMaker, format_id
from memoria.job_records import NewJob
from memoria.vocabulary import JobKind


def add_erasure_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Describe the command and its arguments."""
    command = commands.add_parser(
        "erase-organization", help="delete an organization and everything of it for good, and count its rows"
    )
    command.add_argument("--email", required=True, help="address of an account of the organization")
    command.add_argument("--confirm", required=True, help="the namespace of its own, as create-account showed it")
    command.add_argument("--by-job", action="store_true", help="leave it to a worker; its log holds the counts")


async def run_erasure(database: Database, parsed: argparse.Namespace) -> list[str]:
    """Erase, and show the rows of each table before and after. Raises NotFoundError, InvalidInputError."""
    organization = await require_organization(database, parsed.email)
    if parsed.confirm != organization.own_namespace:
        raise InvalidInputError("Nothing is erased: --confirm must repeat the organization's own namespace.")
    now = datetime.now(UTC)
    if parsed.by_job:
        ids = IdMaker(lambda: now)
        async with database.tenant(organization.org_id) as connection:
            new = NewJob(JobKind.ERASE_ORGANIZATION)
            job = await jobs.enqueue(connection, organization.org_id, new, new_id=ids.next(), now=now)
        return [f"MEMORIA_JOB_ID={format_id(job.job_id, IdKind.JOB)}"]
    erasure = await erase_organization(database, organization.org_id, now)
    lines = [f"{table}  before {rows}  after {erasure.after[table]}" for table, rows in erasure.before.items()]
    return [*lines, f"MEMORIA_ERASED={organization.own_namespace}"]


Command = Callable[[Database, argparse.Namespace], Coroutine[Any, Any, list[str]]]
COMMANDS: Mapping[str, Command] = {"erase-organization": run_erasure}
