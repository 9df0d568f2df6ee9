"""Clusters are complete, and bursts are cut the same way each time."""

from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoria.clustering import Burst, KnownBurst, Occurrence, cut_bursts, grow_cluster, least_pair, medoid
from tests.tenants import START

SPAN = timedelta(minutes=10)
CHAIN = np.array([[1.0, 0.95, 0.80], [0.95, 1.0, 0.95], [0.80, 0.95, 1.0]])


def agree(first: int, second: int) -> bool:
    return True


def at(minutes: float, memory_id: int) -> Occurrence:
    return Occurrence(memory_id, START + timedelta(minutes=minutes))


def cut(*minutes: float, known: tuple[KnownBurst, ...] = (), most: int = 50) -> list[tuple[int, ...]]:
    occurrences = [at(minute, place) for place, minute in enumerate(minutes)]
    return [burst.memory_ids for burst in cut_bursts(occurrences, known, SPAN, 3, most)]


def test_a_chain_of_small_steps_joins_no_two_that_differ() -> None:
    assert grow_cluster(CHAIN, agree, 0.92) == [0, 1]


def test_one_disagreement_keeps_a_memory_out() -> None:
    alike = np.ones((4, 4))
    assert grow_cluster(alike, lambda first, second: {first, second} != {1, 2}, 0.92) == [0, 1, 3]


def test_the_nearest_come_first() -> None:
    cosines = np.array([[1.0, 0.93, 0.97], [0.93, 1.0, 0.99], [0.97, 0.99, 1.0]])
    assert grow_cluster(cosines, agree, 0.92) == [0, 2, 1]


def test_the_medoid_is_nearest_to_all_and_the_least_pair_is_no_memory_with_itself() -> None:
    assert medoid(CHAIN) == 1
    assert least_pair(CHAIN) == pytest.approx(0.80)


@settings(max_examples=60)
@given(st.integers(2, 12), st.integers(0, 2**32 - 1))
def test_every_two_members_of_a_cluster_are_alike_and_agree(size: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    half = np.triu(draw.uniform(0.85, 1.0, (size, size)), 1)
    cosines = half + half.T + np.eye(size)
    quarrels = {tuple(sorted(draw.integers(0, size, 2).tolist())) for _ in range(size)}

    def agrees(first: int, second: int) -> bool:
        return tuple(sorted((first, second))) not in quarrels

    members = grow_cluster(cosines, agrees, 0.92)
    for place, first in enumerate(members):
        for second in members[:place]:
            assert cosines[first, second] >= 0.92
            assert agrees(first, second)


def test_a_burst_ends_ten_minutes_after_its_first() -> None:
    assert cut(0, 5, 10, 10.01, 15, 20) == [(0, 1, 2), (3, 4, 5)]


def test_fewer_than_three_are_no_burst() -> None:
    assert cut(0, 1, 30, 31, 60) == []


def test_a_burst_holds_a_bounded_number() -> None:
    assert cut(*([0] * 7), most=3) == [(0, 1, 2), (3, 4, 5)]


def test_what_falls_into_a_known_burst_joins_it_while_there_is_room() -> None:
    known = KnownBurst(9, START, size=49)
    found = cut_bursts([at(1, 1), at(2, 2), at(30, 3)], [known], SPAN, 3, 50)
    assert found == [Burst(9, (1,))]


@given(st.lists(st.integers(0, 120), max_size=30), st.randoms(use_true_random=False))
def test_the_order_in_which_memories_are_listed_changes_nothing(minutes: list[int], chance: object) -> None:
    occurrences = [at(minute, place) for place, minute in enumerate(minutes)]
    shuffled = list(occurrences)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert cut_bursts(occurrences, (), SPAN, 3, 50) == cut_bursts(shuffled, (), SPAN, 3, 50)
