"""Apply a namespace's retention policy, once a day.

Each step is a transaction. An attempt that is broken off leaves what its steps did; the next one looks at all memories
again, finds those that have moved where they belong, and does the rest.
"""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from memoria.decay import Counts, Step, apply_policy
from memoria.policies import read_policy
from memoria.vocabulary import JobKind
from workers.kinds import Kind, Schedule
from workers.running import RunningJob


async def run(job: RunningJob) -> Mapping[str, Any]:
    """Move, archive and delete what the policy says, and return how many of each."""
    namespace_id, now, seen = job.namespace_id, job.now, 0
    counts, step = Counts(), Step(Counts(), 0, 0, done=namespace_id is None)
    while namespace_id is not None and not step.done:
        async with job.transaction() as connection:
            policy = await read_policy(connection, job.org_id, namespace_id)
            if not policy.enabled:
                break
            step = await apply_policy(connection, job.org_id, namespace_id, policy, now, after=step.after)
        counts, seen = counts + step.counts, seen + step.seen
        await job.report(seen)
    return asdict(counts)


KIND = Kind(JobKind.DECAY, run, schedule=Schedule(timedelta(days=1)))
