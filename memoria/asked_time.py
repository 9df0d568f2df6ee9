"""Find the time that a query asks about, and what happened then: a date that it names, or an event as its bound."""

import re
from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np

from memoria import embeddings, memories
from memoria.database import Connection
from memoria.records import TimeRange
from memoria.seeding import Ids, Place, Visibility, score_lexical
from memoria.time_ranges import find_time_range
from memoria.vocabulary import EVENT_LEAD, TIMED_SEEDS

# "before the migration", "since our last outage": some words after a preposition of time and an article.
_EVENT = re.compile(
    r"\b(?P<bound>before|after|since|until)\s+(?:the|our|my|we|a|an)\s+(?P<event>\w[\w'-]*(?:\s\w[\w'-]*){0,3})",
    re.IGNORECASE,
)


async def find_asked_time(
    connection: Connection, place: Place, visibility: Visibility, query: str, viewpoint: datetime, time_zone: str
) -> TimeRange | None:
    """Read which time a query asks about, as of a moment; None where it names none.

    An event is the visible memory that holds all of its words and scores clearly best for them: when it happened is
    the bound.
    """
    named = find_time_range(query, viewpoint, ZoneInfo(time_zone))
    if named is not None:
        return named
    match = _EVENT.search(query)
    if match is None:
        return None
    found = await score_lexical(connection, place, visibility, match["event"])
    whole = found.coverages >= 1.0 - 1e-9
    if not whole.any():
        return None
    order = np.argsort(-found.scores, kind="stable")
    best = order[0]
    if not whole[best] or (len(order) > 1 and found.scores[best] < EVENT_LEAD * found.scores[order[1]]):
        return None
    memory_id = int(found.ids[best])
    happened = (await memories.read_memories(connection, place.org_id, [memory_id]))[memory_id].occurred_at
    is_end = match["bound"].casefold() in ("before", "until")
    return TimeRange(None if is_end else happened, happened if is_end else None, match.group(0))


async def find_timed(connection: Connection, place: Place, vector: np.ndarray, asked: TimeRange, hidden: Ids) -> Ids:
    """Find what happened in the asked time and is nearest to the query: it is a candidate, however many are nearer."""
    filters = place.filters
    starts = [moment for moment in (filters.occurred_after, asked.start) if moment is not None]
    ends = [moment for moment in (filters.occurred_before, asked.end) if moment is not None]
    within = replace(filters, occurred_after=max(starts, default=None), occurred_before=min(ends, default=None))
    allowed = await memories.list_matching_ids(
        connection, place.org_id, place.namespace.id, within, place.include, place.now
    )
    allowed = np.setdiff1d(allowed, hidden)
    if not len(allowed):
        return allowed
    nearest = await embeddings.find_nearest_among(
        connection, place.org_id, place.namespace, vector, allowed, TIMED_SEEDS
    )
    return nearest.ids
