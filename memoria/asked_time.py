"""Find the time that a query asks about, and what happened then: a date that it names, or an event as its bound."""

import functools
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from memoria import embeddings, memories
from memoria.database import Connection
from memoria.lexical import query_terms
from memoria.records import TimeRange
from memoria.seeding import Floats, Ids, Lexical, Place, Visibility, score_lexical
from memoria.time_ranges import EventPhrase, find_event, find_time_range, nearness
from memoria.vocabulary import (
    EVENT_DAYS,
    EVENT_LEAD,
    EVENT_RIVALS,
    TIME_ALONE_BOOST,
    TIME_ALONE_SEED,
    TIME_BOOST,
    TIMED_COMPARED,
    TIMED_SEEDS,
    Granularity,
)

# What asks for whatever there was.
_EMPTY_WORDS = (
    "anything chat conversation discuss discussed do everything go going happen happened happening know memories "
    "memory mention mentioned new news recap remember said say something stuff summarise summarize summary talk "
    "talked tell thing things told went work worked קרה היה עשיתי עשינו דיברנו אמרתי אמרת"
)
WHOLE = 1.0 - 1e-9  # coverage of a memory that holds all words


@dataclass(frozen=True, slots=True)
class AskedTime:
    """Hold the time that a query asks about; `alone` says that it asks for nothing else."""

    range: TimeRange
    alone: bool

    @property
    def seed(self) -> float:
        """Return the activation that what happened then has at the least."""
        return TIME_ALONE_SEED if self.alone else 0.0

    def boost(self, moments: npt.NDArray[np.datetime64]) -> Floats:
        """Return the multiplier of the score of what happened at these moments (in UTC); 1 far from the time."""
        most = TIME_ALONE_BOOST if self.alone else TIME_BOOST
        boosted: Floats = 1.0 + (most - 1.0) * nearness(moments, self.range)
        return boosted


async def find_asked_time(
    connection: Connection, place: Place, visibility: Visibility, query: str, viewpoint: datetime, time_zone: str
) -> AskedTime | None:
    """Read which time a query asks about, as of a moment; None where it names none.

    An event is the visible memory that holds all of its words and scores clearly best for them: when it happened is
    the bound.
    """
    named = find_time_range(query, viewpoint, ZoneInfo(time_zone))
    if named is not None:
        return AskedTime(named, _asks_nothing_else(query, named.phrase))
    event = find_event(query)
    if event is None:
        return None
    happened = await _find_moment(connection, place, await score_lexical(connection, place, visibility, event.words))
    return None if happened is None else AskedTime(_beside(happened, event), alone=False)


def _asks_nothing_else(query: str, phrase: str) -> bool:
    return query_terms(query).keys() <= query_terms(phrase).keys() | _empty_terms()


@functools.cache
def _empty_terms() -> frozenset[str]:
    return frozenset(term for word in _EMPTY_WORDS.split() for term in query_terms(word))


async def _find_moment(connection: Connection, place: Place, found: Lexical) -> datetime | None:
    """Find when an event was: what scores like the best must be of the same days, and all its words be in the best."""
    if not len(found.ids):
        return None
    rivals = np.flatnonzero(found.scores * EVENT_LEAD >= found.scores.max())
    best = rivals[np.argmax(found.scores[rivals])]
    if found.coverages[best] < WHOLE or len(rivals) > EVENT_RIVALS:
        return None
    read = await memories.read_memories(connection, place.org_id, found.ids[rivals].tolist())
    moments = [memory.occurred_at for memory in read.values()]
    if not moments or max(moments) - min(moments) > timedelta(days=EVENT_DAYS):
        return None
    known = read.get(int(found.ids[best]))
    return known.occurred_at if known else None


def _beside(happened: datetime, event: EventPhrase) -> TimeRange:
    start, end = (None, happened) if event.ends_it else (happened, None)
    return TimeRange(start, end, event.phrase, Granularity.EVENT)


async def find_timed(
    connection: Connection, place: Place, visibility: Visibility, vector: np.ndarray, asked: TimeRange
) -> Ids:
    """Find what happened in the asked time and is nearest to the query: it is a candidate, however many are nearer."""
    nearest = await embeddings.find_nearest_in_time(
        connection,
        place.org_id,
        place.namespace,
        vector,
        since=asked.start,
        until=asked.end,
        compared=TIMED_COMPARED,
    )
    return nearest.ids[visibility.mask(nearest.ids)][:TIMED_SEEDS]
