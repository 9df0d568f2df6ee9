import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoria.tokens import count_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("hello world", 2),
        ("tiktoken is great!", 6),
        ("antidisestablishmentarianism", 6),
        ("2 + 2 = 4", 7),
        ("お誕生日おめでとう", 9),
    ],
)
def test_counts_equal_the_published_ones(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


def test_text_that_word_vocabularies_do_not_know_still_counts() -> None:
    assert count_tokens("😀" * 100) >= 100
    assert count_tokens("我" * 1000) >= 1000
    assert 8_000 <= count_tokens("a" * 65_536) <= 65_536


def test_markers_of_language_models_count_as_plain_text() -> None:
    assert count_tokens("<|endoftext|>") > 1


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
def test_a_text_never_counts_more_tokens_than_bytes(text: str) -> None:
    assert bool(text) <= count_tokens(text) <= len(text.encode())


def test_counting_does_not_load_the_embedding_model() -> None:
    program = (
        "import sys; from memoria.tokens import count_tokens; count_tokens('x');"
        "print(any(name.split('.')[0] in ('onnxruntime', 'onnx', 'requests') for name in sys.modules))"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "False"
