"""Nobody reads, changes or learns of another organization's memories, by any route."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from server.routes import OPERATIONS
from tests.people import Person

pytestmark = pytest.mark.anyio

NOWHERE, ELSEWHERE = "mem_0000000000000", "mem_0000000000001"
SECRET = "the vault code of alice is saffron heron 7781"


@dataclass(frozen=True, slots=True)
class Attempt:
    """Be what charlie tries with an operation, knowing alice's ids, namespace and words."""

    json: Callable[[str, str], Any] | None = None
    lines: Callable[[str, str], str] | None = None
    params: Callable[[str], dict[str, str]] | None = None


NAMED = Attempt()
# One entry for each operation of the route table, so that a new route without one fails here.
ATTEMPTS: dict[str, Attempt] = {
    "encode_memory": Attempt(lambda _, namespace: {"content": "planted", "namespace": namespace}),
    "list_memories": Attempt(params=lambda namespace: {"namespace": namespace}),
    "recall_memories": Attempt(lambda _, namespace: {"query": SECRET, "namespace": namespace}),
    "build_context": Attempt(lambda _, namespace: {"query": SECRET, "namespace": namespace}),
    "search_memories": Attempt(lambda _, namespace: {"query": SECRET, "namespace": namespace}),
    "encode_batch": Attempt(lambda _, namespace: {"memories": [{"content": "planted"}], "namespace": namespace}),
    "recall_batch": Attempt(lambda _, namespace: {"queries": [{"query": SECRET, "namespace": namespace}]}),
    "forget_many": Attempt(lambda memory_id, _: {"ids": [memory_id]}),
    "delete_by_context": Attempt(lambda _, namespace: {"key": "team", "value": "red", "namespace": namespace}),
    "prune_memories": Attempt(lambda _, namespace: {"namespace": namespace, "max_memories": 1}),
    "get_memory": NAMED,
    "update_memory": Attempt(lambda *_: {"content": "overwritten"}),
    "forget_memory": NAMED,
    "get_history": NAMED,
    "list_neighbors": NAMED,
    "archive_memory": NAMED,
    "restore_memory": NAMED,
    "give_feedback": Attempt(lambda *_: {"useful": False, "query": SECRET}),
    "dampen_memory": Attempt(lambda *_: {"query": SECRET}),
    "link_memories": Attempt(lambda memory_id, _: {"source_id": memory_id, "target_id": NOWHERE, "type": "Causal"}),
    "unlink_memories": Attempt(params=lambda _: {"source_id": NOWHERE, "target_id": ELSEWHERE, "type": "Causal"}),
    "read_provenance": NAMED,
    "unconsolidate_memory": NAMED,
    "consolidate_namespace": Attempt(lambda _, namespace: {"namespace": namespace, "wait": True}),
    "create_intention": Attempt(
        lambda _, namespace: {
            "content": "planted",
            "trigger": {"type": "Semantic", "text": "where the code of the vault is"},
            "namespace": namespace,
        }
    ),
    "list_intentions": Attempt(params=lambda namespace: {"namespace": namespace}),
    "check_intentions": Attempt(lambda _, namespace: {"text": SECRET, "event": "heron", "namespace": namespace}),
    "get_intention": NAMED,
    "update_intention": Attempt(lambda *_: {"status": "Cancelled"}),
    "delete_intention": NAMED,
    "complete_intention": NAMED,
    "chunk_text": Attempt(lambda *_: {"content": "anything"}),
    "list_namespaces": NAMED,
    "read_policy": NAMED,
    "set_policy": Attempt(lambda *_: {"max_memories": 1, "delete_archived_after_days": 1}),
    "erase_namespace": NAMED,
    "export_namespace": Attempt(params=lambda namespace: {"namespace": namespace}),
    "import_namespace": Attempt(
        lines=lambda memory_id, namespace: json.dumps(
            {"kind": "Edge", "source_id": memory_id, "target_id": NOWHERE, "type": "Causal", "weight": 1.0}
            | {"created_at": "2026-05-01T09:00:00Z", "linked": True}
        ),
        params=lambda namespace: {"namespace": namespace},
    ),
    "list_jobs": NAMED,
    "get_job": NAMED,
    "read_stats": Attempt(params=lambda namespace: {"namespace": namespace}),
}
NAMES = [operation.name for operation in OPERATIONS]


async def store_secret(alice: Person, namespace: str) -> str:
    """Let alice store what nobody else may see."""
    answer = await alice.client.post(
        "/v1/memories", json={"content": SECRET, "namespace": namespace, "context": {"team": "red"}}
    )
    assert answer.status_code == 201
    memory_id: str = answer.json()["id"]
    return memory_id


async def attempt(person: Person, name: str, memory_id: str, namespace: str) -> httpx.Response:
    """Let somebody try an operation on a memory and a namespace."""
    operation = next(operation for operation in OPERATIONS if operation.name == name)
    tried = ATTEMPTS[name]
    return await person.client.request(
        operation.method,
        operation.path.replace("{id}", memory_id).replace("{name}", quote(namespace, safe="")),
        json=tried.json(memory_id, namespace) if tried.json else None,
        content=tried.lines(memory_id, namespace) if tried.lines else None,
        headers={"content-type": "application/x-ndjson"} if tried.lines else None,
        params=tried.params(namespace) if tried.params else None,
    )


