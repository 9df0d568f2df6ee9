"""The job of decay applies the policy of each namespace once a day, and does the rest after it was broken off."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from memoria import decay as pipeline
from memoria.records import NewMemory, PolicyChanges
from memoria.vocabulary import JobKind
from tests.tenants import Tenant
from tests.workers.job_rig import enqueue, make_runner, new_kind, read
from workers.kinds import Place
from workers.registry import KINDS
from workers.runner import Outcome
from workers.tasks import decay

pytestmark = pytest.mark.anyio


async def states(tenant: Tenant) -> list[str]:
    return [row["state"] for row in await tenant.fetch("select state from memories order by memory_id")]


async def namespace_id_of(tenant: Tenant) -> int:
    namespace_id: int = (await tenant.fetch("select namespace_id from namespaces"))[0]["namespace_id"]
    return namespace_id


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at ten memories a step."""

    async def step(*arguments: Any, **options: Any) -> pipeline.Step:
        return await pipeline.apply_policy(*arguments, **options, limit=10)

    monkeypatch.setattr(decay, "apply_policy", step)


def test_every_namespace_is_visited_once_a_day() -> None:
    assert decay.KIND in KINDS
    assert decay.KIND.name == JobKind.DECAY
    assert decay.KIND.schedule is not None
    assert (decay.KIND.schedule.every, decay.KIND.schedule.place) == (timedelta(days=1), Place.NAMESPACE)


@pytest.mark.usefixtures("small_steps")
async def test_a_job_looks_at_the_whole_namespace(tenant: Tenant) -> None:
    await tenant.encode_batch([NewMemory(f"Idle talk {number}") for number in range(25)])
    kind = new_kind(decay.run)
    tenant.clock.advance(days=50)
    queued = await enqueue(tenant, kind, await namespace_id_of(tenant))
    assert await make_runner(tenant.database, tenant.clock, kind).run_one() is Outcome.SUCCEEDED
    assert await states(tenant) == ["archived"] * 25
    counts = {"moved_up": 0, "moved_down": 0, "archived": 25, "deleted": 0}
    assert (await read(tenant, queued.job_id)).result == counts


@pytest.mark.usefixtures("small_steps")
async def test_a_job_that_was_broken_off_does_the_rest(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    await tenant.encode_batch([NewMemory(f"Idle talk {number}") for number in range(15)])
    await tenant.encode_batch([NewMemory(f"Aside {number}", type="Procedural", salience=0.1) for number in range(5)])
    tenant.clock.advance(days=70)
    calls, step = [], decay.apply_policy

    async def die_in_the_second(*arguments: Any, **options: Any) -> pipeline.Step:
        made = await step(*arguments, **options)
        calls.append(made)
        if len(calls) == 2:
            raise ConnectionResetError
        return made

    monkeypatch.setattr(decay, "apply_policy", die_in_the_second)
    kind = replace(new_kind(decay.run), max_failures=2)
    queued = await enqueue(tenant, kind, await namespace_id_of(tenant))
    runner = make_runner(tenant.database, tenant.clock, kind)
    await runner.run_one()
    assert (await states(tenant)).count("archived") == 10
    tenant.clock.now = (await read(tenant, queued.job_id)).run_at
    assert await runner.run_one() is Outcome.SUCCEEDED
    assert await states(tenant) == ["archived"] * 15 + ["active"] * 5
    events = await tenant.fetch("select event, count(*) from memory_events group by event order by event")
    assert [tuple(row) for row in events] == [("archived", 15), ("migrated", 5)]


async def test_a_policy_that_is_off_is_left_alone(tenant: Tenant) -> None:
    await tenant.encode("Idle talk")
    await tenant.engine.upkeep.set_policy(tenant.principal, PolicyChanges({"enabled": False}))
    tenant.clock.advance(days=50)
    kind = new_kind(decay.run)
    await enqueue(tenant, kind, await namespace_id_of(tenant))
    assert await make_runner(tenant.database, tenant.clock, kind).run_one() is Outcome.SUCCEEDED
    assert await states(tenant) == ["active"]


async def test_a_namespace_that_is_gone_is_nothing_to_do(tenant: Tenant) -> None:
    kind = new_kind(decay.run)
    await enqueue(tenant, kind, 4711)
    assert await make_runner(tenant.database, tenant.clock, kind).run_one() is Outcome.SUCCEEDED
