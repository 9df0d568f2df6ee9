"""A request leaves one line in the log and some numbers, and neither holds what was said or shown."""

import json
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from starlette.applications import Starlette

from accounts.keys import find_key
from memoria.database import Database
from memoria.engine import Engine
from server.app import create_app
from server.settings import Settings
from tests.people import Person, client_of

pytestmark = pytest.mark.anyio

CONTENT = "saffron heron of the log"


def lines_of(text: str) -> list[dict[str, Any]]:
    """Read the log's lines."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


async def test_a_request_is_one_line_without_content_and_secrets(
    settings: Settings, alice: Person, capsys: pytest.CaptureFixture[str]
) -> None:
    app = create_app(settings)
    async with app.router.lifespan_context(app), client_of(app, alice.key.secret) as client:
        stored = await client.post("/v1/memories", json={"content": CONTENT}, headers={"x-request-id": "r-1"})
        await client.get(f"/v1/memories/{stored.json()['id']}?x={CONTENT}")
        await client.get(f"/{CONTENT}")
    text = capsys.readouterr().out
    lines = [line for line in lines_of(text) if line["event"] == "request"]
    assert [(line["method"], line["route"], line["status"]) for line in lines] == [
        ("POST", "/v1/memories", 201),
        ("GET", "/v1/memories/{id}", 422),
        ("GET", "unmatched", 404),
    ]
    first = lines[0]
    assert first["request_id"] == "r-1"
    assert first["org_id"] == str(alice.organization.org_id)
    assert first["key_id"] == str(alice.key.key_id)
    assert first["ms"] > 0
    for secret in ("saffron", alice.key.secret, alice.key.secret[12:]):
        assert secret not in text


async def test_a_fault_is_told_to_nobody_but_the_log_and_without_its_text(
    settings: Settings, alice: Person, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise RuntimeError(f"value too long: {CONTENT}")

    monkeypatch.setattr(Engine, "encode", fail)
    app = create_app(settings)
    async with app.router.lifespan_context(app), client_of(app, alice.key.secret) as client:
        answer = await client.post("/v1/memories", json={"content": CONTENT})
    assert answer.status_code == 500
    assert answer.json() == {
        "code": "INTERNAL",
        "status": 500,
        "message": "Something went wrong on our side.",
        "details": {},
        "request_id": answer.headers["x-request-id"],
    }
    text = capsys.readouterr().out
    fault = next(line for line in lines_of(text) if line["event"] == "request_failed")
    assert fault["error"] == "RuntimeError"
    assert fault["request_id"] == answer.headers["x-request-id"]
    assert any("memories.py" in frame for frame in fault["frames"])
    assert "saffron" not in text


async def test_requests_are_counted_by_route_and_status(app: Starlette, alice: Person) -> None:
    registry: CollectorRegistry = app.state.services.metrics.registry

    def count() -> float:
        labels = {"method": "GET", "route": "/v1/memories/{id}", "status": "404"}
        return registry.get_sample_value("memoria_http_requests_total", labels) or 0.0

    before = count()
    await alice.client.get("/v1/memories/mem_0000000000000")
    assert count() == before + 1
    assert b"mem_0000000000000" not in generate_latest(registry)


async def test_the_public_port_shows_no_metrics(alice: Person) -> None:
    assert (await alice.client.get("/metrics")).status_code == 404
    assert (await alice.client.get("/v1/metrics")).status_code == 404


async def test_a_found_key_does_not_show_its_hash(database: Database, alice: Person) -> None:
    async with database.untenanted() as connection:
        found = await find_key(connection, alice.key.secret)
    assert alice.key.secret not in repr(found)
    assert alice.key.secret not in repr(alice)
