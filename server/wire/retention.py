"""Define the JSON about what a namespace keeps for how long, and make it of the engine's records."""

from typing import Annotated, Any

from pydantic import BaseModel, Field

from memoria.records import NamespacePolicy, PolicyChanges, PruneResult
from memoria.vocabulary import (
    MAX_POLICY_DAYS,
    MAX_POLICY_MEMORIES,
    MAX_PRUNE_THRESHOLD,
    MIN_HALF_LIFE_DAYS,
    PRUNE_THRESHOLD,
)
from server.wire.fields import Body, Namespace, Whole

HalfLife = Annotated[float, Field(ge=MIN_HALF_LIFE_DAYS, le=MAX_POLICY_DAYS)]
Threshold = Annotated[float, Field(ge=0, le=MAX_PRUNE_THRESHOLD)]
MostMemories = Annotated[Whole, Field(ge=1, le=MAX_POLICY_MEMORIES)]
Days = Annotated[Whole, Field(ge=1, le=MAX_POLICY_DAYS)]


def _unset() -> Any:
    """Leave a field out: what holds then is the namespace's own policy."""
    return None


class HalfLivesBody(Body):
    """Give half-lives in days, of the tiers that differ from the default."""

    Buffer: HalfLife = Field(default_factory=_unset)
    Episodic: HalfLife = Field(default_factory=_unset)
    Semantic: HalfLife = Field(default_factory=_unset)
    Core: HalfLife = Field(default_factory=_unset)


class PolicyBody(Body):
    """Set a namespace's policy; what is left out has its default."""

    half_life_days: HalfLivesBody = Field(default_factory=HalfLivesBody)
    prune_threshold: Annotated[
        Threshold, Field(description="A memory in Buffer whose retention is less is archived.")
    ] = PRUNE_THRESHOLD
    max_memories: Annotated[
        MostMemories | None, Field(description="Above it, those of least retention are archived; null: no limit.")
    ] = None
    enabled: Annotated[bool, Field(description="False: nothing moves, is archived or deleted by itself.")] = True
    delete_archived_after_days: Annotated[
        Days | None, Field(description="Without use or change for so long, what is archived is deleted; null: never.")
    ] = None

    def to_changes(self) -> PolicyChanges:
        """Make the engine's record."""
        return PolicyChanges(self.model_dump(exclude_unset=True))


class PruneBody(Body):
    """Apply a namespace's policy now, with what is given here in place of its own; `dry_run` only counts."""

    namespace: Namespace | None = None
    half_life_days: HalfLivesBody = Field(default_factory=_unset)
    prune_threshold: Threshold = Field(default_factory=_unset)
    max_memories: MostMemories | None = Field(default_factory=_unset)
    enabled: bool = Field(default_factory=_unset)
    delete_archived_after_days: Days | None = Field(default_factory=_unset)
    dry_run: bool = False

    def to_changes(self) -> PolicyChanges:
        """Make the engine's record of what differs this time."""
        return PolicyChanges(self.model_dump(exclude_unset=True, exclude={"namespace", "dry_run"}))


class HalfLivesOut(BaseModel):
    """Tell the half-life of each tier, in days."""

    Buffer: float
    Episodic: float
    Semantic: float
    Core: float


class PolicyOut(BaseModel):
    """Tell the policy that holds in a namespace."""

    namespace: str
    half_life_days: HalfLivesOut
    prune_threshold: float
    max_memories: int | None
    enabled: bool
    delete_archived_after_days: int | None


class MigratedOut(BaseModel):
    """Count moves between tiers."""

    up: int
    down: int


class PrunedOut(BaseModel):
    """Count what was done or, in a dry run, would be; `remaining` are the memories left in recall."""

    namespace: str
    migrated: MigratedOut
    archived: int
    deleted: int
    remaining: int
    dry_run: bool


def render_policy(found: NamespacePolicy) -> PolicyOut:
    """Show a policy."""
    policy = found.policy
    return PolicyOut(
        namespace=found.namespace,
        half_life_days=HalfLivesOut(**{tier.value: days for tier, days in policy.half_life_days.items()}),
        prune_threshold=policy.prune_threshold,
        max_memories=policy.max_memories,
        enabled=policy.enabled,
        delete_archived_after_days=policy.delete_archived_after_days,
    )


def render_pruned(result: PruneResult) -> PrunedOut:
    """Show what a policy did."""
    return PrunedOut(
        namespace=result.namespace,
        migrated=MigratedOut(up=result.moved_up, down=result.moved_down),
        archived=result.archived,
        deleted=result.deleted,
        remaining=result.remaining,
        dry_run=result.dry_run,
    )
