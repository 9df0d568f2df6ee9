"""A language model may write a summary; without it, or against the members, the summary is quoted."""

import asyncio
import json
import logging
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest
import uvicorn
from anyio.lowlevel import checkpoint
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from memoria.engine import Engine
from memoria.language import LanguageEndpoint, LanguageUnavailableError, OpenAICompatibleWriter
from tests.invariants import broken_invariants
from tests.sleeping import BASE, REPEATED, consolidate, made, store
from tests.tenants import Tenant

pytestmark = pytest.mark.anyio

KEY = "sk-very-secret-key"
HONEST = "Heron is the staging database of the shop; it runs on port 5433 in the cellar"
Reply = Callable[[], Response]


def saying(text: object) -> Reply:
    return lambda: JSONResponse({"choices": [{"message": {"role": "assistant", "content": text}}]})


class Endpoint:
    """A real server that gives one planned answer, and remembers what it was asked."""

    def __init__(self) -> None:
        self.reply: Reply = saying(HONEST)
        self.asked: list[dict[str, object]] = []
        self.authorizations: list[str | None] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/v1/"

    async def answer(self, request: Request) -> Response:
        self.asked.append(json.loads(await request.body()))
        self.authorizations.append(request.headers.get("authorization"))
        return self.reply()


@pytest.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    served = Endpoint()
    app = Starlette(routes=[Route("/v1/chat/completions", served.answer, methods=["POST"])])
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
    running = asyncio.create_task(server.serve([served.listener]))
    while not server.started:
        await checkpoint()
    yield served
    server.should_exit = True
    await running


@pytest.fixture
async def writer(endpoint: Endpoint) -> AsyncIterator[OpenAICompatibleWriter]:
    opened = OpenAICompatibleWriter(LanguageEndpoint(endpoint.url, "tiny", KEY, timeout_seconds=5.0))
    yield opened
    await opened.close()


@pytest.fixture
def writing(tenant: Tenant, writer: OpenAICompatibleWriter) -> Tenant:
    """The tenant, on an engine that has a language model."""
    engine = Engine(tenant.database, tenant.engine._embedder, tenant.clock, writer=writer)
    return replace(tenant, engine=engine)


async def test_the_members_go_as_data_and_the_answer_comes_back(
    writer: OpenAICompatibleWriter, endpoint: Endpoint
) -> None:
    assert await writer.write(["one", 'two "quoted"']) == HONEST
    [body] = endpoint.asked
    assert body["model"] == "tiny"
    messages = body["messages"]
    assert isinstance(messages, list)
    assert json.loads(messages[1]["content"]) == ["one", 'two "quoted"']
    assert endpoint.authorizations == [f"Bearer {KEY}"]


BAD: dict[str, Reply] = {
    "refused": lambda: PlainTextResponse(f"you sent {KEY}", 401),
    "broken": lambda: PlainTextResponse("oops", 500),
    "no JSON": lambda: Response("<html>", media_type="application/json"),
    "other JSON": lambda: JSONResponse({"choices": []}),
    "no text": saying(None),
    "blank": saying("  "),
    "huge": lambda: Response(b"x" * 300_000, media_type="application/json"),
}


@pytest.mark.parametrize("name", BAD)
async def test_any_other_answer_is_unavailable_and_tells_no_secret(
    writer: OpenAICompatibleWriter, endpoint: Endpoint, name: str
) -> None:
    endpoint.reply = BAD[name]
    with pytest.raises(LanguageUnavailableError) as caught:
        await writer.write(["one"])
    assert KEY not in str(caught.value) + repr(writer)


async def test_an_endpoint_that_is_away_is_unavailable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    writer = OpenAICompatibleWriter(LanguageEndpoint(f"http://127.0.0.1:{port}", "tiny"))
    with pytest.raises(LanguageUnavailableError):
        await writer.write(["one"])
    await writer.close()


def test_a_key_that_no_header_can_carry_is_refused() -> None:
    with pytest.raises(ValueError, match="header") as caught:
        LanguageEndpoint("http://x", "tiny", "clé\n")
    assert "clé" not in str(caught.value)


async def test_a_model_writes_the_summary_and_stands_in_its_provenance(writing: Tenant) -> None:
    await store(writing, *REPEATED)
    assert (await consolidate(writing)).summaries == 1
    [summary] = await made(writing)
    assert summary.content == HONEST
    provenance = await writing.engine.consolidation.provenance(writing.principal, summary.id)
    assert provenance.writer == "tiny"
    assert (await writing.recalled("heron port 5433"))[0] == summary.id
    assert await broken_invariants(writing) == {}


LIES: dict[str, Reply] = BAD | {
    "another number": saying(HONEST.replace("5433", "5432")),
    "another name": saying(f"{HONEST}, said Zebulon"),
    "denied": saying("Heron is not the staging database of the shop on port 5433"),
    "too long": saying(f"{HONEST} " * 100),
    "a NUL": saying(f"{HONEST}\x00"),
}


@pytest.mark.parametrize("name", LIES)
async def test_what_cannot_be_kept_is_quoted_instead(
    writing: Tenant, endpoint: Endpoint, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.reply = LIES[name]
    await store(writing, *REPEATED)
    with caplog.at_level(logging.WARNING):
        assert (await consolidate(writing)).summaries == 1
    [summary] = await made(writing)
    assert summary.content in REPEATED
    provenance = await writing.engine.consolidation.provenance(writing.principal, summary.id)
    assert provenance.writer == "extract"
    assert BASE not in caplog.text
    assert KEY not in caplog.text


async def test_no_connection_is_held_while_a_model_writes(writing: Tenant, endpoint: Endpoint) -> None:
    held: list[int] = []

    def reply() -> Response:
        pool = writing.database._pool
        held.append(pool.get_size() - pool.get_idle_size())
        return saying(HONEST)()

    endpoint.reply = reply
    await store(writing, *REPEATED)
    await consolidate(writing)
    assert held == [0]
