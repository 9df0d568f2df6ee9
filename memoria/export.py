"""Export: read a namespace page by page, each in a short transaction of its own, whatever its size.

All pages go up to the newest memory of the moment when the export began. Memories come first, then the members
of summaries, their histories, the edges between them and the marks on them: what a line names stands in a line before
it. Intentions, which name nothing, come last.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from memoria import dampenings, intentions, namespaces, policies, transfers
from memoria.database import Database
from memoria.records import Policy
from memoria.transfer_records import (
    Carried,
    CarriedDampening,
    CarriedEdge,
    CarriedEvent,
    CarriedIntention,
    CarriedMember,
    CarriedMemory,
    CarriedRefusal,
    Export,
    ExportEnd,
    ExportHeader,
    TransferCounts,
)
from memoria.vocabulary import EXPORT_PAGE, TRANSFER_FORMAT

EVENTS_A_PAGE = 200
EDGES_A_PAGE = 2_000
BEFORE_ALL = -1


@dataclass(frozen=True, slots=True)
class _Place:
    """Be what an export reads: one namespace, up to a memory."""

    database: Database
    org_id: UUID
    namespace_id: int
    last: int


async def begin(database: Database, org_id: UUID, name: str, now: datetime) -> Export:
    """Read what the header says; the pages are read when they are asked for."""
    async with database.tenant(org_id) as connection:
        found = await namespaces.find_namespace(connection, org_id, name)
        if found is None:
            return Export(ExportHeader(TRANSFER_FORMAT, name, None, now, TransferCounts()), _nothing())
        last = await transfers.find_last_id(connection, org_id, found.id)
        counts = await transfers.count_transferable(connection, org_id, found.id, last)
        policy = await policies.find_policy(connection, org_id, found.id)
    counts = replace(counts, policies=int(policy is not None))
    header = ExportHeader(TRANSFER_FORMAT, name, found.embedder, now, counts)
    return Export(header, _pages(_Place(database, org_id, found.id, last), policy))


async def _nothing() -> AsyncIterator[list[Carried]]:
    yield [ExportEnd(TransferCounts())]


async def _pages(place: _Place, policy: Policy | None) -> AsyncIterator[list[Carried]]:
    counts = TransferCounts(policies=int(policy is not None))
    if policy is not None:
        yield [policy]
    async for memories in _memories(place):
        counts = replace(counts, memories=counts.memories + len(memories))
        yield list(memories)
    async for members in _members(place):
        counts = replace(counts, members=counts.members + len(members))
        yield list(members)
    async for events in _events(place):
        counts = replace(counts, events=counts.events + len(events))
        yield list(events)
    async for edges in _edges(place):
        counts = replace(counts, edges=counts.edges + len(edges))
        yield list(edges)
    async for dampened in _dampenings(place):
        counts = replace(counts, dampenings=counts.dampenings + len(dampened))
        yield list(dampened)
    async for refused in _refusals(place):
        counts = replace(counts, refused_merges=counts.refused_merges + len(refused))
        yield list(refused)
    async for carried in _intentions(place):
        counts = replace(counts, intentions=counts.intentions + len(carried))
        yield list(carried)
    yield [ExportEnd(counts)]


async def _memories(place: _Place) -> AsyncIterator[Sequence[CarriedMemory]]:
    after = BEFORE_ALL
    while True:
        async with place.database.tenant(place.org_id) as connection:
            page = await transfers.list_memories(
                connection, place.org_id, place.namespace_id, after=after, last=place.last, limit=EXPORT_PAGE
            )
        if not page:
            return
        yield page
        after = page[-1].id


async def _members(place: _Place) -> AsyncIterator[Sequence[CarriedMember]]:
    after = (BEFORE_ALL, 0)
    while True:
        async with place.database.tenant(place.org_id) as connection:
            page = await transfers.list_members(
                connection, place.org_id, place.namespace_id, after=after, last=place.last, limit=EDGES_A_PAGE
            )
        if not page:
            return
        yield page
        after = (page[-1].summary_id, page[-1].member_id)


async def _events(place: _Place) -> AsyncIterator[Sequence[CarriedEvent]]:
    after = (BEFORE_ALL, 0)
    while True:
        async with place.database.tenant(place.org_id) as connection:
            page = await transfers.list_events(
                connection, place.org_id, place.namespace_id, after=after, last=place.last, limit=EVENTS_A_PAGE
            )
        if not page:
            return
        yield page
        after = (page[-1].memory_id, page[-1].number)


async def _edges(place: _Place) -> AsyncIterator[Sequence[CarriedEdge]]:
    after = (BEFORE_ALL, 0, "")
    while True:
        async with place.database.tenant(place.org_id) as connection:
            page = await transfers.list_edges(
                connection, place.org_id, place.namespace_id, after=after, last=place.last, limit=EDGES_A_PAGE
            )
        if not page:
            return
        yield page
        after = (page[-1].source_id, page[-1].target_id, page[-1].type.value)


async def _dampenings(place: _Place) -> AsyncIterator[Sequence[CarriedDampening]]:
    after = (BEFORE_ALL, 0)
    while True:
        async with place.database.tenant(place.org_id) as connection:
            page = await dampenings.list_whole(
                connection, place.org_id, place.namespace_id, after=after, last=place.last, limit=EXPORT_PAGE
            )
        if not page:
            return
        yield [carried for _, carried in page]
        after = (page[-1][1].memory_id, page[-1][0])


async def _refusals(place: _Place) -> AsyncIterator[Sequence[CarriedRefusal]]:
    after = (BEFORE_ALL, 0)
    while True:
        async with place.database.tenant(place.org_id) as connection:
            page = await transfers.list_refusals(
                connection, place.org_id, place.namespace_id, after=after, last=place.last, limit=EDGES_A_PAGE
            )
        if not page:
            return
        yield page
        after = (page[-1].group, page[-1].memory_id)


async def _intentions(place: _Place) -> AsyncIterator[Sequence[CarriedIntention]]:
    after = BEFORE_ALL
    while True:
        async with place.database.tenant(place.org_id) as connection:
            page = await intentions.list_whole(
                connection, place.org_id, place.namespace_id, after=after, limit=EXPORT_PAGE
            )
        if not page:
            return
        yield page
        after = page[-1].id
