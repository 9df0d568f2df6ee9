"""A namespace changes over to another embedder when it has all its vectors, and loses nothing on the way."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from memoria import jobs
from memoria.embedding import Embedder, FakeEmbedder
from memoria.engine import Engine
from memoria.errors import UnavailableError
from memoria.intention_records import SemanticTrigger
from memoria.records import MemoryPatch, NewMemory, RecallRequest, SearchRequest
from memoria.vocabulary import JobKind, JobState
from tests.reminding import check, intend, patch
from tests.tenants import Tenant
from tests.workers.job_rig import FAST, enqueue, read
from workers.runner import Outcome, Runner
from workers.tasks import reembed

pytestmark = pytest.mark.anyio

VECTORS = "select memory_id, passage, embedding, in_graph from embeddings order by memory_id, passage"
SETTLED = """
    select embedder, embedding_count, (select count(*) from embeddings) as vectors,
        (select count(*) from staged_embeddings) as staged
    from namespaces
"""


class OtherEmbedder(FakeEmbedder):
    """Make other vectors than the fake embedder, under another name; `meanwhile` is called before it answers."""

    def __init__(self, name: str = "other-384", dimensions: int = 384) -> None:
        super().__init__(dimensions)
        self.name = name
        self.calls = 0
        self.meanwhile: Any = None

    async def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Turn each vector around."""
        self.calls += 1
        if self.meanwhile is not None:
            await self.meanwhile(self.calls)
        return -(await super().embed(texts))


def runner_with(tenant: Tenant, embedder: Embedder) -> Runner:
    """Make a runner whose worker runs this embedder; it takes the tenant's jobs alone, of its own kind."""

    async def get() -> Embedder:
        return embedder

    kind = replace(reembed.KIND, name=f"reembed_{tenant.principal.org_id}")
    return Runner(tenant.database, [kind], tenant.clock, get, pace=FAST)


async def ask(tenant: Tenant, embedder: str) -> int:
    """Enqueue a job for the organization's only namespace."""
    ((namespace_id,),) = await tenant.fetch("select namespace_id from namespaces")
    kind = f"reembed_{tenant.principal.org_id}"
    return (await enqueue(tenant, kind, namespace_id, payload={"embedder": embedder})).job_id


def run_by(tenant: Tenant, embedder: Embedder) -> Tenant:
    """Let the same tenant be served with another embedder."""
    return replace(tenant, engine=Engine(tenant.database, embedder, tenant.clock))


async def test_every_memory_gets_new_vectors_and_the_namespace_the_new_embedder(tenant: Tenant) -> None:
    await tenant.encode_batch([NewMemory(f"Server number {number} was patched") for number in range(150)])
    await tenant.encode("word " * 700, chunk=True, title="A long one")
    await tenant.encode("word and deed " * 300)
    before = await tenant.fetch(VECTORS)
    other = OtherEmbedder()
    job_id = await ask(tenant, other.name)
    assert await runner_with(tenant, other).run_one() is Outcome.SUCCEEDED
    after = await tenant.fetch(VECTORS)
    assert [(row["memory_id"], row["passage"]) for row in after] == [
        (row["memory_id"], row["passage"]) for row in before
    ]
    assert all(old["embedding"] != new["embedding"] for old, new in zip(before, after, strict=True))
    (settled,) = await tenant.fetch(SETTLED)
    assert tuple(settled) == (other.name, len(after), len(after), 0)
    job = await read(tenant, job_id)
    assert job.result == {"embedder": other.name, "embedded": len({row["memory_id"] for row in before})}
    assert (await run_by(tenant, other).recalled("Server number 7 was patched"))[0]
    with pytest.raises(UnavailableError):
        await tenant.recalled("Server number 7 was patched")


async def test_old_vectors_serve_until_then_and_what_is_written_meanwhile_is_embedded_too(tenant: Tenant) -> None:
    memories = [await tenant.encode(f"Server number {number} was patched") for number in range(4)]
    other = OtherEmbedder()
    seen: list[int] = []

    async def change(call: int) -> None:
        if call == 1:
            seen.extend(await tenant.recalled("Server number 2 was patched", limit=1))
            await tenant.engine.update(tenant.principal, memories[0].id, MemoryPatch({"content": "A new text"}))
            await tenant.engine.forget(tenant.principal, memories[1].id)
            await tenant.encode("Written meanwhile")

    other.meanwhile = change
    await ask(tenant, other.name)
    assert await runner_with(tenant, other).run_one() is Outcome.SUCCEEDED
    assert seen == [memories[2].id]
    (settled,) = await tenant.fetch(SETTLED)
    assert tuple(settled) == (other.name, 4, 4, 0)
    served = run_by(tenant, other)
    for text in ("A new text", "Written meanwhile"):
        hit = (await served.recall(text, limit=1)).hits[0]
        assert hit.memory.content == text


