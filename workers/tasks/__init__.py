"""Hold one module a kind of job, and one a task of upkeep; each says in its docstring what it does.

A kind of job is a function and a description of it:

    async def run(job: RunningJob) -> Mapping[str, Any] | None:
        for done, batch in enumerate(batches, 1):
            prepared = await compute(batch)                   # no connection is held
            async with job.transaction() as connection:       # commits only while the job is ours
                await store(connection, job.org_id, prepared)
            await job.report(done, len(batches))              # and stop here when told to
        return {"stored": len(batches)}

    KIND = Kind(JobKind.EXAMPLE, run, schedule=Schedule(timedelta(days=1)))

Its name is added to `JobKind` in the engine's vocabulary, and KIND to `workers/registry.py`. Code of the engine
enqueues it with `memoria.jobs.enqueue` in the transaction that wants it done.
"""
