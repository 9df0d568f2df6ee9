"""Count what a worker does and what waits, for Prometheus."""

from collections.abc import Sequence
from datetime import datetime

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from memoria import jobs
from memoria.database import Database
from memoria.job_records import JobCount
from memoria.vocabulary import JobState
from workers.runner import Ended
from workers.schedule import Task

COUNT_SECONDS = 15.0
RUN_SECONDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3600.0)


class JobMetrics:
    """Hold the metrics of one worker. What it counts of the queue is the same in every worker: take the maximum."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        registry = self.registry
        self._ended = Counter("memoria_jobs", "Attempts at jobs that ended.", ("kind", "outcome"), registry=registry)
        self._seconds = Histogram(
            "memoria_job_seconds", "Time that attempts took.", ("kind",), buckets=RUN_SECONDS, registry=registry
        )
        self._waited = Histogram(
            "memoria_job_wait_seconds",
            "Time from when a job could run until it did.",
            ("kind",),
            buckets=RUN_SECONDS,
            registry=registry,
        )
        self._queue = Gauge("memoria_job_queue", "Jobs in a state.", ("kind", "state"), registry=registry)
        self._oldest = Gauge(
            "memoria_job_oldest_seconds",
            "For how long the first in the queue could have run.",
            ("kind",),
            registry=registry,
        )

    def note(self, ended: Ended) -> None:
        """Count an attempt that ended."""
        kind = ended.job.kind
        self._ended.labels(kind, str(ended.outcome)).inc()
        self._seconds.labels(kind).observe(ended.seconds)
        self._waited.labels(kind).observe(ended.job.waited_seconds)

    def show_queue(self, counts: Sequence[JobCount], now: datetime) -> None:
        """Show how many jobs are queued, run and are dead."""
        self._queue.clear()
        self._oldest.clear()
        for count in counts:
            self._queue.labels(count.kind, str(count.state)).set(count.jobs)
            if count.state is JobState.QUEUED and count.oldest is not None:
                self._oldest.labels(count.kind).set(max(0.0, (now - count.oldest).total_seconds()))

    def count_task(self) -> Task:
        """Make the task that counts the queue."""

        async def run(database: Database, now: datetime) -> int:
            async with database.untenanted() as connection:
                self.show_queue(await jobs.count_jobs_of_all(connection), now)
            return 0

        return Task("count_jobs", rest_seconds=COUNT_SECONDS, run=run)
