import asyncio
import json
import logging
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import numpy as np
import pytest
import uvicorn
from anyio.lowlevel import checkpoint
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from memoria.embedding import (
    EmbedderUnavailableError,
    EndpointSettings,
    OpenAICompatibleEmbedder,
    TextTooLongError,
)

pytestmark = pytest.mark.anyio

KEY = "sk-very-secret-key"
Answer = Callable[[list[str]], Response]


def rows(texts: list[str]) -> list[dict[str, object]]:
    return [{"index": place, "embedding": [len(text), 1.0, 2.0]} for place, text in enumerate(texts)]


def well(texts: list[str]) -> Response:
    # Backwards: the client must go by the index.
    return JSONResponse({"data": rows(texts)[::-1]})


def failing(status: int, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda texts: PlainTextResponse(f"you sent {KEY}", status, headers=named)


def raw(content: str) -> Answer:
    return lambda texts: Response(content, media_type="application/json")


class Endpoint:
    """A real server: gives the planned answers in turn, then only good ones; remembers what it was asked."""

    def __init__(self) -> None:
        self.plan: list[Answer] = []
        self.asked: list[dict[str, object]] = []
        self.authorizations: list[str | None] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/v1/"

    async def answer(self, request: Request) -> Response:
        body = json.loads(await request.body())
        self.asked.append(body)
        self.authorizations.append(request.headers.get("authorization"))
        return (self.plan.pop(0) if self.plan else well)(body["input"])


@pytest.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    served = Endpoint()
    app = Starlette(routes=[Route("/v1/embeddings", served.answer, methods=["POST"])])
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
    running = asyncio.create_task(server.serve([served.listener]))
    while not server.started:
        await checkpoint()
    yield served
    server.should_exit = True
    await running


@pytest.fixture
def settings(endpoint: Endpoint) -> EndpointSettings:
    return EndpointSettings(base_url=endpoint.url, model="tiny", dimensions=3, api_key=KEY, first_wait_seconds=0.001)


@pytest.fixture
async def embedder(settings: EndpointSettings) -> AsyncIterator[OpenAICompatibleEmbedder]:
    opened = OpenAICompatibleEmbedder(settings)
    yield opened
    await opened.close()


async def test_vectors_come_in_the_order_of_the_texts_and_of_length_one(
    embedder: OpenAICompatibleEmbedder, endpoint: Endpoint
) -> None:
    vectors = await embedder.embed(["a", "bbbb"])
    expected = np.array([[1, 1, 2], [4, 1, 2]]) / np.sqrt([[6], [21]])
    assert vectors.dtype == np.float32
    assert np.allclose(vectors, expected, atol=1e-6)
    assert endpoint.asked == [{"model": "tiny", "input": ["a", "bbbb"], "encoding_format": "float"}]
    assert endpoint.authorizations == [f"Bearer {KEY}"]


async def test_many_texts_go_in_batches(settings: EndpointSettings, endpoint: Endpoint) -> None:
    embedder = OpenAICompatibleEmbedder(replace(settings, batch_texts=2, send_dimensions=True, api_key=None))
    assert (await embedder.embed(["a", "b", "c", "d", "e"])).shape == (5, 3)
    assert [body["input"] for body in endpoint.asked] == [["a", "b"], ["c", "d"], ["e"]]
    assert [body["dimensions"] for body in endpoint.asked] == [3, 3, 3]
    assert endpoint.authorizations == [None] * 3
    await embedder.close()


async def test_no_texts_ask_nothing(embedder: OpenAICompatibleEmbedder, endpoint: Endpoint) -> None:
    assert (await embedder.embed([])).shape == (0, 3)
    assert endpoint.asked == []


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_passing_fault_is_tried_again(
    embedder: OpenAICompatibleEmbedder, endpoint: Endpoint, status: int
) -> None:
    endpoint.plan = [failing(status), failing(status, retry_after="0")]
    assert (await embedder.embed(["a"])).shape == (1, 3)
    assert len(endpoint.asked) == 3


async def test_the_wait_that_the_endpoint_asks_for_is_kept(
    embedder: OpenAICompatibleEmbedder, endpoint: Endpoint
) -> None:
    endpoint.plan = [failing(429, retry_after="1")]
    loop = asyncio.get_running_loop()
    start_seconds = loop.time()
    await embedder.embed(["a"])
    assert loop.time() - start_seconds >= 1.0


@pytest.mark.parametrize("asked", ["3600", "Fri, 01 Jan 2100 00:00:00 GMT"])
async def test_too_long_a_wait_is_given_up_at_once(
    embedder: OpenAICompatibleEmbedder, endpoint: Endpoint, asked: str
) -> None:
    endpoint.plan = [failing(429, retry_after=asked)]
    with pytest.raises(EmbedderUnavailableError, match="HTTP 429"):
        await embedder.embed(["a"])
    assert len(endpoint.asked) == 1


@pytest.mark.parametrize("asked", ["soon", "Thu, 01 Jan 1970 00:00:00 GMT", "-5"])
async def test_an_unreadable_or_past_retry_after_does_not_stop_the_retries(
    embedder: OpenAICompatibleEmbedder, endpoint: Endpoint, asked: str
) -> None:
    endpoint.plan = [failing(503, retry_after=asked)]
    assert (await embedder.embed(["a"])).shape == (1, 3)


async def test_retries_are_bounded(embedder: OpenAICompatibleEmbedder, endpoint: Endpoint) -> None:
    endpoint.plan = [failing(500)] * 10
    with pytest.raises(EmbedderUnavailableError, match="HTTP 500"):
        await embedder.embed(["a"])
    assert len(endpoint.asked) == 4


@pytest.mark.parametrize("status", [301, 400, 401, 404, 422])
async def test_a_refusal_is_not_tried_again(
    embedder: OpenAICompatibleEmbedder, endpoint: Endpoint, status: int
) -> None:
    endpoint.plan = [failing(status)]
    with pytest.raises(EmbedderUnavailableError, match=f"HTTP {status}"):
        await embedder.embed(["a"])
    assert len(endpoint.asked) == 1


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("no json", "malformed"),
        ("[]", "expected 2"),
        ('{"data": [{"embedding": [1, 2, 3]}]}', "expected 2"),
        ('{"data": [1, 2]}', "expected 2"),
        ('{"data": [{"index": 0, "embedding": [1,2,3]}, {"index": 0, "embedding": [1,2,3]}]}', "indexes"),
        ('{"data": [{"index": 0, "embedding": [1,2,3]}, {"index": "1", "embedding": [1,2,3]}]}', "malformed"),
        ('{"data": [{"embedding": [1,2,3]}, {"embedding": [1,2]}]}', "2 dimensions instead of 3"),
        ('{"data": [{"embedding": [1,2,3]}, {"embedding": [1,2,NaN]}]}', "not finite"),
        ('{"data": [{"embedding": [1,2,3]}, {"embedding": [0,0,0]}]}', "zero"),
        ('{"data": [{"embedding": [1,2,3]}, {"embedding": "AAAA"}]}', "not a list of numbers"),
        ('{"data": [{"embedding": [1,2,3]}, {}]}', "not a list of numbers"),
    ],
)
async def test_a_malformed_answer_is_refused(
    embedder: OpenAICompatibleEmbedder, endpoint: Endpoint, content: str, reason: str
) -> None:
    endpoint.plan = [raw(content)]
    with pytest.raises(EmbedderUnavailableError, match=reason):
        await embedder.embed(["a", "b"])


