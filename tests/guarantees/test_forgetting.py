"""In a year of use nothing pinned is lost, and nothing is forgotten before its policy says so."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest

from benchmarks.year.checks import check_year
from benchmarks.year.life import DAYS, SORTS, plan_year
from benchmarks.year.simulation import BEGIN, Clock, live
from memoria.database import Database
from memoria.embedding import FakeEmbedder
from memoria.engine import Engine
from memoria.vocabulary import Tier
from tests.invariants import broken_invariants
from tests.tenants import Clock as TenantClock
from tests.tenants import Tenant, open_tenant

pytestmark = pytest.mark.anyio


@pytest.fixture
async def dweller(engine_database: Database) -> tuple[Tenant, Clock]:
    """An organization that lives in the simulated year, and its clock."""
    clock = Clock()
    tenant = await open_tenant(engine_database, TenantClock(BEGIN), "year")
    return replace(tenant, engine=Engine(engine_database, FakeEmbedder(), clock)), clock


async def test_a_year_goes_by_the_policy(dweller: tuple[Tenant, Clock]) -> None:
    tenant, clock = dweller
    year = await live(tenant.engine, tenant.principal, clock, plan_year(120))
    assert await check_year(tenant.engine, tenant.principal, year) == []
    assert await broken_invariants(tenant) == {}
    last = year.months[-1]
    # A year in which nothing happened would prove nothing.
    assert len(year.months) == 12
    assert last.archived > len(year.ids) / 4
    assert all(last.by_tier[tier] for tier in (Tier.BUFFER, Tier.EPISODIC, Tier.SEMANTIC))
    assert sum(month.moved_up for month in year.months) > 0
    assert sum(month.moved_down for month in year.months) > 0
    assert sum(month.deleted for month in year.months) > 0
    assert sum(month.found for month in year.months) > 100


async def test_a_move_against_the_policy_would_be_noticed(dweller: tuple[Tenant, Clock]) -> None:
    tenant, clock = dweller
    year = await live(tenant.engine, tenant.principal, clock, plan_year(30))
    (pinned, *_) = [memory_id for memory_id, memory in year.ids.items() if memory.sort.pinned]
    (active, *_) = [memory_id for memory_id, memory in year.ids.items() if memory.sort.name == "rule"]
    await tenant.engine.forget(tenant.principal, active)
    await tenant.engine.archive(tenant.principal, pinned)
    faults = await check_year(tenant.engine, tenant.principal, year)
    assert len({fault.partition(":")[0] for fault in faults}) == 2
    assert any("was deleted" in fault for fault in faults)
    assert any("is to be kept" in fault for fault in faults)


def test_the_planned_year_is_mixed_and_repeatable() -> None:
    planned = plan_year(1000)
    assert planned == plan_year(1000)
    counts = Counter(memory.sort.name for memory in planned)
    assert counts == {sort.name: round(sort.share * 1000) for sort in SORTS}
    assert planned[-1].day == DAYS - 1
    assert timedelta(days=planned[0].day) == timedelta()
