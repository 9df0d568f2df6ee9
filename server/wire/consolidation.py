"""Define the JSON of consolidation, and make it of the engine's records."""

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, Field

from memoria.consolidation_records import ConsolidationAnswer, Counts, Provenance, Unconsolidated
from memoria.identifiers import IdKind, format_id
from memoria.vocabulary import CONSOLIDATION_HOURS, MAX_CONSOLIDATION_HOURS
from server.wire.fields import Body, Namespace, pascal

Hours = Annotated[float, Field(gt=0, le=MAX_CONSOLIDATION_HOURS)]


class ConsolidateBody(Body):
    """Consolidate what was made or changed in a namespace within the window."""

    namespace: Namespace | None = None
    window_hours: Hours = CONSOLIDATION_HOURS
    wait: Annotated[bool, Field(description="Do it at once where the window is small; else a job does it.")] = False


class RepetitionOut(BaseModel):
    """Count summaries made, summaries that took a memory in, and the memories they took the place of."""

    summaries: int
    extended: int
    members: int


class CoAccessOut(BaseModel):
    """Count pairs that are joined more strongly."""

    strengthened: int


class BurstOut(BaseModel):
    """Count episodes made, and the memories that came into any."""

    episodes: int
    members: int


class ContradictionOut(BaseModel):
    """Count memories with a newer one of another value, and those that a stated change superseded."""

    contradicted: int
    superseded: int


class ConsolidationOut(BaseModel):
    """Count what was done, by detector, or name the job that will do it (then the rest is null)."""

    job_id: str | None
    namespace: str | None
    considered: int | None
    repetition: RepetitionOut | None
    co_access: CoAccessOut | None
    burst: BurstOut | None
    contradiction: ContradictionOut | None


class SummaryMemberOut(BaseModel):
    """Be a member: what it was before, how like the summary it is, and when it joined."""

    id: str
    state_before: str
    cosine: float | None
    joined_at: datetime


class ProvenanceOut(BaseModel):
    """Say why the service made a memory, when, and out of what; `cosine` is of the two members least alike."""

    id: str
    detector: str
    cosine: float | None
    writer: str
    made_at: datetime
    updated_at: datetime
    adopted_at: datetime | None
    members: list[SummaryMemberOut]


class UnconsolidatedOut(BaseModel):
    """Name the summary that is gone, its members, and those of them that are in use again."""

    id: str
    members: list[str]
    restored: list[str]


def render_consolidation(answer: ConsolidationAnswer) -> ConsolidationOut:
    """Show what a consolidation did, or which job will do it."""
    if answer.done is None:
        return ConsolidationOut(
            job_id=None if answer.job_id is None else format_id(answer.job_id, IdKind.JOB),
            namespace=None,
            considered=None,
            repetition=None,
            co_access=None,
            burst=None,
            contradiction=None,
        )
    return _render_counts(answer.done.namespace, answer.done.counts)


def _render_counts(namespace: str, counts: Counts) -> ConsolidationOut:
    return ConsolidationOut(
        job_id=None,
        namespace=namespace,
        considered=counts.considered,
        repetition=RepetitionOut(summaries=counts.summaries, extended=counts.extended, members=counts.repeated),
        co_access=CoAccessOut(strengthened=counts.strengthened),
        burst=BurstOut(episodes=counts.episodes, members=counts.episode_members),
        contradiction=ContradictionOut(contradicted=counts.contradicted, superseded=counts.changed),
    )


def render_provenance(provenance: Provenance) -> ProvenanceOut:
    """Show what a summary was made of."""
    members = [
        SummaryMemberOut(
            id=format_id(member.memory_id),
            state_before=pascal(member.state_before),
            cosine=member.cosine,
            joined_at=member.joined_at,
        )
        for member in provenance.members
    ]
    return ProvenanceOut(
        id=format_id(provenance.memory_id),
        detector=pascal(provenance.detector),
        cosine=provenance.cosine,
        writer=provenance.writer,
        made_at=provenance.made_at,
        updated_at=provenance.updated_at,
        adopted_at=provenance.adopted_at,
        members=members,
    )


def render_unconsolidated(undone: Unconsolidated) -> UnconsolidatedOut:
    """Show what undoing did."""
    return UnconsolidatedOut(
        id=format_id(undone.memory_id),
        members=[format_id(memory_id) for memory_id in undone.member_ids],
        restored=[format_id(memory_id) for memory_id in undone.restored_ids],
    )
