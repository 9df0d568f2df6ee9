"""Learn from recalls once they are answered: what was recalled is fresh again, what came up together is joined.

Recalls are noted in memory and written in the background, at the latest a second later; a crash may lose that second of
learning, never a memory. What is written is also what feedback refers to.
"""

import asyncio
import contextlib
import logging
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from uuid import UUID

import asyncpg
import numpy as np

from memoria import edges, memories
from memoria.database import Connection, Database
from memoria.errors import UnavailableError
from memoria.recall import Ground, Plan
from memoria.recalls import Recalled, Result, asked_before, asks_again, insert_recalls
from memoria.records import Hit, Principal
from memoria.vocabulary import CO_RETRIEVAL_GAIN, CO_RETRIEVAL_RESULTS

FLUSH_SECONDS = 0.5
MOST_WAITING = (
    10_000  # recalls noted and not written; beyond it the oldest lesson is let go, not the memory of the process
)

# Lost to another transaction, which may have deleted the namespace or the memories: the next try passes those over.
RACES = (asyncpg.DeadlockDetectedError, asyncpg.ForeignKeyViolationError)

log = logging.getLogger(__name__)


class RecallLearner:
    """Take notes of recalls without delaying them, and write them in the background."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: deque[Recalled] = deque(maxlen=MOST_WAITING)
        self._task: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._writing = asyncio.Lock()

    def start(self) -> None:
        """Begin to write in the background; call it on the event loop that recalls run on."""
        self._task = asyncio.get_running_loop().create_task(self._run(), name="recall-learner")

    def note(self, recalled: Recalled) -> None:
        """Remember one recall until it is written."""
        self._waiting.append(recalled)

    def has_noted(self, recall_id: int) -> bool:
        """Say whether a recall waits to be written."""
        return any(recalled.recall_id == recall_id for recalled in self._waiting)

    async def was_asked(self, connection: Connection, asking: Recalled) -> bool:
        """Say whether the same key asked much the same in the same namespace a moment ago."""
        if any(asks_again(asking, earlier) for earlier in self._waiting):
            return True
        return await asked_before(connection, asking.org_id, asking)

    async def flush(self) -> None:
        """Write what is noted, one transaction a tenant. What cannot be written now is tried again later."""
        async with self._writing:  # whoever asks meanwhile waits for what is being written
            await self._write_waiting()

    async def _write_waiting(self) -> None:
        notes = list(self._waiting)
        self._waiting.clear()
        by_tenant: dict[UUID, list[Recalled]] = {}
        for note in notes:
            by_tenant.setdefault(note.org_id, []).append(note)
        for org_id, own in by_tenant.items():
            try:
                async with self._database.tenant(org_id) as connection:
                    await write_recalls(connection, org_id, own)
            except (UnavailableError, *RACES) as error:
                log.warning("recalls wait to be written: %s", type(error).__name__)
                self._waiting.extendleft(reversed(own))
            except asyncpg.PostgresError as error:
                # What Postgres refuses once it would refuse for ever; the lessons after it still count.
                log.error("recalls cannot be written: %s", type(error).__name__)

    async def close(self) -> None:
        """Stop, and write what is noted."""
        self._closing.set()
        if self._task is not None:
            await self._task
        await self.flush()

    async def _run(self) -> None:
        while not self._closing.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), FLUSH_SECONDS)
            await self.flush()


async def write_recalls(connection: Connection, org_id: UUID, recalls: Sequence[Recalled]) -> None:
    """Store recalls, raise access counts and times, and strengthen the CoRetrieval edges between the best results.

    A recall that is stored already teaches nothing more: it is safe to write one twice.
    """
    stored = await insert_recalls(connection, org_id, recalls)
    fresh = [recalled for recalled in recalls if recalled.recall_id in stored]
    found = sorted({memory_id for recalled in fresh for memory_id in recalled.ids})
    if not found:
        return
    documents = await memories.list_documents(connection, org_id, found)
    accesses = Counter(memory_id for recalled in fresh for memory_id in with_documents(recalled.ids, documents))
    now = max(recalled.at for recalled in fresh)
    await memories.record_accesses(connection, org_id, accesses, now)
    pairs = Counter(pair for recalled in fresh for pair in co_retrieved(recalled.ids))
    await edges.strengthen_co_retrieval(connection, org_id, pairs, gain=CO_RETRIEVAL_GAIN, now=now)


def with_documents(ids: Sequence[int], documents: Mapping[int, int]) -> set[int]:
    """Add the documents of recalled parts: a document was used when a part of it was, once a recall."""
    return {*ids, *(documents[memory_id] for memory_id in ids if memory_id in documents)}


def co_retrieved(ids: Sequence[int]) -> Iterable[tuple[int, int]]:
    """Pair the best results of one recall, each pair once, lower id first."""
    return combinations(sorted(ids[:CO_RETRIEVAL_RESULTS]), 2)


def note_recall(
    principal: Principal,
    plan: Plan,
    ground: Ground | None,
    vector: np.ndarray | None,
    recall_id: int,
    hits: Sequence[Hit],
) -> Recalled | None:
    """Note what a recall answered; None where the namespace does not exist, since there is nothing to learn."""
    if ground is None:
        return None
    results = tuple(
        Result(hit.memory.id, hit.score, hit.seed_id, tuple((step.edge_type, step.memory_id) for step in hit.path))
        for hit in hits
    )
    place = ground.place
    return Recalled(
        principal.org_id, recall_id, place.namespace.id, principal.key_id, plan.query, vector, results, place.now
    )
