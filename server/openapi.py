"""Write the OpenAPI 3.1 document from the route table and the models that serve it."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from server.call import LINES
from server.operations import Operation
from server.problems import Problem
from server.wire.fields import Namespace
from server.wire.responses import HealthOut, ReadyOut

Json = dict[str, Any]
REF = "#/components/schemas/{model}"
TITLES = {
    400: "Not JSON, or not declared as JSON",
    401: "No key, or one that is unknown, revoked or expired",
    403: "A scope or a namespace outside the key",
    404: "No such thing in this organization",
    409: "A version that has moved on, or an idempotency key with another request",
    413: "Content over 64 KiB, or a body over 32 MiB",
    422: "A field is wrong",
    429: "Too many requests",
    500: "Our fault",
    503: "The database is away",
}
RATE_HEADERS = {
    "RateLimit-Limit": "Requests that may be made at once.",
    "RateLimit-Remaining": "Requests that remain now.",
    "RateLimit-Reset": "Seconds until all of them are back.",
}
NAMES_IDS = ("forget_many", "link_memories", "unlink_memories")  # elsewhere than in the path
REQUEST_ID = {"x-request-id": {"$ref": "#/components/headers/x-request-id"}}


def describe_api(operations: Sequence[Operation], public_url: str) -> Json:
    """Make the document."""
    paths: dict[str, Json] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Memoria",
            "version": version("memoria-engine"),
            "summary": "Long-term memory for AI agents.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": public_url}],
        "security": [{"key": []}],
        "tags": [{"name": "memories"}, {"name": "intentions"}, {"name": "introspection"}],
        "paths": {**paths, **_public_paths()},
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "bearerFormat": "mem_dev_…"}},
            "headers": _headers(),
            "schemas": _schemas(operations),
        },
    }


def _operation(operation: Operation) -> Json:
    described: Json = {
        "operationId": operation.name,
        "summary": operation.summary,
        "description": (operation.handler.__doc__ or operation.summary).strip(),
        "tags": [_tag(operation)],
        "parameters": _parameters(operation),
        "responses": {
            **{str(status): _success(operation, status) for status in sorted(operation.answers)},
            **{str(status): _failure(status) for status in _failures(operation)},
        },
    }
    if operation.takes_lines:
        described["requestBody"] = {"required": True, "content": {LINES: {"schema": {"type": "string"}}}}
    if operation.body is not None:
        described["requestBody"] = {"required": True, "content": _content(operation.body)}
    return described


def _tag(operation: Operation) -> str:
    if "intentions" in operation.path:
        return "intentions"
    return "memories" if "memories" in operation.path or "edges" in operation.path else "introspection"


def _failures(operation: Operation) -> list[int]:
    statuses = {401, 403, 422, 429, 500, 503}
    if operation.body is not None:
        statuses |= {400, 413}
    if operation.takes_lines:
        statuses |= {400, 409}
    if operation.has_id or operation.name in NAMES_IDS:
        statuses |= {404}
    if operation.writes or operation.conditional or operation.method == "PATCH":
        statuses |= {409}
    return sorted(statuses)


def _success(operation: Operation, status: int) -> Json:
    headers: Json = {**REQUEST_ID, **{name: {"$ref": f"#/components/headers/{name}"} for name in RATE_HEADERS}}
    if operation.writes:
        headers["Idempotency-Replayed"] = {"$ref": "#/components/headers/Idempotency-Replayed"}
    if operation.answers[status].__name__ == "MemoryOut":
        headers["ETag"] = {"$ref": "#/components/headers/ETag"}
    title = {201: "Created", 202: "A job is at it"}.get(status, "OK")
    return {"description": title, "headers": headers, "content": _answer(operation, status)}


def _answer(operation: Operation, status: int) -> Json:
    if operation.sends_lines:
        return {LINES: {"schema": {"type": "string"}}}
    return _content(operation.answers[status])


def _failure(status: int) -> Json:
    headers = dict(REQUEST_ID)
    if status in (429, 503):
        headers["Retry-After"] = {"$ref": "#/components/headers/Retry-After"}
    if status == 401:
        headers["WWW-Authenticate"] = {"$ref": "#/components/headers/WWW-Authenticate"}
    return {"description": TITLES[status], "headers": headers, "content": _content(Problem)}


def _content(model: type[BaseModel]) -> Json:
    return {"application/json": {"schema": {"$ref": REF.format(model=model.__name__)}}}


def _parameters(operation: Operation) -> list[Json]:
    parameters = [_path_parameter(operation) or _namespace_header()]
    if operation.writes:
        parameters.append(
            _header("Idempotency-Key", "A repeat within 24 hours gets the first answer again.", maxLength=255)
        )
    if operation.conditional:
        parameters.append(_header("If-Match", "The version that the change is meant for, or `*`."))
    model = operation.query.model_json_schema(ref_template=REF)
    required = model.get("required", ())
    return parameters + [
        _query_parameter(name, schema, required=name in required) for name, schema in model["properties"].items()
    ]


def _namespace_header() -> Json:
    form = TypeAdapter(Namespace).json_schema()
    return _header("x-memoria-namespace", "The namespace, where the request itself names none.", **form)


def _path_parameter(operation: Operation) -> Json | None:
    if operation.has_id:
        return {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
    if operation.has_name:
        form = TypeAdapter(Namespace).json_schema()
        description = "The namespace, percent-encoded: `code%2Fmyapp`."
        return {"name": "name", "in": "path", "required": True, "description": description, "schema": form}
    return None


def _header(name: str, description: str, **schema: Any) -> Json:
    return {"name": name, "in": "header", "description": description, "schema": {"type": "string", **schema}}


def _query_parameter(name: str, schema: Mapping[str, Any], *, required: bool) -> Json:
    if name == "context":
        pairs = {"type": "object", "additionalProperties": {"type": "string"}}
        return {"name": name, "in": "query", "style": "deepObject", "explode": True, "schema": pairs}
    wanted = _without_null(schema)
    parameter: Json = {"name": name, "in": "query", "schema": _list_only(wanted)}
    if required:
        parameter["required"] = True
    if description := schema.get("description"):
        parameter["description"] = description
    return parameter


def _without_null(schema: Mapping[str, Any]) -> Json:
    # A query string cannot say null.
    if "anyOf" not in schema:
        return {key: value for key, value in schema.items() if key not in ("title", "description")}
    choices = [choice for choice in schema["anyOf"] if choice != {"type": "null"}]
    return dict(choices[0]) if len(choices) == 1 else {"anyOf": choices}


def _list_only(schema: Json) -> Json:
    # One value, or a list of such values: in a query string the list says both.
    choices = schema.get("anyOf", [])
    return next((dict(choice) for choice in choices if choice.get("type") == "array"), schema)


def _headers() -> Json:
    texts = {
        **RATE_HEADERS,
        "x-request-id": "Names this request in the logs.",
        "Retry-After": "Seconds to wait.",
        "ETag": "The memory's version, for If-Match.",
        "Idempotency-Replayed": "`true` when this is the answer of an earlier request.",
        "WWW-Authenticate": "Where the service describes its authorization.",
    }
    numbers = {*RATE_HEADERS, "Retry-After"}
    return {
        name: {"description": text, "schema": {"type": "integer" if name in numbers else "string"}}
        for name, text in texts.items()
    }


def _schemas(operations: Sequence[Operation]) -> Json:
    bodies = {operation.body for operation in operations if operation.body}
    answers = {model for operation in operations for model in operation.answers.values() if not operation.sends_lines}
    answers |= {Problem, HealthOut, ReadyOut}
    wanted: list[tuple[type[BaseModel], JsonSchemaMode]] = [
        *((model, "validation") for model in sorted(bodies, key=lambda model: model.__name__)),
        *((model, "serialization") for model in sorted(answers, key=lambda model: model.__name__)),
    ]
    schemas: Json = models_json_schema(wanted, ref_template=REF)[1]["$defs"]
    return schemas


def _public_paths() -> Json:
    health = {"description": "This process answers", "headers": REQUEST_ID, "content": _content(HealthOut)}
    ready = {"description": "Ready", "headers": REQUEST_ID, "content": _content(ReadyOut)}
    away = {"description": "The database is away", "headers": REQUEST_ID, "content": _content(ReadyOut)}
    document = {"description": "OpenAPI 3.1", "content": {"application/json": {"schema": {"type": "object"}}}}
    page = {"description": "A page", "content": {"text/html": {"schema": {"type": "string"}}}}
    return {
        "/v1/health": {"get": _public("read_health", "Liveness", {"200": health})},
        "/v1/health/ready": {"get": _public("read_readiness", "Readiness", {"200": ready, "503": away})},
        "/v1/openapi.json": {"get": _public("read_openapi", "This document", {"200": document})},
        "/v1/docs": {"get": _public("read_docs", "This document, to read and to try", {"200": page})},
    }


def _public(name: str, summary: str, responses: Json) -> Json:
    return {
        "operationId": name,
        "summary": summary,
        "description": f"{summary}. Needs no key.",
        "tags": ["introspection"],
        "security": [],
        "responses": responses,
    }
