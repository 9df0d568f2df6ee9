"""The fields of each answer are a promise: a golden file shows them, and a change must be meant."""

import json
from pathlib import Path
from typing import Any

import pytest

from memoria.database import Database
from memoria.job_records import NewJob
from memoria.jobs import enqueue
from memoria.vocabulary import JobKind
from server.services import utc_now
from tests.people import Person
from tests.workers.job_rig import IDS

pytestmark = pytest.mark.anyio

GOLDEN = Path(__file__).parent / "golden"
MEMORY = {
    "content": "We deploy on Fridays after 2pm because of the outage in May",
    "type": "Semantic",
    "namespace": "golden",
    "salience": 0.7,
    "title": "Deploy day",
    "tags": ["ops", "deploy"],
    "category": "preference",
    "source": "human",
    "url": "HTTPS://www.Example.com/runbook/#deploy",
    "related_urls": ["https://example.com/outage"],
    "project": "shop",
    "context": {"user_id": "john-123"},
    "metadata": {"reviewed": True, "by": ["ada"]},
    "occurred_at": "2026-05-01T09:30:00+02:00",
}
# What differs from run to run is shown by its kind.
CHANGING = {
    "id": "<id>",
    "source_id": "<id>",
    "target_id": "<id>",
    "recall_id": "<recall id>",
    "key_id": "<key id>",
    "created_at": "<time>",
    "updated_at": "<time>",
    "last_accessed_at": "<time>",
    "at": "<time>",
    "made_at": "<time>",
    "joined_at": "<time>",
    "job_id": "<job id>",
    "exported_at": "<time>",
    "memory_id": "<id>",
    "took_ms": "<ms>",
    "score": "<score>",
    "activation": "<activation>",
    "run_at": "<time>",
    "triggered_at": "<time>",
    "completed_at": "<time>",
    "request_id": "<request id>",
}


