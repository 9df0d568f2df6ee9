"""What is wrong with a request is said in one body, naming the field, and never costs more than that."""

from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from server.edge import MAX_BODY_BYTES
from tests.people import Person

pytestmark = pytest.mark.anyio

PROBLEM_FIELDS = {"code", "status", "message", "details", "request_id"}


def assert_problem(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """Check the body that every refusal has, and answer it."""
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/json"
    body: dict[str, Any] = answer.json()
    assert set(body) == PROBLEM_FIELDS
    assert (body["status"], body["code"]) == (status, code)
    assert body["request_id"] == answer.headers["x-request-id"]
    assert body["message"].endswith((".", "…"))
    return body


@pytest.mark.parametrize("body", [b"", b"{", b"not json", b'{"content": NaN}', b"\xff\xfe", b"[" * 100_000])
async def test_what_is_not_json_is_malformed(alice: Person, body: bytes) -> None:
    answer = await alice.client.post("/v1/memories", content=body, headers={"content-type": "application/json"})
    assert_problem(answer, 400, "MALFORMED_REQUEST")


@pytest.mark.parametrize("declared", [None, "text/plain", "application/x-www-form-urlencoded", "application/jsonx"])
async def test_json_must_be_declared(alice: Person, declared: str | None) -> None:
    headers = {"content-type": declared} if declared else {}
    answer = await alice.client.post("/v1/memories", content=b'{"content": "x"}', headers=headers)
    assert_problem(answer, 400, "MALFORMED_REQUEST")


@pytest.mark.parametrize("declared", ["application/json", "application/json; charset=utf-8", "Application/JSON"])
async def test_json_may_be_declared_in_its_usual_ways(alice: Person, declared: str) -> None:
    answer = await alice.client.post("/v1/memories", content=b'{"content": "x"}', headers={"content-type": declared})
    assert answer.status_code == 201


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "content"),
        ({"content": ""}, "content"),
        ({"content": 7}, "content"),
        ({"content": None}, "content"),
        ({"content": "x", "contnet": "y"}, "contnet"),
        ({"content": "x", "type": "Dream"}, "type"),
        ({"content": "x", "salience": 1.5}, "salience"),
        ({"content": "x", "salience": "0.5"}, "salience"),
        ({"content": "x", "pinned": "yes"}, "pinned"),
        ({"content": "x", "occurred_at": "2026-05-01T09:30:00"}, "occurred_at"),
        ({"content": "x", "occurred_at": "2026-02-30T09:30:00Z"}, "occurred_at"),
        ({"content": "x", "occurred_at": "yesterday"}, "occurred_at"),
        ({"content": "x", "occurred_at": "0001-01-01T00:00:00+10:00"}, "occurred_at"),
        ({"content": "x", "ttl_seconds": 0}, "ttl_seconds"),
        ({"content": "x", "ttl_seconds": 10**30}, "ttl_seconds"),
        ({"content": "x", "context": {"user": 7}}, "context.user"),
        ({"content": "x", "context": [["user"]]}, "context"),
        ({"content": "x", "context": [["user", "a"], ["user", "b"]]}, "context"),
        ({"content": "x", "source": "system"}, "source"),
        ({"content": "x", "namespace": "has space"}, "namespace"),
        ({"content": "x", "tags": ["ok", 7]}, "tags.1"),
        ({"content": "x", "title": "t" * 301}, "title"),
        ({"content": "a\x00b"}, "content"),
        ({"content": "x", "metadata": {"a": ["b\x00"]}}, "metadata"),
        ([], ""),
        ("content", ""),
    ],
)
async def test_a_wrong_field_is_named(alice: Person, body: object, field: str) -> None:
    problem = assert_problem(await alice.client.post("/v1/memories", json=body), 422, "INVALID_INPUT")
    assert problem["details"]["field"] == field


async def test_all_wrong_fields_are_listed_and_no_value_is_repeated(alice: Person) -> None:
    answer = await alice.client.post("/v1/memories", json={"content": 7, "salience": "tell-nobody", "x": "tell-nobody"})
    problem = assert_problem(answer, 422, "INVALID_INPUT")
    assert {error["field"] for error in problem["details"]["errors"]} == {"content", "salience", "x"}
    assert "tell-nobody" not in answer.text


@pytest.mark.parametrize("body", [b'{"content": "\\ud800"}', b'{"content": "x", "\\udfff": 1}'])
async def test_half_a_surrogate_pair_is_refused(alice: Person, body: bytes) -> None:
    answer = await alice.client.post("/v1/memories", content=body, headers={"content-type": "application/json"})
    assert_problem(answer, 422, "INVALID_INPUT")


@pytest.mark.parametrize(
    ("sent", "stored"),
    [("semantic", "Semantic"), ("PROCEDURAL", "Procedural"), ("Episodic", "Episodic"), ("core", "Episodic")],
)
async def test_enums_are_read_in_any_case_and_written_in_one(alice: Person, sent: str, stored: str) -> None:
    answer = await alice.client.post("/v1/memories", json={"content": f"a {sent} thing", "type": sent})
    assert answer.json()["type"] == stored
    assert answer.json()["state"] == "Active"


