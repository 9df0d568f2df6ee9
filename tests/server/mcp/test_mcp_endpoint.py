"""What the endpoint takes and refuses, before any protocol is spoken."""

import json
from http.client import HTTPConnection
from urllib.parse import urlsplit

import httpx
import pytest
from anyio import to_thread
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from tests.live_server import Person
from tests.server.mcp.calling import CURL, Caller

pytestmark = pytest.mark.anyio

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
CALL = {"name": "recall_memories", "arguments": {"query": "auth flow", "namespace": "code/myapp"}}


async def test_bare_curl_calls_a_tool_without_initialize(as_alice: Caller) -> None:
    answer = await as_alice.request("tools/call", CALL)
    assert answer["result"]["content"][0]["type"] == "text"
    assert answer["result"]["structuredContent"]["results"] == []


@pytest.mark.parametrize("content_type", ["application/x-www-form-urlencoded", "", "application/json; charset=utf-8"])
@pytest.mark.parametrize("accept", ["*/*", "application/json", "text/html", ""])
async def test_headers_that_can_mean_one_thing_only_are_put_right(
    as_alice: Caller, content_type: str, accept: str
) -> None:
    response = await as_alice.post(LIST, **{"Content-Type": content_type, "Accept": accept})
    assert response.status_code == 200, response.text


async def test_a_slash_at_the_end_changes_nothing(http: httpx.AsyncClient, mcp_url: str, alice: Person) -> None:
    response = await http.post(f"{mcp_url}/", json=LIST, headers=CURL | alice.headers)
    assert response.status_code == 200


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "HEAD"])
async def test_other_methods_are_405_and_name_post(
    http: httpx.AsyncClient, mcp_url: str, alice: Person, method: str
) -> None:
    response = await http.request(method, mcp_url, headers=alice.headers)
    assert (response.status_code, response.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize("method", ["GET", "DELETE", "POST"])
async def test_without_a_key_every_method_is_401(http: httpx.AsyncClient, mcp_url: str, method: str) -> None:
    response = await http.request(method, mcp_url)
    assert response.status_code == 401
    assert response.headers["www-authenticate"].startswith("Bearer resource_metadata=")


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost.evil.example", "http://[", "file://"]
)
async def test_pages_of_foreign_origins_are_refused(as_alice: Caller, origin: str) -> None:
    response = await as_alice.post(LIST, Origin=origin)
    assert (response.status_code, response.json()["code"]) == (403, "FORBIDDEN")


@pytest.mark.parametrize("origin", ["http://localhost:6274", "http://127.0.0.1", "http://[::1]:8080"])
async def test_pages_of_this_machine_may_call(as_alice: Caller, origin: str) -> None:
    assert (await as_alice.post(LIST, Origin=origin)).status_code == 200


async def test_foreign_host_names_are_refused(as_alice: Caller) -> None:
    assert (await as_alice.post(LIST, Host="evil.example")).status_code == 403


@pytest.mark.parametrize(
    ("body", "code"),
    [(b"", -32700), (b"{", -32700), (b"[]", -32600), (b"{}", -32600), (b'[{"jsonrpc":"2.0"}]', -32600), (b"1", -32600)],
)
async def test_what_is_no_message_is_refused_in_our_own_words(as_alice: Caller, body: bytes, code: int) -> None:
    response = await as_alice.post(body)
    assert response.status_code == 400
    assert response.json()["error"]["code"] == code
    assert "pydantic" not in response.text
    assert "line 1" not in response.text


@pytest.mark.parametrize("version", HANDSHAKE_PROTOCOL_VERSIONS)
async def test_every_older_revision_is_answered_in_its_own(as_alice: Caller, version: str) -> None:
    hello = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    answer = await as_alice.request("initialize", hello)
    assert answer["result"]["protocolVersion"] == version
    assert answer["result"]["serverInfo"]["name"] == "memoria"
    initialized = await as_alice.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (initialized.status_code, initialized.content) == (202, b"")
    called = await as_alice.request("tools/call", CALL, **{"MCP-Protocol-Version": version})
    assert called["result"]["structuredContent"]["results"] == []


async def test_spaces_around_routing_headers_do_not_matter(mcp_url: str, alice: Person) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": CALL | {"_meta": meta}}
    routing = {"MCP-Protocol-Version": "2026-07-28  ", "Mcp-Method": "\ttools/call", "Mcp-Name": " recall_memories \t"}

    def send() -> bytes:
        # The clients of the tests refuse to send such headers; this one does not look.
        connection = HTTPConnection(urlsplit(mcp_url).netloc)
        connection.request("POST", "/v1/mcp", json.dumps(message), CURL | alice.headers | routing)
        body = connection.getresponse().read()
        connection.close()
        return body

    answer = json.loads(await to_thread.run_sync(send))
    assert answer["result"]["resultType"] == "complete"


async def test_an_unknown_revision_is_told_which_are_known(as_alice: Caller) -> None:
    response = await as_alice.post(LIST, **{"MCP-Protocol-Version": "2031-01-01"})
    assert response.status_code == 400
    assert "error" in response.json()
