"""Store what consolidation made of what, what was undone, and how far each namespace's run has come."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg
import numpy as np

from memoria.consolidation_records import Counts, Provenance, SummaryMember
from memoria.database import Connection, unpack_ids
from memoria.vocabulary import Detector, MemoryState


@dataclass(frozen=True, slots=True)
class Run:
    """Be a namespace's run: its window, the phase it is in, and the id up to which that phase is done."""

    namespace_id: int
    holder: str
    window_from: datetime
    window_to: datetime
    phase: str
    reached: int
    counts: Counts
    recalls_until: datetime | None


@dataclass(frozen=True, slots=True)
class NewSummary:
    """Be what is noted about a memory that consolidation makes; `members` holds each one's cosine by its id."""

    summary_id: int
    detector: Detector
    cosine: float | None
    writer: str
    scope: str
    started_at: datetime
    members: Mapping[int, float | None]


@dataclass(frozen=True, slots=True)
class Membership:
    """Say that a memory is a member of a summary (or episode), and whether that one has been adopted by an editor."""

    member_id: int
    summary_id: int
    detector: Detector
    is_adopted: bool


@dataclass(frozen=True, slots=True)
class StoredEpisode:
    """Be an episode: its conversation, when its earliest member happened, and how many it has."""

    summary_id: int
    scope: str
    started_at: datetime
    size: int


# Runs


async def claim_run(
    connection: Connection,
    org_id: UUID,
    namespace_id: int,
    *,
    holder: str,
    window: tuple[datetime, datetime],
    catch_up: bool,
    phase: str,
    now: datetime,
    leased_until: datetime,
) -> Run | None:
    """Begin a run, or go on with the one that this holder had begun; None while another holder's is under way.

    With `catch_up` the window reaches back to the last run, or to the beginning if there was none.
    """
    row = await connection.fetch_row(
        "claim_run",
        org_id=org_id,
        namespace_id=namespace_id,
        holder=holder,
        leased_until=leased_until,
        window_from=window[0],
        window_to=window[1],
        catch_up=catch_up,
        phase=phase,
        reached=0,
        counts=Counts().to_json(),
        now=now,
    )
    if row is None:
        return None
    counts = Counts.from_json(row["counts"])
    return Run(
        namespace_id,
        holder,
        row["window_from"],
        row["window_to"],
        row["phase"],
        row["reached"],
        counts,
        row["recalls_until"],
    )


async def hold_run(connection: Connection, org_id: UUID, run: Run, leased_until: datetime) -> bool:
    """Make sure that the run is still ours, and keep others out until the transaction ends."""
    return bool(await connection.execute("hold_run", leased_until=leased_until, **_run(org_id, run)))


async def note_progress(connection: Connection, org_id: UUID, run: Run) -> None:
    """Write how far the run has come."""
    await connection.execute(
        "note_progress", phase=run.phase, reached=run.reached, counts=run.counts.to_json(), **_run(org_id, run)
    )


async def finish_run(connection: Connection, org_id: UUID, run: Run, now: datetime) -> None:
    """End the run."""
    await connection.execute(
        "finish_run", now=now, recalls_until=run.window_to, counts=run.counts.to_json(), **_run(org_id, run)
    )


def _run(org_id: UUID, run: Run) -> dict[str, object]:
    return {"org_id": org_id, "namespace_id": run.namespace_id, "holder": run.holder}


async def list_window_ids(connection: Connection, org_id: UUID, run: Run) -> np.ndarray:
    """List the ids (int64, rising) of the memories that the run considers."""
    packed = await connection.fetch_value(
        "list_window_ids",
        org_id=org_id,
        namespace_id=run.namespace_id,
        window_from=run.window_from,
        window_to=run.window_to,
    )
    return unpack_ids(packed)


async def count_window(connection: Connection, org_id: UUID, namespace_id: int, since: datetime) -> int:
    """Count the memories that were made or changed since a moment."""
    found: int = await connection.fetch_value(
        "count_window", org_id=org_id, namespace_id=namespace_id, window_from=since
    )
    return found


# Summaries and their members


