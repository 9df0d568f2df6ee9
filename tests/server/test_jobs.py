"""Jobs are read over HTTP by their own organization, in the public words."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from anyio import to_thread

from memoria import jobs
from memoria.database import Database
from memoria.errors import NotFoundError
from memoria.identifiers import IdKind, format_id, parse_id
from memoria.job_records import JobFailure, NewJob
from server.admin import main
from server.settings import Settings
from tests.people import Person
from tests.workers.job_rig import IDS, make_runner, new_kind
from workers.clock import utc_now
from workers.kinds import Kind
from workers.running import RunningJob

pytestmark = pytest.mark.anyio


async def store(job: RunningJob) -> Mapping[str, Any]:
    await job.report(3, 10)
    return {"merged": 3}


async def miss(job: RunningJob) -> None:
    raise NotFoundError("There is no such namespace.")


async def enqueue(database: Database, person: Person, kind: Kind) -> str:
    """Enqueue a job for somebody's organization and return its public id."""
    org_id = person.organization.org_id
    async with database.tenant(org_id) as connection:
        queued = await jobs.enqueue(connection, org_id, NewJob(kind.name), new_id=IDS.next(), now=utc_now())
    return format_id(queued.job_id, IdKind.JOB)


async def test_a_job_is_followed_from_the_queue_to_its_end(alice: Person, database: Database) -> None:
    kind = new_kind(store)
    job_id = await enqueue(database, alice, kind)
    queued = (await alice.client.get(f"/v1/jobs/{job_id}")).json()
    assert queued["id"] == job_id
    assert (queued["state"], queued["attempts"], queued["progress"]) == ("Queued", 0, {"done": 0, "total": None})
    await make_runner(database, utc_now, kind).run_one()
    ended = (await alice.client.get(f"/v1/jobs/{job_id}")).json()
    assert (ended["state"], ended["attempts"], ended["progress"]) == ("Succeeded", 1, {"done": 3, "total": 10})
    assert (ended["result"], ended["error"]) == ({"merged": 3}, None)
    assert ended["finished_at"] >= ended["started_at"] >= ended["created_at"]


async def test_jobs_are_listed_by_state_and_by_their_organization_alone(
    alice: Person, charlie: Person, database: Database
) -> None:
    kind = new_kind(miss)
    job_id = await enqueue(database, alice, kind)
    theirs = await enqueue(database, charlie, kind)
    runner = make_runner(database, utc_now, kind)
    while await runner.run_one():
        pass
    dead = (await alice.client.get("/v1/jobs", params={"state": "Dead"})).json()
    assert [item["id"] for item in dead["items"]] == [job_id]
    assert dead["items"][0]["error"] == {"code": "NOT_FOUND", "message": "There is no such namespace."}
    assert (await alice.client.get("/v1/jobs", params={"state": "Queued"})).json()["items"] == []
    for hidden in (theirs, "job_0000000000000", "mem_0000000000000", "nonsense"):
        answer = await alice.client.get(f"/v1/jobs/{hidden}")
        assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")
        assert answer.json()["message"] == "There is no job with this id."
    unfinished = await alice.client.get("/v1/jobs?state=Queued&state=Running")
    assert unfinished.json()["total"] == 0
    assert (await alice.client.get("/v1/jobs", params={"state": "Lost"})).status_code == 422


async def test_an_operator_lists_retries_and_cancels(
    alice: Person, database: Database, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    async def admin(*arguments: str) -> tuple[int, str]:
        capsys.readouterr()
        code = await to_thread.run_sync(lambda: main(arguments, settings))
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    kind = new_kind(miss)
    job_id = await enqueue(database, alice, kind)
    assert (await admin("retry-job", "--job-id", job_id)) == (1, "The job is queued, not dead.\n")
    await make_runner(database, utc_now, kind).run_one()
    code, listed = await admin("list-jobs", "--state", "dead")
    (line,) = [line for line in listed.splitlines() if job_id in line]
    assert code == 0
    assert "NOT_FOUND" in line
    assert str(alice.organization.org_id) in line
    assert (await admin("retry-job", "--job-id", job_id)) == (0, f"MEMORIA_RETRIED_JOB_ID={job_id}\n")
    assert (await alice.client.get(f"/v1/jobs/{job_id}")).json()["state"] == "Queued"
    assert (await admin("cancel-job", "--job-id", job_id)) == (0, f"MEMORIA_CANCELLED_JOB_ID={job_id}\n")
    assert (await alice.client.get(f"/v1/jobs/{job_id}")).json()["state"] == "Cancelled"
    code, said = await admin("cancel-job", "--job-id", job_id)
    assert (code, said) == (1, "The job is cancelled: there is nothing to cancel.\n")
    assert (await admin("retry-job", "--job-id", "job_0000000000000"))[0] == 1


async def test_a_failure_is_shown_without_what_the_exception_said(alice: Person, database: Database) -> None:
    async def reveal(job: RunningJob) -> None:
        raise ValueError("We deploy on Fridays")

    kind = new_kind(reveal)
    job_id = await enqueue(database, alice, kind)
    await make_runner(database, utc_now, kind).run_one()
    async with database.tenant(alice.organization.org_id) as connection:
        job = await jobs.read_job(connection, alice.organization.org_id, parse_id(job_id, IdKind.JOB))
    assert job is not None
    assert job.error == JobFailure("INTERNAL", "The job failed unexpectedly.")
    assert "Fridays" not in json.dumps((await alice.client.get(f"/v1/jobs/{job_id}")).json())
