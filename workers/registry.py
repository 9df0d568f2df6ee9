"""List what workers do: kinds of jobs, and the rounds of upkeep that need none."""

from workers.kinds import Kind
from workers.schedule import Task
from workers.tasks import (
    consolidate,
    decay,
    erase,
    erase_organization,
    expire,
    index_vectors,
    purge_answers,
    purge_jobs,
    purge_recalls,
    reembed,
    ring_intentions,
)

# Done for one tenant when somebody asks or a schedule says so. Each module of `workers/tasks` that does a kind of job
# names it KIND.
KINDS: tuple[Kind, ...] = (consolidate.KIND, decay.KIND, erase.KIND, erase_organization.KIND, reembed.KIND)

# Done across all tenants again and again, as long as there is something to do.
TASKS: tuple[Task, ...] = (
    Task("index_vectors", rest_seconds=5.0, run=index_vectors.run),
    Task("purge_answers", rest_seconds=600.0, run=purge_answers.run),
    Task("purge_jobs", rest_seconds=600.0, run=purge_jobs.run),
    Task("purge_recalls", rest_seconds=600.0, run=purge_recalls.run),
    Task("expire", rest_seconds=600.0, run=expire.run),
    Task("ring_intentions", rest_seconds=5.0, run=ring_intentions.run),
)
