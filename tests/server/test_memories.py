"""The calls about memories, from the outside: what goes in comes back, and changes as it was told to."""

import asyncio
from typing import Any

import httpx
import pytest

from tests.people import Person

pytestmark = pytest.mark.anyio


async def store(person: Person, content: str, **fields: Any) -> dict[str, Any]:
    """Store a memory and answer what the service said."""
    answer = await person.client.post("/v1/memories", json={"content": content, **fields})
    assert answer.status_code == 201, answer.text
    stored: dict[str, Any] = answer.json()
    return stored


async def test_what_was_stored_is_recalled(alice: Person) -> None:
    stored = await store(alice, "We deploy on Fridays after 2pm", type="Episodic", namespace=alice.namespace)
    await store(alice, "The cat sleeps in the kitchen")
    answer = await alice.client.post(
        "/v1/memories/recall", json={"query": "when do we deploy?", "namespace": alice.namespace}
    )
    recall = answer.json()
    assert answer.status_code == 200
    assert recall["results"][0]["id"] == stored["id"]
    assert recall["results"][0]["content"] == "We deploy on Fridays after 2pm"
    assert recall["results"][0]["path"][0]["id"].startswith("mem_")
    assert recall["recall_id"].startswith("rec_")
    assert recall["tokens_used"] > 0
    assert recall["took_ms"] > 0
    assert recall["candidates"] == []


async def test_explain_shows_every_candidate_and_factor(alice: Person) -> None:
    for number in range(3):
        await store(alice, f"deploy note {number}")
    body = {"query": "deploy", "limit": 1, "explain": True}
    recall = (await alice.client.post("/v1/memories/recall", json=body)).json()
    assert len(recall["results"]) == 1
    assert len(recall["candidates"]) == 3
    assert "activation" in recall["candidates"][0]["factors"]


async def test_reading_a_namespace_that_does_not_exist_is_empty(alice: Person) -> None:
    recall = await alice.client.post("/v1/memories/recall", json={"query": "x", "namespace": "no/such"})
    assert (recall.status_code, recall.json()["results"]) == (200, [])
    listed = await alice.client.get("/v1/memories", params={"namespace": "no/such"})
    assert listed.json() == {"items": [], "next_cursor": None, "total": 0}


async def test_storing_the_same_text_again_answers_the_memory_that_is_there(alice: Person) -> None:
    first = await store(alice, "twice told")
    again = await alice.client.post("/v1/memories", json={"content": "twice told", "title": "new"})
    assert again.status_code == 200
    assert again.json()["duplicate"] is True
    assert again.json()["id"] == first["id"]
    assert again.json()["ignored_fields"] == ["title"]


