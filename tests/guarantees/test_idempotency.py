"""A write with an idempotency key happens once: a repeat gets the first answer, another request a conflict."""

import asyncio
from dataclasses import replace
from uuid import uuid4

import pytest

from memoria.errors import ConflictError, InvalidInputError
from memoria.records import Encoded, Filters, ForgetResult, Memory, NewMemory, Once, Replay
from tests.invariants import broken_invariants
from tests.tenants import Tenant, once

pytestmark = pytest.mark.anyio

NEW = NewMemory("The invoice of May was paid")


async def test_one_key_sent_by_many_at_once_writes_once(tenant: Tenant) -> None:
    # Texts that differ show that it is the key that holds them together, not the duplicate check.
    calls = [
        tenant.engine.encode(tenant.principal, replace(NEW, content=f"{NEW.content} {number}"), once("k"))
        for number in range(12)
    ]
    answers = await asyncio.gather(*calls)
    first = [answer for answer in answers if isinstance(answer, Encoded)]
    assert len(first) == 1
    assert {answer.answer for answer in answers if isinstance(answer, Replay)} == {str(first[0].memory.id).encode()}
    assert await tenant.listed() == [first[0].memory.id]
    assert await broken_invariants(tenant) == {}


async def test_one_key_with_another_request_is_a_conflict(tenant: Tenant) -> None:
    await tenant.engine.encode(tenant.principal, NEW, once("k"))
    with pytest.raises(ConflictError) as caught:
        await tenant.engine.encode(tenant.principal, NewMemory("Something else"), once("k", b"another"))
    assert caught.value.details["field"] == "Idempotency-Key"
    assert len(await tenant.listed()) == 1


async def test_a_failure_leaves_the_key_free_and_nothing_behind(tenant: Tenant) -> None:
    def fail(result: object) -> bytes:
        raise InvalidInputError("the answer cannot be written")

    with pytest.raises(InvalidInputError):
        await tenant.engine.encode(tenant.principal, NEW, Once("k", b"a request", fail))
    assert await tenant.listed() == []
    assert isinstance(await tenant.engine.encode(tenant.principal, NEW, once("k")), Encoded)
    assert await broken_invariants(tenant) == {}


async def test_a_refused_request_may_be_corrected_under_the_same_key(tenant: Tenant) -> None:
    with pytest.raises(InvalidInputError):
        await tenant.engine.encode(tenant.principal, replace(NEW, salience=2.0), once("k", b"wrong"))
    assert isinstance(await tenant.engine.encode(tenant.principal, NEW, once("k", b"right")), Encoded)


async def test_a_key_is_forgotten_after_a_day(tenant: Tenant) -> None:
    await tenant.engine.encode(tenant.principal, NEW, once("k"))
    tenant.clock.advance(hours=23, minutes=59)
    assert isinstance(await tenant.engine.encode(tenant.principal, NEW, once("k")), Replay)
    tenant.clock.advance(minutes=1)
    assert isinstance(await tenant.engine.encode(tenant.principal, NewMemory("Another"), once("k", b"new")), Encoded)
    assert isinstance(await tenant.engine.encode(tenant.principal, NewMemory("Another"), once("k", b"new")), Replay)


async def test_keys_belong_to_one_principal(tenant: Tenant, other: Tenant) -> None:
    await tenant.engine.encode(tenant.principal, NEW, once("k"))
    colleague = tenant.as_principal(key_id=uuid4())
    assert isinstance(await colleague.engine.encode(colleague.principal, NewMemory("Mine"), once("k", b"x")), Encoded)
    assert isinstance(await other.engine.encode(other.principal, NEW, once("k", b"y")), Encoded)


async def test_every_other_write_with_a_key_happens_once(tenant: Tenant) -> None:
    one, _, three = await tenant.encode_batch(
        [NewMemory("first"), NewMemory("second", tags=("t",)), NewMemory("third", context={"user_id": "ann"})]
    )
    engine, principal = tenant.engine, tenant.principal
    assert isinstance(await engine.archive(principal, one.memory.id, once("archive")), Memory)
    await engine.restore(principal, one.memory.id)
    assert isinstance(await engine.archive(principal, one.memory.id, once("archive")), Replay)
    assert (await engine.get(principal, one.memory.id)).state == "active"
    assert await engine.forget_many(principal, [one.memory.id], once("many")) == ForgetResult((one.memory.id,), False)
    assert isinstance(await engine.forget_many(principal, [one.memory.id], once("many")), Replay)
    tagged = Filters(tags_any=("t",))
    assert isinstance(await engine.forget_matching(principal, tagged, once=once("matching")), ForgetResult)
    await tenant.encode("second", tags=("t",))
    assert isinstance(await engine.forget_matching(principal, tagged, once=once("matching")), Replay)
    assert await engine.delete_by_context(principal, "user_id", "ann", once=once("pair")) == 1
    assert isinstance(await engine.delete_by_context(principal, "user_id", "ann", once=once("pair")), Replay)
    assert three.memory.id not in await tenant.listed()
    assert len(await tenant.listed()) == 1
