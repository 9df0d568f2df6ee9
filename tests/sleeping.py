"""Shortcuts for tests of consolidation: texts that repeat, and a run that is waited for."""

from typing import Any

from memoria.consolidation_records import Consolidated, ConsolidationAnswer, Counts
from memoria.records import Memory
from memoria.vocabulary import MemoryState, MemoryType, Source
from tests.tenants import Tenant

BASE = "The staging database of the shop is called heron and runs on port 5433 in the cellar"
REPEATED = (BASE, f"{BASE}.", f"{BASE}!")


async def consolidate(tenant: Tenant, **options: Any) -> Counts:
    """Consolidate at once and return the counts."""
    answer = await tenant.engine.consolidation.consolidate(tenant.principal, wait=True, **options)
    assert isinstance(answer, ConsolidationAnswer)
    assert isinstance(answer.done, Consolidated)
    return answer.done.counts


async def store(tenant: Tenant, *texts: str, minutes: float = 60, **fields: Any) -> list[int]:
    """Store texts, each so many minutes after the one before."""
    ids = []
    for text in texts:
        ids.append((await tenant.encode(text, **fields)).id)
        tenant.clock.advance(minutes=minutes)
    return ids


async def made(tenant: Tenant, memory_type: MemoryType = MemoryType.SEMANTIC, **options: Any) -> list[Memory]:
    """List what the service made: summaries, or with `Episodic` episodes."""
    page = await tenant.engine.list_memories(tenant.principal, **options)
    return [memory for memory in page.items if memory.source is Source.SYSTEM and memory.type is memory_type]


async def states(tenant: Tenant, ids: list[int]) -> list[MemoryState]:
    """Read the states of memories."""
    return [(await tenant.engine.get(tenant.principal, memory_id)).state for memory_id in ids]


async def events(tenant: Tenant, memory_id: int) -> list[str]:
    """Name the events of a memory's history."""
    return [entry.event for entry in await tenant.engine.history(tenant.principal, memory_id)]
