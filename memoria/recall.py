"""Recall: light the seeds of a query, spread activation along the edges, score what lights up."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np
import numpy.typing as npt

from memoria import edges, memories, namespaces
from memoria.asked_time import AskedTime, find_asked_time, find_timed
from memoria.conversations import lift_conversations, number_conversations, spread_out, weigh_conversations
from memoria.database import Connection
from memoria.errors import InvalidInputError
from memoria.intents import AUTHOR_KEYS, author_of, intent_of, named_authors
from memoria.memories import CandidateRows
from memoria.metacognition import confidence_of, context_mode_of, gather, intervene
from memoria.records import Filters, Hit, Memory, PathStep, Principal, Recall, RecallRequest
from memoria.reward import dampening_factor
from memoria.scoring import Candidates, Factors, factors, idle_days
from memoria.seeding import Lexical, Place, Seeds, Visibility, find_seeds, read_visibility, score_lexical
from memoria.spreading import (
    EDGE_TYPES,
    Activation,
    advance,
    frontier,
    fuse,
    ignite,
    path_to,
)
from memoria.tokens import count_tokens
from memoria.urls import site_of
from memoria.validation import check_filters, check_include, check_query, check_time_zone, check_url
from memoria.vocabulary import (
    ACTIVATION_FLOOR,
    BROADENED_FLOOR,
    EDGES_PER_NODE,
    MAX_CANDIDATES,
    MAX_HOPS,
    MAX_RECALL_LIMIT,
    NARROWED_FLOOR,
    PAGE_BOOST,
    SEEDS_PER_LIST,
    SITE_BOOST,
    SITE_SEED,
    TIME_ALONE_BOOST,
    WAVE_NODES,
    Confidence,
    Intent,
    Intervention,
    Scope,
)

Floats = npt.NDArray[np.float64]

LATEST = datetime.max.replace(tzinfo=UTC) - timedelta(microseconds=1)  # the last moment that has another after it


@dataclass(frozen=True, slots=True)
class Plan:
    """Hold a checked recall request: its namespace resolved, its URL normalised, its intent read off the query."""

    request: RecallRequest
    namespace: str
    query: str
    url: str | None
    intent: Intent


def plan(principal: Principal, request: RecallRequest) -> Plan:
    """Check a recall request. Raises InvalidInputError and ForbiddenError."""
    namespaces.require_scope(principal, Scope.READ)
    if request.query is None and request.url is None:
        raise InvalidInputError("Give a `query`, or a `url` to recall what belongs to a page.", field="query")
    if not 1 <= request.limit <= MAX_RECALL_LIMIT:
        raise InvalidInputError(
            f"`limit` must be between 1 and {MAX_RECALL_LIMIT}.", field="limit", limit=MAX_RECALL_LIMIT
        )
    if request.token_budget is not None and request.token_budget < 1:
        raise InvalidInputError("`token_budget` must be at least 1.", field="token_budget")
    query = "" if request.query is None else check_query(request.query)
    url = check_url(request.url)
    check_time_zone(request.time_zone)
    filters = _until(check_filters(request.filters), request.at)
    checked = replace(request, filters=filters, include=check_include(request.include))
    return Plan(checked, namespaces.resolve_namespace(principal, request.namespace), query, url, intent_of(query))


def _until(filters: Filters, at: datetime | None) -> Filters:
    """Leave out what happened after the moment that a recall is asked for, that moment included."""
    if at is None:
        return filters
    end = min(at, LATEST) + timedelta(microseconds=1)
    return replace(filters, occurred_before=min(end, filters.occurred_before or end))


@dataclass(frozen=True, slots=True)
class Ground:
    """Hold what a recall can find out before its query is embedded: where it looks, and the words' scores."""

    place: Place
    visibility: Visibility
    lexical: Lexical
    asked_time: AskedTime | None = None


async def survey(connection: Connection, org_id: UUID, plan: Plan, embedder_name: str, now: datetime) -> Ground | None:
    """Read what does not need the query's vector, while it is made; None where the namespace does not exist."""
    if plan.request.at is not None:
        now = min(now, plan.request.at)
    found = await namespaces.find_namespace_and_hidden(connection, org_id, plan.namespace, now)
    if found is None:
        return None
    namespace, hidden = found
    namespaces.require_embedder(namespace, embedder_name)
    place = Place(org_id, namespace, hidden, plan.request.filters, plan.request.include, now)
    visibility = await read_visibility(connection, place)
    lexical = await score_lexical(connection, place, visibility, plan.query)
    asked = await find_asked_time(
        connection, place, visibility, plan.query, _viewpoint(plan, now), plan.request.time_zone
    )
    return Ground(place, visibility, lexical, asked)


