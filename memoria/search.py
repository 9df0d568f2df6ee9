"""Search: rank a namespace's memories by words and meaning, page by page, without spreading or learning."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

import numpy as np

from memoria import memories, namespaces
from memoria.cursors import check_limit, fingerprint, read_cursor, write_cursor
from memoria.database import Connection
from memoria.errors import InvalidInputError
from memoria.lexical import query_terms, term_hash
from memoria.records import Principal, SearchHit, SearchPage, SearchRequest
from memoria.seeding import Place, Visibility, find_seeds, read_visibility, score_lexical
from memoria.spreading import fuse
from memoria.validation import check_filters, check_include, check_query
from memoria.vocabulary import MAX_SEARCH_RANK

SORTS = ("relevance", "recent", "salience")


@dataclass(frozen=True, slots=True)
class Plan:
    """Hold a checked search request and the rank at which its page begins."""

    request: SearchRequest
    namespace: str
    query: str
    offset: int
    fingerprint: str

    @property
    def embeds(self) -> str:
        """Return the text to embed: only a search by relevance needs a vector."""
        return self.query if self.request.sort == "relevance" else ""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Hold the ids of a page with their scores, and how many memories the whole ranking holds."""

    ids: Sequence[int]
    scores: Sequence[float]
    length: int


def plan(principal: Principal, request: SearchRequest) -> Plan:
    """Check a search request. Raises InvalidInputError and ForbiddenError."""
    if request.sort not in SORTS:
        raise InvalidInputError(f"`sort` must be one of {', '.join(SORTS)}.", field="sort")
    check_limit(request.limit)
    query = check_query(request.query) if request.query.strip() else ""
    checked = replace(request, filters=check_filters(request.filters), include=check_include(request.include))
    name = namespaces.resolve_namespace(principal, request.namespace)
    asked = fingerprint("search", name, query, checked.filters, checked.include, request.sort)
    return Plan(checked, name, query, read_cursor(request.cursor, asked, int) or 0, asked)


async def run(
    connection: Connection, org_id: UUID, plan: Plan, vector: np.ndarray | None, embedder_name: str, now: datetime
) -> SearchPage:
    """Answer one page within the caller's transaction."""
    found = await namespaces.find_namespace_and_hidden(connection, org_id, plan.namespace, now)
    if found is None:
        return SearchPage((), None, 0)
    namespace, hidden = found
    namespaces.require_embedder(namespace, embedder_name)
    place = Place(org_id, namespace, hidden, plan.request.filters, plan.request.include, now)
    visibility = await read_visibility(connection, place)
    if vector is not None:
        ranking = await _by_relevance(connection, place, visibility, plan, vector)
    else:
        ranking = await _by_field(connection, place, plan)
    read = await memories.read_memories(connection, org_id, ranking.ids)
    terms = await memories.read_terms(connection, org_id, ranking.ids) if plan.query else {}
    words = _words(plan.query)
    items = tuple(
        SearchHit(read[memory_id], score, _matched(words, terms.get(memory_id, frozenset())))
        for memory_id, score in zip(ranking.ids, ranking.scores, strict=True)
        if memory_id in read
    )
    following = plan.offset + len(ranking.ids)
    more = following < min(ranking.length, MAX_SEARCH_RANK)
    return SearchPage(items, write_cursor(following, plan.fingerprint) if more else None, visibility.total)


async def _by_relevance(
    connection: Connection, place: Place, visibility: Visibility, plan: Plan, vector: np.ndarray
) -> Ranking:
    lexical = await score_lexical(connection, place, visibility, plan.query)
    seeds = await find_seeds(connection, place, visibility, lexical, vector, per_list=MAX_SEARCH_RANK)
    scores = fuse(seeds.cosines, seeds.lexical)
    order = np.lexsort((-seeds.ids, -scores))[plan.offset : plan.offset + plan.request.limit]
    return Ranking(seeds.ids[order].tolist(), scores[order].tolist(), len(seeds.ids))


async def _by_field(connection: Connection, place: Place, plan: Plan) -> Ranking:
    """Rank by date or salience: all that pass, or with a query those that hold one of its words."""
    ids = await memories.list_matching_ids(
        connection, place.org_id, place.namespace.id, place.filters, place.include, place.now
    )
    if plan.query:
        hashes = [term_hash(term) for term in query_terms(plan.query)]
        holding = await memories.list_ids_with_terms(connection, place.org_id, place.namespace.id, hashes)
        ids = ids[np.isin(ids, holding)]
    limit, offset = plan.request.limit, plan.offset
    if plan.request.sort == "salience":
        page = await memories.list_ids_by_salience(
            connection, place.org_id, place.namespace.id, ids, limit=limit, offset=offset
        )
    else:
        page = ids[offset : offset + limit].tolist()
    return Ranking(page, [1.0] * len(page), len(ids))


def _words(query: str) -> dict[str, frozenset[int]]:
    """Map each word of the query, as written, to the hashed terms under which it is found."""
    words = {word.strip(".,;:!?\"'()[]{}«»“”„").casefold() for word in query.split()}
    hashed = {word: frozenset(term_hash(term) for term in query_terms(word)) for word in words if word}
    asked = {term_hash(term) for term in query_terms(query)}
    return {word: terms for word, terms in hashed.items() if terms & asked}


def _matched(words: dict[str, frozenset[int]], terms: frozenset[int]) -> tuple[str, ...]:
    return tuple(sorted(word for word, hashed in words.items() if hashed & terms))
