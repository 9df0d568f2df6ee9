from pathlib import Path

import pytest

from memoria.embedding import MiniLM


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def graph_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("graphs")


@pytest.fixture(scope="session")
def minilm(graph_cache: Path) -> MiniLM:
    return MiniLM.load(graph_cache, threads=1)
