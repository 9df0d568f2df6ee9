"""Apply a namespace's policy: move memories between tiers, archive what has faded, delete what outlived its time.

The work is cut into steps, each a transaction of its caller: an interrupted run goes on where its last step ended,
and a step that is done twice, or by two processes at once, moves nothing twice.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

import numpy as np

from memoria import policies, standings
from memoria.database import Connection
from memoria.forget import delete_everywhere
from memoria.memory_events import NewEvent, record_events
from memoria.records import Policy
from memoria.standings import Move, Standings
from memoria.succession import NEWER_ARCHIVED, give_back
from memoria.tiers import OUT, TIERS, destinations, half_lives, retention
from memoria.vocabulary import MemoryState

STEP_MEMORIES = 5_000  # looked at by one step: tens of milliseconds, and a few hundred kilobytes
STEP_DELETIONS = 1_000  # deleted by one step, with all that hangs on them


@dataclass(frozen=True, slots=True)
class Counts:
    """Count what a policy did; documents count once, with their parts."""

    moved_up: int = 0
    moved_down: int = 0
    archived: int = 0
    deleted: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        """Add up two steps."""
        return Counts(
            self.moved_up + other.moved_up,
            self.moved_down + other.moved_down,
            self.archived + other.archived,
            self.deleted + other.deleted,
        )


@dataclass(frozen=True, slots=True)
class Step:
    """Say what a step did, how many memories it looked at, after which one the next goes on, and if all is done."""

    counts: Counts
    seen: int
    after: int
    done: bool


async def apply_policy(
    connection: Connection,
    org_id: UUID,
    namespace_id: int,
    policy: Policy,
    now: datetime,
    *,
    after: int = 0,
    limit: int = STEP_MEMORIES,
) -> Step:
    """Do one step of a run: look at the memories after an id, at most `limit`; after the last, see to the limits.

    Takes time and memory by `limit`, however large the namespace. Whether the policy is enabled is the caller's
    question.
    """
    found = await standings.read_standings(connection, org_id, namespace_id, now, after=after, limit=limit)
    counts = await _move(connection, org_id, found, policy, now)
    reached = int(found.ids[-1]) if len(found) else after
    if len(found) == limit:
        return Step(counts, len(found), reached, done=False)
    over, archived = await _archive_excess(connection, org_id, namespace_id, policy, now, limit)
    deleted = await _delete_outlived(connection, org_id, namespace_id, policy, now)
    counts += Counts(archived=archived, deleted=deleted)
    return Step(counts, len(found), reached, done=not over and deleted < STEP_DELETIONS)


async def foresee_policy(
    connection: Connection, org_id: UUID, namespace_id: int, policy: Policy, now: datetime
) -> Counts:
    """Count what a run would do now, and change nothing."""
    counts = Counts()
    after, movable = 0, 0
    while True:
        found = await standings.read_standings(connection, org_id, namespace_id, now, after=after, limit=STEP_MEMORIES)
        places = destinations(found.standing, policy)
        counts += _count(found.standing.tiers, places)
        movable += int((~found.standing.exempt & (places != OUT)).sum())
        if len(found) < STEP_MEMORIES:
            break
        after = int(found.ids[-1])
    if policy.max_memories is not None:
        total = await standings.count_retained(connection, org_id, namespace_id, now)
        excess = max(0, total - counts.archived - policy.max_memories)
        counts += Counts(archived=min(excess, movable))
    if (unused_since := _unused_since(policy, now)) is not None:
        counts = replace(
            counts,
            deleted=await standings.count_outlived_archived(
                connection, org_id, namespace_id, unused_since=unused_since
            ),
        )
    return counts


async def delete_expired(connection: Connection, org_id: UUID, now: datetime) -> int:
    """Delete an organization's memories that expired so long ago that their time of grace is over; some a call.

    Returns how many there were. Pinned memories are kept, hidden.
    """
    ids = await standings.list_outlived_expired(
        connection, org_id, expired_by=policies.grace_ended(now), limit=STEP_DELETIONS
    )
    await delete_everywhere(connection, org_id, ids, now)
    return len(ids)


async def _move(connection: Connection, org_id: UUID, found: Standings, policy: Policy, now: datetime) -> Counts:
    """Move those that do not belong where they are, and write it into their histories."""
    places = destinations(found.standing, policy)
    chosen = np.flatnonzero(places != found.standing.tiers)
    moves = [Move(int(found.ids[at]), int(found.versions[at]), int(places[at])) for at in chosen]
    if not moves:
        return Counts()
    states = await standings.lock_movable(connection, org_id, moves, now)
    events = []
    for at, move in zip(chosen, moves, strict=True):
        if move.memory_id not in states:
            continue
        why = _explain(found, int(at), move.place, policy)
        if move.place == OUT:
            events.append(_archived(move, states[move.memory_id], why))
        else:
            fields = {"from": TIERS[found.standing.tiers[at]].value, "to": TIERS[move.place].value, "why": why}
            events.append(NewEvent(move.memory_id, "migrated", move.version, fields))
    going = [move.memory_id for move in moves if move.memory_id in states and move.place == OUT]
    await give_back(connection, org_id, going, now, why=NEWER_ARCHIVED)
    await standings.move_memories(connection, org_id, [move for move in moves if move.memory_id in states], now)
    await record_events(connection, org_id, events, at=now, key_id=None)
    went = np.isin(found.ids, list(states))
    return _count(found.standing.tiers[went], places[went])


async def _archive_excess(
    connection: Connection, org_id: UUID, namespace_id: int, policy: Policy, now: datetime, limit: int
) -> tuple[bool, int]:
    """Archive the least retained above the policy's number; says whether more are left over, and how many went."""
    if policy.max_memories is None:
        return False, 0
    excess = await standings.count_retained(connection, org_id, namespace_id, now) - policy.max_memories
    if excess <= 0:
        return False, 0
    chosen = await standings.list_least_retained(
        connection, org_id, namespace_id, policy, now, limit=min(excess, limit)
    )
    states = await standings.lock_movable(connection, org_id, chosen, now)
    moves = [move for move in chosen if move.memory_id in states]
    why = f"the namespace held more than {policy.max_memories} memories"
    await give_back(connection, org_id, sorted(states), now, why=NEWER_ARCHIVED)
    await standings.move_memories(connection, org_id, moves, now)
    events = [_archived(move, states[move.memory_id], why) for move in moves]
    await record_events(connection, org_id, events, at=now, key_id=None)
    return excess > limit and len(chosen) == limit, len(moves)