def settle(value: Any, name: str = "") -> Any:
    """Replace what changes from run to run, and round numbers."""
    if name in CHANGING and value is not None:
        return CHANGING[name]
    if isinstance(value, dict):
        return {key: settle(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [settle(item, "id" if name in ("ids", "memories_used") else "") for item in value]
    return round(value, 3) if isinstance(value, float) else value


def assert_golden(name: str, body: Any) -> None:
    """Compare an answer with its file. To change one on purpose, delete the file and run the test twice."""
    path = GOLDEN / f"{name}.json"
    text = json.dumps(settle(body), indent=2, ensure_ascii=False) + "\n"
    if not path.exists():
        path.write_text(text, encoding="utf-8")
        pytest.fail(f"{path.name} was not there and has been written: read it, then run again")
    assert text == path.read_text(encoding="utf-8")


async def test_answers_about_memories_keep_their_fields(alice: Person) -> None:
    client = alice.client
    encoded = await client.post("/v1/memories", json=MEMORY)
    assert_golden("encode", encoded.json())
    assert_golden("memory", (await client.get(f"/v1/memories/{encoded.json()['id']}")).json())
    query = {"query": "when do we deploy?", "namespace": "golden", "learn": False}
    assert_golden("recall", (await client.post("/v1/memories/recall", json=query)).json())
    search = {"query": "deploy", "namespace": "golden"}
    assert_golden("search", (await client.post("/v1/memories/search", json=search)).json())
    assert_golden("list", (await client.get("/v1/memories", params={"namespace": "golden"})).json())
    assert_golden("stats", (await client.get("/v1/stats", params={"namespace": "golden"})).json())
    patched = await client.patch(f"/v1/memories/{encoded.json()['id']}", json={"title": "Deploys"})
    assert patched.status_code == 200
    assert_golden("history", (await client.get(f"/v1/memories/{encoded.json()['id']}/history")).json())


async def test_answers_that_teach_keep_their_fields(alice: Person) -> None:
    client = alice.client
    texts = ("The disk of the database was full", "Checkout failed for an hour")
    ids = [(await client.post("/v1/memories", json={"content": text})).json()["id"] for text in texts]
    recall = (await client.post("/v1/memories/recall", json={"query": "why was the disk full?"})).json()
    marked = {"useful": True, "recall_id": recall["recall_id"]}
    assert_golden("feedback", (await client.post(f"/v1/memories/{ids[0]}/feedback", json=marked)).json())
    assert_golden("feedback_again", (await client.post(f"/v1/memories/{ids[0]}/feedback", json=marked)).json())
    dampened = await client.post(f"/v1/memories/{ids[1]}/dampen", json={"query": "why was the disk full?"})
    assert_golden("dampened", dampened.json())
    edge = {"source_id": ids[0], "target_id": ids[1], "type": "causal", "weight": 0.9}
    made = await client.post("/v1/edges", json=edge)
    assert made.status_code == 201
    assert_golden("edge", made.json())
    assert (await client.post("/v1/edges", json=edge)).status_code == 200
    parted = await client.delete("/v1/edges", params={name: edge[name] for name in ("source_id", "target_id", "type")})
    assert parted.json() == {"deleted": True}


async def test_answers_of_consolidation_keep_their_fields(alice: Person) -> None:
    client = alice.client
    text = "The staging database of the shop is called heron and runs on port 5433 in the cellar"
    for ending in ("", ".", "!"):
        await client.post("/v1/memories", json={"content": text + ending, "context": {"session_id": "s"}})
    done = await client.post("/v1/consolidate", json={"wait": True})
    assert_golden("consolidated", done.json() | {"namespace": "<namespace>"})
    [summary] = (await client.get("/v1/memories", params={"source": "system"})).json()["items"]
    assert_golden("provenance", (await client.get(f"/v1/memories/{summary['id']}/provenance")).json())
    undone = (await client.post(f"/v1/memories/{summary['id']}/unconsolidate")).json()
    assert len(undone["members"]) == len(undone["restored"]) == 3
    assert_golden("unconsolidated", undone | {"members": ["<id>"], "restored": ["<id>"]})
    enqueued = await client.post("/v1/consolidate", json={})
    assert enqueued.status_code == 202
    assert_golden("consolidation_enqueued", enqueued.json())


async def test_answers_of_batches_keep_their_fields(alice: Person) -> None:
    memories = [{"content": "first", "salience": 0.5}, {"content": ""}]
    answer = await alice.client.post(
        "/v1/memories/batch", json={"memories": memories, "namespace": "golden", "atomic": False}
    )
    assert_golden("batch", answer.json())
    assert_golden("namespaces", (await alice.client.get("/v1/namespaces")).json())


async def test_answers_about_jobs_keep_their_fields(alice: Person, database: Database) -> None:
    org_id, now = alice.organization.org_id, utc_now()
    async with database.tenant(org_id) as connection:
        await enqueue(connection, org_id, NewJob(JobKind.DECAY), new_id=IDS.next(), now=now)
    assert_golden("jobs", (await alice.client.get("/v1/jobs")).json())


async def test_refusals_keep_their_fields(alice: Person) -> None:
    assert_golden("not_found", (await alice.client.get("/v1/memories/mem_0000000000000")).json())
    assert_golden("invalid", (await alice.client.post("/v1/memories", json={"content": 1, "x": 2})).json())


async def test_answers_about_transfer_keep_their_fields(alice: Person) -> None:
    await alice.client.put("/v1/namespaces/golden/policy", json={"max_memories": 1000})
    ids = [
        (await alice.client.post("/v1/memories", json=memory)).json()["id"]
        for memory in (MEMORY, MEMORY | {"content": "The runbook was written after the outage"})
    ]
    edge = {"source_id": ids[0], "target_id": ids[1], "type": "Causal", "weight": 0.5}
    await alice.client.post("/v1/edges", json=edge)
    await alice.client.patch(f"/v1/memories/{ids[0]}", json={"title": "Deploys"})
    exported = await alice.client.get("/v1/export", params={"namespace": "golden"})
    assert exported.headers["content-type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in exported.text.splitlines()]
    assert_golden("export", lines)
    assert_golden("erasure", (await alice.client.delete("/v1/namespaces/golden")).json())
    broken = exported.text.encode() + b"not json\n"
    headers = {"content-type": "application/x-ndjson"}
    imported = await alice.client.post("/v1/import", content=broken, headers=headers)
    assert_golden("import", imported.json())


async def test_answers_about_intentions_keep_their_fields(alice: Person) -> None:
    client = alice.client
    triggers = {
        "keyword": {"type": "keyword", "any": ["release"], "all": ["shop"]},
        "time": {"type": "TIME", "at": "2020-03-01T09:00:00+01:00", "every": "P1D", "time_zone": "Europe/Berlin"},
        "semantic": {"type": "Semantic", "text": "the shop closes for good"},
        "event": {"type": "Event", "name": "deploy.finished"},
    }
    made = {}
    for name, trigger in triggers.items():
        body = {"content": f"By {name}", "trigger": trigger, "namespace": "golden", "priority": 0.7}
        answer = await client.post("/v1/intentions", json=body)
        assert answer.status_code == 201
        made[name] = answer.json()
    made["time"]["next_at"] = made["time"]["next_at"] and "<time>"
    assert_golden("intentions_made", made)
    asked = {"text": "The release of the shop", "event": "deploy.finished", "namespace": "golden"}
    assert_golden("intentions_triggered", (await client.post("/v1/intentions/check", json=asked)).json())
    path = f"/v1/intentions/{made['keyword']['id']}"
    assert_golden("intention_completed", (await client.post(f"{path}/complete")).json())
    assert_golden("intention_rearmed", (await client.patch(path, json={"status": "pending", "priority": 1})).json())
    query = {"query": "release of the shop", "namespace": "golden", "learn": False}
    assert_golden("recall_with_intentions", (await client.post("/v1/memories/recall", json=query)).json())
    params = {"namespace": "golden", "status": ["pending", "Triggered"], "limit": "1"}
    page = (await client.get("/v1/intentions", params=params)).json()
    assert_golden("intentions", page | {"next_cursor": page["next_cursor"] and "<cursor>"})
    assert (await client.delete(path)).json() == {"deleted": True}


async def test_answers_about_retention_keep_their_fields(alice: Person) -> None:
    policy = {"half_life_days": {"Buffer": 14}, "max_memories": 1000}
    assert_golden("policy", (await alice.client.put("/v1/namespaces/golden/policy", json=policy)).json())
    assert_golden("prune", (await alice.client.post("/v1/memories/prune", json={"namespace": "golden"})).json())
