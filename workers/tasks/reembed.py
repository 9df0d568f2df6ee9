"""Give a namespace the vectors of the embedder that the servers run, and this worker too.

They are made batch by batch beside those that serve; when the last one is there, they take their place at once. An
attempt goes on where an earlier one has ended.
"""

from collections.abc import Mapping
from typing import Any

import asyncpg

from memoria import staged_embeddings
from memoria.embedding import Embedder
from memoria.errors import InvalidInputError, UnavailableError
from memoria.reembed import change_over, embed_directions, embed_texts
from memoria.vocabulary import JobKind
from workers.kinds import Kind
from workers.running import RunningJob

BATCH_MEMORIES = 64  # a batch is embedded in a second or less by the bundled model
STORED_DIMENSIONS = 384  # of the column that vectors are kept in


async def run(job: RunningJob) -> Mapping[str, Any]:
    """Re-embed the job's namespace, and return how many memories were embedded."""
    embedder, embedded = await job.embedder(), 0
    while job.namespace_id is not None:
        async with job.transaction() as connection:
            found = await staged_embeddings.read_embedder(connection, job.org_id, job.namespace_id)
            if found is None or found[0] == job.payload["embedder"]:
                break
            _require_wanted(embedder, job.payload)
            done = await staged_embeddings.begin(connection, job.org_id, job.namespace_id, embedder.name)
        embedded += await _stage_all(job, job.namespace_id, embedder, done, total=found[1])
        if await _change_over(job, job.namespace_id, embedder):
            break
    return {"embedder": embedder.name, "embedded": embedded}


def _require_wanted(embedder: Embedder, payload: Mapping[str, Any]) -> None:
    if embedder.name != payload["embedder"]:
        # Workers may be changing from one to the other: the next attempt is perhaps one of the others'.
        raise UnavailableError(f"The servers run {payload['embedder']}, and the worker runs {embedder.name}.")
    if embedder.dimensions != STORED_DIMENSIONS:
        message = f"Vectors of {STORED_DIMENSIONS} dimensions are stored; {embedder.name} makes {embedder.dimensions}."
        raise InvalidInputError(message)


async def _stage_all(job: RunningJob, namespace_id: int, embedder: Embedder, done: int, total: int) -> int:
    after, embedded = 0, 0
    while True:
        async with job.transaction() as connection:
            batch = await staged_embeddings.list_unstaged(
                connection, job.org_id, namespace_id, after=after, limit=BATCH_MEMORIES
            )
        if not batch:
            return embedded
        staged = await embed_texts(embedder, batch)
        try:
            async with job.transaction() as connection:
                await staged_embeddings.stage(connection, job.org_id, namespace_id, embedder.name, staged)
        except asyncpg.ForeignKeyViolationError:
            continue  # a memory was deleted in this moment: the batch is read again without it
        after, embedded = batch[-1].memory_id, embedded + len(batch)
        await job.report(min(done + embedded, total), total)


async def _change_over(job: RunningJob, namespace_id: int, embedder: Embedder) -> bool:
    async with job.transaction() as connection:
        queries = await staged_embeddings.list_dampened_queries(connection, job.org_id, namespace_id)
        triggers = await staged_embeddings.list_trigger_texts(connection, job.org_id, namespace_id)
    directions = await embed_directions(embedder, queries, triggers.values())
    try:
        async with job.transaction() as connection:
            return await change_over(connection, job.org_id, namespace_id, embedder.name, directions)
    except asyncpg.DeadlockDetectedError:
        return False  # against an edit, which goes first


KIND = Kind(JobKind.REEMBED, run)
