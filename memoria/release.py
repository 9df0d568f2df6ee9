"""Release memories from what consolidation made of them: before they go, when they change, and when it is undone.

A summary whose member goes is deleted in the same transaction, and its other members are active again; the next
consolidation may make another one of them. An episode is written again without the member.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from memoria import consolidations, episodes, memories, memory_events
from memoria.consolidation_records import Provenance
from memoria.database import Connection
from memoria.identifiers import format_id
from memoria.memory_events import NewEvent
from memoria.vocabulary import Detector


async def release_members(
    connection: Connection,
    org_id: UUID,
    ids: Sequence[int],
    now: datetime,
    *,
    are_going: bool = True,
    from_episodes: bool = True,
) -> list[int]:
    """Take memories out of the summaries (and the episodes) that quote them; returns which of these must be deleted.

    Call it before the memories change (then they get their states back too) or go, in the same transaction. What
    somebody has adopted is theirs and stays.
    """
    quoting = [each for each in await consolidations.list_memberships(connection, org_id, ids) if not each.is_adopted]
    if not quoting:
        return []
    leaving: dict[int, list[int]] = defaultdict(list)
    for each in quoting:
        if each.detector is Detector.BURST and from_episodes:
            leaving[each.summary_id].append(each.member_id)
    dissolved = sorted({each.summary_id for each in quoting if each.detector is Detector.REPETITION})
    await _lock(connection, org_id, [*dissolved, *leaving])
    going = ids if are_going else ()
    await _restore(connection, org_id, dissolved, going, now, why="a member of the summary was changed or deleted")
    too_few = await episodes.rewrite_episodes(connection, org_id, sorted(leaving), now, without=leaving)
    return [*dissolved, *too_few]


async def rewrite_episodes_of(connection: Connection, org_id: UUID, memory_id: int, now: datetime) -> None:
    """Write the episodes of a memory again, after it has changed."""
    quoting = await consolidations.list_memberships(connection, org_id, [memory_id])
    own = [each.summary_id for each in quoting if each.detector is Detector.BURST and not each.is_adopted]
    if own:
        await episodes.rewrite_episodes(connection, org_id, own, now)


async def release_summaries(connection: Connection, org_id: UUID, ids: Sequence[int], now: datetime) -> list[int]:
    """Give the members of summaries that are about to go their states back, and remember not to make them again.

    Returns the ids of the members that are active again. Ids of ordinary memories are passed over.
    """
    made = await consolidations.read_provenances(connection, org_id, ids)
    if not made:
        return []
    await _lock(connection, org_id, sorted(made))
    going = set(ids)
    for summary_id, provenance in sorted(made.items()):
        await _refuse(connection, org_id, summary_id, provenance, going, now)
    repetitions = [each for each, provenance in made.items() if provenance.detector is Detector.REPETITION]
    return await _restore(connection, org_id, sorted(repetitions), ids, now, why="the summary was deleted")


async def _refuse(
    connection: Connection, org_id: UUID, summary_id: int, made: Provenance, going: Collection[int], now: datetime
) -> None:
    staying = [member.memory_id for member in made.members if member.memory_id not in going]
    if staying:
        await consolidations.insert_refusal(connection, org_id, staying, made.detector, refusal_id=summary_id, now=now)


async def _lock(connection: Connection, org_id: UUID, summary_ids: Sequence[int]) -> None:
    """Lock summaries with all their members, in order."""
    made = await consolidations.read_provenances(connection, org_id, summary_ids)
    members = {member.memory_id for provenance in made.values() for member in provenance.members}
    await memories.lock_memories(connection, org_id, sorted({*summary_ids, *members}))


async def _restore(
    connection: Connection, org_id: UUID, summary_ids: Sequence[int], going: Sequence[int], now: datetime, *, why: str
) -> list[int]:
    if not summary_ids:
        return []
    rows = await consolidations.restore_members(connection, org_id, summary_ids, going, now)
    events = [
        NewEvent(row["memory_id"], "restored", row["version"], {"state_before": "superseded", "why": why})
        for row in rows
    ]
    await memory_events.record_events(connection, org_id, events, at=now, key_id=None)
    return sorted(row["memory_id"] for row in rows)


def superseded_by(memory_id: int, version: int, summary_id: int, state_before: str) -> NewEvent:
    """Make the event of a memory that a summary took the place of."""
    fields = {"state_before": state_before, "by": format_id(summary_id), "why": Detector.REPETITION.value}
    return NewEvent(memory_id, "superseded", version, fields)
