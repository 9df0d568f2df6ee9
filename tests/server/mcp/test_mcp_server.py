"""The SDK's own client on both wires: lists, calls, resources, prompts, failures."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types.version import LATEST_MODERN_VERSION

from server.mcp_tools import TOOLS
from tests.live_server import Person
from tests.server.mcp.calling import Caller

pytestmark = pytest.mark.anyio

Connect = Callable[..., AbstractAsyncContextManager[Client]]
FRIDAYS = "We deploy the billing service on Fridays after 2pm."


@pytest.fixture(params=["legacy", "auto", LATEST_MODERN_VERSION])
def connect(request: pytest.FixtureRequest, mcp_url: str) -> Connect:
    """Connect the SDK's client with each way of negotiating."""

    @asynccontextmanager
    async def connected(person: Person, query: str = "") -> AsyncIterator[Client]:
        async with (
            httpx2.AsyncClient(headers=person.headers) as http,
            Client(streamable_http_client(mcp_url + query, http_client=http), mode=request.param) as client,
        ):
            yield client

    return connected


async def test_the_client_stores_and_recalls(connect: Connect, alice: Person) -> None:
    async with connect(alice) as client:
        stored = await client.call_tool("encode_memory", {"content": FRIDAYS})
        recalled = await client.call_tool("recall_memories", {"query": "when do we deploy?"})
    assert not stored.is_error
    assert recalled.structured_content["results"][0]["id"] == stored.structured_content["id"]
    assert json.loads(recalled.content[0].text) == recalled.structured_content


@pytest.mark.parametrize(
    ("query", "toolsets"),
    [("", {"memory"}), ("?tools=admin", {"admin"}), ("?tools=memory,admin", {"memory", "admin"})],
)
async def test_the_url_chooses_what_is_listed_and_nothing_else(
    connect: Connect, alice: Person, query: str, toolsets: set[str]
) -> None:
    async with connect(alice, query) as client:
        listed = (await client.list_tools()).tools
        assert (await client.call_tool("health", {})).structured_content == {"status": "ok"}
        assert not (await client.call_tool("list_memories", {})).is_error
    expected = [name for name, definition in TOOLS.items() if definition.toolset in toolsets]
    assert [tool.name for tool in listed] == expected


@pytest.mark.parametrize("tools", ["code", "memory,actor", "actor", "", "memory,"])
async def test_an_unknown_toolset_is_422_and_names_the_others(
    http: httpx.AsyncClient, mcp_url: str, alice: Person, tools: str
) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    response = await http.post(mcp_url, params={"tools": tools}, json=message, headers=alice.headers)
    assert response.status_code == 422
    assert response.json()["details"] == {"field": "tools", "allowed": ["memory", "intentions", "admin"]}


async def test_the_client_is_told_how_to_use_it(connect: Connect, alice: Person) -> None:
    async with connect(alice) as client:
        if client.session.protocol_version != LATEST_MODERN_VERSION or client.mode == "auto":
            assert "recall_memories" in (client.instructions or "")
        capabilities = client.server_capabilities
    if client.mode != LATEST_MODERN_VERSION:
        assert capabilities.tools is not None
        assert capabilities.resources is not None
        assert capabilities.prompts is not None
        assert not capabilities.tools.list_changed


async def test_memories_are_resources(connect: Connect, alice: Person) -> None:
    async with connect(alice) as client:
        stored = (await client.call_tool("encode_memory", {"content": FRIDAYS})).structured_content
        assert [resource.uri for resource in (await client.list_resources()).resources] == ["memory://recent"]
        templates = (await client.list_resource_templates()).resource_templates
        assert [template.uri_template for template in templates] == ["memory://{id}"]
        recent = json.loads((await client.read_resource("memory://recent")).contents[0].text)
        one = json.loads((await client.read_resource(f"memory://{stored['id']}")).contents[0].text)
    assert [memory["content"] for memory in recent["items"]] == [FRIDAYS]
    assert (one["id"], one["content"]) == (stored["id"], FRIDAYS)


@pytest.mark.parametrize("uri", ["memory://mem_0000000000001", "memory://nonsense", "file:///etc/passwd"])
async def test_an_unknown_resource_is_invalid_params_with_its_uri(connect: Connect, alice: Person, uri: str) -> None:
    async with connect(alice) as client:
        with pytest.raises(MCPError) as refused:
            await client.read_resource(uri)
    assert refused.value.code == -32602
    assert refused.value.data["uri"] == uri


async def test_another_tenants_memory_is_an_unknown_resource(
    connect: Connect, alice: Person, charlie: Person, as_alice: Caller
) -> None:
    stored = await as_alice.call("encode_memory", {"content": FRIDAYS})
    async with connect(charlie) as client:
        with pytest.raises(MCPError) as refused:
            await client.read_resource(f"memory://{stored['id']}")
        recent = json.loads((await client.read_resource("memory://recent")).contents[0].text)
    assert (refused.value.code, recent["items"]) == (-32602, [])


async def test_prompts_are_offered_and_written(connect: Connect, alice: Person) -> None:
    async with connect(alice) as client:
        listed = (await client.list_prompts()).prompts
        before = await client.get_prompt("recall-before-task", {"task": "Move billing to {region}"})
        after = await client.get_prompt("remember-session")
    assert [prompt.name for prompt in listed] == ["recall-before-task", "remember-session"]
    assert "Move billing to {region}" in before.messages[0].content.text
    assert "encode_memory" in after.messages[0].content.text


@pytest.mark.parametrize(
    ("name", "arguments"), [("nope", {}), ("recall-before-task", {}), ("recall-before-task", {"task": " "})]
)
async def test_a_prompt_that_cannot_be_written_is_invalid_params(
    connect: Connect, alice: Person, name: str, arguments: dict[str, str]
) -> None:
    async with connect(alice) as client:
        with pytest.raises(MCPError) as refused:
            await client.get_prompt(name, arguments)
    assert refused.value.code == -32602


async def test_lists_may_be_kept_by_their_client_alone(as_alice: Caller) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": LATEST_MODERN_VERSION,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    for method in ("tools/list", "resources/list", "resources/templates/list", "prompts/list", "server/discover"):
        headers = {"MCP-Protocol-Version": LATEST_MODERN_VERSION, "Mcp-Method": method}
        result = (await as_alice.request(method, {"_meta": meta}, **headers))["result"]
        assert (result["cacheScope"], result["resultType"]) == ("private", "complete")
        assert result["ttlMs"] > 0
