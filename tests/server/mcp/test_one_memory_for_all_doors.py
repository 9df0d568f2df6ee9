"""What is written through one door changes what was written through another."""

import httpx
import pytest

from tests.live_server import Person
from tests.server.mcp.calling import Caller

pytestmark = pytest.mark.anyio

FRIDAYS = "We deploy on Fridays"
THURSDAYS_NOW = "We deploy on Thursdays now"


async def test_a_change_told_over_mcp_supersedes_what_came_over_rest(
    as_alice: Caller, alice: Person, http: httpx.AsyncClient, server_url: str
) -> None:
    old = (await http.post(f"{server_url}/v1/memories", headers=alice.headers, json={"content": FRIDAYS})).json()
    new = await as_alice.call("encode_memory", {"content": THURSDAYS_NOW})
    kept = (await http.get(f"{server_url}/v1/memories/{old['id']}", headers=alice.headers)).json()
    assert kept["state"] == "Superseded"
    recalled = await as_alice.call("recall_memories", {"query": "When do we deploy?"})
    assert recalled["results"][0]["id"] == new["id"]


async def test_a_change_told_over_rest_supersedes_what_came_over_mcp(
    as_alice: Caller, alice: Person, http: httpx.AsyncClient, server_url: str
) -> None:
    old = await as_alice.call("encode_memory", {"content": FRIDAYS})
    await http.post(f"{server_url}/v1/memories", headers=alice.headers, json={"content": THURSDAYS_NOW})
    kept = (await http.get(f"{server_url}/v1/memories/{old['id']}", headers=alice.headers)).json()
    assert kept["state"] == "Superseded"
