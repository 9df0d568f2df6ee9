"""Decide which tier a memory starts in, how much of it is retained, and when it moves to another tier or out.

Nothing here is stored and multiplied again: all follows from time stamps, so a run that comes late, or twice, decides
the same.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memoria.records import Policy
from memoria.vocabulary import (
    FALL_IDLE_DAYS,
    FALL_SALIENCE,
    FIRST_TIER_SALIENCE,
    RISE_ACCESSES,
    RISE_SALIENCE,
    RISE_UTILITY,
    TIER_HALF_LIFE_DAYS,
    MemoryType,
    Tier,
)

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int64]

# What a client may give as `type` besides the types themselves: Episodic with that first tier.
TIERS_AS_TYPES = {"buffer": Tier.BUFFER, "core": Tier.CORE}
LASTING_TYPES = (MemoryType.SEMANTIC, MemoryType.PROCEDURAL)
TIERS = tuple(Tier)  # from the shortest retention to the longest; a tier's place here is its number
OUT = -1  # the place of what is archived


def first_tier(memory_type: MemoryType, salience: float) -> Tier:
    """Return the first tier: facts and procedures start one tier above events of the same salience."""
    if memory_type in LASTING_TYPES:
        return Tier.SEMANTIC if salience >= FIRST_TIER_SALIENCE else Tier.EPISODIC
    return Tier.EPISODIC if salience >= FIRST_TIER_SALIENCE else Tier.BUFFER


@dataclass(frozen=True, slots=True)
class Standing:
    """Describe memories by what decides whether they move, one an element of each array.

    `tiers` are places in `TIERS`. `exempt` never move down or out (pinned, or confidence from 0.9). `rested` have been
    in their tier long enough to leave it downward. `superseded` ones do not move up.
    """

    tiers: Places
    salience: Floats
    utility: Floats
    accesses: Floats
    idle_days: Floats
    exempt: Flags
    rested: Flags
    superseded: Flags


def half_lives(policy: Policy) -> Floats:
    """Return the half-lives in days, in the order of `TIERS`."""
    return np.array([policy.half_life_days[tier] for tier in TIERS], np.float64)


def retention(idle_days: Floats, half_life_days: Floats, salience: Floats) -> Floats:
    """Compute how much is retained, 1 at an access: `0.5 ^ (days since it / (half-life x (1 + salience)))`."""
    kept: Floats = 0.5 ** (np.maximum(idle_days, 0.0) / (half_life_days * (1.0 + salience)))
    return kept


def destinations(standing: Standing, policy: Policy) -> Places:
    """Decide where each memory belongs: the place of its tier, or `OUT`.

    Upward as far as it has earned, downward one step. Nothing rises to a tier that it would fall from, so what has
    moved stays where it is until something changes.
    """
    risen = _rise(standing, policy)
    may_fall = ~standing.exempt & standing.rested & (risen == standing.tiers)
    falls = may_fall & _falls(standing, standing.tiers, policy)
    return np.where(falls, standing.tiers - 1, risen)


def _rise(standing: Standing, policy: Policy) -> Places:
    places = standing.tiers.copy()
    for place, tier in enumerate(TIERS[:-1]):
        earned = _earned(standing, tier)
        kept = standing.exempt | ~_falls(standing, np.full_like(places, place + 1), policy)
        places[(places == place) & earned & kept & ~standing.superseded] = place + 1
    return places


def _earned(standing: Standing, tier: Tier) -> Flags:
    """Say which have what the next tier asks for: from Buffer either is enough, further up all of it is needed."""
    important = standing.salience >= RISE_SALIENCE[tier]
    used = standing.accesses >= RISE_ACCESSES[tier]
    useful = standing.utility >= RISE_UTILITY[tier]
    return (important | used) & useful if tier is Tier.BUFFER else important & used & useful


def _falls(standing: Standing, places: Places, policy: Policy) -> Flags:
    """Say which would leave these tiers downward."""
    lives = half_lives(policy)
    faded = retention(standing.idle_days, lives[places], standing.salience) < policy.prune_threshold
    bounds = [FALL_IDLE_DAYS.get(tier, np.inf) * lives[at] / TIER_HALF_LIFE_DAYS[tier] for at, tier in enumerate(TIERS)]
    idle = standing.idle_days > np.array(bounds)[places]
    slight = standing.salience < np.array([FALL_SALIENCE.get(tier, 0.0) for tier in TIERS])[places]
    falls: Flags = np.where(places == 0, faded, idle & slight)
    return falls
