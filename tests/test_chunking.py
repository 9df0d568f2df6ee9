"""Texts are cut on borders that readers see, and nothing is lost in the cuts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoria.chunking import chunk_text, split_passages
from memoria.embedding import FakeEmbedder
from memoria.errors import InvalidInputError
from memoria.tokens import count_tokens
from memoria.vocabulary import MAX_CHUNK_TOKENS, MIN_CHUNK_TOKENS

PIECES = st.sampled_from(
    [
        "A sentence. ",
        "Another one! ",
        "\n\n",
        "\n",
        "```\n",
        "~~~\n",
        "x = 1\n",
        "    ",
        "word ",
        "a" * 80,
        "好。",
        "é",
        "…",
        '"Quoted." ',
        "(see a.) ",
    ]
)
TEXTS = st.one_of(st.text(min_size=1, max_size=400), st.lists(PIECES, min_size=1, max_size=120).map("".join))


@given(TEXTS, st.integers(MIN_CHUNK_TOKENS, 60))
@settings(max_examples=150, deadline=None)
def test_chunks_fit_and_join_to_the_text(text: str, max_tokens: int) -> None:
    chunks = chunk_text(text, max_tokens, count_tokens)
    assert "".join(chunk.content for chunk in chunks) == text
    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
    for chunk in chunks:
        assert text[chunk.start : chunk.end] == chunk.content != ""
        assert chunk.tokens == count_tokens(chunk.content) <= max_tokens


def test_pieces_that_have_more_tokens_joined_than_apart_still_fit() -> None:
    def count(text: str) -> int:
        return 10 * len(text.split()) + (1 if "b. c" in text else 0)

    chunks = chunk_text("a. b. c. d.", 20, count)
    assert "".join(chunk.content for chunk in chunks) == "a. b. c. d."
    assert all(chunk.tokens <= 20 for chunk in chunks)


def test_a_code_block_that_fits_stays_whole() -> None:
    code = "```python\n" + "".join(f"line_{number} = {number}\n" for number in range(12)) + "```\n"
    text = "Some prose before it. " * 6 + "\n\n" + code + "\n" + "Some prose after it. " * 6
    chunks = chunk_text(text, 100, count_tokens)
    assert len(chunks) > 2
    assert sum(code in chunk.content for chunk in chunks) == 1


def test_a_code_block_that_does_not_fit_is_cut_between_lines() -> None:
    code = "```\n" + "".join(f"call_number_{number}(argument)\n" for number in range(60)) + "```"
    chunks = chunk_text(code, 60, count_tokens)
    assert len(chunks) > 3
    assert all(chunk.content.endswith("\n") for chunk in chunks[:-1])


def test_prose_is_cut_between_sentences() -> None:
    text = "The first sentence stands here. Is this the second one? It is indeed! " * 20
    chunks = chunk_text(text, 40, count_tokens)
    assert {chunk.content.rstrip()[-1] for chunk in chunks} <= set(".?!")


@pytest.mark.parametrize("max_tokens", [0, MIN_CHUNK_TOKENS - 1, MAX_CHUNK_TOKENS + 1])
def test_a_size_out_of_bounds_is_refused(max_tokens: int) -> None:
    with pytest.raises(InvalidInputError) as caught:
        chunk_text("text", max_tokens, count_tokens)
    assert caught.value.details["field"] == "max_tokens"


@given(st.lists(st.sampled_from(["word ", "a.b ", "x", "!? ", "\n", "é "]), min_size=1, max_size=300).map("".join))
@settings(max_examples=60, deadline=None)
def test_passages_fit_the_window_and_hold_every_token(text: str) -> None:
    embedder = FakeEmbedder(max_tokens=50)
    offsets = embedder.token_offsets(text)
    passages = split_passages(text, offsets, 50, embedder.count_tokens)
    assert all(embedder.count_tokens(passage) <= 50 for passage in passages)
    if len(offsets) <= 50:
        assert passages == [text]
    reached = 0
    for passage in passages:
        start = text.index(passage, max(0, reached - len(passage)))
        assert not text[reached:start].strip()
        reached = max(reached, start + len(passage))
    assert not text[reached:].strip()