async def run(
    connection: Connection, plan: Plan, ground: Ground | None, vector: np.ndarray | None, recall_id: int
) -> Recall:
    """Answer one recall within the caller's transaction. `vector` is the query's, None without a query."""
    if ground is None:
        return Recall(recall_id, (), plan.intent, 0, 0, context_mode_of(plan.namespace))
    place, visibility = ground.place, ground.visibility
    lit = await _light_seeds(connection, ground, plan, vector)
    activation = lit.activation
    if plan.request.spreading:
        activation = await _spread(connection, place, visibility, lit, plan.intent)
    scored = await _score(connection, ground, plan, vector, lit, activation)
    return await _answer(connection, plan, scored, recall_id, ground, lit)


@dataclass(frozen=True, slots=True)
class Lit:
    """Hold the lit seeds; `seeds` are None without a query."""

    activation: Activation
    seeds: Seeds | None
    intervention: Intervention


async def _light_seeds(connection: Connection, ground: Ground, plan: Plan, vector: np.ndarray | None) -> Lit:
    place, visibility = ground.place, ground.visibility
    page = await _find_page(connection, place, visibility, plan)
    per_list = max(SEEDS_PER_LIST, plan.request.limit)
    if vector is None:
        ids = np.array(sorted(page), np.int64)
        strengths = np.array([1.0 if page[memory_id] else SITE_SEED for memory_id in ids.tolist()])
        return Lit(ignite(ids, strengths), None, Intervention.NONE)
    asked = ground.asked_time
    timed = np.empty(0, np.int64)
    if asked is not None:
        timed = await find_timed(connection, place, visibility, vector, asked.range)
    seeds: Seeds = await find_seeds(
        connection,
        place,
        visibility,
        ground.lexical,
        vector,
        per_list=per_list,
        extra=np.union1d(np.array(sorted(page), np.int64), timed),
    )
    intervention = intervene(seeds.cosines, ground.lexical.coverage_of(seeds.ids))
    strengths = fuse(seeds.cosines, seeds.lexical)
    if asked is not None:
        strengths = np.where(np.isin(seeds.ids, timed), np.maximum(strengths, asked.seed), strengths)
    return Lit(ignite(seeds.ids, strengths), seeds, intervention)


async def _find_page(connection: Connection, place: Place, visibility: Visibility, plan: Plan) -> dict[int, bool]:
    """Find the memories bound to the asked page (True) or its site (False); none without a URL."""
    if plan.url is None:
        return {}
    found = await memories.list_page(
        connection,
        place.org_id,
        place.namespace.id,
        url=plan.url,
        site=site_of(plan.url),
        states=memories.visible_states(place.filters, place.include),
        limit=MAX_RECALL_LIMIT,
    )
    shown = visibility.mask(np.array(list(found), np.int64))
    return {memory_id: found[memory_id] for memory_id, seen in zip(found, shown, strict=True) if seen}


async def _spread(connection: Connection, place: Place, visibility: Visibility, lit: Lit, intent: Intent) -> Activation:
    """Send activation outward, at most three hops; hidden memories neither light up nor pass anything on."""
    activation, floor, width = lit.activation, ACTIVATION_FLOOR, WAVE_NODES
    if lit.intervention is Intervention.BROADENED:
        floor, width, intent = floor * BROADENED_FLOOR, width * 2, Intent.GENERAL
    elif lit.intervention is Intervention.NARROWED:
        floor *= NARROWED_FLOOR
    for _ in range(MAX_HOPS):
        ids = frontier(activation, width, floor)
        if not len(ids):
            break
        crossings = await edges.read_crossings(
            connection, place.org_id, place.namespace.id, ids.tolist(), types=EDGE_TYPES, limit=EDGES_PER_NODE
        )
        open_ways = ~np.isin(crossings.to_ids, visibility.hidden)
        activation = advance(activation, crossings.only(open_ways), intent, floor)
    return activation


