"""Choose the tier that a memory starts in."""

from memoria.vocabulary import FIRST_TIER_SALIENCE, MemoryType, Tier

# What a client may give as `type` besides the types themselves: Episodic with that first tier.
TIERS_AS_TYPES = {"buffer": Tier.BUFFER, "core": Tier.CORE}
LASTING_TYPES = (MemoryType.SEMANTIC, MemoryType.PROCEDURAL)


def first_tier(memory_type: MemoryType, salience: float) -> Tier:
    """Return the first tier: facts and procedures start one tier above events of the same salience."""
    if memory_type in LASTING_TYPES:
        return Tier.SEMANTIC if salience >= FIRST_TIER_SALIENCE else Tier.EPISODIC
    return Tier.EPISODIC if salience >= FIRST_TIER_SALIENCE else Tier.BUFFER
