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
from memoria.episodes import NewEpisode, extend_episodes, in_order, make_episodes
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
BURSTS_A_STEP = 20  # stored by one transaction: tens of milliseconds
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
            await run.note(at_once=True)
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
    bursts: list[tuple[str, Burst]] = []
    for scope, occurrences in conversations.items():
        own = [KnownBurst(each.summary_id, each.started_at, each.size) for each in by_scope[scope]]
        bursts += [(scope, burst) for burst in _bursts_of(occurrences, own, has_session=scope not in without_session)]
    for first in range(0, len(bursts), BURSTS_A_STEP):
        some = bursts[first : first + BURSTS_A_STEP]
        made, joined = await run.step(lambda connection, some=some: _store_some(connection, run, some))  # type: ignore[misc]
        run.count(episodes=made, episode_members=joined)


def _bursts_of(occurrences: Sequence[Occurrence], known: Sequence[KnownBurst], *, has_session: bool) -> list[Burst]:
    if has_session:
        return cut_bursts(occurrences, known, SPAN, BURST_MEMBERS, BURST_MOST_MEMBERS)
    # So many at once without a conversation were imported; they did not happen together.
    uncut = cut_bursts(occurrences, known, SPAN, BURST_MEMBERS, len(occurrences) + BURST_MOST_MEMBERS)
    return [burst for burst in uncut if len(burst.memory_ids) <= BURST_MOST_MEMBERS]


async def _store_some(
    connection: Connection, run: ConsolidationRun, bursts: Sequence[tuple[str, Burst]]
) -> tuple[int, int]:
    """Store bursts as they still are; returns how many episodes were made, and how many memories came into any."""
    known = {burst.burst_id for _, burst in bursts if burst.burst_id is not None}
    wanted = {memory_id for _, burst in bursts for memory_id in burst.memory_ids}
    found = await _lock_members(connection, run, [*known, *wanted])
    new, joining = [], {}
    for scope, burst in bursts:
        members = in_order(found[memory_id] for memory_id in burst.memory_ids if memory_id in found)
        if burst.burst_id is None and len(members) >= BURST_MEMBERS:
            new.append(NewEpisode(run.means.ids.next(), members, scope))
        elif burst.burst_id in found and members:
            joining[burst.burst_id] = [member.id for member in members]
    await make_episodes(connection, run.org_id, run.namespace.id, new, run.now)
    await extend_episodes(connection, run.org_id, run.namespace.id, joining, run.now)
    return len(new), sum(len(each.members) for each in new) + sum(map(len, joining.values()))


async def _lock_members(connection: Connection, run: ConsolidationRun, ids: Sequence[int]) -> dict[int, Memory]:
    """Lock those memories that still may become members, or be extended."""
    await memories.lock_memories(connection, run.org_id, sorted(ids))
    found = await memories.read_memories(connection, run.org_id, ids)
    return {
        memory.id: memory
        for memory in found.values()
        if memory.state is MemoryState.ACTIVE and memory.expires_at is None
    }


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