@dataclass(frozen=True, slots=True)
class Scored:
    """Hold the candidates of a recall with their scores, one an element, and their order, best first."""

    rows: CandidateRows
    scores: Floats
    order: npt.NDArray[np.int64]
    factors: Factors
    page_boost: Floats
    variety: Floats
    activation: Activation
    strengths: Floats

    def memory_id(self, position: int) -> int:
        """Name the candidate at a position."""
        return int(self.rows.numbers["memory_id"][position])


async def _score(
    connection: Connection, ground: Ground, plan: Plan, vector: np.ndarray | None, lit: Lit, activation: Activation
) -> Scored:
    place = ground.place
    shown = ground.visibility.mask(activation.memory_ids)
    ids, strengths = activation.memory_ids[shown], activation.strengths[shown]
    strongest = np.argsort(-strengths, kind="stable")[: max(MAX_CANDIDATES, plan.request.limit)]
    chosen = ids[strongest]
    viewpoint = _viewpoint(plan, place.now)
    rows = await memories.read_candidates(
        connection,
        place.org_id,
        place.namespace.id,
        chosen.tolist(),
        AUTHOR_KEYS,
        viewpoint,
        vector,
        dampened=place.namespace.has_dampenings,
        compared=[] if lit.seeds is None else np.setdiff1d(chosen, lit.seeds.ids).tolist(),
    )
    strengths = strengths[strongest][rows.numbers["position"] - 1]
    conversations = number_conversations(rows.sessions)
    if plan.request.spreading and lit.seeds is not None:
        strengths = _lift(rows, strengths, conversations, lit.seeds, ground.lexical)
    weighed = factors(_candidates(rows, strengths, plan.query, viewpoint, ground.asked_time), plan.intent)
    page_boost = _page_boost(rows, plan.url)
    scores = weighed.score() * page_boost
    variety = spread_out(scores, conversations)
    scores *= variety
    order = np.argsort(-scores, kind="stable")
    return Scored(rows, scores, order, weighed, page_boost, variety, activation, strengths)


def _lift(
    rows: CandidateRows, strengths: Floats, conversations: npt.NDArray[np.int64], seeds: Seeds, lexical: Lexical
) -> Floats:
    """Add to what reached candidates over edges how they match the query themselves, and let conversations speak."""
    ids = rows.numbers["memory_id"]
    seeded = np.isin(ids, seeds.ids)
    cosines = np.where(seeded, seeds.cosine_of(ids), [rows.cosines.get(each, 0.0) for each in ids.tolist()])
    own = fuse(cosines, lexical.score_of(ids), seeds.cosines, seeds.lexical)
    joined = np.where(seeded, strengths, 1.0 - (1.0 - strengths) * (1.0 - own))
    lengths = rows.numbers["term_count"].astype(np.float64)
    return lift_conversations(joined, weigh_conversations(conversations, joined, own, lexical.matches, ids, lengths))


def _candidates(
    rows: CandidateRows, activation: Floats, query: str, now: datetime, asked: AskedTime | None
) -> Candidates:
    numbers = rows.numbers
    authors = [author_of(*said) for said in zip(rows.openings, rows.contexts, strict=True)]
    return Candidates(
        activation=activation,
        salience=numbers["salience"],
        utility=numbers["utility"],
        idle_days=idle_days(now, rows.times("occurred_at"), rows.times("created_at"), rows.times("last_accessed_at")),
        term_counts=numbers["term_count"].astype(np.float64),
        turns=np.array([session is not None for session in rows.sessions], np.bool_),
        tiers=rows.tiers,
        recalls=numbers["access_count"].astype(np.float64),
        useful=numbers["useful_count"].astype(np.float64),
        named=np.array(named_authors(query, authors), np.bool_),
        time=np.ones(len(numbers)) if asked is None else asked.boost(rows.times("occurred_at")),
        superseded=numbers["superseded"] > 0,
        contradicted=numbers["contradicted"] > 0,
        dampening=np.array([dampening_factor(rows.unhelpful.get(i, 0)) for i in numbers["memory_id"].tolist()]),
    )


