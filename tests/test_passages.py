from hypothesis import given
from hypothesis import strategies as st

from memoria.chunking import split_passages

WINDOW = 40
Span = tuple[int, int]


def pieces(text: str) -> list[Span]:
    """Cut words into pieces of four letters, as word-piece tokenizers do."""
    spans: list[Span] = []
    start = 0
    for word in text.split(" "):
        end = start + len(word)
        spans += [(at, min(at + 4, end)) for at in range(start, end, 4)]
        start = end + 1
    return spans


@given(st.lists(st.integers(1, 30), min_size=1, max_size=120))
def test_no_passage_exceeds_the_window_and_nothing_is_lost(lengths: list[int]) -> None:
    letters = iter(range(0x4E00, 0x9FFF))
    words = ["".join(chr(next(letters)) for _ in range(length)) for length in lengths]
    text = " ".join(words)
    beginnings = {word[0] for word in words}

    def count_tokens(passage: str) -> int:
        """Count one more where a passage begins within a word: what was one piece may become two."""
        return len(pieces(passage)) + (len(passage) > 1 and passage[0] not in beginnings)

    passages = split_passages(text, pieces(text), WINDOW, count_tokens)
    assert all(count_tokens(passage) <= WINDOW for passage in passages)
    assert set(text) - {" "} <= set("".join(passages))