async def insert_summaries(
    connection: Connection, org_id: UUID, namespace_id: int, made: Sequence[NewSummary], now: datetime
) -> None:
    """Note what memories were made of; call it before the members' states change."""
    await connection.execute(
        "insert_summaries",
        org_id=org_id,
        namespace_id=namespace_id,
        summary_ids=[new.summary_id for new in made],
        detectors=[new.detector.value for new in made],
        cosines=[new.cosine for new in made],
        writers=[new.writer for new in made],
        scopes=[new.scope for new in made],
        starts=[new.started_at for new in made],
        now=now,
    )
    await add_members(connection, org_id, {new.summary_id: new.members for new in made}, now)


async def add_members(
    connection: Connection, org_id: UUID, joining: Mapping[int, Mapping[int, float | None]], now: datetime
) -> None:
    """Note members of summaries: by summary, each member's cosine by its id."""
    rows = [(summary, member, cosine) for summary, own in joining.items() for member, cosine in own.items()]
    await connection.execute(
        "insert_summary_members",
        org_id=org_id,
        summary_ids=[summary_id for summary_id, _, _ in rows],
        member_ids=[member_id for _, member_id, _ in rows],
        cosines=[cosine for _, _, cosine in rows],
        now=now,
    )


async def update_summary(
    connection: Connection, org_id: UUID, summary_id: int, *, cosine: float | None, writer: str, now: datetime
) -> None:
    """Note that a summary was extended."""
    await connection.execute(
        "update_summary", org_id=org_id, summary_id=summary_id, cosine=cosine, writer=writer, now=now
    )


async def adopt_summary(connection: Connection, org_id: UUID, summary_id: int, now: datetime) -> None:
    """Note that a summary is its editor's from now on."""
    await connection.execute("adopt_summary", org_id=org_id, summary_id=summary_id, now=now)


async def read_provenances(connection: Connection, org_id: UUID, ids: Sequence[int]) -> dict[int, Provenance]:
    """Read how the given memories were made; those that consolidation did not make are absent."""
    rows = await connection.fetch("read_summaries", org_id=org_id, ids=ids)
    members: dict[int, list[SummaryMember]] = defaultdict(list)
    made = [row["summary_id"] for row in rows]
    for row in await connection.fetch("list_summary_members", org_id=org_id, ids=made) if made else ():
        members[row["summary_id"]].append(_member(row))
    return {
        row["summary_id"]: Provenance(
            memory_id=row["summary_id"],
            detector=Detector(row["detector"]),
            cosine=row["cosine"],
            writer=row["writer"],
            made_at=row["made_at"],
            updated_at=row["updated_at"],
            adopted_at=row["adopted_at"],
            members=tuple(members[row["summary_id"]]),
        )
        for row in rows
    }


def _member(row: asyncpg.Record) -> SummaryMember:
    return SummaryMember(row["member_id"], MemoryState(row["state_before"]), row["cosine"], row["joined_at"])


async def list_memberships(connection: Connection, org_id: UUID, ids: Sequence[int]) -> list[Membership]:
    """List the summaries and episodes that memories are members of."""
    rows = await connection.fetch("list_summaries_of", org_id=org_id, ids=ids)
    return [
        Membership(row["member_id"], row["summary_id"], Detector(row["detector"]), row["adopted_at"] is not None)
        for row in rows
    ]


async def restore_members(
    connection: Connection, org_id: UUID, summary_ids: Sequence[int], passed_over: Sequence[int], now: datetime
) -> list[asyncpg.Record]:
    """Give members back their earlier states, before their summaries go; returns id, version and state of each.

    What supersedes or contradicts a summary then does so with its members. `passed_over` are about to go too.
    """
    place = {"org_id": org_id, "summary_ids": summary_ids, "now": now}
    await connection.execute("pass_on_contradictions", **place)
    return await connection.fetch("restore_members", passed_over=passed_over, **place)


async def inherit_denials(
    connection: Connection, org_id: UUID, summary_id: int, member_ids: Sequence[int], now: datetime
) -> None:
    """Let a summary take over what its members contradict, and what contradicts them."""
    await connection.execute("inherit_denials", org_id=org_id, summary_id=summary_id, member_ids=member_ids, now=now)


