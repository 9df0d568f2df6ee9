"""Salience follows the explicit value, else novelty, stakes and hint: the loudest dominates, the others nudge."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoria.salience import combine, consequence, judge_salience, novelty
from memoria.tiers import first_tier
from memoria.vocabulary import MemoryType, Tier

SHARES = st.floats(0, 1)


@pytest.mark.parametrize(
    "text",
    [
        "production",
        "An INCIDENT, again",
        "the outage.",
        "security",
        "Security!",
        "breach",
        "critical",
        "breaches",
        "critically",
        "securities",
        "vulnerabilities",
        "we rolled back",
        "תקרית בשרת",
        "היה כשל קריטי",
        "בפרודקשן",
        "והתקריות",
    ],
)
def test_a_high_stakes_word_is_heard_in_any_inflection(text: str) -> None:
    assert consequence(text) == 0.9


@pytest.mark.parametrize(
    "text", ["", "reproductions", "uncritical", "coincidental", "insecurity", "outages_table", "שלום"]
)
def test_a_word_that_only_looks_like_one_is_not(text: str) -> None:
    assert consequence(text) is None


def test_no_signal_is_three_tenths() -> None:
    assert judge_salience(explicit=None, hint=None, text="tea", nearest_cosine=None, namespace_memories=0) == 0.3


@given(SHARES, st.one_of(st.none(), SHARES), st.sampled_from(["tea", "outage"]), st.one_of(st.none(), SHARES))
def test_an_explicit_value_always_wins(explicit: float, hint: float | None, text: str, cosine: float | None) -> None:
    judged = judge_salience(explicit=explicit, hint=hint, text=text, nearest_cosine=cosine, namespace_memories=99)
    assert judged == explicit


@given(st.lists(SHARES, min_size=1, max_size=3))
def test_the_loudest_dominates_and_the_others_only_nudge(signals: list[float]) -> None:
    combined = combine(signals)
    assert max(signals) <= combined <= 1
    assert combined - max(signals) <= 0.1 * (1 - max(signals)) + 1e-12


def test_the_formula_is_the_one_that_is_promised() -> None:
    judged = judge_salience(explicit=None, hint=0.5, text="outage", nearest_cosine=0.0, namespace_memories=20)
    assert judged == 1.0
    judged = judge_salience(explicit=None, hint=0.5, text="outage", nearest_cosine=0.9, namespace_memories=20)
    assert judged == pytest.approx(0.9 + 0.1 * 0.1 * 0.5)


def test_novelty_speaks_in_a_full_namespace_beyond_its_floor_alone() -> None:
    assert novelty(0.0, 19) is None
    assert novelty(None, 100) is None
    assert novelty(0.3, 20) is None
    assert novelty(0.15, 20) == pytest.approx(0.5)
    assert novelty(0.0, 20) == novelty(-0.5, 20) == 1.0


@pytest.mark.parametrize(
    ("memory_type", "salience", "tier"),
    [
        (MemoryType.EPISODIC, 0.49, Tier.BUFFER),
        (MemoryType.EPISODIC, 0.5, Tier.EPISODIC),
        (MemoryType.PROSPECTIVE, 0.9, Tier.EPISODIC),
        (MemoryType.SEMANTIC, 0.49, Tier.EPISODIC),
        (MemoryType.SEMANTIC, 0.5, Tier.SEMANTIC),
        (MemoryType.PROCEDURAL, 0.5, Tier.SEMANTIC),
    ],
)
def test_the_first_tier_follows_type_and_salience(memory_type: MemoryType, salience: float, tier: Tier) -> None:
    assert first_tier(memory_type, salience) is tier
