"""Keep episodes: a parent for what happened in one go, joined to its members by PartOf edges.

An episode quotes its members and stands in no index of its own, like a document whose parts are found instead: recall
passes activation through it and answers its members.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memoria import consolidations, edges, memories, memory_events, namespaces
from memoria.consolidations import NewSummary
from memoria.database import Connection
from memoria.edges import NewEdge
from memoria.identifiers import format_id
from memoria.memories import MemoryRow
from memoria.memory_events import NewEvent
from memoria.memory_fields import MemoryFields
from memoria.records import Memory
from memoria.summaries import Outline, outline
from memoria.tiers import first_tier
from memoria.validation import SESSION_KEY, hash_content, hash_own
from memoria.vocabulary import BURST_MEMBERS, EPISODE_EDGE_WEIGHT, MAX_TAGS, Detector, EdgeType, MemoryType, Source

QUOTING = "extract"  # the writer of what is quoted


def in_order(members: Iterable[Memory]) -> list[Memory]:
    """Sort memories as they happened."""
    return sorted(members, key=lambda memory: (memory.occurred_at, memory.id))


def shared_pairs(members: Sequence[Memory]) -> dict[str, str]:
    """Return the context pairs that all members have."""
    first, *rest = members
    return {key: value for key, value in first.context.items() if all(m.context.get(key) == value for m in rest)}


def shared_tags(members: Sequence[Memory]) -> tuple[str, ...]:
    """Join the members' tags, as many as a memory may have."""
    return tuple(dict.fromkeys(tag for memory in members for tag in memory.tags))[:MAX_TAGS]


def _outline(members: Sequence[Memory]) -> Outline:
    return outline([memory.content for memory in members])


def _fields(memory_id: int, members: Sequence[Memory]) -> MemoryFields:
    written = _outline(members)
    salience = max(memory.salience for memory in members)
    content_hash = hash_content(written.text)
    context = shared_pairs(members)
    return MemoryFields(
        content=written.text,
        type=MemoryType.EPISODIC,
        tier=first_tier(MemoryType.EPISODIC, salience),
        salience=salience,
        confidence=min(memory.confidence for memory in members),
        title=written.title,
        tags=shared_tags(members),
        category=None,
        source=Source.SYSTEM,
        url=None,
        site=None,
        related_urls=(),
        project=members[0].project,
        context=context,
        metadata=None,
        pinned=False,
        session=context.get(SESSION_KEY),
        occurred_at=members[0].occurred_at,
        expires_at=None,
        content_hash=content_hash,
        duplicate_hash=hash_own(content_hash, memory_id),
    )


@dataclass(frozen=True, slots=True)
class NewEpisode:
    """Be an episode to store: its id, its members in the order in which they happened, and its conversation."""

    episode_id: int
    members: Sequence[Memory]
    scope: str

    @property
    def member_ids(self) -> list[int]:
        """The ids of its members."""
        return [memory.id for memory in self.members]


async def make_episodes(
    connection: Connection, org_id: UUID, namespace_id: int, new: Sequence[NewEpisode], now: datetime
) -> None:
    """Store episodes of members that the caller has locked."""
    if not new:
        return
    rows = [MemoryRow(each.episode_id, None, _fields(each.episode_id, each.members), (), 0) for each in new]
    await memories.insert_memories(connection, org_id, namespace_id, rows, now)
    made = [
        NewSummary(
            summary_id=each.episode_id,
            detector=Detector.BURST,
            cosine=None,
            writer=QUOTING,
            scope=each.scope,
            started_at=each.members[0].occurred_at,
            members=dict.fromkeys(each.member_ids),
        )
        for each in new
    ]
    await consolidations.insert_summaries(connection, org_id, namespace_id, made, now)
    await _join(connection, org_id, namespace_id, {each.episode_id: each.member_ids for each in new}, now)
    events = [
        NewEvent(
            each.episode_id,
            "consolidated",
            1,
            {"detector": Detector.BURST.value, "members": [format_id(memory_id) for memory_id in each.member_ids]},
        )
        for each in new
    ]
    await memory_events.record_events(connection, org_id, events, at=now, key_id=None)
    await namespaces.grow_namespace(connection, org_id, namespace_id, memories=len(new), terms=0, embeddings=0)


async def extend_episodes(
    connection: Connection, org_id: UUID, namespace_id: int, joining: Mapping[int, Sequence[int]], now: datetime
) -> None:
    """Take memories that the caller has locked into episodes, by their ids, and write these again."""
    if not joining:
        return
    members: dict[int, dict[int, float | None]] = {episode: dict.fromkeys(ids) for episode, ids in joining.items()}
    await consolidations.add_members(connection, org_id, members, now)
    await _join(connection, org_id, namespace_id, joining, now)
    await rewrite_episodes(connection, org_id, sorted(joining), now)


async def _join(
    connection: Connection, org_id: UUID, namespace_id: int, joining: Mapping[int, Sequence[int]], now: datetime
) -> None:
    joined = [
        NewEdge(memory_id, episode_id, EdgeType.PART_OF, EPISODE_EDGE_WEIGHT)
        for episode_id, ids in joining.items()
        for memory_id in ids
    ]
    await edges.insert_edges(connection, org_id, namespace_id, joined, now)


async def rewrite_episodes(
    connection: Connection,
    org_id: UUID,
    episode_ids: Sequence[int],
    now: datetime,
    *,
    without: Mapping[int, Sequence[int]] | None = None,
) -> list[int]:
    """Write episodes again from what their members say now, and return those that have too few left.

    `without` names, by episode, the members that are about to go: nothing of theirs stays in the text.
    """
    leaving = without or {}
    provenances = await consolidations.read_provenances(connection, org_id, episode_ids)
    staying = {
        episode_id: [m.memory_id for m in made.members if m.memory_id not in leaving.get(episode_id, ())]
        for episode_id, made in provenances.items()
    }
    all_ids = sorted({memory_id for ids in staying.values() for memory_id in ids})
    found = await memories.read_memories(connection, org_id, all_ids)
    too_few = []
    for episode_id, ids in staying.items():
        members = in_order(found[memory_id] for memory_id in ids if memory_id in found)
        if len(members) < BURST_MEMBERS:
            too_few.append(episode_id)
            continue
        if gone := leaving.get(episode_id):
            await consolidations.remove_members(connection, org_id, episode_id, gone)
            await edges.delete_member_edges(connection, org_id, episode_id, gone)
        fields = _fields(episode_id, members)
        await consolidations.write_episode(
            connection,
            org_id,
            episode_id,
            title=fields.title or "",
            content=fields.content,
            content_hash=fields.content_hash,
            duplicate_hash=fields.duplicate_hash,
            now=now,
        )
    return too_few