async def list_contradictions(connection: Connection, org_id: UUID, ids: Sequence[int]) -> set[tuple[int, int]]:
    """List what contradicts the given memories, as (newer, older)."""
    rows = await connection.fetch("list_contradictions", org_id=org_id, ids=ids)
    return {(row["source_id"], row["target_id"]) for row in rows}


async def remove_members(connection: Connection, org_id: UUID, summary_id: int, member_ids: Sequence[int]) -> None:
    """Take members out of an episode."""
    await connection.execute("delete_summary_members", org_id=org_id, summary_id=summary_id, member_ids=member_ids)


# What was undone


async def insert_refusal(
    connection: Connection,
    org_id: UUID,
    member_ids: Sequence[int],
    detector: Detector,
    *,
    refusal_id: int,
    now: datetime,
) -> None:
    """Remember that memories must not come together again."""
    await connection.execute(
        "insert_refusal",
        org_id=org_id,
        refusal_id=refusal_id,
        member_ids=member_ids,
        detector=detector.value,
        now=now,
    )


async def read_refusals(
    connection: Connection, org_id: UUID, ids: Sequence[int], detector: Detector
) -> dict[int, frozenset[int]]:
    """Read the refusals that each memory is in; two that share one must not come together."""
    found: dict[int, set[int]] = defaultdict(set)
    for row in await connection.fetch("list_refusals", org_id=org_id, ids=ids, detector=detector.value):
        found[row["memory_id"]].add(row["refusal_id"])
    return {memory_id: frozenset(refusals) for memory_id, refusals in found.items()}


# Episodes


async def list_occurrences(
    connection: Connection, org_id: UUID, namespace_id: int, ids: Sequence[int]
) -> list[asyncpg.Record]:
    """List which of the memories are in no episode, with session, project and time."""
    return await connection.fetch("list_burst_occurrences", org_id=org_id, namespace_id=namespace_id, ids=ids)


async def list_episodes(
    connection: Connection, org_id: UUID, namespace_id: int, scopes: Sequence[str], since: datetime
) -> list[StoredEpisode]:
    """List the episodes of conversations since a moment."""
    rows = await connection.fetch("list_episodes", org_id=org_id, namespace_id=namespace_id, scopes=scopes, since=since)
    return [StoredEpisode(row["summary_id"], row["scope"], row["started_at"], row["members"]) for row in rows]


async def write_episode(
    connection: Connection,
    org_id: UUID,
    memory_id: int,
    *,
    title: str,
    content: str,
    content_hash: bytes,
    duplicate_hash: bytes,
    now: datetime,
) -> None:
    """Write an episode's text again."""
    await connection.execute(
        "write_episode",
        org_id=org_id,
        memory_id=memory_id,
        title=title,
        content=content,
        content_hash=content_hash,
        duplicate_hash=duplicate_hash,
        now=now,
    )


# What came up together


async def list_co_accesses(
    connection: Connection,
    org_id: UUID,
    namespace_id: int,
    *,
    since: datetime,
    until: datetime,
    results: int,
    least_times: int,
) -> dict[tuple[int, int], int]:
    """Count how often pairs came up together; those that did since a moment, and often enough in all."""
    rows = await connection.fetch(
        "list_co_accesses",
        org_id=org_id,
        namespace_id=namespace_id,
        since=since,
        until=until,
        results=results,
        least_times=least_times,
    )
    return {(row["source_id"], row["target_id"]): row["times"] for row in rows}


async def raise_co_retrieval(
    connection: Connection, org_id: UUID, namespace_id: int, weights: Mapping[tuple[int, int], float], now: datetime
) -> int:
    """Raise CoRetrieval edges to their weights where they are lighter; returns how many were."""
    pairs = sorted(weights)
    return await connection.execute(
        "raise_co_retrieval",
        org_id=org_id,
        namespace_id=namespace_id,
        sources=[source for source, _ in pairs],
        targets=[target for _, target in pairs],
        weights=[weights[pair] for pair in pairs],
        now=now,
    )


async def carry_learning(connection: Connection, org_id: UUID, memory_id: int, member_ids: Sequence[int]) -> None:
    """Let a summary have at least the utility of its members, and the recalls of all of them."""
    await connection.execute("carry_learning", org_id=org_id, memory_id=memory_id, member_ids=member_ids)