async def test_rows_without_an_index_are_taken_in_order(embedder: OpenAICompatibleEmbedder, endpoint: Endpoint) -> None:
    endpoint.plan = [raw('{"data": [{"embedding": [2,0,0]}, {"embedding": [0,3,0]}]}')]
    assert (await embedder.embed(["a", "b"])).tolist() == [[1, 0, 0], [0, 1, 0]]


async def test_an_endpoint_that_does_not_answer_in_time_is_unavailable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        embedder = OpenAICompatibleEmbedder(
            EndpointSettings(url, "tiny", 3, timeout_seconds=0.05, first_wait_seconds=0.001)
        )
        with pytest.raises(EmbedderUnavailableError, match=r"4 time.* ReadTimeout"):
            await embedder.embed(["a"])
        await embedder.close()


async def test_an_endpoint_that_is_not_there_is_unavailable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        url = f"http://127.0.0.1:{gone.getsockname()[1]}"
    embedder = OpenAICompatibleEmbedder(EndpointSettings(url, "tiny", 3, first_wait_seconds=0.001))
    with pytest.raises(EmbedderUnavailableError, match="ConnectError"):
        await embedder.embed(["a"])
    await embedder.close()


async def test_the_key_is_in_no_error_no_repr_and_no_log(
    settings: EndpointSettings, endpoint: Endpoint, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    endpoint.plan = [failing(500), failing(401)]
    embedder = OpenAICompatibleEmbedder(settings)
    with pytest.raises(EmbedderUnavailableError) as refused:
        await embedder.embed(["a"])
    await embedder.close()
    with pytest.raises(ValueError, match="header cannot carry") as invalid:
        replace(settings, api_key=f"{KEY}\n")
    told = [repr(refused.value), repr(invalid.value), repr(settings), repr(embedder), caplog.text]
    assert len(endpoint.asked) == 2
    assert not [text for text in told if KEY in text]


async def test_a_text_beyond_the_window_is_refused_before_anything_is_sent(
    settings: EndpointSettings, endpoint: Endpoint
) -> None:
    embedder = OpenAICompatibleEmbedder(replace(settings, max_tokens=5))
    assert embedder.count_tokens("שלום!") == embedder.max_tokens == 5
    assert embedder.token_offsets("ab") == [(0, 1), (1, 2)]
    with pytest.raises(TextTooLongError, match="6 tokens"):
        await embedder.embed(["short", "longer"])
    assert endpoint.asked == []
    await embedder.close()
    with pytest.raises(EmbedderUnavailableError, match="closed"):
        await embedder.embed(["a"])
