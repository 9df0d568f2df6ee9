"""Check a year's books against the policy, by a second reading of the table of tiers that shares no code with it."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from benchmarks.year.simulation import Year
from memoria.engine import Engine
from memoria.errors import NotFoundError
from memoria.records import HistoryEntry, Memory, Principal
from memoria.vocabulary import MemoryState

HALF_LIFE = {"Buffer": 7, "Episodic": 30, "Semantic": 180, "Core": 365}
TIERS = list(HALF_LIFE)
DOWN = {"Episodic": (60, 0.3), "Semantic": (365, 0.4), "Core": (730, 0.5)}
DAY = timedelta(days=1)
GRACE_DAYS = 30


@dataclass(frozen=True, slots=True)
class Life:
    """Be one memory's life: what it is now (None when deleted), its events, and when it was used, by our own books."""

    memory: Memory | None
    events: tuple[HistoryEntry, ...]
    used_at: list[datetime]
    stored_at: datetime
    name: str
    is_kept: bool
    ttl_days: int | None

    def idle_days(self, at: datetime) -> float:
        """Count the days since the last use before a moment."""
        last = max([self.stored_at, *(used for used in self.used_at if used <= at)])
        return (at - last) / DAY

    def uses(self, at: datetime) -> int:
        """Count the recalls that returned it before a moment."""
        return sum(used <= at for used in self.used_at)


async def check_year(engine: Engine, principal: Principal, year: Year) -> list[str]:
    """Return what went against the policy; empty for a good year."""
    faults = []
    for memory_id in year.ids:
        life = await _read(engine, principal, year, memory_id)
        faults += [f"{life.name}: {fault}" for fault in _faults(life, year.ended_at)]
    return faults


async def _read(engine: Engine, principal: Principal, year: Year, memory_id: int) -> Life:
    planned = year.ids[memory_id]
    try:
        memory = await engine.get(principal, memory_id)
        events = await engine.history(principal, memory_id)
    except NotFoundError:
        memory, events = None, ()
    return Life(
        memory,
        events,
        year.used_at[memory_id],
        year.stored_at[memory_id],
        f"{planned.sort.name} {planned.number}",
        planned.sort.pinned or planned.sort.confidence >= 0.9,
        planned.sort.ttl_days,
    )


def _faults(life: Life, end: datetime) -> list[str]:
    if life.memory is None:
        due = life.ttl_days is not None and life.stored_at + (life.ttl_days + GRACE_DAYS) * DAY <= end
        return [] if due else ["was deleted"]
    moves = [event for event in life.events if event.event in ("migrated", "archived", "restored")]
    faults = [fault for event in moves for fault in _faults_of(life, life.memory, event, moves)]
    if life.is_kept and life.memory.state is not MemoryState.ACTIVE:
        faults.append("is to be kept and has left recall")
    expired = life.ttl_days is not None and life.stored_at + life.ttl_days * DAY <= end
    if life.memory.state is MemoryState.ACTIVE and life.memory.tier == "Buffer" and not life.is_kept and not expired:
        kept = _retention(life, life.memory.salience, end)
        if kept < 0.05:
            faults.append(f"is in recall with a retention of {kept:.4f}")
    return faults


def _faults_of(life: Life, memory: Memory, event: HistoryEntry, moves: list[HistoryEntry]) -> list[str]:
    if event.event == "restored":
        return ["was restored, though nobody asked"]
    if event.event == "archived":
        tier = _tier_before(memory, event, moves)
        kept = _retention(life, memory.salience, event.at)
        fine = tier == "Buffer" and kept < 0.05 and not life.is_kept
        return [] if fine else [f"was archived from {tier} with a retention of {kept:.4f}"]
    before, after = event.fields["from"], event.fields["to"]
    said = f"moved from {before} to {after}"
    if TIERS.index(after) < TIERS.index(before):
        days, salience = DOWN[before]
        one_step = TIERS.index(before) - TIERS.index(after) == 1
        fine = one_step and life.idle_days(event.at) > days and memory.salience < salience and not life.is_kept
        return [] if fine else [f"{said}, {life.idle_days(event.at):.1f} days idle at {memory.salience}"]
    earned = all(_earned(life, memory, tier, event.at) for tier in TIERS[TIERS.index(before) : TIERS.index(after)])
    return [] if earned else [f"{said} with {life.uses(event.at)} uses at {memory.salience}"]


def _earned(life: Life, memory: Memory, tier: str, at: datetime) -> bool:
    uses, salience = life.uses(at), memory.salience
    if tier == "Buffer":
        return salience >= 0.5 or uses >= 2
    if tier == "Episodic":
        return salience >= 0.6 and uses >= 5
    return salience >= 0.85 and uses >= 15 and memory.utility >= 0.6


def _retention(life: Life, salience: float, at: datetime) -> float:
    """Compute what is retained in Buffer, the one tier that is left for the archive."""
    kept: float = 0.5 ** (life.idle_days(at) / (HALF_LIFE["Buffer"] * (1 + salience)))
    return kept


def _tier_before(memory: Memory, event: HistoryEntry, moves: list[HistoryEntry]) -> str:
    """Tell the tier at an event: where the last move before it led, else where the next one began, else the last."""
    earlier = [move.fields["to"] for move in moves if move.event == "migrated" and move.at < event.at]
    later = [move.fields["from"] for move in moves if move.event == "migrated" and move.at > event.at]
    return str([*later[:1], memory.tier][0] if not earlier else earlier[-1])
