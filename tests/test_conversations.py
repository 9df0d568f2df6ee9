"""Conversations speak for their memories, by their best matches and as one text, and none crowds out the others."""

from collections import Counter

import numpy as np
import pytest

from memoria.conversations import lift_conversations, number_conversations, spread_out, weigh_conversations
from memoria.lexical import NO_MATCHES, POSTING, TermMatches, bm25_scores
from memoria.vocabulary import (
    CONVERSATION_MATCH_SHARE,
    CONVERSATION_TEXT_SHARE,
    CROWDED_FACTOR,
    CROWDED_MOST,
    DEEP_CROWDED_FACTOR,
    DEEP_RANK,
)

IDS = np.arange(1, 6)
LENGTHS = np.full(5, 10.0)
BOTH = CONVERSATION_MATCH_SHARE + CONVERSATION_TEXT_SHARE


def matches(*holders: tuple[int, ...]) -> TermMatches:
    """Let each term be held once by each of its holders."""
    runs = [np.array([(holder, 1, 10) for holder in each], POSTING).tobytes() for each in holders]
    return bm25_scores(runs, 5, 50).matches


def weigh(own: list[float], conversations: list[str | None], found: TermMatches = NO_MATCHES) -> list[float]:
    values = np.array(own)
    count = len(own)
    weighed: list[float] = weigh_conversations(
        number_conversations(conversations), values, values, found, IDS[:count], LENGTHS[:count]
    ).tolist()
    return weighed


def test_a_conversation_counts_by_its_three_best() -> None:
    weighed = weigh([0.9, 0.6, 0.3, 0.1], ["a", "a", "a", "a"])
    assert weighed == pytest.approx([BOTH * 0.6] * 4)


def test_a_single_match_is_not_yet_a_topic() -> None:
    assert weigh([0.6], ["a"])[0] == pytest.approx(weigh([0.6, 0.6, 0.6], ["a", "a", "a"])[0] / 3)


def test_a_memory_without_conversation_stands_for_itself() -> None:
    weighed = weigh([0.2, 0.8, 0.5], [None, None, "a"])
    assert weighed[:2] == pytest.approx([BOTH * 0.2, BOTH * 0.8])
    best = lift_conversations(np.array([1.0]), np.array([BOTH]))
    assert best.tolist() == [1.0]


def test_words_that_a_conversation_holds_in_several_turns_count_together() -> None:
    # "a" holds both words, each in another turn; "b" one of them twice.
    found = matches((1, 3, 4), (2,))
    weighed = weigh([0.0, 0.0, 0.0, 0.0], ["a", "a", "b", "b"], found)
    assert weighed[0] == weighed[1] == CONVERSATION_TEXT_SHARE
    assert 0.0 < weighed[2] == weighed[3] < weighed[0]


def test_a_conversation_is_scored_as_if_it_were_one_text() -> None:
    draw = np.random.default_rng(3)
    count, size = 60, 7
    group = np.concatenate([np.arange(size), draw.integers(size, size=count - size)])
    tokens = [[f"t{term}" for term in draw.integers(8, size=draw.integers(1, 9))] for _ in range(count)]
    query = ("t1", "t4", "t6")

    def run(texts: list[list[str]], term: str) -> bytes:
        held = [(place, Counter(text)[term], len(text)) for place, text in enumerate(texts) if term in text]
        return np.array(held, POSTING).tobytes()

    joined: list[list[str]] = [[] for _ in range(size)]
    for text, number in zip(tokens, group.tolist(), strict=True):
        joined[number].extend(text)
    whole = bm25_scores([run(joined, term) for term in query], size, sum(map(len, joined))).scores
    found = bm25_scores([run(tokens, term) for term in query], count, sum(map(len, tokens))).matches
    weighed = weigh_conversations(
        group,
        np.zeros(count),
        np.zeros(count),
        found,
        np.arange(count),
        np.array([float(len(text)) for text in tokens]),
    )
    assert weighed == pytest.approx(CONVERSATION_TEXT_SHARE * (whole / whole.max())[group])


def test_nothing_is_weighed_where_there_is_nothing() -> None:
    assert weigh([], []) == []
    assert len(spread_out(np.zeros(0), number_conversations([]))) == 0


def test_each_further_result_of_a_conversation_counts_for_less() -> None:
    factors = spread_out(np.array([0.5, 0.9, 0.8, 0.7, 0.6]), number_conversations(["a", "a", "b", "a", None]))
    assert factors == pytest.approx([CROWDED_FACTOR**2, 1.0, 1.0, CROWDED_FACTOR, 1.0])


def test_far_down_other_conversations_come_first() -> None:
    scores = np.linspace(1.0, 0.5, DEEP_RANK + 2)
    conversations = np.arange(DEEP_RANK + 2) // 2
    factors = spread_out(scores, conversations)
    assert factors[DEEP_RANK - 2 :] == pytest.approx([1.0, CROWDED_FACTOR, 1.0, DEEP_CROWDED_FACTOR])


def test_one_conversation_alone_is_not_scored_down_to_nothing() -> None:
    factors = spread_out(np.linspace(1.0, 0.5, 100), np.zeros(100, np.int64))
    assert factors[DEEP_RANK - 1] == pytest.approx(CROWDED_FACTOR**CROWDED_MOST)
    assert factors[-1] == pytest.approx(DEEP_CROWDED_FACTOR**CROWDED_MOST)
    assert factors[-1] > 0.1
