import numpy as np
import pytest

from memoria.embedding import EmbedderUnavailableError, FakeEmbedder, TextTooLongError

pytestmark = pytest.mark.anyio


async def test_texts_that_share_words_are_similar() -> None:
    alike, other, query = await FakeEmbedder().embed(
        ["Alice deploys on Fridays", "The kettle is blue", "alice deploys when"]
    )
    assert query @ alike > 0.5
    assert abs(query @ other) < 0.2


async def test_vectors_are_the_same_in_every_embedder_and_of_length_one() -> None:
    texts = ["one two", "", "  ", "!", "שלום 北京"]
    first, second = await FakeEmbedder().embed(texts), await FakeEmbedder().embed(texts)
    assert np.array_equal(first, second)
    assert first.dtype == np.float32
    assert np.allclose(np.linalg.norm(first, axis=1), 1.0, atol=1e-6)


async def test_dimensions_and_an_empty_request_keep_their_shape() -> None:
    assert (await FakeEmbedder(dimensions=16).embed(["a", "b"])).shape == (2, 16)
    assert (await FakeEmbedder(dimensions=16).embed([])).shape == (0, 16)


async def test_a_text_beyond_the_window_is_refused() -> None:
    with pytest.raises(TextTooLongError):
        await FakeEmbedder(max_tokens=3).embed(["one two, three"])


async def test_offsets_locate_the_counted_tokens() -> None:
    fake = FakeEmbedder()
    offsets = fake.token_offsets("Hi, Bob")
    assert offsets == [(0, 2), (2, 3), (4, 7)]
    assert fake.count_tokens("Hi, Bob") == 3


async def test_a_closed_embedder_refuses() -> None:
    fake = FakeEmbedder()
    await fake.close()
    with pytest.raises(EmbedderUnavailableError):
        await fake.embed(["x"])
