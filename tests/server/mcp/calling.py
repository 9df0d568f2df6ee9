"""Call the MCP endpoint with bare HTTP, as curl does: no initialize, no protocol header, `Accept: */*`."""

import json
from dataclasses import dataclass
from typing import Any

import httpx

from tests.live_server import Person

CURL = {"User-Agent": "curl/8.5.0", "Accept": "*/*", "Content-Type": "application/json"}


class ToolRefusedError(Exception):
    """Say that a tool answered with `isError`; `body` is its JSON."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__(body)
        self.body = body


@dataclass(frozen=True, slots=True)
class Caller:
    """Call as one person."""

    http: httpx.AsyncClient
    url: str
    person: Person

    async def post(self, message: object, **headers: str) -> httpx.Response:
        """Post one message."""
        content = message if isinstance(message, bytes) else json.dumps(message).encode()
        return await self.http.post(self.url, content=content, headers=CURL | self.person.headers | headers)

    async def request(self, method: str, params: dict[str, Any] | None = None, **headers: str) -> dict[str, Any]:
        """Send a request; answer the whole JSON-RPC response."""
        message = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params or {}}
        response = await self.post(message, **headers)
        assert response.headers["content-type"] == "application/json", response.text
        answer: dict[str, Any] = response.json()
        assert answer["id"] == 7
        return answer

    async def call(self, tool: str, arguments: dict[str, Any] | None = None, **headers: str) -> dict[str, Any]:
        """Call a tool; answer its structured content. Raises ToolRefusedError."""
        answer = await self.request("tools/call", {"name": tool, "arguments": arguments or {}}, **headers)
        result = answer["result"]
        (content,) = result["content"]
        body: dict[str, Any] = json.loads(content["text"])
        if result["isError"]:
            assert "structuredContent" not in result
            raise ToolRefusedError(body)
        assert result["structuredContent"] == body
        return body
