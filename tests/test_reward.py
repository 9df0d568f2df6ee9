"""What feedback teaches, as arithmetic: surprises teach much, nothing becomes certain for good."""

import pytest

from memoria.reward import (
    Crossing,
    dampen_once,
    dampening_factor,
    learn_from,
    mark_dampening,
    reward_edges,
)
from memoria.vocabulary import EdgeType

ROUNDS = 100


def test_utility_moves_by_a_fifth_of_the_prediction_error() -> None:
    lesson = learn_from(0.5, 0.3, useful=True)
    assert lesson.prediction_error == 0.5
    assert lesson.utility == pytest.approx(0.6)
    assert learn_from(0.5, 0.3, useful=False).utility == pytest.approx(0.4)


def test_only_a_surprise_moves_salience() -> None:
    assert learn_from(0.5, 0.3, useful=True).salience == 0.3
    assert learn_from(0.4, 0.3, useful=True).salience == pytest.approx(0.36)
    assert learn_from(0.6, 0.3, useful=False).salience == pytest.approx(0.24)


def test_the_reward_halves_with_each_edge_further_from_the_memory() -> None:
    path = [Crossing(1, 2, EdgeType.TEMPORAL), Crossing(2, 3, EdgeType.SEMANTIC), Crossing(3, 4, EdgeType.CAUSAL)]
    assert reward_edges(path, 0.4) == pytest.approx([0.01, 0.02, 0.04])
    assert reward_edges(path, -0.4) == pytest.approx([-0.01, -0.02, -0.04])
    assert reward_edges([], 0.4) == []


@pytest.mark.parametrize("useful", [True, False])
def test_a_hundred_equal_marks_leave_a_way_back(useful: bool) -> None:
    utility, salience = 0.5, 0.5
    for _ in range(ROUNDS):
        lesson = learn_from(utility, salience, useful=useful)
        utility, salience = lesson.utility, lesson.salience
    assert 0.01 <= utility <= 0.99
    assert 0.01 <= salience <= 0.99
    back = learn_from(utility, salience, useful=not useful)
    assert abs(back.utility - utility) > 0.19
    for _ in range(5):
        back = learn_from(back.utility, back.salience, useful=not useful)
    assert (back.utility < 0.5) is useful


def test_alternating_surprises_do_not_drive_salience_to_an_end() -> None:
    utility, salience = 0.5, 0.95
    for number in range(ROUNDS):
        lesson = learn_from(utility, salience, useful=number % 2 == 0)
        utility, salience = lesson.utility, lesson.salience
        assert 0.01 <= salience <= 0.99


def test_a_salience_that_was_set_to_the_end_is_not_pulled_within_the_bounds() -> None:
    assert learn_from(0.3, 1.0, useful=True).salience == 1.0
    assert learn_from(0.7, 0.0, useful=False).salience == 0.0


def test_the_second_unhelpful_mark_halves_the_score_and_a_helpful_one_undoes_a_step() -> None:
    marks, factors = 0, []
    for _ in range(6):
        marks = mark_dampening(marks, useful=False)
        factors.append(dampening_factor(marks))
    assert factors == [1.0, 0.5, 0.25, 0.125, 0.1, 0.1]
    for _ in range(5):
        marks = mark_dampening(marks, useful=True)
        factors.append(dampening_factor(marks))
    assert factors[6:] == [0.125, 0.25, 0.5, 1.0, 1.0]
    assert marks == mark_dampening(marks, useful=True) == 0


def test_dampening_on_demand_goes_one_step_at_once() -> None:
    assert [dampening_factor(dampen_once(marks)) for marks in (0, 1, 2, 5)] == [0.5, 0.5, 0.25, 0.1]
