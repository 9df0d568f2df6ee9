"""The OpenAPI document is valid and says what the service does: no answer that it does not declare, no fault."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openapi_spec_validator import validate
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from server.app import create_app
from server.openapi import describe_api
from server.routes import OPERATIONS
from tests.live_server import Person, open_people, serving, settings_for_tests

DOCUMENT = describe_api(OPERATIONS, "http://127.0.0.1:8080")
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
LABELS = [(method, path) for path, methods in DOCUMENT["paths"].items() for method in methods]
MODES = (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE)
CASES_OF_EACH = 16  # with all operations and both modes, more than 500


@schemathesis.serializer("application/x-ndjson")
def write_lines(context: schemathesis.SerializationContext, value: Any) -> bytes:
    """Send any text as lines, and any other value as one."""
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode("utf-8", "surrogatepass")


CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


@dataclass(frozen=True, slots=True)
class Target:
    """Be a running server and somebody who calls it."""

    url: str
    person: Person

    def store(self, count: int) -> list[str]:
        """Store memories, and name their ids."""
        memories = [{"content": f"note {uuid4()}", "namespace": "notes"} for _ in range(count)]
        answer = httpx.post(f"{self.url}/v1/memories/batch", json={"memories": memories}, headers=self.person.headers)
        ids: list[str] = answer.json()["ids"]
        return ids

    def intend(self, count: int) -> list[str]:
        """Store intentions, and name their ids."""
        body = {"content": "x", "trigger": {"type": "Event", "name": "x"}, "namespace": "notes"}
        return [
            httpx.post(f"{self.url}/v1/intentions", json=body, headers=self.person.headers).json()["id"]
            for _ in range(count)
        ]


@pytest.fixture(scope="session")
def target(postgres_url: str, redis_url: str) -> Iterator[Target]:
    """A running server and the owner of a fresh organization."""
    with serving(create_app(settings_for_tests(postgres_url, redis_url))) as url:
        yield Target(url, asyncio.run(open_people(postgres_url)).alice)


def explore(target: Target, method: str, path: str, mode: schemathesis.GenerationMode, cases: int) -> None:
    """Send generated requests, half of them about a memory (or intention) that is there, and check every answer."""
    operation = SCHEMA[path][method.upper()]
    memory_ids = target.intend(5) if "/intentions/" in path else target.store(5)

    @settings(
        max_examples=cases,
        deadline=None,
        database=None,
        derandomize=cases == CASES_OF_EACH,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode), memory_id=st.sampled_from((None, *memory_ids)))
    def send(case: schemathesis.Case, memory_id: str | None) -> None:
        if memory_id is not None and "id" in (case.path_parameters or {}):
            case.path_parameters["id"] = memory_id
        if memory_id is not None and case.query:
            case.query.pop("cursor", None)
        case.call_and_validate(base_url=target.url, headers=target.person.headers, checks=CHECKS)

    send()


def possible_modes(method: str, path: str) -> list[schemathesis.GenerationMode]:
    """What takes nothing cannot be asked wrongly."""
    described = DOCUMENT["paths"][path][method]
    takes_something = described.get("parameters") or described.get("requestBody")
    return list(MODES) if takes_something else [schemathesis.GenerationMode.POSITIVE]


GENERATED = [(method, path, mode) for method, path in LABELS for mode in possible_modes(method, path)]


@pytest.mark.parametrize(("method", "path", "mode"), GENERATED)
def test_generated_requests_get_declared_answers(
    target: Target, method: str, path: str, mode: schemathesis.GenerationMode
) -> None:
    explore(target, method, path, mode, CASES_OF_EACH)


@pytest.mark.long
@pytest.mark.parametrize(("method", "path", "mode"), GENERATED)
def test_thousands_of_generated_requests_get_declared_answers(
    target: Target, method: str, path: str, mode: schemathesis.GenerationMode
) -> None:
    explore(target, method, path, mode, 10 * CASES_OF_EACH)


def test_the_document_is_valid_and_is_the_one_that_is_served(target: Target) -> None:
    served = httpx.get(f"{target.url}/v1/openapi.json").json()
    validate(served)
    assert served["openapi"].startswith("3.1")
    assert served["paths"] == DOCUMENT["paths"]


def test_every_operation_is_documented_once() -> None:
    documented = [described["operationId"] for methods in DOCUMENT["paths"].values() for described in methods.values()]
    assert len(documented) == len(set(documented))
    assert {operation.name for operation in OPERATIONS} < set(documented)


@pytest.mark.parametrize(
    "word",
    ["redactions", "quarantine", "reveal"],
)
def test_what_is_not_served_is_not_documented(word: str) -> None:
    def names(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            for key, item in value.items():
                yield key
                yield from names(item)
        elif isinstance(value, list):
            for item in value:
                yield from names(item)

    assert word not in {part for name in names(DOCUMENT) for part in name.split("/")}


@pytest.mark.parametrize("field", ["reveal", "at_time"])
def test_a_field_that_is_not_served_is_refused(target: Target, field: str) -> None:
    body = {"query": "x", field: True}
    answer = httpx.post(f"{target.url}/v1/memories/recall", json=body, headers=target.person.headers)
    assert answer.status_code == 422
    assert answer.json()["details"]["field"] == field


def test_the_page_loads_nothing_from_elsewhere(target: Target) -> None:
    page = httpx.get(f"{target.url}/v1/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "unsafe-eval" not in page.headers["content-security-policy"]
    assert "http" not in page.text
    for file in ("swagger-ui-bundle.js", "swagger-ui.css", "docs.js"):
        assert f"/v1/docs/{file}" in page.text
        assert httpx.get(f"{target.url}/v1/docs/{file}").status_code == 200