async def _delete_outlived(
    connection: Connection, org_id: UUID, namespace_id: int, policy: Policy, now: datetime
) -> int:
    if (unused_since := _unused_since(policy, now)) is None:
        return 0
    ids = await standings.list_outlived_archived(
        connection, org_id, namespace_id, unused_since=unused_since, limit=STEP_DELETIONS
    )
    await delete_everywhere(connection, org_id, ids, now)
    return len(ids)


def _unused_since(policy: Policy, now: datetime) -> datetime | None:
    if policy.delete_archived_after_days is None:
        return None
    return now - timedelta(days=policy.delete_archived_after_days)


def _archived(move: Move, state_before: MemoryState, why: str) -> NewEvent:
    return NewEvent(
        move.memory_id, "archived", move.version, {"state_before": state_before.value, "by": "policy", "why": why}
    )


def _explain(found: Standings, at: int, place: int, policy: Policy) -> str:
    """Say in a person's words why a memory moves."""
    standing = found.standing
    idle, salience = float(standing.idle_days[at]), float(standing.salience[at])
    if place == OUT:
        life = half_lives(policy)[standing.tiers[at] : standing.tiers[at] + 1]
        kept = float(retention(standing.idle_days[at : at + 1], life, standing.salience[at : at + 1])[0])
        return f"{idle:.1f} days without use leave a retention of {kept:.4f}, below {policy.prune_threshold:g}"
    if place < standing.tiers[at]:
        return f"{idle:.1f} days without use at salience {salience:g}"
    return f"salience {salience:g}, {int(standing.accesses[at])} accesses, utility {standing.utility[at]:g}"


def _count(before: np.ndarray, after: np.ndarray) -> Counts:
    archived = after == OUT
    return Counts(
        moved_up=int((after > before).sum()),
        moved_down=int(((after < before) & ~archived).sum()),
        archived=int(archived.sum()),
    )
