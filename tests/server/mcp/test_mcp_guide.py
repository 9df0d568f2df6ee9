"""The guide for users says what is so, and its examples run."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from anyio import run_process

from server.mcp_endpoint import PATH
from server.mcp_tools import TOOLS
from server.wire.filters import FiltersBody
from tests.live_server import Person

pytestmark = pytest.mark.anyio

GUIDE = (Path(__file__).parents[3] / "docs" / "mcp.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| `(\w+)` \| `(\w+)` \| (.*?) \|", re.MULTILINE)


def _blocks(language: str) -> list[str]:
    return [text for name, text in BLOCKS if name == language]


def _environment(url: str, person: Person) -> dict[str, str]:
    variables = {"MEMORIA_URL": url, "MEMORIA_KEY": person.key, "MEMORIA_NAMESPACE": person.namespace}
    return dict(os.environ) | variables


def test_the_table_lists_every_tool_with_its_arguments() -> None:
    told = {name: (toolset, set(re.findall(r"`(\w+)`", arguments))) for name, toolset, arguments in ROW.findall(GUIDE)}
    known = {
        name: (definition.toolset, set(definition.tool.input_schema["properties"]))
        for name, definition in TOOLS.items()
    }
    assert told == known


def test_the_required_arguments_are_marked() -> None:
    for name, _, arguments in ROW.findall(GUIDE):
        required = TOOLS[name].tool.input_schema.get("required", [])
        assert re.findall(r"`(\w+)`\*", arguments) == required


def test_every_filter_is_named() -> None:
    (sentence,) = re.findall(r"`filters` is an object of (.*?): all", GUIDE, re.DOTALL)
    assert set(re.findall(r"`(\w+)`", sentence)) == set(FiltersBody.model_fields)


def test_the_configurations_can_be_read_and_name_the_endpoint() -> None:
    configurations: list[dict[str, Any]] = [json.loads(text) for text in _blocks("json") if "mcpServers" in text]
    servers = [each["mcpServers"]["memoria"] for each in configurations]
    servers += [tomllib.loads(text)["mcp_servers"]["memoria"] for text in _blocks("toml")]
    assert len(servers) == 3
    for server in servers:
        assert (server.get("url") or server["httpUrl"]).endswith(PATH)


async def test_the_curl_example_runs(server_url: str, alice: Person) -> None:
    (example,) = [text for text in _blocks("bash") if text.startswith("curl")]
    done = await run_process(["bash", "-euc", example], env=_environment(server_url, alice), stderr=subprocess.DEVNULL)
    result = json.loads(done.stdout)["result"]
    assert json.loads(result["content"][0]["text"])["results"] == []


async def test_the_python_example_runs(server_url: str, alice: Person) -> None:
    (example,) = _blocks("python")
    done = await run_process([sys.executable, "-c", example], env=_environment(server_url, alice))
    assert done.stdout.decode().strip() == "We deploy on Fridays after 2pm"
