"""Clients join memories by edges of their own, and those outlive what is computed."""

import pytest

from memoria.edges import NewEdge
from memoria.errors import InvalidInputError, NotFoundError
from memoria.records import Edge, MemoryPatch, Neighbor
from memoria.vocabulary import EdgeType
from tests.tenants import Tenant

pytestmark = pytest.mark.anyio


async def link(tenant: Tenant, source: int, target: int, edge_type: EdgeType, weight: float = 1.0) -> tuple[Edge, bool]:
    """Link two memories."""
    answer = await tenant.engine.learning.link(tenant.principal, NewEdge(source, target, edge_type, weight))
    assert isinstance(answer, tuple)
    return answer


async def edges_of(tenant: Tenant, memory_id: int) -> list[Neighbor]:
    return list((await tenant.engine.neighbors(tenant.principal, memory_id)).items)


async def pair(tenant: Tenant) -> tuple[int, int]:
    """Store two memories that nothing joins."""
    first = await tenant.encode("The disk of the database was full", context={"session_id": "a"})
    second = await tenant.encode("Checkout failed for an hour", context={"session_id": "b"})
    return first.id, second.id


async def test_a_link_is_there_and_recall_crosses_it(tenant: Tenant) -> None:
    cause, effect = await pair(tenant)
    edge, made = await link(tenant, cause, effect, EdgeType.CAUSAL)
    assert made
    assert (edge.source_id, edge.target_id, edge.type, edge.weight) == (cause, effect, EdgeType.CAUSAL, 1.0)
    [neighbor] = await edges_of(tenant, cause)
    assert (neighbor.memory.id, neighbor.outgoing) == (effect, True)
    hit = next(hit for hit in (await tenant.recall("why was the disk full")).hits if hit.memory.id == effect)
    assert [step.edge_type for step in hit.path] == [EdgeType.CAUSAL]


async def test_linking_twice_sets_the_weight_and_makes_nothing_new(tenant: Tenant) -> None:
    cause, effect = await pair(tenant)
    first, _ = await link(tenant, cause, effect, EdgeType.CAUSAL, 0.9)
    again, made = await link(tenant, cause, effect, EdgeType.CAUSAL, 0.4)
    assert not made
    assert (again.weight, again.created_at) == (0.4, first.created_at)
    assert len(await edges_of(tenant, cause)) == 1


async def test_an_unlinked_pair_is_apart_and_there_is_nothing_to_unlink_twice(tenant: Tenant) -> None:
    cause, effect = await pair(tenant)
    await link(tenant, cause, effect, EdgeType.CAUSAL)
    await tenant.engine.learning.unlink(tenant.principal, cause, effect, EdgeType.CAUSAL)
    assert await edges_of(tenant, cause) == []
    with pytest.raises(NotFoundError):
        await tenant.engine.learning.unlink(tenant.principal, cause, effect, EdgeType.CAUSAL)


async def test_a_link_outlives_an_edit(tenant: Tenant) -> None:
    cause, effect = await pair(tenant)
    await link(tenant, cause, effect, EdgeType.SEMANTIC, 0.8)
    await tenant.engine.update(tenant.principal, effect, MemoryPatch({"content": "Payments failed for two hours"}))
    assert [neighbor.edge.weight for neighbor in await edges_of(tenant, cause)] == [0.8]


async def test_a_memory_is_not_linked_to_itself(tenant: Tenant) -> None:
    cause, _ = await pair(tenant)
    with pytest.raises(InvalidInputError):
        await link(tenant, cause, cause, EdgeType.CAUSAL)


@pytest.mark.parametrize("edge_type", [EdgeType.PART_OF, EdgeType.CO_RETRIEVAL, EdgeType.SUPERSEDES])
async def test_types_that_the_service_makes_are_refused(tenant: Tenant, edge_type: EdgeType) -> None:
    with pytest.raises(InvalidInputError) as caught:
        await link(tenant, *await pair(tenant), edge_type)
    assert caught.value.details["field"] == "type"


@pytest.mark.parametrize("weight", [0.0, -1.0, 1.1, float("nan")])
async def test_a_weight_out_of_bounds_is_refused(tenant: Tenant, weight: float) -> None:
    with pytest.raises(InvalidInputError):
        await link(tenant, *await pair(tenant), EdgeType.CAUSAL, weight)


async def test_memories_of_two_namespaces_are_not_linked(tenant: Tenant) -> None:
    cause, _ = await pair(tenant)
    elsewhere = await tenant.encode("Checkout failed", namespace="elsewhere")
    with pytest.raises(InvalidInputError):
        await link(tenant, cause, elsewhere.id, EdgeType.CAUSAL)


async def test_anothers_memory_is_not_found(tenant: Tenant, other: Tenant) -> None:
    cause, effect = await pair(tenant)
    own = await other.encode("mine")
    await link(tenant, cause, effect, EdgeType.CAUSAL)
    for source, target in ((own.id, effect), (cause, own.id), (cause, effect)):
        with pytest.raises(NotFoundError):
            await link(other, source, target, EdgeType.CAUSAL)
        with pytest.raises(NotFoundError):
            await other.engine.learning.unlink(other.principal, source, target, EdgeType.CAUSAL)
    assert len(await edges_of(tenant, cause)) == 1