def _viewpoint(plan: Plan, now: datetime) -> datetime:
    """Return the moment a recall looks back from: a question about the time before a day is asked as of that day."""
    before = plan.request.filters.occurred_before
    return now if before is None else min(now, before)


def _page_boost(rows: CandidateRows, url: str | None) -> Floats:
    if url is None:
        return np.ones(len(rows.numbers))
    on_page = np.array([own == url for own in rows.urls], np.bool_)
    on_site = np.array([own == site_of(url) for own in rows.sites], np.bool_)
    return np.where(on_page, PAGE_BOOST, np.where(on_site, SITE_BOOST, 1.0))


async def _answer(
    connection: Connection, plan: Plan, scored: Scored, recall_id: int, ground: Ground, lit: Lit
) -> Recall:
    """Cut to the limit and the token budget; a result over what is left of the budget gives way to the next."""
    request = plan.request
    ranked = _without_documents(scored)
    if request.at is not None:
        ranked = [position for position in ranked if not scored.rows.numbers["superseded"][position]]
    if request.min_score is not None:
        ranked = [position for position in ranked if scored.scores[position] >= request.min_score]
    confidence, intervention = _judge(scored, ranked, ground, lit)
    # With a budget more rows are read than results wanted: those that do not fit give way to others.
    read = ranked if request.explain or request.token_budget is not None else ranked[: request.limit]
    found = await memories.read_memories(
        connection, ground.place.org_id, [scored.memory_id(position) for position in read]
    )
    every = [
        _hit(scored, position, found[memory_id], explain=request.explain)
        for position in read
        if (memory_id := scored.memory_id(position)) in found
    ]
    hits: list[Hit] = []
    used = 0
    for hit in [] if intervention is Intervention.EMPTY else every:
        if len(hits) < request.limit and (request.token_budget is None or used + hit.tokens <= request.token_budget):
            hits.append(hit)
            used += hit.tokens
    return Recall(
        recall_id=recall_id,
        hits=tuple(hits),
        intent=plan.intent,
        total_candidates=len(scored.scores),
        tokens_used=used,
        context_mode=context_mode_of(plan.namespace),
        time_range=ground.asked_time.range if ground.asked_time else None,
        confidence=confidence if hits else Confidence.NONE,
        intervention=intervention,
        candidates=tuple(every) if request.explain else (),
    )


def _judge(scored: Scored, ranked: Sequence[int], ground: Ground, lit: Lit) -> tuple[Confidence, Intervention]:
    """Say how far to trust the ranking, and whether to answer nothing rather than noise."""
    if not ranked:
        return Confidence.NONE, lit.intervention
    if lit.seeds is None:
        return Confidence.HIGH, lit.intervention  # without a query the page itself was asked for
    ids = scored.rows.numbers["memory_id"][ranked]
    evidence = gather(
        scored.scores[ranked],
        lit.seeds.cosine_of(ids),
        ground.lexical.coverage_of(ids),
        scored.factors.author[ranked],
        lit.seeds.cosines,
    )
    of_then = scored.factors.time == TIME_ALONE_BOOST  # where nothing but a time is asked for, nothing need match
    found = evidence.clears_the_bar or bool((of_then | (scored.page_boost > 1.0)).any())
    return confidence_of(evidence), lit.intervention if found else Intervention.EMPTY


def _without_documents(scored: Scored) -> list[int]:
    """Rank the candidates, but not a document one of whose parts is among them: the same text would come twice."""
    numbers = scored.rows.numbers
    whole = np.isin(numbers["memory_id"], numbers["part_of"])
    ranked: list[int] = scored.order[~whole[scored.order]].tolist()
    return ranked


def _hit(scored: Scored, position: int, memory: Memory, *, explain: bool) -> Hit:
    seed_id, steps = path_to(scored.activation, memory.id)
    place = int(np.searchsorted(scored.activation.memory_ids, memory.id))
    explained = {"page": float(scored.page_boost[position]), "variety": float(scored.variety[position])}
    return Hit(
        memory=memory,
        score=float(scored.scores[position]),
        activation=float(scored.strengths[position]),
        hops=int(scored.activation.hops[place]),
        seed_id=seed_id,
        path=tuple(PathStep(step.memory_id, step.edge_type, step.weight) for step in steps),
        tokens=count_tokens(memory.content),
        factors=scored.factors.of(position) | explained if explain else {},
    )