async def test_an_attempt_goes_on_where_another_was_broken_off(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reembed, "BATCH_MEMORIES", 3)
    for number in range(8):
        await tenant.encode(f"Server number {number} was patched")
    other = OtherEmbedder()

    async def fail(call: int) -> None:
        if call == 3:
            raise UnavailableError("The embedder does not answer.")

    other.meanwhile = fail
    job_id = await ask(tenant, other.name)
    runner = runner_with(tenant, other)
    assert await runner.run_one() is Outcome.FAILED
    waiting = await read(tenant, job_id)
    assert waiting.total == 8
    tenant.clock.now = waiting.run_at
    assert await runner.run_one() is Outcome.SUCCEEDED
    assert (await read(tenant, job_id)).result == {"embedder": other.name, "embedded": 2}
    assert tuple((await tenant.fetch(SETTLED))[0]) == (other.name, 8, 8, 0)


async def test_what_another_embedder_has_computed_is_not_written_after_the_change(tenant: Tenant) -> None:
    await tenant.encode("The first")
    other = OtherEmbedder()
    await ask(tenant, other.name)
    entered, may_go_on = asyncio.Event(), asyncio.Event()
    slow = FakeEmbedder()
    embed = slow.embed

    async def embed_slowly(texts: Sequence[str]) -> np.ndarray:
        entered.set()
        await may_go_on.wait()
        return await embed(texts)

    slow.embed = embed_slowly  # type: ignore[method-assign]
    late = asyncio.create_task(run_by(tenant, slow).encode("The second"))
    await entered.wait()
    assert await runner_with(tenant, other).run_one() is Outcome.SUCCEEDED
    may_go_on.set()
    with pytest.raises(UnavailableError):
        await late
    assert tuple((await tenant.fetch(SETTLED))[0]) == (other.name, 1, 1, 0)


async def test_an_edit_with_another_embedder_is_refused(tenant: Tenant) -> None:
    memory = await tenant.encode("The first")
    with pytest.raises(UnavailableError):
        await run_by(tenant, OtherEmbedder()).engine.update(
            tenant.principal, memory.id, MemoryPatch({"content": "The second"})
        )
    assert (await tenant.engine.get(tenant.principal, memory.id)).content == "The first"


async def test_dampened_queries_are_compared_by_the_new_vectors(tenant: Tenant) -> None:
    memory = await tenant.encode("We deploy on Fridays")
    await tenant.engine.learning.dampen(tenant.principal, memory.id, "deploy")
    (before,) = await tenant.fetch("select embedding from dampenings")
    other = OtherEmbedder()
    await ask(tenant, other.name)
    assert await runner_with(tenant, other).run_one() is Outcome.SUCCEEDED
    (after,) = await tenant.fetch("select embedding from dampenings")
    assert after["embedding"] != before["embedding"]


async def test_vectors_that_do_not_fit_the_column_end_the_job(tenant: Tenant) -> None:
    await tenant.encode("The first")
    wide = OtherEmbedder("wide-768", 768)
    job_id = await ask(tenant, wide.name)
    assert await runner_with(tenant, wide).run_one() is Outcome.DEAD
    job = await read(tenant, job_id)
    assert job.error == jobs.JobFailure("INVALID_INPUT", "Vectors of 384 dimensions are stored; wide-768 makes 768.")


async def test_a_worker_with_the_embedder_of_before_leaves_the_job_to_others(tenant: Tenant) -> None:
    await tenant.encode("The first")
    job_id = await ask(tenant, "other-384")
    assert await runner_with(tenant, FakeEmbedder()).run_one() is Outcome.FAILED
    assert (await read(tenant, job_id)).state is JobState.QUEUED


