"""Python clients of other makers store and recall."""

import json
import subprocess
from pathlib import Path

import pytest

from server.mcp_tools import listed_tools
from tests.clients.installing import python_with
from tests.live_server import Person

pytestmark = pytest.mark.clients

PROGRAMS = Path(__file__).parent / "programs"


@pytest.mark.parametrize(
    ("program", "requirements"),
    [
        ("store_and_recall_with_fastmcp.py", ("fastmcp>=4.2,<5",)),
        # These adapters are made for the first major version of the protocol's library.
        ("store_and_recall_with_langchain.py", ("langchain-mcp-adapters==0.3.2", "mcp<2")),
    ],
    ids=["fastmcp", "langchain"],
)
def test_the_client_stores_and_recalls(
    server_url: str, alice: Person, program: str, requirements: tuple[str, ...]
) -> None:
    command = [str(python_with(*requirements)), str(PROGRAMS / program), f"{server_url}/v1/mcp", alice.key]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["recalled"] == [answer["stored"]]
    assert answer["tools"] == [tool.name for tool in listed_tools(None)]
