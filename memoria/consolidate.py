"""Consolidate ("sleep"): go through what is new in a namespace and make of it what lasts.

Phases: `compare` (repetitions and contradictions), `burst` (episodes), `co_access` (what comes up together). Running
twice changes nothing, and a run that was killed goes on where it ended.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import timedelta

import numpy as np
import numpy.typing as npt

from memoria import consolidations, embeddings, memories, namespaces
from memoria.clustering import Burst, KnownBurst, Occurrence, cut_bursts
from memoria.consolidation_records import Consolidated
from memoria.consolidation_run import LEASE, ConsolidationRun, Means, under_way
from memoria.consolidations import StoredEpisode
from memoria.database import Connection
from memoria.episodes import extend_episode, make_episode
from memoria.errors import NotFoundError
from memoria.namespaces import require_embedder
from memoria.records import Memory
from memoria.repetitions import compare_window
from memoria.vocabulary import (
    BURST_MEMBERS,
    BURST_MINUTES,
    BURST_MOST_MEMBERS,
    CO_ACCESS_GAIN,
    CO_ACCESS_TIMES,
    CO_RETRIEVAL_RESULTS,
    EXACT_SCAN_ROWS,
    RECALL_KEPT_DAYS,
    MemoryState,
)

COMPARE, BURST, CO_ACCESS = "compare", "burst", "co_access"
PHASES = (COMPARE, BURST, CO_ACCESS)
SPAN = timedelta(minutes=BURST_MINUTES)
INDEX_ROWS = 200  # vectors put into the graph by one step, where a search would else have to scan them
CONVERSATIONS_A_STEP = 20
IDS_A_STEP = 5_000


async def consolidate(
    means: Means, namespace_id: int, *, holder: str, window: timedelta, catch_up: bool = False
) -> Consolidated:
    """Run every detector over what was made or changed within the window, and return what was done.

    With `catch_up` the window reaches back to the last run, if that was longer ago. `holder` names who runs: the same
    one goes on with what it had begun. Raises ConflictError while another run of the namespace is under way,
    NotFoundError when the namespace is gone, and UnavailableError.
    """
    run = await _begin(means, namespace_id, holder, window, catch_up=catch_up)
    ids = await run.step(lambda connection: consolidations.list_window_ids(connection, run.org_id, run.state))
    if run.state.counts.considered == 0:
        run.count(considered=len(ids))
    for phase in PHASES[PHASES.index(run.state.phase) :]:
        if run.state.phase != phase:
            run.enter(phase, 0)
            await run.note()
        if phase == COMPARE:
            await _index_waiting(run)
            await compare_window(run, ids)
        elif phase == BURST:
            await _make_episodes(run, ids)
        else:
            await _strengthen(run)
    await run.step(lambda connection: consolidations.finish_run(connection, run.org_id, run.state, run.now))
    state = run.state
    return Consolidated(run.namespace.name, state.window_from, state.window_to, state.counts)


async def _begin(
    means: Means, namespace_id: int, holder: str, window: timedelta, *, catch_up: bool
) -> ConsolidationRun:
    embedder = await means.embedder()
    now = means.clock()
    async with means.transaction() as connection:
        namespace = await namespaces.read_namespace(connection, means.org_id, namespace_id)
        if namespace is None:
            raise NotFoundError("The namespace is gone.")
        require_embedder(namespace, embedder.name)
        state = await consolidations.claim_run(
            connection,
            means.org_id,
            namespace_id,
            holder=holder,
            window=(now - window - SPAN, now),  # a burst may have begun before the window
            catch_up=catch_up,
            phase=COMPARE,
            now=now,
            leased_until=now + LEASE,
        )
    if state is None:
        raise under_way()
    return ConsolidationRun(means, namespace, state)


async def _index_waiting(run: ConsolidationRun) -> None:
    """Put a large namespace's vectors into the graph: each search would else scan those that are not."""
    if run.namespace.embedding_count <= EXACT_SCAN_ROWS:
        return
    while await run.step(
        lambda connection: embeddings.index_vectors(connection, run.org_id, run.namespace.id, INDEX_ROWS)
    ):
        pass


# Episodes


def conversation_of(session: str | None, project: str | None) -> str:
    """Digest what names a conversation: its session, and the project that its memories belong to."""
    return hashlib.sha256(json.dumps([session, project], ensure_ascii=False).encode("utf-8")).hexdigest()


