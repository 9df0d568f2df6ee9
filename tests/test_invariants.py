"""The checker of invariants sees what is broken: a check that never fails guards nothing."""

import pytest

from memoria.records import MemoryPatch, NewMemory
from tests.invariants import BROKEN, broken_invariants
from tests.sleeping import REPEATED, consolidate, store
from tests.tenants import Tenant, once

pytestmark = pytest.mark.anyio

DOCUMENT = "\n\n".join(f"Paragraph {number} tells of deployment step {number}." for number in range(120))

DAMAGE = {
    "a namespace counts its memories": "update namespaces set memory_count = memory_count + 1 where org_id = $1",
    "a namespace sums the lengths of its memories": "update namespaces set term_count = 0 where org_id = $1",
    "a namespace counts its vectors": "update namespaces set embedding_count = 0 where org_id = $1",
    "the lexical index holds exactly the terms that each memory names": "delete from postings where org_id = $1",
    "a posting knows its memory's length": "update postings set length = length + 1 where org_id = $1",
    "passages are numbered from 0": "update embeddings set passage = passage + 1000 where org_id = $1",
    "a memory has a vector unless its parts or members have them": "delete from embeddings where org_id = $1",
    "a part is joined to its document, in the same namespace, tier and state": "delete from edges where org_id = $1",
    "a summary in use has members, of its namespace, that it supersedes": "delete from summary_members"
    " where org_id = $1",
    "an edge joins two memories of its namespace": "update edges set namespace_id = 1 where org_id = $1",
    "every edit made a version and an event": "delete from memory_events where org_id = $1",
    "an idempotency key that was committed has its answer": "update idempotent_answers set answer = null"
    " where org_id = $1",
}


@pytest.fixture
async def lived_in(tenant: Tenant) -> Tenant:
    await tenant.encode_batch([NewMemory("The deploy ran on Friday"), NewMemory("The deploy failed on Friday")])
    await tenant.engine.encode(tenant.principal, NewMemory(DOCUMENT, chunk=True), once("a key"))
    memory = await tenant.encode("The deploy was rolled back")
    await tenant.engine.update(tenant.principal, memory.id, MemoryPatch({"title": "Rollback"}))
    await store(tenant, *REPEATED)
    await consolidate(tenant)
    return tenant


async def test_a_tenant_that_was_lived_in_is_whole(lived_in: Tenant) -> None:
    assert await broken_invariants(lived_in) == {}


@pytest.mark.parametrize("sentence", BROKEN)
async def test_damage_is_seen(lived_in: Tenant, sentence: str) -> None:
    await lived_in.fetch(DAMAGE[sentence], lived_in.principal.org_id)
    assert sentence in await broken_invariants(lived_in)


async def test_an_orphan_is_seen(lived_in: Tenant) -> None:
    await lived_in.fetch(
        "insert into postings values ($1, 1, 1, 1, 1, 1)",
        lived_in.principal.org_id,
    )
    assert "postings.memory_id" in await broken_invariants(lived_in)