async def test_context_may_be_pairs(alice: Person) -> None:
    sent = {"content": "x", "context": [["user_id", "john-123"]]}
    memory_id = (await alice.client.post("/v1/memories", json=sent)).json()["id"]
    assert (await alice.client.get(f"/v1/memories/{memory_id}")).json()["context"] == {"user_id": "john-123"}


async def test_times_are_answered_with_their_offset(alice: Person) -> None:
    sent = {"content": "x", "occurred_at": "2026-05-01T09:30:00+02:00"}
    memory_id = (await alice.client.post("/v1/memories", json=sent)).json()["id"]
    assert (await alice.client.get(f"/v1/memories/{memory_id}")).json()["occurred_at"] == "2026-05-01T07:30:00Z"


async def test_content_over_its_limit_says_which_and_how_much(alice: Person) -> None:
    answer = await alice.client.post("/v1/memories", json={"content": "x" * (64 * 1024 + 1)})
    problem = assert_problem(answer, 413, "CONTENT_TOO_LARGE")
    assert problem["details"]["limit_bytes"] == 64 * 1024
    assert problem["details"]["size_bytes"] == 64 * 1024 + 1


async def test_a_body_over_its_limit_is_refused_by_its_declared_length(alice: Person) -> None:
    headers = {"content-type": "application/json", "content-length": str(MAX_BODY_BYTES + 1)}
    answer = await alice.client.post("/v1/memories", content=b"{}", headers=headers)
    assert assert_problem(answer, 413, "CONTENT_TOO_LARGE")["details"]["limit_bytes"] == MAX_BODY_BYTES


async def test_a_body_without_a_length_is_counted(app: Starlette, alice: Person) -> None:
    sent = 0

    async def receive() -> dict[str, Any]:
        nonlocal sent
        sent += 1
        return {"type": "http.request", "body": b" " * 1024 * 1024, "more_body": True}

    statuses = []

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/memories",
        "query_string": b"",
        "headers": [
            (b"authorization", f"Bearer {alice.key.secret}".encode()),
            (b"content-type", b"application/json"),
        ],
    }
    await app(scope, receive, send)
    assert statuses == [413]
    assert sent == MAX_BODY_BYTES // 1024 // 1024 + 1


@pytest.mark.parametrize(
    "query",
    [
        "naemspace=x",
        "limit=0",
        "limit=201",
        "limit=ten",
        "limit=1&limit=2",
        "type=Dream",
        "created_after=2026-05-01",
        "cursor=nonsense",
        "salience_min=nan",
        "tags_any=a%00b",
        "category=%ff",
    ],
)
async def test_a_wrong_query_parameter_is_refused(alice: Person, query: str) -> None:
    assert_problem(await alice.client.get(f"/v1/memories?{query}"), 422, "INVALID_INPUT")


async def test_filters_of_a_query_string_narrow(alice: Person) -> None:
    for number, kind in enumerate(["Semantic", "Procedural", "Episodic"]):
        body = {"content": f"note {number}", "type": kind, "tags": [kind], "context": {"team": kind}, "salience": 0.2}
        await alice.client.post("/v1/memories", json=body)

    async def found(query: str) -> int:
        answer = await alice.client.get(f"/v1/memories?{query}")
        assert answer.status_code == 200
        total: int = answer.json()["total"]
        return total

    assert await found("type=semantic&type=Procedural") == 2
    assert await found("tags_any=Semantic") == 1
    assert await found("context[team]=Episodic") == 1
    assert await found("salience_min=0.3") == 0
    assert await found("salience_max=0.2&state=active") == 3
    assert await found("created_after=2020-01-01T00:00:00Z") == 3


async def test_unknown_paths_and_methods_are_refused_in_the_same_body(stranger: httpx.AsyncClient) -> None:
    assert_problem(await stranger.get("/v1/nothing"), 404, "NOT_FOUND")
    assert_problem(await stranger.get("/v1/memories/"), 404, "NOT_FOUND")
    refused = await stranger.request("OPTIONS", "/v1/memories/recall")
    assert_problem(refused, 405, "METHOD_NOT_ALLOWED")
    assert refused.headers["allow"] == "POST"
    refused = await stranger.put("/v1/memories/mem_0000000000000", json={})
    assert refused.headers["allow"] == "DELETE, GET, HEAD, PATCH"


async def test_a_request_id_is_kept_if_it_is_one(stranger: httpx.AsyncClient) -> None:
    kept = await stranger.get("/v1/health", headers={"x-request-id": "deploy-7.a:b_c"})
    assert kept.headers["x-request-id"] == "deploy-7.a:b_c"
    made = await stranger.get("/v1/health", headers={"x-request-id": 'x"} injected'})
    assert made.headers["x-request-id"] not in ("", 'x"} injected')


async def test_ids_that_are_none_are_not_found(alice: Person) -> None:
    for text in ("x", "mem_", "mem_zzzzzzzzzzzzz", "mem_0000000000000", "%00", "mem_000000000000%F0%9F%8E%89"):
        assert_problem(await alice.client.get(f"/v1/memories/{text}"), 404, "NOT_FOUND")
