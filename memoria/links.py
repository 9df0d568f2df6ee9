"""Links: edges that a client makes and deletes."""

from datetime import datetime

from memoria import edges, memories
from memoria.database import Connection
from memoria.edges import NewEdge
from memoria.errors import InvalidInputError, NotFoundError
from memoria.memories import no_such_memory
from memoria.namespaces import may_use
from memoria.records import Edge, Principal
from memoria.vocabulary import CLIENT_EDGE_TYPES, LEARNED_LEAST, EdgeType


def check_link(link: NewEdge) -> None:
    """Refuse what no client may link. Raises InvalidInputError."""
    if link.type not in CLIENT_EDGE_TYPES:
        names = ", ".join(edge_type.value for edge_type in CLIENT_EDGE_TYPES)
        raise InvalidInputError(f"`type` must be one of {names}: the others are made by the service.", field="type")
    if link.source_id == link.target_id:
        raise InvalidInputError("A memory cannot be linked to itself.", field="target_id")
    if not LEARNED_LEAST <= link.weight <= 1.0:
        raise InvalidInputError(f"`weight` must be between {LEARNED_LEAST} and 1.", field="weight")


async def link(connection: Connection, principal: Principal, wanted: NewEdge, now: datetime) -> tuple[Edge, bool]:
    """Join two memories of one namespace; returns the edge, and whether it is new.

    Raises NotFoundError, and InvalidInputError when they live in two namespaces.
    """
    namespace_id = await _shared_namespace(connection, principal, wanted.source_id, wanted.target_id)
    return await edges.link_memories(connection, principal.org_id, namespace_id, wanted, now)


async def unlink(
    connection: Connection, principal: Principal, source_id: int, target_id: int, edge_type: EdgeType
) -> None:
    """Delete one edge. Raises NotFoundError for a memory or an edge that is not there."""
    await _shared_namespace(connection, principal, source_id, target_id)
    if not await edges.unlink_memories(connection, principal.org_id, source_id, target_id, edge_type):
        raise NotFoundError("There is no such edge.")


async def _shared_namespace(connection: Connection, principal: Principal, source_id: int, target_id: int) -> int:
    homes = await memories.find_homes(connection, principal.org_id, (source_id, target_id))
    for memory_id in (source_id, target_id):
        if memory_id not in homes or not may_use(principal, homes[memory_id][1]):
            raise no_such_memory()
    if homes[source_id] != homes[target_id]:
        raise InvalidInputError("The two memories must be in the same namespace.", field="target_id")
    return homes[source_id][0]
