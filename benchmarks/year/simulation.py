"""Live through a year with the engine's clock: store, recall and mark each day, then apply the policy."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from benchmarks.year.life import DAYS, Planned
from memoria.decay import delete_expired
from memoria.engine import Engine
from memoria.records import Encoded, Filters, PolicyChanges, Principal, PruneResult, RecallRequest
from memoria.reward import Feedback
from memoria.vocabulary import MemoryState

BEGIN = datetime(2026, 1, 1, 6, 0, tzinfo=UTC)
DAYS_A_MONTH = DAYS / 12
PAGE = 200


class Clock:
    """Tell the time of the simulation."""

    def __init__(self) -> None:
        self.now = BEGIN

    def __call__(self) -> datetime:
        """Read the clock."""
        return self.now


@dataclass(slots=True)
class Month:
    """Count what there is at the end of a month, and what happened in it."""

    by_tier: Counter[str] = field(default_factory=Counter)
    archived: int = 0
    deleted: int = 0
    moved_up: int = 0
    moved_down: int = 0
    found: int = 0
    missed: int = 0


@dataclass(slots=True)
class Year:
    """Keep the books of the simulation, apart from the engine's own."""

    ids: dict[int, Planned] = field(default_factory=dict)
    stored_at: dict[int, datetime] = field(default_factory=dict)
    used_at: dict[int, list[datetime]] = field(default_factory=lambda: defaultdict(list))
    months: list[Month] = field(default_factory=list)
    ended_at: datetime = BEGIN


async def live(engine: Engine, principal: Principal, clock: Clock, planned: list[Planned]) -> Year:
    """Live through the year and return its books."""
    year, month = Year(), Month()
    stored_on, needed_on = defaultdict(list), defaultdict(list)
    for memory in planned:
        stored_on[memory.day].append(memory)
        for day in memory.needed_on:
            needed_on[day].append(memory)
    for day in range(DAYS):
        clock.now = BEGIN + timedelta(days=day)
        await _store(engine, principal, clock, stored_on[day], year)
        for memory in needed_on[day]:
            clock.now += timedelta(minutes=1)
            await _need(engine, principal, clock, memory, day, year, month)
        await engine.write_lessons()
        clock.now = BEGIN + timedelta(days=day, hours=18)
        await _apply(engine, principal, clock, month)
        if int((day + 1) / DAYS_A_MONTH) > len(year.months):
            await _take_stock(engine, principal, year, month)
            month = Month()
    year.ended_at = clock.now
    return year


async def _store(engine: Engine, principal: Principal, clock: Clock, planned: list[Planned], year: Year) -> None:
    if not planned:
        return
    outcomes = await engine.encode_batch(principal, [memory.new for memory in planned])
    assert isinstance(outcomes, tuple)
    for memory, outcome in zip(planned, outcomes, strict=True):
        assert isinstance(outcome, Encoded)
        year.ids[outcome.memory.id] = memory
        year.stored_at[outcome.memory.id] = clock.now


async def _need(
    engine: Engine, principal: Principal, clock: Clock, memory: Planned, day: int, year: Year, month: Month
) -> None:
    """Recall a memory by its own words, and mark it where it helped; what is forgotten is missed."""
    recall = await engine.recall(principal, RecallRequest(memory.new.content, limit=1))
    hit = next(iter(recall.hits), None)
    if hit is not None:
        year.used_at[hit.memory.id].append(clock.now)
    if hit is None or hit.memory.content != memory.new.content:
        month.missed += 1
        return
    month.found += 1
    if day in memory.useful_on:
        await engine.learning.feedback(principal, Feedback(hit.memory.id, useful=True, recall_id=recall.recall_id))


async def _apply(engine: Engine, principal: Principal, clock: Clock, month: Month) -> None:
    """Do what workers do once a day."""
    result = await engine.upkeep.prune(principal, PolicyChanges())
    assert isinstance(result, PruneResult)
    month.moved_up += result.moved_up
    month.moved_down += result.moved_down
    async with engine.database.tenant(principal.org_id) as connection:
        await delete_expired(connection, principal.org_id, clock.now)


async def _take_stock(engine: Engine, principal: Principal, year: Year, month: Month) -> None:
    include, cursor, total = ("archived", "expired"), None, 0
    while True:
        page = await engine.list_memories(principal, filters=Filters(), include=include, limit=PAGE, cursor=cursor)
        total = page.total
        for memory in page.items:
            if memory.state is MemoryState.ARCHIVED:
                month.archived += 1
            else:
                month.by_tier[memory.tier] += 1
        if (cursor := page.next_cursor) is None:
            break
    month.deleted = len(year.ids) - total
    year.months.append(month)
