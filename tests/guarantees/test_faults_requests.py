"""Whatever a client sends, cuts off or leaves hanging, it meets no fault of ours, and nothing is left open."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from server.app import create_app
from server.edge import MAX_BODY_BYTES
from tests.live_server import Person, open_people, serving, settings_for_tests
from tests.store_checks import assert_memories_are_whole, assert_no_transaction_stays_open

pytestmark = pytest.mark.anyio

POOL_SIZE = 2
TIMEOUT_SECONDS = 60.0
POSTS = (
    "/v1/memories",
    "/v1/memories/batch",
    "/v1/memories/recall",
    "/v1/memories/recall/batch",
    "/v1/memories/context",
    "/v1/memories/search",
    "/v1/memories/forget",
    "/v1/memories/delete-by-context",
    "/v1/chunks",
    "/v1/mcp",
)
DEEP = 100_000
BODIES: dict[str, bytes] = {
    "nothing": b"",
    "a list": b"[]",
    "null": b"null",
    "a word": b"hello",
    "half an object": b'{"content": "a',
    "not a number": b'{"content": "a", "salience": NaN}',
    "infinity": b'{"content": "a", "metadata": {"n": -Infinity}}',
    "a number beyond doubles": b'{"content": "a", "metadata": {"n": 1e400}}',
    "a very long whole number": b'{"content": "a", "metadata": {"n": ' + b"9" * 5000 + b"}}",
    "a long whole number": b'{"content": "a", "metadata": {"n": ' + b"9" * 400 + b"}}",
    "a long whole limit": b'{"query": "a", "limit": ' + b"9" * 400 + b"}",
    "a huge salience": b'{"content": "a", "salience": 1e308}',
    "deep lists": b'{"content": "a", "metadata": {"n": ' + b"[" * DEEP + b"]" * DEEP + b"}}",
    "deep objects": b'{"content": "a", "metadata": ' + b'{"a":' * DEEP + b"1" + b"}" * DEEP + b"}",
    "lists as deep as a reader goes": b'{"content": "a", "metadata": {"n": ' + b"[" * 190 + b"]" * 190 + b"}}",
    "an open deep list": b"[" * DEEP,
    "broken UTF-8": b'{"content": "\xff\xfe", "query": "\xff"}',
    "UTF-16": '{"content": "a"}'.encode("utf-16"),
    "a byte order mark": b'\xef\xbb\xbf{"content": "a", "query": "a"}',
    "a lone surrogate": b'{"content": "\\ud800", "query": "\\ud800"}',
    "a lone surrogate in a key": b'{"content": "a", "metadata": {"\\udfff": 1}, "context": {"\\udfff": "a"}}',
    "NUL in content": b'{"content": "a\\u0000b", "query": "a\\u0000b"}',
    "NUL in metadata": b'{"content": "a", "metadata": {"a\\u0000": "b\\u0000"}}',
    "NUL in a context": b'{"content": "a", "context": {"a\\u0000": "b\\u0000"}, "key": "\\u0000", "value": "\\u0000"}',
    "NUL in a tag": b'{"content": "a", "tags": ["\\u0000"], "title": "\\u0000", "project": "\\u0000"}',
    "NUL in a namespace": b'{"content": "a", "query": "a", "namespace": "a\\u0000"}',
    "NUL in a filter": b'{"query": "a", "filters": {"tags": ["\\u0000"], "context": {"\\u0000": "\\u0000"}}}',
    "a raw control character": b'{"content": "a\x01b"}',
    "keys twice": b'{"content": "a", "content": "b", "query": "a", "query": "b"}',
    "only spaces": b'{"content": "   ", "query": "   "}',
    "only punctuation": '{"content": "!?…", "query": "((\\"%_*\\\\:&|<->!"}'.encode(),
    "odd types": b'{"content": {"a": 1}, "query": [1], "tags": "a", "context": 3, "limit": "x", "ids": {}}',
    "times at the ends": b'{"content": "a", "occurred_at": "0001-01-01T00:00:00-23:59", "ttl_seconds": 1}',
    "times beyond": b'{"content": "a", "occurred_at": "9999-12-31T23:59:59-23:59", "ttl_seconds": 1}',
    "a long ttl": b'{"content": "a", "ttl_seconds": 99999999999999}',
    "an odd url": b'{"content": "a", "url": "http://[::1", "query": "a"}',
    "a url with an odd port": b'{"content": "a", "url": "http://a:99999999/", "query": "a"}',
    "batch of nonsense": b'{"memories": [null, 1, {}, {"content": "\\u0000"}], "atomic": false, "queries": [null]}',
    "ids of nonsense": b'{"ids": ["mem_zzzzzzzzzzzzz", "\\u0000", "", "mem_7zzzzzzzzzzzz"]}',
    "a cursor of nonsense": b'{"query": "", "cursor": "W10", "filters": {}}',
    "a cursor beyond numbers": b'{"query": "", "cursor": "WzFlOTk5LCAiYSJd"}',
}
CONTENT_TYPES = (
    "text/plain",
    "application/json; charset=utf-16",
    "multipart/form-data",
    "",
    "application/\x80",
    "a" * 9000,
)


@pytest.fixture
async def alice(postgres_url: str) -> Person:
    return (await open_people(postgres_url)).alice


@pytest.fixture
def url(postgres_url: str, redis_url: str) -> Iterator[str]:
    settings = settings_for_tests(postgres_url, redis_url, MEMORIA_POOL_SIZE=str(POOL_SIZE))
    with serving(create_app(settings)) as served:
        yield served


@pytest.fixture
async def client(url: str, alice: Person) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=url, headers=alice.headers, timeout=TIMEOUT_SECONDS) as made:
        yield made


def is_a_refusal_or_a_success(answer: httpx.Response) -> bool:
    """Tell whether an answer is a success, or a refusal in the one form that all of ours have."""
    if answer.is_success:
        return True
    told = answer.json()
    is_protocol_error = "jsonrpc" in told
    return 400 <= answer.status_code < 500 and (is_protocol_error or told["status"] == answer.status_code)


async def test_no_body_of_any_kind_is_answered_with_a_fault(client: httpx.AsyncClient, owner_url: str) -> None:
    wrong = []
    for path in POSTS:
        for name, body in BODIES.items():
            answer = await client.post(path, content=body, headers={"content-type": "application/json"})
            if not is_a_refusal_or_a_success(answer):
                wrong.append((path, name, answer.status_code))
    assert wrong == []
    await assert_no_transaction_stays_open(owner_url)
    await assert_memories_are_whole(owner_url)


async def test_no_field_that_is_stored_or_searched_is_answered_with_a_fault(client: httpx.AsyncClient) -> None:
    stored = await client.post("/v1/memories", json={"content": "to be changed"})
    path = f"/v1/memories/{stored.json()['id']}"
    wrong = []
    for name, body in BODIES.items():
        changed = await client.patch(path, content=body, headers={"content-type": "application/json"})
        if not is_a_refusal_or_a_success(changed):
            wrong.append((name, changed.status_code))
    odd = (
        "%00",
        "%ff",
        "%ud800",
        "a" * 6000,
        "%F0%9F%98%80",
        "[]",
        "1e999",
        "-1",
        "W10",
        "WzFlOTk5LCAiYSJd",
        "%0d%0aa:b",
    )
    names = ("namespace", "cursor", "limit", "tags", "context[a]", "type", "state", "created_after", "project", "site")
    for name in names:
        for value in odd:
            for listing in ("/v1/memories", f"{path}/neighbors", "/v1/namespaces", "/v1/stats"):
                answer = await client.get(f"{listing}?{name}={value}")
                if not is_a_refusal_or_a_success(answer):
                    wrong.append((f"{listing}?{name}={value[:20]}", answer.status_code))
    for value in ("%00", "%ff", "..%2f..", "mem_", "mem_zzzzzzzzzzzzz", "mem_7zzzzzzzzzzzz", "a" * 5000):
        answer = await client.get(f"/v1/memories/{value}")
        if not is_a_refusal_or_a_success(answer):
            wrong.append((value[:20], answer.status_code))
    assert wrong == []


async def test_a_wrong_content_type_or_header_is_refused(client: httpx.AsyncClient) -> None:
    body = json.dumps({"content": "a"}).encode()
    for content_type in CONTENT_TYPES:
        answer = await client.post(
            "/v1/memories", content=body, headers={"content-type": content_type.encode("latin-1")}
        )
        assert is_a_refusal_or_a_success(answer), content_type
    headers: list[dict[str, Any]] = [
        {"idempotency-key": "x" * 300},
        {"idempotency-key": b"\xff\xfe"},
        {"if-match": "9" * 50},
        {"x-memoria-namespace": b"\xff\x00\xff"},
        {"x-request-id": "a b"},
        {"authorization": b"Bearer \xff"},
        {"authorization": "Bearer " + "a" * 5000},
        {"host": "a:b:c"},
        {"content-length": "2", "transfer-encoding": "chunked"},
    ]
    for sent in headers:
        try:
            answer = await client.post(
                "/v1/memories", content=body, headers={"content-type": "application/json", **sent}
            )
        except (httpx.LocalProtocolError, httpx.ReadError):
            # Refused by the client itself, or by closing the connection.
            continue
        assert answer.status_code < 500, sent


async def test_a_body_over_the_limit_is_refused_however_it_is_sent(client: httpx.AsyncClient) -> None:
    size = MAX_BODY_BYTES + 1024 * 1024

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(33):
            yield b"a" * (1024 * 1024)

    headers = {"content-type": "application/json"}
    for content in (b"a" * size, pieces()):
        for path in ("/v1/memories", "/v1/mcp"):
            if not isinstance(content, bytes):
                content = pieces()
            answer = await client.post(path, content=content, headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (413, "CONTENT_TOO_LARGE")
            assert answer.json()["details"]["limit_bytes"] == MAX_BODY_BYTES


def send_raw(url: str, request: bytes, *, read: bool = True) -> bytes:
    """Send bytes as they are; return what comes back until the server closes or has answered."""
    address = urlsplit(url)
    with socket.create_connection((address.hostname, address.port), timeout=TIMEOUT_SECONDS) as connection:
        connection.sendall(request)
        if not read:
            return b""
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while part := connection.recv(65536):
            answer += part
        return answer


def post(person: Person, body: bytes, *lines: str) -> bytes:
    """Write a POST of a memory with these header lines besides its own."""
    head = ["POST /v1/memories HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {person.key}"]
    return "\r\n".join([*head, "Content-Type: application/json", *lines, "", ""]).encode() + body


async def test_requests_that_two_readers_would_cut_differently_store_nothing_hidden(
    url: str, alice: Person, client: httpx.AsyncClient
) -> None:
    hidden = post(alice, b'{"content": "smuggled"}', "Content-Length: 23")
    shapes = (
        post(alice, b"0\r\n\r\n" + hidden, "Content-Length: 5", "Transfer-Encoding: chunked"),
        post(alice, b"{}" + hidden, "Content-Length: 2", "Content-Length: 300"),
        post(alice, b"{}" + hidden, "Transfer-Encoding: xchunked"),
        post(alice, b"{}" + hidden, "Content-Length: +2"),
        post(alice, b"{}" + hidden, "Content-Length: -2"),
        post(alice, b"ffffffffffffffffff\r\n{}" + hidden, "Transfer-Encoding: chunked"),
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"GET " + b"/a" * 100_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /v1/health HTTP/1.1\r\nHost: a\r\n" + b"a: b\r\n" * 20_000 + b"\r\n",
    )
    for shape in shapes:
        answer = await asyncio.to_thread(send_raw, url, shape)
        assert b"HTTP/1.1 5" not in answer, (shape[:200], answer[:200])
    assert (await client.get("/v1/health")).status_code == 200


async def test_clients_that_go_away_leave_nothing_open(
    url: str, alice: Person, client: httpx.AsyncClient, owner_url: str
) -> None:
    body = json.dumps({"content": "sent by somebody who does not wait"}).encode()
    call = {"name": "encode_memory", "arguments": {"content": "called by somebody who does not wait"}}
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).encode()
    whole = post(alice, body, f"Content-Length: {len(body)}")
    mcp = post(alice, message, f"Content-Length: {len(message)}").replace(b"/v1/memories", b"/v1/mcp", 1)
    cut = post(alice, body[:10], f"Content-Length: {len(body)}")
    for request in (whole, mcp, cut) * 20:
        await asyncio.to_thread(send_raw, url, request, read=False)
    # A leaked connection would leave none of the few for these.
    answers = await asyncio.gather(*(client.get("/v1/stats") for _ in range(POOL_SIZE * 5)))
    assert {answer.status_code for answer in answers} == {200}
    await assert_no_transaction_stays_open(owner_url)
    await assert_memories_are_whole(owner_url)


async def test_slow_clients_hold_no_connection_of_the_database(
    url: str, alice: Person, client: httpx.AsyncClient, owner_url: str
) -> None:
    address = urlsplit(url)
    body = b'{"content": "sent slowly"}'
    slow = [socket.create_connection((address.hostname, address.port)) for _ in range(POOL_SIZE * 10)]
    try:
        for connection in slow:
            connection.sendall(post(alice, body[:5], f"Content-Length: {len(body)}"))
        answers = await asyncio.gather(*(client.get("/v1/stats") for _ in range(POOL_SIZE * 5)))
        assert {answer.status_code for answer in answers} == {200}
        await assert_no_transaction_stays_open(owner_url)
        for connection in slow:
            connection.sendall(body[5:])
            connection.settimeout(TIMEOUT_SECONDS)
        for connection in slow:
            assert (await asyncio.to_thread(connection.recv, 12)).startswith(b"HTTP/1.1 20")
    finally:
        for connection in slow:
            connection.close()