async def test_a_page_leads_to_the_next_until_all_were_seen(alice: Person) -> None:
    stored = {(await store(alice, f"note {number}"))["id"] for number in range(5)}
    seen, cursor = [], None
    while True:
        params = {"limit": "2"} | ({"cursor": cursor} if cursor else {})
        page = (await alice.client.get("/v1/memories", params=params)).json()
        assert page["total"] == 5
        seen += [item["id"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert len(seen) == 5
    assert set(seen) == stored


async def test_a_patch_makes_a_version_and_keeps_the_rest(alice: Person) -> None:
    stored = await store(alice, "we deploy on Fridays", title="deploys", tags=["ops"], metadata={"a": 1})
    path = f"/v1/memories/{stored['id']}"
    read = await alice.client.get(path)
    assert read.headers["etag"] == '"1"'
    changed = await alice.client.patch(
        path, json={"content": "we deploy on Mondays", "title": None}, headers={"if-match": read.headers["etag"]}
    )
    assert changed.status_code == 200
    memory = changed.json()
    assert (memory["content"], memory["title"], memory["tags"]) == ("we deploy on Mondays", None, ["ops"])
    assert memory["metadata"] == {"a": 1}
    assert memory["created_at"] == read.json()["created_at"]
    assert changed.headers["etag"] == f'"{memory["version"]}"' == '"2"'
    history = (await alice.client.get(f"{path}/history")).json()["items"]
    assert any("we deploy on Fridays" in str(entry["fields"]) for entry in history)


@pytest.mark.parametrize(
    ("shown", "status"), [('"7"', 409), ("7", 409), ('"1"', 200), ("1", 200), ("*", 200), ("one", 422)]
)
async def test_a_version_that_moved_on_is_a_conflict(alice: Person, shown: str, status: int) -> None:
    stored = await store(alice, "we deploy on Fridays")
    answer = await alice.client.patch(f"/v1/memories/{stored['id']}", json={"title": "x"}, headers={"if-match": shown})
    assert answer.status_code == status


@pytest.mark.parametrize("field", ["content", "type", "confidence", "tags", "context", "pinned"])
async def test_a_field_that_every_memory_has_cannot_be_cleared(alice: Person, field: str) -> None:
    stored = await store(alice, "we deploy on Fridays")
    answer = await alice.client.patch(f"/v1/memories/{stored['id']}", json={field: None})
    assert answer.status_code == 422
    assert answer.json()["details"]["field"] == field


async def test_a_forgotten_memory_is_nowhere(alice: Person) -> None:
    stored = await store(alice, "the lamp is green")
    await store(alice, "the lamp is green and tall")
    path = f"/v1/memories/{stored['id']}"
    assert (await alice.client.delete(path)).json() == {"deleted": True}
    assert (await alice.client.get(path)).status_code == 404
    assert (await alice.client.delete(path)).status_code == 404
    recall = await alice.client.post("/v1/memories/recall", json={"query": "green lamp", "explain": True})
    assert stored["id"] not in recall.text


async def test_an_archived_memory_is_out_of_recall_until_it_is_restored(alice: Person) -> None:
    stored = await store(alice, "the lamp is green")
    path = f"/v1/memories/{stored['id']}"

    async def recalled(**body: Any) -> int:
        answer = await alice.client.post("/v1/memories/recall", json={"query": "green lamp", **body})
        return len(answer.json()["results"])

    archived = await alice.client.post(f"{path}/archive")
    assert archived.json()["state"] == "Archived"
    assert await recalled() == 0
    assert await recalled(include=["Archived"]) == 1
    assert (await alice.client.post(f"{path}/restore")).json()["state"] == "Active"
    assert await recalled() == 1


async def test_neighbors_are_the_edges_and_their_other_ends(alice: Person) -> None:
    first = await store(alice, "the lamp in the hall is green")
    second = await store(alice, "the lamp in the hall is green and tall")
    page = (await alice.client.get(f"/v1/memories/{first['id']}/neighbors")).json()
    assert {item["memory"]["id"] for item in page["items"]} == {second["id"]}
    assert all(item["edge"][0].isupper() and 0 < item["weight"] <= 1 for item in page["items"])


async def test_a_context_block_quotes_what_it_used(alice: Person) -> None:
    stored = await store(alice, "We deploy on Fridays after 2pm")
    block = (await alice.client.post("/v1/memories/context", json={"query": "when do we deploy?"})).json()
    assert "We deploy on Fridays after 2pm" in block["context"]
    assert block["memories_used"] == [stored["id"]]


async def test_a_search_names_the_words_it_found(alice: Person) -> None:
    await store(alice, "We deploy on Fridays after 2pm")
    page = (await alice.client.post("/v1/memories/search", json={"query": "deploy"})).json()
    assert page["total"] == 1
    assert page["items"][0]["matched_terms"] == ["deploy"]


async def test_an_atomic_batch_stores_all_or_none_and_says_which(alice: Person) -> None:
    good, bad = {"content": "good"}, {"content": "bad", "salience": 2}
    refused = await alice.client.post("/v1/memories/batch", json={"memories": [good, bad]})
    assert refused.status_code == 422
    assert refused.json()["details"]["field"] == "memories.1.salience"
    assert refused.json()["details"]["index"] == 1
    assert (await alice.client.get("/v1/memories")).json()["total"] == 0
    too_large = await alice.client.post("/v1/memories/batch", json={"memories": [good, {"content": "x" * 70_000}]})
    assert too_large.status_code == 413
    assert too_large.json()["details"]["index"] == 1
    stored = await alice.client.post("/v1/memories/batch", json={"memories": [good, {"content": "better"}]})
    assert stored.status_code == 201
    assert stored.json()["encoded"] == 2
    contents = [(await alice.client.get(f"/v1/memories/{i}")).json()["content"] for i in stored.json()["ids"]]
    assert contents == ["good", "better"]


async def test_a_batch_item_by_item_gives_each_its_own_outcome(alice: Person) -> None:
    await store(alice, "known")
    memories = [{"content": "known"}, {"content": 7}, {"content": "x" * 70_000}, {"content": "new"}]
    answer = await alice.client.post("/v1/memories/batch", json={"memories": memories, "atomic": False})
    assert answer.status_code == 201
    outcome = answer.json()
    assert [item["status"] for item in outcome["items"]] == [200, 422, 413, 201]
    assert outcome["items"][1]["error"]["details"]["field"] == "memories.1.content"
    assert outcome["encoded"] == 2
    assert [memory_id is None for memory_id in outcome["ids"]] == [False, True, True, False]


async def test_a_batch_of_nothing_but_mistakes_is_answered_item_by_item(alice: Person) -> None:
    answer = await alice.client.post("/v1/memories/batch", json={"memories": [{}, 7], "atomic": False})
    assert answer.status_code == 200
    assert [item["status"] for item in answer.json()["items"]] == [422, 422]


async def test_several_queries_are_answered_in_their_order(alice: Person) -> None:
    await store(alice, "the lamp is green")
    await store(alice, "we deploy on Fridays")
    queries = [{"query": "green lamp", "limit": 1}, {"query": "deploy", "limit": 1}]
    answer = await alice.client.post("/v1/memories/recall/batch", json={"queries": queries})
    contents = [item["results"][0]["content"] for item in answer.json()["items"]]
    assert contents == ["the lamp is green", "we deploy on Fridays"]


async def test_forgetting_by_filter_can_be_tried_first(alice: Person) -> None:
    kept, gone = await store(alice, "kept", tags=["a"]), await store(alice, "gone", tags=["b"])
    body = {"filters": {"tags_any": ["b"]}, "dry_run": True}
    tried = (await alice.client.post("/v1/memories/forget", json=body)).json()
    assert tried == {"ids": [gone["id"]], "deleted_count": 0, "dry_run": True}
    done = (await alice.client.post("/v1/memories/forget", json={**body, "dry_run": False})).json()
    assert done == {"ids": [gone["id"]], "deleted_count": 1, "dry_run": False}
    assert [item["id"] for item in (await alice.client.get("/v1/memories")).json()["items"]] == [kept["id"]]


@pytest.mark.parametrize(
    "body", [{}, {"filters": {}}, {"ids": [], "filters": {"site": "x"}}, {"ids": ["x"], "dry_run": True}]
)
async def test_forgetting_must_say_what(alice: Person, body: dict[str, Any]) -> None:
    await store(alice, "kept")
    assert (await alice.client.post("/v1/memories/forget", json=body)).status_code == 422
    assert (await alice.client.get("/v1/memories")).json()["total"] == 1


async def test_deleting_by_context_counts(alice: Person) -> None:
    await store(alice, "one", context={"user_id": "john-123"})
    await store(alice, "two", context={"user_id": "john-123", "x": "y"})
    await store(alice, "three", context={"user_id": "jane"})
    body = {"key": "user_id", "value": "john-123"}
    assert (await alice.client.post("/v1/memories/delete-by-context", json=body)).json() == {"deleted_count": 2}
    assert (await alice.client.get("/v1/memories")).json()["total"] == 1


async def test_chunks_join_to_the_text(alice: Person) -> None:
    text = "One sentence. " * 60
    answer = await alice.client.post("/v1/chunks", json={"content": text, "max_tokens": 50})
    chunks = answer.json()["chunks"]
    assert len(chunks) > 1
    assert all(text[chunk["start"] : chunk["end"]] == chunk["content"] for chunk in chunks)
    assert (await alice.client.get("/v1/memories")).json()["total"] == 0


async def test_counts_tell_what_a_namespace_holds(alice: Person) -> None:
    await store(alice, "one", salience=0.9, type="Semantic")
    await store(alice, "two", salience=0.1)
    stats = (await alice.client.get("/v1/stats")).json()
    assert (stats["namespace"], stats["memories"]) == (alice.namespace, 2)
    assert stats["by_tier"] == {"Semantic": 1, "Buffer": 1}
    assert stats["by_type"] == {"Semantic": 1, "Episodic": 1}
    assert stats["by_state"] == {"Active": 2}


async def test_a_repeated_request_gets_the_first_answer(alice: Person) -> None:
    headers = {"idempotency-key": "once"}
    first = await alice.client.post("/v1/memories", json={"content": "x", "title": "y"}, headers=headers)
    again = await alice.client.post("/v1/memories", json={"title": "y", "content": "x"}, headers=headers)
    assert (again.status_code, again.content) == (first.status_code, first.content) == (201, first.content)
    assert again.headers["idempotency-replayed"] == "true"
    assert "idempotency-replayed" not in first.headers


@pytest.mark.parametrize(
    ("path", "headers"),
    [("/v1/memories", {}), ("/v1/memories", {"x-memoria-namespace": "other"}), ("/v1/memories/batch", {})],
)
async def test_the_same_key_with_another_request_is_a_conflict(
    alice: Person, path: str, headers: dict[str, str]
) -> None:
    key = {"idempotency-key": "once"}
    await alice.client.post("/v1/memories", json={"content": "x"}, headers=key)
    changed = {"content": "x"} if headers else {"content": "another"}
    body = {"memories": [{"content": "x"}]} if path.endswith("batch") else changed
    answer = await alice.client.post(path, json=body, headers={**key, **headers})
    assert (answer.status_code, answer.json()["code"]) == (409, "CONFLICT")


async def test_a_refused_request_can_be_repeated_in_a_better_form(alice: Person) -> None:
    headers = {"idempotency-key": "once"}
    refused = await alice.client.post("/v1/memories", json={"content": "x" * 70_000}, headers=headers)
    assert refused.status_code == 413
    assert (await alice.client.post("/v1/memories", json={"content": "x"}, headers=headers)).status_code == 201


async def test_requests_that_arrive_at_once_are_carried_out_once(alice: Person) -> None:
    async def send(number: int) -> httpx.Response:
        return await alice.client.post(
            "/v1/memories/batch",
            json={"memories": [{"content": "one"}, {"content": "two"}]},
            headers={"idempotency-key": "at-once"},
        )

    answers = await asyncio.gather(*(send(number) for number in range(8)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.content for answer in answers}) == 1
    assert sum("idempotency-replayed" not in answer.headers for answer in answers) == 1
    assert (await alice.client.get("/v1/memories")).json()["total"] == 2


async def test_moves_and_deletions_are_carried_out_once_too(alice: Person) -> None:
    stored = await store(alice, "x", context={"a": "b"})
    headers = {"idempotency-key": "archive-1"}
    path = f"/v1/memories/{stored['id']}"
    first = await alice.client.post(f"{path}/archive", headers=headers)
    await alice.client.post(f"{path}/restore")
    again = await alice.client.post(f"{path}/archive", headers=headers)
    assert again.content == first.content
    assert again.headers["etag"] == first.headers["etag"]
    assert (await alice.client.get(path)).json()["state"] == "Active"
    body, once = {"key": "a", "value": "b"}, {"idempotency-key": "delete-1"}
    for _ in range(2):
        answer = await alice.client.post("/v1/memories/delete-by-context", json=body, headers=once)
        assert answer.json() == {"deleted_count": 1}