async def _make_episodes(run: ConsolidationRun, ids: npt.NDArray[np.int64]) -> None:
    """Make an episode of each burst of a conversation, or let new memories join the one that is there."""
    conversations: dict[str, list[Occurrence]] = defaultdict(list)
    without_session: set[str] = set()
    for first in range(0, len(ids), IDS_A_STEP):
        chosen = ids[first : first + IDS_A_STEP].tolist()
        for row in await run.step(
            lambda connection, chosen=chosen: consolidations.list_occurrences(  # type: ignore[misc]
                connection, run.org_id, run.namespace.id, chosen
            )
        ):
            scope = conversation_of(row["session"], row["project"])
            conversations[scope].append(Occurrence(row["memory_id"], row["occurred_at"]))
            if row["session"] is None:
                without_session.add(scope)
    scopes = sorted(conversations)
    for first in range(0, len(scopes), CONVERSATIONS_A_STEP):
        some = {scope: conversations[scope] for scope in scopes[first : first + CONVERSATIONS_A_STEP]}
        await _store_bursts(run, some, without_session)
        await run.note()


async def _store_bursts(
    run: ConsolidationRun, conversations: Mapping[str, Sequence[Occurrence]], without_session: set[str]
) -> None:
    since = min(occurrence.at for own in conversations.values() for occurrence in own) - SPAN
    known = await run.step(
        lambda connection: consolidations.list_episodes(
            connection, run.org_id, run.namespace.id, list(conversations), since
        )
    )
    by_scope: dict[str, list[StoredEpisode]] = defaultdict(list)
    for episode in known:
        by_scope[episode.scope].append(episode)
    for scope, occurrences in conversations.items():
        own = [KnownBurst(each.summary_id, each.started_at, each.size) for each in by_scope[scope]]
        if scope in without_session:
            # So many at once without a conversation were imported; they did not happen together.
            bursts = cut_bursts(occurrences, own, SPAN, BURST_MEMBERS, len(occurrences) + BURST_MOST_MEMBERS)
            bursts = [burst for burst in bursts if len(burst.memory_ids) <= BURST_MOST_MEMBERS]
        else:
            bursts = cut_bursts(occurrences, own, SPAN, BURST_MEMBERS, BURST_MOST_MEMBERS)
        for burst in bursts:
            await _store_burst(run, burst, scope)


async def _store_burst(run: ConsolidationRun, burst: Burst, scope: str) -> None:
    new_id, now = run.means.ids.next(), run.now

    async def store(connection: Connection) -> int:
        members = await _lock_members(connection, run, burst.memory_ids)
        if burst.burst_id is not None:
            await memories.lock_memories(connection, run.org_id, [burst.burst_id])
            ids = [member.id for member in members]
            if ids and await memories.read_memories(connection, run.org_id, [burst.burst_id]):
                await extend_episode(connection, run.org_id, run.namespace.id, burst.burst_id, ids, now)
                return len(ids)
            return 0
        if len(members) < BURST_MEMBERS:
            return 0
        await make_episode(connection, run.org_id, run.namespace.id, members, scope=scope, new_id=new_id, now=now)
        return len(members)

    joined = await run.step(store)
    run.count(episodes=int(burst.burst_id is None and joined > 0), episode_members=joined)


async def _lock_members(connection: Connection, run: ConsolidationRun, ids: Sequence[int]) -> list[Memory]:
    """Lock those memories that still may become members."""
    await memories.lock_memories(connection, run.org_id, sorted(ids))
    found = await memories.read_memories(connection, run.org_id, ids)
    return [memory for memory in found.values() if memory.state is MemoryState.ACTIVE and memory.expires_at is None]


# What comes up together


async def _strengthen(run: ConsolidationRun) -> None:
    """Join pairs more strongly that recalls since the last run brought up together, often enough in all."""
    until = run.state.window_to
    since = run.state.recalls_until or until - timedelta(days=RECALL_KEPT_DAYS)

    async def work(connection: Connection) -> int:
        pairs = await consolidations.list_co_accesses(
            connection,
            run.org_id,
            run.namespace.id,
            since=since,
            until=until,
            results=CO_RETRIEVAL_RESULTS,
            least_times=CO_ACCESS_TIMES,
        )
        weights = {pair: 1.0 - (1.0 - CO_ACCESS_GAIN) ** times for pair, times in pairs.items()}
        if not weights:
            return 0
        return await consolidations.raise_co_retrieval(connection, run.org_id, run.namespace.id, weights, run.now)

    run.count(strengthened=await run.step(work))
