"""Score the candidates of a recall: a product of factors, taken in log space so that none of them overflows.

`activation x substance x author x salience x utility x recency x tier x anti-bias x time x superseded x contradicted x
dampening`. Each exponent is a named constant; a neutral memory has 1 for each factor but activation and substance.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt

from memoria.vocabulary import (
    ANTI_BIAS_FLOOR,
    ANTI_BIAS_RATE,
    CONTRADICTED_FACTOR,
    DEFAULT_SALIENCE,
    FACTOR_FLOOR,
    FACTUAL_TIER_BOOST,
    INITIAL_UTILITY,
    INTENT_RECENCY,
    RECENCY_EXPONENT,
    SALIENCE_EXPONENT,
    SUBSTANCE_EXPONENT,
    SUBSTANCE_MAX_TERMS,
    SUBSTANCE_MIN_TERMS,
    SUPERSEDED_FACTOR,
    TIER_BOOST,
    TIER_HALF_LIFE_DAYS,
    UNNAMED_FACTOR,
    USEFUL_RECALLS,
    UTILITY_EXPONENT,
    Intent,
    Tier,
)

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Times = npt.NDArray[np.datetime64]

MICROSECONDS_A_DAY = 86_400e6


@dataclass(frozen=True, slots=True)
class Candidates:
    """Describe the candidates of one recall, one an element of each array.

    `idle_days` are the days since the last access (never negative), `term_counts` the lengths in search terms, `turns`
    whether each belongs to a conversation, `named` whether the query names the author, `time` the multiplier for what
    happened in or near the time that the query asks about (1 where it names none), `contradicted` whether a newer
    memory contradicts it, `dampening` the multiplier learned from unhelpful marks for similar queries (1 without any).
    """

    activation: Floats
    salience: Floats
    utility: Floats
    idle_days: Floats
    term_counts: Floats
    turns: Flags
    tiers: Sequence[Tier]
    recalls: Floats
    useful: Floats
    named: Flags
    time: Floats
    superseded: Flags
    contradicted: Flags
    dampening: Floats


@dataclass(frozen=True, slots=True)
class Factors:
    """Hold each factor of each candidate's score; `score` multiplies them."""

    activation: Floats
    substance: Floats
    author: Floats
    salience: Floats
    utility: Floats
    recency: Floats
    tier: Floats
    anti_bias: Floats
    time: Floats
    superseded: Floats
    contradicted: Floats
    dampening: Floats

    def score(self) -> Floats:
        """Multiply the factors, each floored at `FACTOR_FLOOR`."""
        logs = [np.log(np.maximum(getattr(self, field.name), FACTOR_FLOOR)) for field in fields(self)]
        product: Floats = np.exp(np.sum(logs, axis=0))
        return product

    def of(self, position: int) -> dict[str, float]:
        """Read the factors of one candidate by name, for an explanation."""
        return {field.name: float(getattr(self, field.name)[position]) for field in fields(self)}


def factors(candidates: Candidates, intent: Intent) -> Factors:
    """Compute every factor of every candidate for a query of this intent."""
    return Factors(
        activation=candidates.activation,
        substance=np.where(candidates.turns, substance(candidates.term_counts), 1.0),
        author=np.where(candidates.named | ~candidates.named.any(), 1.0, UNNAMED_FACTOR),
        salience=_relative(candidates.salience, DEFAULT_SALIENCE, SALIENCE_EXPONENT),
        utility=_relative(candidates.utility, INITIAL_UTILITY, UTILITY_EXPONENT),
        recency=recency(candidates.idle_days, candidates.tiers, intent),
        tier=tier_boost(candidates.tiers, intent),
        anti_bias=anti_bias(candidates.recalls, candidates.useful),
        time=candidates.time,
        superseded=np.where(candidates.superseded, SUPERSEDED_FACTOR, 1.0),
        contradicted=np.where(candidates.contradicted, CONTRADICTED_FACTOR, 1.0),
        dampening=candidates.dampening,
    )


def substance(term_counts: Floats) -> Floats:
    """Weigh how much a turn of a conversation can say by its length, up to a bound: greetings match well.

    A short note that belongs to no conversation was stored for what it says.
    """
    bounded = np.clip(term_counts, SUBSTANCE_MIN_TERMS, SUBSTANCE_MAX_TERMS)
    weighed: Floats = (bounded / SUBSTANCE_MAX_TERMS) ** SUBSTANCE_EXPONENT
    return weighed


def recency(idle_days: Floats, tiers: Sequence[Tier], intent: Intent) -> Floats:
    """Weigh freshness, `1 / (1 + idle / half-life)`, by the intent's exponent.

    The curve is a power law, as forgetting is (Wixted and Ebbesen, 1991): it is 0.5 at the tier's half-life like the
    exponential, but does not bury what is years old.
    """
    half_lives = np.array([TIER_HALF_LIFE_DAYS[tier] for tier in tiers], np.float64)
    freshness = 1.0 / (1.0 + np.maximum(idle_days, 0.0) / half_lives)
    weighed: Floats = freshness ** (RECENCY_EXPONENT * INTENT_RECENCY[intent])
    return weighed


def idle_days(now: datetime, occurred_at: Times, created_at: Times, last_accessed_at: Times) -> Floats:
    """Count the days since memories were last used; one never used since it was stored counts from when it happened.

    Times are in UTC. `now` is the moment that the recall looks back from; what is later counts as 0.
    """
    used = last_accessed_at > created_at
    last_used = np.where(used, last_accessed_at, np.minimum(occurred_at, last_accessed_at))
    moment = np.datetime64(now.astimezone(UTC).replace(tzinfo=None), "us")
    idle: Floats = (moment - last_used).astype("timedelta64[us]").astype(np.float64) / MICROSECONDS_A_DAY
    return np.maximum(idle, 0.0)


def tier_boost(tiers: Sequence[Tier], intent: Intent) -> Floats:
    """Prefer what has lasted, most of all for factual queries."""
    boosts = FACTUAL_TIER_BOOST if intent is Intent.FACTUAL else TIER_BOOST
    return np.array([boosts.get(tier, 1.0) for tier in tiers], np.float64)


def anti_bias(recalls: Floats, useful: Floats) -> Floats:
    """Count against a memory that is recalled often and seldom marked useful, so that the popular do not win alone."""
    unearned = np.maximum(recalls - USEFUL_RECALLS * useful, 0.0)
    return np.maximum(1.0 / (1.0 + ANTI_BIAS_RATE * np.log1p(unearned)), ANTI_BIAS_FLOOR)


def _relative(values: Floats, neutral: float, exponent: float) -> Floats:
    weighed: Floats = (np.maximum(values, FACTOR_FLOOR) / neutral) ** exponent
    return weighed
