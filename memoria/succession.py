"""Let newer statements contradict older ones or take their place, and give the place back when they go.

Runs where a memory is written, whichever door it came through, and in consolidation. Newer is what happened later; what
arrives late about an earlier time takes nobody's place, but is superseded itself.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from memoria import edges, memory_events, successions
from memoria.contradiction import Verdict, judge
from memoria.database import Connection
from memoria.edges import NewEdge
from memoria.identifiers import format_id
from memoria.memory_events import NewEvent
from memoria.successions import Claim
from memoria.vocabulary import SUBJECT_COSINE, EdgeType

THREAD_PAIRS = 40
SESSION_KEY = "session_id"  # where something was said changes nothing about what it is about
CHANGED = "a newer memory states a change"
CONTRADICTED = "a newer memory gives another value"
NEWER_ARCHIVED = "the newer memory was archived"


@dataclass(slots=True)
class Denials:
    """Collect which memory denies which: by the older id the newer one that supersedes it, the first found, and all
    newer ones that contradict it.
    """

    superseded: dict[int, int] = field(default_factory=dict)
    contradicted: dict[int, set[int]] = field(default_factory=dict)

    def made_by(self, newer: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """List what one memory supersedes, and what it contradicts: the older ids, in order."""
        superseded = sorted(older for older, one in self.superseded.items() if one == newer)
        contradicted = sorted(older for older, all_newer in self.contradicted.items() if newer in all_newer)
        return tuple(superseded), tuple(contradicted)


async def settle(
    connection: Connection,
    org_id: UUID,
    namespace_id: int,
    nearest: Mapping[int, Sequence[tuple[int, float]]],
    now: datetime,
) -> Denials:
    """Compare memories that have just been written with their nearest, (id, cosine) each, and mark what is denied.

    Call it in the transaction that wrote them. Returns what was marked.
    """
    pairs = [
        (memory_id, other, cosine)
        for memory_id, others in nearest.items()
        for other, cosine in others
        if cosine >= SUBJECT_COSINE
    ]
    if not pairs:
        return Denials()
    wanted = {memory_id for memory_id, other, _ in pairs} | {other for _, other, _ in pairs}
    claims = await successions.read_claims(connection, org_id, namespace_id, sorted(wanted))
    # Many pairs take long enough to hold up every other request: they go to a thread.
    if len(pairs) > THREAD_PAIRS:
        denials = await asyncio.to_thread(find_denials, claims, pairs)
    else:
        denials = find_denials(claims, pairs)
    await mark_denied(connection, org_id, namespace_id, denials, now)
    return denials


def find_denials(claims: Mapping[int, Claim], pairs: Sequence[tuple[int, int, float]]) -> Denials:
    """Judge pairs of memories, (one, other, cosine) each; those without a claim are passed over."""
    denials = Denials()
    for one, other, cosine in pairs:
        if one not in claims or other not in claims or not _same_scope(claims[one], claims[other]):
            continue
        older, newer = sorted((claims[one], claims[other]), key=lambda claim: (claim.occurred_at, claim.memory_id))
        verdict = judge(older.content, newer.content, cosine)
        if verdict is Verdict.CHANGES:
            denials.superseded.setdefault(older.memory_id, newer.memory_id)
        elif verdict is Verdict.DIFFER:
            denials.contradicted.setdefault(older.memory_id, set()).add(newer.memory_id)
    return denials


async def mark_denied(connection: Connection, org_id: UUID, namespace_id: int, denials: Denials, now: datetime) -> None:
    """Join what is denied to what denies it, take the superseded out of force, and write both into their history."""
    joined = [NewEdge(newer, older, EdgeType.SUPERSEDES, 1.0) for older, newer in denials.superseded.items()]
    joined += [
        NewEdge(newer, older, EdgeType.CONTRADICTS, 1.0)
        for older, all_newer in denials.contradicted.items()
        for newer in sorted(all_newer)
    ]
    if not joined:
        return
    await edges.insert_edges(connection, org_id, namespace_id, joined, now)
    gone = await successions.supersede_memories(connection, org_id, sorted(denials.superseded), now)
    events = [
        NewEvent(
            each.memory_id,
            "superseded",
            each.version,
            {"state_before": "active", "by": format_id(denials.superseded[each.memory_id]), "why": CHANGED},
        )
        for each in gone
    ]
    await memory_events.record_events(connection, org_id, events, at=now, key_id=None)


async def give_back(connection: Connection, org_id: UUID, ids: Sequence[int], now: datetime, *, why: str) -> list[int]:
    """Put back in force what the given memories have taken the place of; call it before they leave or change.

    Returns the ids of those that are active again. What another memory supersedes too stays as it is.
    """
    if not ids:
        return []
    superseded = [each for each in await successions.list_superseded_by(connection, org_id, ids) if each not in ids]
    if not superseded:
        return []
    back = await successions.reinstate_memories(connection, org_id, sorted(set(superseded)), ids, now)
    events = [
        NewEvent(each.memory_id, "restored", each.version, {"state_before": "superseded", "why": why}) for each in back
    ]
    await memory_events.record_events(connection, org_id, events, at=now, key_id=None)
    return [each.memory_id for each in back]


async def take_place_again(connection: Connection, org_id: UUID, ids: Sequence[int], now: datetime) -> None:
    """Supersede again what the given memories had taken the place of: they are back themselves."""
    superseded = await successions.list_superseded_by(connection, org_id, ids)
    gone = await successions.supersede_memories(connection, org_id, superseded, now)
    events = [
        NewEvent(each.memory_id, "superseded", each.version, {"state_before": "active", "why": CHANGED})
        for each in gone
    ]
    await memory_events.record_events(connection, org_id, events, at=now, key_id=None)


def _same_scope(one: Claim, other: Claim) -> bool:
    """Say whether two claims may be about the same thing: of no two projects, users or other contexts."""
    if one.project and other.project and one.project != other.project:
        return False
    return all(value == other.context.get(key, value) for key, value in one.context.items() if key != SESSION_KEY)