async def read_all(alice: Person, memory_id: str, namespace: str) -> tuple[Any, Any]:
    """Read the memory and the namespace's counts."""
    memory = await alice.client.get(f"/v1/memories/{memory_id}")
    stats = await alice.client.get("/v1/stats", params={"namespace": namespace})
    assert memory.status_code == stats.status_code == 200
    return memory.json(), stats.json()


def test_every_operation_has_an_isolation_case() -> None:
    assert set(NAMES) == set(ATTEMPTS)


@pytest.mark.parametrize("name", NAMES)
async def test_another_organizations_own_namespace_is_closed(alice: Person, charlie: Person, name: str) -> None:
    memory_id = await store_secret(alice, alice.namespace)
    before = await read_all(alice, memory_id, alice.namespace)
    answer = await attempt(charlie, name, memory_id, alice.namespace)
    assert "saffron" not in answer.text
    assert memory_id not in answer.text or answer.status_code == 404
    assert alice.namespace not in answer.text.replace(f'"namespace":"{alice.namespace}"', "")
    assert await read_all(alice, memory_id, alice.namespace) == before


@pytest.mark.parametrize("name", NAMES)
async def test_a_namespace_of_the_same_name_is_another_one(alice: Person, charlie: Person, name: str) -> None:
    memory_id = await store_secret(alice, "code/myapp")
    before = await read_all(alice, memory_id, "code/myapp")
    answer = await attempt(charlie, name, memory_id, "code/myapp")
    assert "saffron" not in answer.text
    assert await read_all(alice, memory_id, "code/myapp") == before


@pytest.mark.parametrize("name", [operation.name for operation in OPERATIONS if operation.has_id])
async def test_anothers_id_answers_as_an_id_that_nobody_has(alice: Person, charlie: Person, name: str) -> None:
    memory_id = await store_secret(alice, alice.namespace)
    theirs = await attempt(charlie, name, memory_id, alice.namespace)
    nobodys = await attempt(charlie, name, "mem_0000000000000", alice.namespace)
    assert theirs.status_code == nobodys.status_code == 404
    assert theirs.json()["message"] == nobodys.json()["message"]
    assert theirs.json()["code"] == nobodys.json()["code"]


@pytest.mark.parametrize("namespace", ["shared-name", None])
async def test_anothers_intention_is_neither_seen_nor_triggered_nor_changed(
    alice: Person, charlie: Person, namespace: str | None
) -> None:
    theirs = namespace or alice.namespace
    wanted = {"content": SECRET, "trigger": {"type": "Keyword", "any": ["heron"]}, "namespace": theirs}
    made = (await alice.client.post("/v1/intentions", json=wanted)).json()
    await alice.client.post("/v1/intentions", json=wanted | {"trigger": {"type": "Event", "name": "heron"}})
    await charlie.client.post("/v1/memories", json={"content": "mine", "namespace": "shared-name"})
    operations = [operation for operation in OPERATIONS if operation.path.startswith("/v1/intentions")]
    assert len(operations) == 7
    for operation in operations:
        answer = await attempt(charlie, operation.name, made["id"], theirs)
        assert answer.status_code == 404 or not operation.has_id
        assert "alice" not in answer.text.replace(SECRET, "") or answer.status_code == 403
    asked = {"query": "the heron", "namespace": "shared-name"}
    assert (await charlie.client.post("/v1/memories/recall", json=asked)).json()["intentions"] == []
    assert (await alice.client.get(f"/v1/intentions/{made['id']}")).json() == made


async def test_an_idempotency_key_of_another_organization_is_not_replayed(alice: Person, charlie: Person) -> None:
    headers, body = {"Idempotency-Key": "the-same-word"}, {"content": SECRET, "namespace": "shared-name"}
    first = await alice.client.post("/v1/memories", json=body, headers=headers)
    second = await charlie.client.post("/v1/memories", json=body, headers=headers)
    assert first.status_code == second.status_code == 201
    assert "idempotency-replayed" not in second.headers
    assert first.json()["id"] != second.json()["id"]


async def test_a_cursor_of_another_organization_shows_only_ones_own(alice: Person, charlie: Person) -> None:
    for number in range(3):
        await alice.client.post("/v1/memories", json={"content": f"{SECRET} {number}", "namespace": "n"})
        await charlie.client.post("/v1/memories", json={"content": f"charlie's note {number}", "namespace": "n"})
    page = (await alice.client.get("/v1/memories", params={"namespace": "n", "limit": "1"})).json()
    assert page["next_cursor"]
    stolen = await charlie.client.get(
        "/v1/memories", params={"namespace": "n", "limit": "10", "cursor": page["next_cursor"]}
    )
    assert "saffron" not in stolen.text


async def test_a_list_of_namespaces_names_only_ones_own(alice: Person, charlie: Person) -> None:
    await alice.client.post("/v1/memories", json={"content": SECRET, "namespace": "alices-plans"})
    await charlie.client.post("/v1/memories", json={"content": "mine", "namespace": "charlies-plans"})
    names = [item["name"] for item in (await charlie.client.get("/v1/namespaces")).json()["items"]]
    assert "charlies-plans" in names
    assert "alices-plans" not in names
