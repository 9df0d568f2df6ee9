"""Find what a query touches directly: the nearest by meaning and the best by words, each with both scores."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import numpy as np
import numpy.typing as npt

from memoria import embeddings, memories, postings
from memoria.database import Connection
from memoria.embeddings import Nearest
from memoria.lexical import NO_MATCHES, TermMatches, bm25_scores, query_terms, term_hash
from memoria.namespaces import Namespace
from memoria.records import Filters

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

SPARE_FOR_HIDDEN = 50  # nearest to ask for beyond the list, so that a few hidden ones do not shorten it


@dataclass(frozen=True, slots=True)
class Place:
    """Say where to look: a namespace of an organization, which memories pass, and what time it is.

    `hidden` are the memories that are left out unless asked for.
    """

    org_id: UUID
    namespace: Namespace
    hidden: Ids
    filters: Filters
    include: tuple[str, ...]
    now: datetime

    @property
    def narrows(self) -> bool:
        """Say whether anything but the default view was asked for."""
        return self.filters != Filters() or bool(self.include)


@dataclass(frozen=True, slots=True)
class Visibility:
    """Say which memories may be answered: those in `allowed` (None: all), without those in `hidden`.

    Activation passes through what a filter leaves out, but not through what is hidden. `total` counts what may be
    answered.
    """

    allowed: Ids | None
    hidden: Ids
    total: int

    def mask(self, ids: Ids) -> npt.NDArray[np.bool_]:
        """Return, for each id, whether it may be answered."""
        shown = ~np.isin(ids, self.hidden)
        return shown if self.allowed is None else shown & np.isin(ids, self.allowed)


@dataclass(frozen=True, slots=True)
class Lexical:
    """Hold the memories that share a word with a query, ids rising.

    `scores` are by BM25, `coverages` the shares (0-1) of the query's weight in words that each memory holds, `matches`
    which words.
    """

    ids: Ids
    scores: Floats
    coverages: Floats
    matches: TermMatches = NO_MATCHES

    def coverage_of(self, ids: Ids) -> Floats:
        """Return the coverage of each memory, 0 for those that share no word."""
        return _look_up(ids, self.ids, self.coverages)

    def score_of(self, ids: Ids) -> Floats:
        """Return the BM25 score of each memory, 0 for those that share no word."""
        return _look_up(ids, self.ids, self.scores)


@dataclass(frozen=True, slots=True)
class Seeds:
    """Hold the seeds of a query, one an element: their ids, cosines and BM25 scores (0 where no word matches)."""

    ids: Ids
    cosines: Floats
    lexical: Floats

    def cosine_of(self, ids: Ids) -> Floats:
        """Return the cosine of each memory, 0 for those that are no seeds."""
        return _look_up(ids, self.ids, self.cosines)


async def read_visibility(connection: Connection, place: Place) -> Visibility:
    """Find out which memories pass."""
    if place.narrows:
        allowed = await memories.list_matching_ids(
            connection, place.org_id, place.namespace.id, place.filters, place.include, place.now
        )
        return Visibility(allowed, np.setdiff1d(place.hidden, allowed), len(allowed))
    return Visibility(None, place.hidden, place.namespace.memory_count - len(place.hidden))


async def find_seeds(
    connection: Connection,
    place: Place,
    visibility: Visibility,
    lexical: Lexical,
    vector: np.ndarray,
    *,
    per_list: int,
    extra: Ids | None = None,
) -> Seeds:
    """Join the `per_list` best by cosine and by BM25 (and `extra` ids), each with both its scores.

    Filters never starve: among filtered memories the vectors are compared exactly, never by picking from an
    unfiltered answer.
    """
    nearest = await _find_nearest(connection, place, visibility, vector, per_list)
    best = _highest(lexical.scores, per_list)
    parts = [nearest.ids, lexical.ids[best], np.empty(0, np.int64) if extra is None else extra]
    ids = np.unique(np.concatenate(parts))
    missing = np.setdiff1d(ids, nearest.ids)
    cosines = dict(zip(nearest.ids.tolist(), nearest.cosines.tolist(), strict=True))
    if len(missing):
        cosines |= await embeddings.read_cosines(connection, place.org_id, place.namespace, vector, missing.tolist())
    return Seeds(
        ids,
        np.array([cosines.get(memory_id, 0.0) for memory_id in ids.tolist()], np.float64),
        lexical.score_of(ids),
    )


async def _find_nearest(
    connection: Connection, place: Place, visibility: Visibility, vector: np.ndarray, limit: int
) -> Nearest:
    org_id, namespace = place.org_id, place.namespace
    if visibility.allowed is not None:
        return await embeddings.find_nearest_among(connection, org_id, namespace, vector, visibility.allowed, limit)
    spare = min(len(visibility.hidden), SPARE_FOR_HIDDEN)
    found = await embeddings.find_nearest(connection, org_id, namespace, vector, limit + spare)
    shown = visibility.mask(found.ids)
    if shown.sum() >= min(limit, visibility.total) or shown.all():
        return Nearest(found.ids[shown][:limit], found.cosines[shown][:limit])
    allowed = await memories.list_matching_ids(
        connection, org_id, namespace.id, place.filters, place.include, place.now
    )
    return await embeddings.find_nearest_among(connection, org_id, namespace, vector, allowed, limit)


async def score_lexical(connection: Connection, place: Place, visibility: Visibility, query: str) -> Lexical:
    """Score every visible memory that holds a word of the query."""
    weights: dict[int, float] = {}
    for term, weight in query_terms(query).items():
        hashed = term_hash(term)
        weights[hashed] = max(weight, weights.get(hashed, 0.0))
    if not weights:
        return Lexical(np.empty(0, np.int64), np.empty(0, np.float64), np.empty(0, np.float64))
    found = await postings.read_postings(connection, place.org_id, place.namespace.id, list(weights))
    scored = bm25_scores(
        list(found.values()),
        place.namespace.memory_count,
        place.namespace.term_count,
        [weights[term] for term in found],
        unknown_weight=sum(weight for term, weight in weights.items() if term not in found),
    )
    shown = visibility.mask(scored.memory_ids)
    return Lexical(scored.memory_ids[shown], scored.scores[shown], scored.coverages[shown], scored.matches)


def _highest(scores: Floats, count: int) -> npt.NDArray[np.intp]:
    """Point at the highest scores, best first, of equal ones the first; sorts no more than it must."""
    if len(scores) <= count:
        return np.argsort(-scores, kind="stable")
    among = np.flatnonzero(scores >= np.partition(scores, -count)[-count])
    return among[np.argsort(-scores[among], kind="stable")][:count]


def _look_up(ids: Ids, known_ids: Ids, values: Floats) -> Floats:
    """Return the value of each id, 0 for those without one; `known_ids` rise."""
    if not len(known_ids):
        return np.zeros(len(ids))
    places = np.minimum(np.searchsorted(known_ids, ids), len(known_ids) - 1)
    return np.where(known_ids[places] == ids, values[places], 0.0)