async def test_one_job_is_planned_for_each_namespace_of_another_embedder(tenant: Tenant) -> None:
    name = f"planned-{tenant.principal.org_id}"
    await tenant.encode("The first", namespace="one")
    await tenant.encode("The second", namespace="two")
    third = f"a third, {name}"
    while await Engine(tenant.database, OtherEmbedder(third), tenant.clock).jobs.plan_reembedding():
        pass
    engine = Engine(tenant.database, OtherEmbedder(name), tenant.clock)
    while await engine.jobs.plan_reembedding():
        pass
    rows = await tenant.fetch("select namespace_id, kind, payload from jobs")
    assert {row["kind"] for row in rows} == {JobKind.REEMBED}
    for embedder in (third, name):
        places = [row["namespace_id"] for row in rows if row["payload"]["embedder"] == embedder]
        assert len(set(places)) == len(places) == 2
    assert await engine.jobs.plan_reembedding() == 0


async def test_a_server_with_both_embedders_serves_before_and_after_the_change(tenant: Tenant) -> None:
    before, other = FakeEmbedder(), OtherEmbedder()
    first = await tenant.encode("We deploy on Fridays")
    both = replace(tenant, engine=Engine(tenant.database, other, tenant.clock, previous=before))

    async def use(text: str) -> None:
        memory = await both.encode(text)
        assert (await both.recall(text, limit=1)).hits[0].memory.id == memory.id
        page = await both.engine.search(both.principal, SearchRequest(text))
        assert page.items[0].memory.id == memory.id
        changed = await both.engine.update(both.principal, memory.id, MemoryPatch({"content": f"{text}, really"}))
        assert (await both.recall(changed.content, limit=1)).hits[0].memory.id == memory.id

    await use("Written before the change")
    assert (await tenant.fetch("select embedder from namespaces"))[0]["embedder"] == before.name
    await ask(tenant, other.name)
    assert await runner_with(tenant, other).run_one() is Outcome.SUCCEEDED
    await use("Written after the change")
    assert (await both.recall("We deploy on Fridays", limit=1)).hits[0].memory.id == first.id
    await both.encode("A new place", namespace="new")
    rows = await tenant.fetch("select distinct embedder from namespaces")
    assert [row["embedder"] for row in rows] == [other.name]


async def test_a_call_during_the_change_is_served_by_the_one_or_the_other(tenant: Tenant) -> None:
    other, before = OtherEmbedder(), OtherEmbedder("fake-384")
    await tenant.encode("We deploy on Fridays")
    await ask(tenant, other.name)

    async def change_over(call: int) -> None:
        before.meanwhile = None
        assert await runner_with(tenant, other).run_one() is Outcome.SUCCEEDED

    before.meanwhile = change_over
    both = replace(tenant, engine=Engine(tenant.database, other, tenant.clock, previous=before))
    await both.encode("Written during the change")
    assert tuple((await tenant.fetch(SETTLED))[0]) == (other.name, 2, 2, 0)


async def test_vectors_of_a_third_embedder_are_refused(tenant: Tenant) -> None:
    await tenant.encode("We deploy on Fridays")
    both = Engine(tenant.database, OtherEmbedder(), tenant.clock, previous=OtherEmbedder("third-384"))
    with pytest.raises(UnavailableError):
        await both.recall(tenant.principal, RecallRequest("deploy"))


async def test_triggers_by_meaning_are_compared_by_the_new_vectors(tenant: Tenant) -> None:
    meaning = SemanticTrigger("the release of the shop")
    first, second = await intend(tenant, trigger=meaning), await intend(tenant, "Tell Tom", meaning)
    other = OtherEmbedder()

    async def change_one(calls: int) -> None:
        if calls == 1:
            await patch(tenant, second, trigger=SemanticTrigger("the end of the winter sale"))

    other.meanwhile = change_one
    job_id = await ask(tenant, other.name)
    assert await runner_with(tenant, other).run_one() is Outcome.SUCCEEDED
    assert (await read(tenant, job_id)).state is JobState.SUCCEEDED
    later = run_by(tenant, other)
    assert await check(later, "the end of the winter sale") == ["Tell Tom"]
    assert [told.id for told in (await later.recall("the release of the shop")).intentions] == [first.id]


async def test_intentions_are_kept_with_the_embedder_of_before_until_the_change(tenant: Tenant) -> None:
    await tenant.encode("The shop opens at nine")
    both = replace(tenant, engine=Engine(tenant.database, OtherEmbedder(), tenant.clock, previous=FakeEmbedder()))
    made = await intend(both, trigger=SemanticTrigger("the release of the shop"))
    await patch(both, made, trigger=SemanticTrigger("the end of the winter sale"))
    assert await check(both, "the end of the winter sale") == ["Tell Nadia"]
    await patch(both, made, status="Pending")
    assert len((await both.recall("the end of the winter sale")).intentions) == 1
