"""At the engine itself: what belongs to another organization, or lies outside a key's bounds, is not there."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from inspect import getmembers, iscoroutinefunction
from typing import Any

import pytest

from memoria.engine import Engine
from memoria.errors import ForbiddenError, InvalidInputError, NotFoundError
from memoria.records import (
    ContextRequest,
    Filters,
    ForgetResult,
    MemoryPatch,
    NewMemory,
    Principal,
    RecallRequest,
    Replay,
    SearchRequest,
)
from memoria.vocabulary import MemoryType, Scope
from tests.invariants import broken_invariants
from tests.tenants import Tenant, once

pytestmark = pytest.mark.anyio

NAME = "code/app"
SECRET = "The launch code of the quasar is 4711"
EPISODIC = Filters(types=(MemoryType.EPISODIC,))

Call = Callable[[Engine, Principal], Awaitable[Any]]
# Verbs that name a memory, called with another organization's id.
BY_ID: dict[str, Callable[[int], Call]] = {
    "get": lambda i: lambda e, p: e.get(p, i),
    "history": lambda i: lambda e, p: e.history(p, i),
    "neighbors": lambda i: lambda e, p: e.neighbors(p, i),
    "update": lambda i: lambda e, p: e.update(p, i, MemoryPatch({"content": "taken over"})),
    "archive": lambda i: lambda e, p: e.archive(p, i),
    "restore": lambda i: lambda e, p: e.restore(p, i),
    "forget": lambda i: lambda e, p: e.forget(p, i),
}
# Verbs that read a namespace; each returns what it found, empty where nothing may be found.
READS: dict[str, Callable[[str | None], Call]] = {
    "recall": lambda n: lambda e, p: _hits(e.recall(p, RecallRequest("quasar launch code", n))),
    "recall_batch": lambda n: lambda e, p: _first_hits(e.recall_batch(p, [RecallRequest(SECRET, n)])),
    "build_context": lambda n: lambda e, p: _memories(e.build_context(p, ContextRequest(SECRET, n))),
    "search": lambda n: lambda e, p: _items(e.search(p, SearchRequest(SECRET, n))),
    "list_memories": lambda n: lambda e, p: _items(e.list_memories(p, namespace=n)),
    "stats": lambda n: lambda e, p: _count(e.stats(p, n)),
}
# Verbs that change a namespace.
WRITES: dict[str, Callable[[str | None], Call]] = {
    "encode": lambda n: lambda e, p: e.encode(p, NewMemory("mine", namespace=n)),
    "encode_batch": lambda n: lambda e, p: e.encode_batch(p, [NewMemory("mine too", namespace=n)]),
    "forget_matching": lambda n: lambda e, p: e.forget_matching(p, EPISODIC, namespace=n),
    "delete_by_context": lambda n: lambda e, p: e.delete_by_context(p, "user_id", "ann", namespace=n),
}
ELSEWHERE = {"forget_many", "list_namespaces"}  # have tests of their own
WITHOUT_TENANT = {"open", "close", "ping", "write_lessons"}


async def _hits(answer: Awaitable[Any]) -> Any:
    return (await answer).hits


async def _first_hits(answer: Awaitable[Any]) -> Any:
    return (await answer)[0].hits


async def _memories(answer: Awaitable[Any]) -> Any:
    return (await answer).memories


async def _items(answer: Awaitable[Any]) -> Any:
    return (await answer).items


async def _count(answer: Awaitable[Any]) -> Any:
    return (await answer).memories


def test_every_verb_of_the_engine_has_a_case() -> None:
    verbs = {name for name, _ in getmembers(Engine, iscoroutinefunction) if not name.startswith("_")}
    assert verbs == {*BY_ID, *READS, *WRITES, *ELSEWHERE, *WITHOUT_TENANT}


@pytest.fixture
async def secret(tenant: Tenant, other: Tenant) -> int:
    """A memory of the first organization; the other one has a namespace of the same name."""
    memory = await tenant.encode(SECRET, namespace=NAME, context={"user_id": "ann"})
    await tenant.encode(SECRET + " again", namespace=NAME, context={"user_id": "ann"})
    await other.encode("nothing of note", namespace=NAME)
    return memory.id


@pytest.mark.parametrize("verb", BY_ID)
async def test_an_id_of_another_organization_is_not_found(
    tenant: Tenant, other: Tenant, secret: int, verb: str
) -> None:
    messages = []
    for memory_id in (secret, secret + 1):
        with pytest.raises(NotFoundError) as caught:
            await BY_ID[verb](memory_id)(other.engine, other.principal)
        messages.append((caught.value.message, dict(caught.value.details)))
    assert messages[0] == messages[1]
    assert (await tenant.engine.get(tenant.principal, secret)).content == SECRET
    assert await broken_invariants(tenant) == {}


@pytest.mark.parametrize("verb", READS)
async def test_a_namespace_of_the_same_name_shows_ones_own(
    tenant: Tenant, other: Tenant, secret: int, verb: str
) -> None:
    read = READS[verb](NAME)
    assert SECRET not in str(await read(other.engine, other.principal))
    assert await read(tenant.engine, tenant.principal)


@pytest.mark.parametrize("verb", WRITES)
async def test_a_write_changes_ones_own_alone(tenant: Tenant, other: Tenant, secret: int, verb: str) -> None:
    before = (await tenant.engine.get(tenant.principal, secret), await tenant.engine.stats(tenant.principal, NAME))
    await WRITES[verb](NAME)(other.engine, other.principal)
    after = (await tenant.engine.get(tenant.principal, secret), await tenant.engine.stats(tenant.principal, NAME))
    assert before == after


@pytest.mark.parametrize("verb", [*READS, *WRITES])
async def test_another_organizations_own_namespace_is_forbidden(tenant: Tenant, other: Tenant, verb: str) -> None:
    await tenant.encode(SECRET)
    call = (READS | WRITES)[verb]
    for name in (tenant.principal.own_namespace, "org:nobody-000000"):
        with pytest.raises(ForbiddenError):
            await call(name)(other.engine, other.principal)


@pytest.mark.parametrize("verb", [*READS, *WRITES])
async def test_a_key_stays_within_its_patterns(tenant: Tenant, secret: int, verb: str) -> None:
    call = (READS | WRITES)[verb]
    bound = tenant.as_principal(namespace_patterns=("support/*", "code/other"), default_namespace="code/other")
    for name in (NAME, "code/other2", "support", tenant.principal.own_namespace):
        with pytest.raises(ForbiddenError):
            await call(name)(bound.engine, bound.principal)
    for name in ("support/x", "code/other", None):
        await call(name)(bound.engine, bound.principal)


@pytest.mark.parametrize("verb", BY_ID)
async def test_an_id_outside_a_keys_patterns_is_not_found(tenant: Tenant, secret: int, verb: str) -> None:
    bound = tenant.as_principal(namespace_patterns=("support/*",))
    with pytest.raises(NotFoundError):
        await BY_ID[verb](secret)(bound.engine, bound.principal)
    result = await bound.engine.forget_many(bound.principal, [secret])
    assert result == ForgetResult((), dry_run=False)


@pytest.mark.parametrize("verb", [*BY_ID, *READS, *WRITES, "forget_many", "list_namespaces"])
async def test_a_key_without_the_scope_is_refused(tenant: Tenant, secret: int, verb: str) -> None:
    reads = {"get", "history", "neighbors", "list_namespaces", *READS}
    needed = Scope.READ if verb in reads else Scope.WRITE
    bare = tenant.as_principal(scopes=frozenset(Scope) - {needed})
    with pytest.raises(ForbiddenError) as caught:
        if verb in BY_ID:
            await BY_ID[verb](secret)(bare.engine, bare.principal)
        elif verb == "forget_many":
            await bare.engine.forget_many(bare.principal, [secret])
        elif verb == "list_namespaces":
            await bare.engine.list_namespaces(bare.principal)
        else:
            await (READS | WRITES)[verb](NAME)(bare.engine, bare.principal)
    assert caught.value.details["scope"] == needed


async def test_ids_of_another_organization_are_not_deleted(tenant: Tenant, other: Tenant, secret: int) -> None:
    assert await other.engine.forget_many(other.principal, [secret]) == ForgetResult((), dry_run=False)
    assert (await tenant.engine.get(tenant.principal, secret)).content == SECRET


async def test_a_list_of_namespaces_names_what_the_key_may_use(tenant: Tenant, other: Tenant, secret: int) -> None:
    for name in ("support/a", "support/b", "research"):
        await tenant.encode("x", namespace=name)
    bound = tenant.as_principal(namespace_patterns=("support/*", "research"))
    first = await bound.engine.list_namespaces(bound.principal, limit=2)
    rest = await bound.engine.list_namespaces(bound.principal, limit=2, cursor=first.next_cursor)
    assert [one.name for one in (*first.items, *rest.items)] == ["research", "support/a", "support/b"]
    assert (first.total, rest.next_cursor) == (3, None)
    assert [one.name for one in (await other.engine.list_namespaces(other.principal)).items] == [NAME]


async def test_a_key_of_idempotency_is_not_shared_between_organizations(tenant: Tenant, other: Tenant) -> None:
    shared = replace(other.principal, key_id=tenant.principal.key_id)
    await tenant.engine.encode(tenant.principal, NewMemory(SECRET), once("k"))
    answer = await other.engine.encode(shared, NewMemory("own"), once("k"))
    assert not isinstance(answer, Replay)


async def test_reading_a_namespace_that_does_not_exist_is_empty(tenant: Tenant) -> None:
    for read in READS.values():
        assert not await read("nowhere")(tenant.engine, tenant.principal)
    assert (await tenant.engine.list_namespaces(tenant.principal)).items == ()


@pytest.mark.parametrize("name", ["", " ", "-x", "a b", "a\n", "a\0", "ünï", "x" * 201, "%", "a*"], ids=repr)
async def test_a_malformed_namespace_is_refused(tenant: Tenant, name: str) -> None:
    for call in (READS | WRITES).values():
        with pytest.raises(InvalidInputError) as caught:
            await call(name)(tenant.engine, tenant.principal)
        assert caught.value.details["field"] == "namespace"
