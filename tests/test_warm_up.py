"""A server that has started answers its first call as soon as its later ones."""

import pytest

from memoria import tokens
from memoria.embedding import FakeEmbedder
from memoria.engine import Engine

pytestmark = pytest.mark.anyio


async def test_warming_up_reads_the_vocabulary_of_the_token_counts(postgres_url: str) -> None:
    tokens._encoding.cache_clear()
    engine = await Engine.open(postgres_url, FakeEmbedder())
    engine.warm_up()
    await engine.close()
    assert tokens._encoding.cache_info().currsize == 1
