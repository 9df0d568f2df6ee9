"""No text that is taken holds up the others: what reads words takes time in bounds, however they repeat.

Each of these took minutes where the time grew with the square or the cube of the length.
"""

import random
from datetime import UTC, datetime

import pytest

from memoria.contradiction import Verdict, judge, values_agree
from memoria.intention_records import KeywordTrigger
from memoria.phrases import Spoken
from memoria.time_ranges import find_event, find_time_range
from memoria.triggers import says
from memoria.vocabulary import MAX_CONTENT_BYTES

pytestmark = pytest.mark.timeout(30)

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)


def filled(unit: str) -> str:
    """Repeat a text up to the longest content."""
    return unit * (MAX_CONTENT_BYTES // len(unit.encode()))


@pytest.mark.parametrize(
    "unit", ["on friday ", "today ", "7 may 2023 ", "from may to may ", "31 february 2023 ", "ago "]
)
def test_words_of_time_are_read_in_bounded_time(unit: str) -> None:
    find_time_range(filled(unit), NOW, UTC)
    find_event(filled(unit))


@pytest.mark.parametrize(("first", "second"), [("b ", "b c "), ("not a, ", "not b, "), ("ሀለመ ", "ሀለመ ሐሠረ ")])
def test_long_texts_are_not_merged_and_cost_nothing(first: str, second: str) -> None:
    assert not values_agree(filled(first), filled(second))
    assert values_agree(filled(first), filled(first))


def test_a_heap_of_words_is_no_statement() -> None:
    chance = random.Random(7)
    heaps = [f"Kim lives in {n}; " + "".join(chance.choice("bcdfghjklm") + ";" for _ in range(230)) for n in range(60)]
    assert {judge(older, newer, 0.9) for older in heaps for newer in heaps[:20] if older != newer} == {
        Verdict.UNRELATED
    }


def test_phrases_of_repeated_words_are_sought_in_bounded_time() -> None:
    absent = KeywordTrigger(tuple("word " * 38 + f"x{number}" for number in range(50)))
    present = KeywordTrigger(all=tuple("word " * (10 + number % 29) for number in range(50)))
    spoken = Spoken("word " * 2_000)
    assert not says(absent, spoken)
    assert says(present, spoken)
