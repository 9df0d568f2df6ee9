"""Retention falls by the formula, memories move as the table of tiers says, and what has moved stays."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoria.records import Policy
from memoria.tiers import OUT, TIERS, Standing, destinations, half_lives, retention
from memoria.vocabulary import TIER_HALF_LIFE_DAYS, Tier

POLICY = Policy()
SHARES = st.floats(0, 1)
DAYS = st.floats(0, 4000)


def standing(tier: Tier, **fields: Any) -> Standing:
    """Be one memory: salience 0.3, never used, just stored, unless told otherwise."""
    given_fields = {"salience": 0.3, "utility": 0.5, "accesses": 0, "idle_days": 0.0}
    flags = {"exempt": False, "rested": True, "superseded": False}
    numbers = {name: np.array([fields.pop(name, value)], np.float64) for name, value in given_fields.items()}
    switches = {name: np.array([fields.pop(name, value)], np.bool_) for name, value in flags.items()}
    assert not fields
    return Standing(np.array([TIERS.index(tier)]), **numbers, **switches)


def goes(tier: Tier, policy: Policy = POLICY, **fields: Any) -> Tier | None:
    """Name the tier where a memory belongs; None when it is to be archived."""
    place = int(destinations(standing(tier, **fields), policy)[0])
    return None if place == OUT else TIERS[place]


def kept(idle_days: float, half_life_days: float, salience: float) -> float:
    return float(retention(np.array([idle_days]), np.array([half_life_days]), np.array([salience]))[0])


@given(DAYS, st.floats(0.01, 36500), SHARES)
def test_retention_is_the_formula(idle: float, half_life: float, salience: float) -> None:
    assert kept(idle, half_life, salience) == pytest.approx(0.5 ** (idle / (half_life * (1 + salience))), abs=1e-12)


@given(DAYS, DAYS, st.floats(0.01, 36500), SHARES, SHARES)
def test_retention_falls_with_time_and_rises_with_salience(
    idle: float, more: float, half_life: float, salience: float, other: float
) -> None:
    assert 0 <= kept(idle + more, half_life, salience) <= kept(idle, half_life, salience) <= 1
    low, high = sorted((salience, other))
    assert kept(idle, half_life, low) <= kept(idle, half_life, high)


@given(st.floats(-1e6, 0), st.floats(0.01, 36500), SHARES)
def test_what_was_used_in_the_future_is_fully_retained(idle: float, half_life: float, salience: float) -> None:
    assert kept(idle, half_life, salience) == 1


def test_the_half_life_is_where_half_is_left() -> None:
    assert kept(7, 7, 0) == 0.5
    assert kept(14, 7, 1) == 0.5
    assert half_lives(POLICY).tolist() == [7, 30, 180, 365]


@pytest.mark.parametrize(
    ("tier", "fields", "to"),
    [
        (Tier.BUFFER, {"salience": 0.5}, Tier.EPISODIC),
        (Tier.BUFFER, {"salience": 0.49, "accesses": 1}, Tier.BUFFER),
        (Tier.BUFFER, {"accesses": 2}, Tier.EPISODIC),
        (Tier.EPISODIC, {"salience": 0.6, "accesses": 5}, Tier.SEMANTIC),
        (Tier.EPISODIC, {"salience": 0.6, "accesses": 4}, Tier.EPISODIC),
        (Tier.EPISODIC, {"salience": 0.59, "accesses": 5}, Tier.EPISODIC),
        (Tier.SEMANTIC, {"salience": 0.85, "accesses": 15, "utility": 0.6}, Tier.CORE),
        (Tier.SEMANTIC, {"salience": 0.85, "accesses": 15, "utility": 0.59}, Tier.SEMANTIC),
        (Tier.SEMANTIC, {"salience": 0.85, "accesses": 14, "utility": 0.6}, Tier.SEMANTIC),
        (Tier.SEMANTIC, {"salience": 0.84, "accesses": 15, "utility": 0.6}, Tier.SEMANTIC),
        (Tier.BUFFER, {"salience": 0.9, "accesses": 20, "utility": 0.7}, Tier.CORE),
    ],
)
def test_a_memory_goes_up_with_what_the_next_tier_asks_for(tier: Tier, fields: dict[str, Any], to: Tier) -> None:
    assert goes(tier, **fields) is to


@pytest.mark.parametrize(
    ("tier", "fields", "to"),
    [
        (Tier.BUFFER, {"idle_days": 39.3}, Tier.BUFFER),
        (Tier.BUFFER, {"idle_days": 39.4}, None),
        (Tier.EPISODIC, {"idle_days": 60, "salience": 0.29}, Tier.EPISODIC),
        (Tier.EPISODIC, {"idle_days": 60.1, "salience": 0.29}, Tier.BUFFER),
        (Tier.EPISODIC, {"idle_days": 4000, "salience": 0.3}, Tier.EPISODIC),
        (Tier.SEMANTIC, {"idle_days": 365.1, "salience": 0.39}, Tier.EPISODIC),
        (Tier.SEMANTIC, {"idle_days": 365, "salience": 0.39}, Tier.SEMANTIC),
        (Tier.SEMANTIC, {"idle_days": 4000, "salience": 0.4}, Tier.SEMANTIC),
        (Tier.CORE, {"idle_days": 730.1, "salience": 0.49}, Tier.SEMANTIC),
        (Tier.CORE, {"idle_days": 730, "salience": 0.0}, Tier.CORE),
        (Tier.CORE, {"idle_days": 4000, "salience": 0.0}, Tier.SEMANTIC),
    ],
)
def test_a_memory_goes_down_one_step_when_it_lies_idle(tier: Tier, fields: dict[str, Any], to: Tier | None) -> None:
    assert goes(tier, **fields) is to


@given(st.sampled_from(TIERS), SHARES, SHARES, st.integers(0, 50), DAYS)
def test_what_is_exempt_never_goes_down_or_out(
    tier: Tier, salience: float, utility: float, accesses: int, idle: float
) -> None:
    to = goes(tier, salience=salience, utility=utility, accesses=accesses, idle_days=idle, exempt=True)
    assert to is not None
    assert TIERS.index(to) >= TIERS.index(tier)


def test_what_is_exempt_may_go_up() -> None:
    assert goes(Tier.EPISODIC, salience=0.6, accesses=5, idle_days=400, exempt=True) is Tier.SEMANTIC


def test_what_is_superseded_goes_down_but_not_up() -> None:
    assert goes(Tier.EPISODIC, salience=0.9, accesses=9, superseded=True) is Tier.EPISODIC
    assert goes(Tier.BUFFER, idle_days=40, superseded=True) is None


def test_what_has_just_moved_rests_before_it_falls_further() -> None:
    assert goes(Tier.BUFFER, idle_days=61, salience=0.2, rested=False) is Tier.BUFFER
    assert goes(Tier.BUFFER, idle_days=61, salience=0.2) is None


@given(st.sampled_from(TIERS), SHARES, SHARES, st.integers(0, 50), DAYS, st.booleans(), st.booleans())
def test_what_was_moved_does_not_move_back_nor_up_again(
    tier: Tier, salience: float, utility: float, accesses: int, idle: float, exempt: bool, superseded: bool
) -> None:
    fields = {
        "salience": salience,
        "utility": utility,
        "accesses": accesses,
        "idle_days": idle,
        "exempt": exempt,
        "superseded": superseded,
    }
    to = goes(tier, **fields)
    if to not in (None, tier):
        assert goes(to, rested=False, **fields) is to
        again = goes(to, **fields)
        assert again is None or TIERS.index(again) <= TIERS.index(to)


@given(st.sampled_from(TIERS), SHARES, DAYS)
def test_only_what_is_in_the_buffer_is_archived(tier: Tier, salience: float, idle: float) -> None:
    if goes(tier, salience=salience, idle_days=idle) is None:
        assert tier is Tier.BUFFER
        assert kept(idle, 7, salience) < POLICY.prune_threshold


def test_a_policy_moves_the_bounds() -> None:
    slow = replace(POLICY, half_life_days={tier: 10 * days for tier, days in TIER_HALF_LIFE_DAYS.items()})
    assert goes(Tier.BUFFER, slow, idle_days=300) is Tier.BUFFER
    assert goes(Tier.BUFFER, slow, idle_days=400) is None
    assert goes(Tier.EPISODIC, slow, idle_days=599, salience=0.1) is Tier.EPISODIC
    assert goes(Tier.EPISODIC, slow, idle_days=601, salience=0.1) is Tier.BUFFER
    assert goes(Tier.BUFFER, replace(POLICY, prune_threshold=0.0), idle_days=4000) is Tier.BUFFER
    assert goes(Tier.BUFFER, replace(POLICY, prune_threshold=0.5), idle_days=10) is None
