"""Describe a kind of job: what runs it, how often it may fail, and when a schedule enqueues it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from memoria.vocabulary import MAX_JOB_FAILURES
from workers.running import RunningJob

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Run = Callable[[RunningJob], Awaitable[Mapping[str, Any] | None]]


class Place(StrEnum):
    """Say what a schedule makes one job for."""

    NAMESPACE = "namespace"
    ORGANIZATION = "organization"


@dataclass(frozen=True, slots=True)
class Schedule:
    """Enqueue one job a place and period, however many workers there are; periods are counted from 1970 in UTC."""

    every: timedelta
    place: Place = Place.NAMESPACE

    def period(self, now: datetime) -> datetime:
        """Return the beginning of the period that `now` is in."""
        return now - (now - EPOCH) % self.every


@dataclass(frozen=True, slots=True)
class Kind:
    """Be a kind of job. `run` does one and returns its result: counts and ids, never what a user wrote.

    An attempt may be the second one: another may have died at any point, so `run` either changes things in
    `job.transaction()` alone, with `job.complete` in the last one, or does what is harmless to repeat. It holds no
    transaction while it embeds or computes, and calls `job.check()` or `job.report()` every second or so, which
    raise when the worker is stopping or the job has been taken over. Work that keeps a processor busy for longer
    goes into a thread, so that heartbeats are sent meanwhile. InvalidInputError, NotFoundError and ForbiddenError
    end the job at once; any other error is tried again.
    """

    name: str
    run: Run
    schedule: Schedule | None = None
    max_failures: int = MAX_JOB_FAILURES
