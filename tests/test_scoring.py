from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoria.scoring import Candidates, anti_bias, factors, idle_days, recency, substance, tier_boost
from memoria.vocabulary import DEFAULT_SALIENCE, INITIAL_UTILITY, SUBSTANCE_MAX_TERMS, Intent, Tier

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def neutral(*activation: float) -> Candidates:
    count = len(activation)
    return Candidates(
        activation=np.array(activation),
        salience=np.full(count, DEFAULT_SALIENCE),
        utility=np.full(count, INITIAL_UTILITY),
        idle_days=np.zeros(count),
        term_counts=np.full(count, float(SUBSTANCE_MAX_TERMS)),
        turns=np.ones(count, np.bool_),
        tiers=[Tier.BUFFER] * count,
        recalls=np.zeros(count),
        useful=np.zeros(count),
        named=np.zeros(count, np.bool_),
        time=np.ones(count),
        superseded=np.zeros(count, np.bool_),
        contradicted=np.zeros(count, np.bool_),
        dampening=np.ones(count),
    )


@pytest.mark.parametrize("intent", list(Intent))
def test_a_neutral_memory_scores_its_activation(intent: Intent) -> None:
    assert factors(neutral(0.2, 0.7), intent).score() == pytest.approx([0.2, 0.7])


def test_a_superseded_memory_counts_a_twentieth_and_a_contradicted_one_three_tenths() -> None:
    candidates = replace(
        neutral(0.5, 0.5, 0.5), superseded=np.array([False, True, False]), contradicted=np.array([False, False, True])
    )
    assert factors(candidates, Intent.GENERAL).score() == pytest.approx([0.5, 0.025, 0.15])


def test_factual_queries_prefer_what_has_lasted() -> None:
    tiers = [Tier.BUFFER, Tier.EPISODIC, Tier.SEMANTIC, Tier.CORE]
    assert tier_boost(tiers, Intent.FACTUAL).tolist() == [1.0, 1.0, 1.5, 2.0]
    assert tier_boost(tiers, Intent.GENERAL).tolist() == [1.0, 1.0, 1.1, 1.25]


def test_who_is_named_goes_before_the_others() -> None:
    candidates = replace(neutral(0.5, 0.5), named=np.array([True, False]))
    assert factors(candidates, Intent.FACTUAL).score() == pytest.approx([0.5, 0.4])


def test_a_query_that_names_nobody_prefers_nobody() -> None:
    assert factors(neutral(0.5, 0.5), Intent.FACTUAL).author.tolist() == [1.0, 1.0]


def test_length_counts_between_its_bounds_alone() -> None:
    weights = substance(np.array([1.0, 8.0, 20.0, 40.0, 4000.0]))
    assert weights[0] == weights[1] < weights[2] < weights[3] == weights[4] == 1.0


def test_a_short_note_counts_in_full_where_it_is_no_turn_of_a_conversation() -> None:
    candidates = replace(neutral(0.5, 0.5), term_counts=np.array([3.0, 3.0]), turns=np.array([False, True]))
    note, turn = factors(candidates, Intent.FACTUAL).score()
    assert note == 0.5 > turn


def test_freshness_halves_at_the_half_life_of_the_tier() -> None:
    weights = recency(np.array([7.0, 30.0, 180.0, 365.0]), list(Tier), Intent.GENERAL)
    assert weights == pytest.approx(np.full(4, 0.5**0.1))


def test_an_hour_does_not_outweigh_a_better_match() -> None:
    candidates = replace(neutral(0.50, 0.51), idle_days=np.array([0.0, 1 / 24]))
    for intent in Intent:
        first, second = factors(candidates, intent).score()
        assert second > first


def test_queries_for_the_latest_weigh_recency_most() -> None:
    old = np.array([100.0])
    weights = {intent: recency(old, [Tier.BUFFER], intent)[0] for intent in Intent}
    assert min(weights, key=weights.__getitem__) is Intent.TEMPORAL


def test_popular_but_useless_memories_lose_at_most_three_tenths() -> None:
    weights = anti_bias(np.array([0.0, 3.0, 4.0, 1e9]), np.array([0.0, 1.0, 0.0, 0.0]))
    assert weights[0] == weights[1] == 1.0
    assert weights[3] == 0.7 < weights[2] == pytest.approx(1 / (1 + 0.1 * np.log(5)))


def moments(*times: datetime) -> list[np.ndarray]:
    return [np.array([time.replace(tzinfo=None)], "datetime64[us]") for time in times]


def test_a_memory_never_used_counts_from_when_it_happened() -> None:
    last_year, stored = NOW - timedelta(days=365), NOW - timedelta(days=2)
    assert idle_days(NOW, *moments(last_year, stored, stored)) == pytest.approx(365)


def test_a_memory_used_since_counts_from_then() -> None:
    last_year, stored, used = NOW - timedelta(days=365), NOW - timedelta(days=2), NOW - timedelta(days=1)
    assert idle_days(NOW, *moments(last_year, stored, used)) == pytest.approx(1)


def test_what_is_still_to_come_is_not_idle() -> None:
    stored = NOW - timedelta(days=1)
    assert idle_days(stored, *moments(NOW + timedelta(days=9), stored, stored)) == 0


def test_an_explanation_names_every_factor() -> None:
    explained = factors(neutral(0.5), Intent.GENERAL)
    assert np.prod(list(explained.of(0).values())) == pytest.approx(explained.score()[0])
    assert set(explained.of(0)) == {field.name for field in fields(explained)}


shares = st.floats(0, 1)


@st.composite
def candidates(draw: st.DrawFn) -> Candidates:
    count = draw(st.integers(1, 5))

    def column(values: st.SearchStrategy[float]) -> np.ndarray:
        return np.array(draw(st.lists(values, min_size=count, max_size=count)))

    return Candidates(
        activation=column(shares),
        salience=column(shares),
        utility=column(shares),
        idle_days=column(st.floats(0, 1e6)),
        term_counts=column(st.floats(0, 1e6)),
        turns=column(st.booleans()),
        tiers=draw(st.lists(st.sampled_from(list(Tier)), min_size=count, max_size=count)),
        recalls=column(st.floats(0, 1e9)),
        useful=column(st.floats(0, 1e9)),
        named=column(st.booleans()),
        time=column(st.floats(1, 10)),
        superseded=column(st.booleans()),
        contradicted=column(st.booleans()),
        dampening=column(st.floats(0.1, 1)),
    )


@given(candidates(), st.sampled_from(list(Intent)))
def test_scores_are_finite_and_positive(drawn: Candidates, intent: Intent) -> None:
    scores = factors(drawn, intent).score()
    assert np.isfinite(scores).all()
    assert (scores > 0).all()


@given(candidates(), st.sampled_from(list(Intent)), shares)
def test_more_activation_never_scores_less(drawn: Candidates, intent: Intent, more: float) -> None:
    raised = replace(drawn, activation=np.minimum(drawn.activation + more, 1.0))
    assert (factors(raised, intent).score() >= factors(drawn, intent).score()).all()
