"""The protocol's own conformance suite, on both wires."""

import asyncio
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from server.app import create_app
from tests.clients.installing import npm_package
from tests.live_server import open_people, serving, settings_for_tests

pytestmark = pytest.mark.clients

SUITE = "@modelcontextprotocol/conformance"
SUITE_VERSION = "0.2.0-alpha.12"
MODERN = (
    "tools-list",
    "resources-list",
    "prompts-list",
    "caching",
    "http-header-validation",
    "dns-rebinding-protection",
    "sep-2164-resource-not-found",
    "server-sse-multiple-streams",
    "input-required-result-unsupported-methods",
)
LEGACY = ("server-initialize", "ping", "tools-list", "resources-list", "prompts-list", "dns-rebinding-protection")
SCENARIOS = [("2026-07-28", name) for name in MODERN] + [("2025-11-25", name) for name in LEGACY]


class WithKey:
    """Show a key with every request: the suite has no option for it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.key = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] == "http":
            scope = {**scope, "headers": [*scope["headers"], (b"authorization", f"Bearer {self.key}".encode())]}
        await self.app(scope, receive, send)


@pytest.fixture(scope="module")
def open_door(postgres_url: str, redis_url: str) -> WithKey:
    """The application behind a key that is always shown."""
    return WithKey(create_app(settings_for_tests(postgres_url, redis_url)))


@pytest.fixture(scope="module")
def open_url(open_door: WithKey) -> Iterator[str]:
    """Its URL."""
    with serving(open_door) as url:
        yield f"{url}/v1/mcp"


@pytest.mark.parametrize(("revision", "scenario"), SCENARIOS)
def test_the_scenario_passes(
    open_door: WithKey, open_url: str, postgres_url: str, node: Path, tmp_path: Path, revision: str, scenario: str
) -> None:
    open_door.key = asyncio.run(open_people(postgres_url)).alice.key
    program = npm_package(f"{SUITE}@{SUITE_VERSION}") / SUITE / "dist" / "index.js"
    command = [str(node), str(program), "server", "--url", open_url, "--scenario", scenario, "--spec-version", revision]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    counts = re.search(r"Passed: (\d+)/(\d+), 0 failed", done.stdout)
    assert done.returncode == 0, done.stdout[-3000:]
    assert counts is not None, done.stdout[-3000:]
    assert int(counts[1]) == int(counts[2]) > 0
