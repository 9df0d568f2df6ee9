"""Read pages: memories by filter, the edges at a memory, the namespaces of an organization."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memoria import edges, memories, namespaces
from memoria.cursors import check_limit, fingerprint, read_cursor, write_cursor
from memoria.database import Connection
from memoria.memories import no_such_memory
from memoria.namespaces import may_use
from memoria.records import (
    Filters,
    Memory,
    MemoryPage,
    NamespacePage,
    Neighbor,
    NeighborPage,
    Principal,
)
from memoria.validation import check_include


@dataclass(frozen=True, slots=True)
class ListPlan:
    """Hold a checked list request; `before` is the id that the page before this one ended with."""

    namespace: str
    filters: Filters
    include: Sequence[str]
    limit: int
    before: int | None
    request: str


def plan(namespace: str, filters: Filters, include: Sequence[str], limit: int, cursor: str | None) -> ListPlan:
    """Check a list request. Raises InvalidInputError."""
    request = fingerprint("list", namespace, filters, sorted(include))
    before = read_cursor(cursor, request, int)
    return ListPlan(namespace, filters, check_include(include), check_limit(limit), before, request)


async def read_visible(connection: Connection, principal: Principal, memory_id: int) -> Memory:
    """Read one memory that the principal may see. Raises NotFoundError."""
    memory = (await memories.read_memories(connection, principal.org_id, [memory_id])).get(memory_id)
    if memory is None or not may_use(principal, memory.namespace):
        raise no_such_memory()
    return memory


async def list_memories(connection: Connection, org_id: UUID, query: ListPlan, now: datetime) -> MemoryPage:
    """Read a page, newest first. Ids rise with time, so the last id of a page is where the next begins."""
    namespace = await namespaces.find_namespace(connection, org_id, query.namespace)
    if namespace is None:
        return MemoryPage((), None, 0)
    ids = await memories.list_matching_ids(connection, org_id, namespace.id, query.filters, query.include, now)
    rest = ids if query.before is None else ids[ids < query.before]
    page = rest[: query.limit].tolist()
    found = await memories.read_memories(connection, org_id, page)
    more = len(rest) > query.limit
    return MemoryPage(
        tuple(found[memory_id] for memory_id in page if memory_id in found),
        write_cursor(page[-1], query.request) if more else None,
        len(ids),
    )


async def list_neighbors(
    connection: Connection, principal: Principal, memory_id: int, limit: int, cursor: str | None
) -> NeighborPage:
    """Read a page of a memory's edges and their other ends. Raises NotFoundError."""
    request = fingerprint("neighbors", memory_id)
    offset = read_cursor(cursor, request, int) or 0
    memory = await read_visible(connection, principal, memory_id)
    namespace = await namespaces.find_namespace(connection, principal.org_id, memory.namespace)
    if namespace is None:
        raise no_such_memory()
    found, total = await edges.list_neighbors(
        connection, principal.org_id, namespace.id, memory_id, limit=check_limit(limit), offset=offset
    )
    others = [edge.target_id if edge.source_id == memory_id else edge.source_id for edge in found]
    ends = await memories.read_memories(connection, principal.org_id, others)
    items = tuple(
        Neighbor(edge, ends[other], outgoing=edge.source_id == memory_id)
        for edge, other in zip(found, others, strict=True)
        if other in ends
    )
    following = offset + len(found)
    return NeighborPage(items, write_cursor(following, request) if following < total else None, total)


async def list_namespaces(
    connection: Connection, principal: Principal, limit: int, cursor: str | None
) -> NamespacePage:
    """Read a page of namespaces by name."""
    request = fingerprint("namespaces")
    after = read_cursor(cursor, request, str)
    found, total = await namespaces.list_namespaces(
        connection, principal.org_id, principal, after=after, limit=check_limit(limit) + 1
    )
    page = found[:limit]
    more = len(found) > limit
    return NamespacePage(tuple(page), write_cursor(page[-1].name, request) if more else None, total)
