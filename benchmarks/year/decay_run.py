"""Measure one run of a policy over a large namespace: seconds, and how much memory of the process it takes."""

import time
import tracemalloc
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from memoria.database import Database
from memoria.decay import Counts, Step, apply_policy
from memoria.records import Policy

NAMESPACE_ID = 1
# A fifth each: fading, risen by use, idle and slight, pinned, fresh.
FILL = """
    insert into memories (org_id, memory_id, namespace_id, content, type, tier, salience, utility, confidence, pinned,
                          access_count, occurred_at, created_at, updated_at, last_accessed_at, content_hash,
                          duplicate_hash)
    select $1, n, $2, 'Note ' || n, 'Episodic',
           case when n % 5 in (0, 1) then 'Buffer' else 'Episodic' end,
           case when n % 5 = 2 then 0.1 else 0.3 end, 0.5, 0.8, n % 5 = 3, case when n % 5 = 1 then 3 else 0 end,
           $3::timestamptz, $3, $3,
           $3::timestamptz - make_interval(days => case n % 5 when 1 then 3 when 4 then 0 else 100 end),
           sha256(n::text::bytea), sha256(n::text::bytea)
    from generate_series(1::bigint, $4::bigint) n
"""


@dataclass(frozen=True, slots=True)
class Run:
    """Be one run: what it did, its seconds, and the most bytes that Python held for it at once."""

    counts: Counts
    steps: int
    seconds: float
    slowest_step_seconds: float
    peak_bytes: int


async def fill(database: Database, org_id: UUID, now: datetime, memories: int) -> None:
    """Store memories straight into the tables: a run looks at nothing that encoding would add."""
    async with database.tenant(org_id) as connection:
        raw = connection._raw
        await raw.execute(
            "insert into namespaces (org_id, namespace_id, name, embedder, memory_count, created_at)"
            " values ($1, $2, 'large', 'none', $4, $3)",
            org_id,
            NAMESPACE_ID,
            now,
            memories,
        )
        await raw.execute(FILL, org_id, NAMESPACE_ID, now, memories, timeout=600)


async def run_policy(database: Database, org_id: UUID, now: datetime, *, trace: bool = False) -> Run:
    """Apply the default policy, step by step, as the worker does. Tracing memory slows it down."""
    counts, step, steps, slowest = Counts(), Step(Counts(), 0, 0, done=False), 0, 0.0
    if trace:
        tracemalloc.start()
    began = time.perf_counter()
    while not step.done:
        at = time.perf_counter()
        async with database.tenant(org_id) as connection:
            step = await apply_policy(connection, org_id, NAMESPACE_ID, Policy(), now, after=step.after)
        slowest = max(slowest, time.perf_counter() - at)
        counts, steps = counts + step.counts, steps + 1
    seconds = time.perf_counter() - began
    peak = tracemalloc.get_traced_memory()[1] if trace else 0
    tracemalloc.stop()
    return Run(counts, steps, seconds, slowest, peak)


def next_day(now: datetime) -> datetime:
    """Return the moment of the next day's run."""
    return now + timedelta(days=1)
