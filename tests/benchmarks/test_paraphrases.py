"""A paraphrase asks the same in other words, and adds nothing of the answer."""

import pytest

from benchmarks.learning.paraphrases import paraphrase


@pytest.mark.parametrize(
    ("question", "other"),
    [
        ("When did Ann move to Rome?", "At what time did Ann move to Rome?"),
        ("What did Ann buy in Rome?", "In Rome, which thing did Ann buy?"),
        ("Who sang the song after dinner?", "Which person sang the song following dinner?"),
        ("How many times did Ann sing the song?", "How often did Ann sing that song?"),
        ("Is it so", "Is it so"),
    ],
)
def test_the_question_word_the_order_and_one_small_word_change(question: str, other: str) -> None:
    assert paraphrase(question) == other
