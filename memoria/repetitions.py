"""Compare the memories of a window with their nearest: what differs in a value is marked, what repeats becomes one.

The window is walked in the order of ids, in blocks; a block is compared in one transaction, and each summary stored in
one of its own.
"""

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import numpy as np
import numpy.typing as npt

from memoria import consolidations, embeddings, memories, successions
from memoria.clustering import grow_cluster
from memoria.consolidation_records import Provenance
from memoria.consolidation_run import ConsolidationRun
from memoria.contradiction import values_agree
from memoria.database import Connection
from memoria.identifiers import moment_of
from memoria.merging import Cluster, draft_extension, draft_summary, store_extension, store_summary
from memoria.records import Memory
from memoria.succession import Denials, find_denials, mark_denied
from memoria.validation import SESSION_KEY
from memoria.vocabulary import (
    CONSOLIDATION_NEIGHBORS,
    NEAR_IDENTICAL_COSINE,
    REPETITION_COSINE,
    REPETITION_MEMBERS,
    SUBJECT_COSINE,
    SUMMARY_MOST_MEMBERS,
    Detector,
    MemoryState,
    MemoryType,
    Source,
)

Floats = npt.NDArray[np.float64]
Near = Mapping[int, Sequence[tuple[int, float]]]

MULTIPLIED_BLOCK = 512  # memories compared at once by multiplication with all others, up to a second
GRAPH_BLOCK = 40  # of a namespace too large for that: by searches of the graph, about a tenth of a second
LONGEST_WRITE = timedelta(seconds=10)  # from an id to the commit: what begins later has seen what began before
UNMERGEABLE = (MemoryType.CODE, MemoryType.PROSPECTIVE)


def scope_of(memory: Memory) -> str:
    """Digest what memories must share to become one: project, page, and context but for the conversation."""
    pairs = sorted((key, value) for key, value in memory.context.items() if key != SESSION_KEY)
    text = json.dumps([memory.project, memory.url, pairs], ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def is_mergeable(memory: Memory) -> bool:
    """Say whether a summary may take the place of a memory.

    What is pinned stays as it is; of what expires, or is a part of a document, no copy may live on elsewhere.
    """
    return (
        memory.state is MemoryState.ACTIVE
        and memory.source is not Source.SYSTEM
        and not memory.pinned
        and memory.expires_at is None
        and memory.part_of is None
        and memory.type not in UNMERGEABLE
    )


@dataclass(slots=True)
class Block:
    """Hold what a block's memories are compared with: their nearest, and what is known of those.

    `near` lists all that were found, by falling cosine; `rows` and `vectors` those near enough to matter.
    `homes` are the summaries in use: by their own id, and by the ids of the members they superseded. `denials` are
    those that were found in this block.
    """

    near: Near
    rows: dict[int, Memory] = field(default_factory=dict)
    vectors: dict[int, np.ndarray] = field(default_factory=dict)
    homes: dict[int, int] = field(default_factory=dict)
    made: dict[int, Provenance] = field(default_factory=dict)
    refusals: Mapping[int, frozenset[int]] = field(default_factory=dict)
    denials: Denials = field(default_factory=Denials)

    def nearest(self, memory_id: int, least_cosine: float) -> list[tuple[Memory, float]]:
        """List a memory's neighbours that are near enough, nearest first."""
        return [
            (self.rows[other], cosine)
            for other, cosine in self.near.get(memory_id, ())
            if cosine >= least_cosine and other in self.rows and other != memory_id
        ]

    def agree(self, first: Memory, second: Memory) -> bool:
        """Say whether two memories may become one: they say the same, and nobody has taken them apart."""
        refused = self.refusals.get(first.id, frozenset()) & self.refusals.get(second.id, frozenset())
        return not refused and values_agree(first.content, second.content)

    def cosines(self, ids: Sequence[int]) -> Floats:
        """Compare memories with each other."""
        stacked = np.stack([self.vectors[memory_id] for memory_id in ids])
        matrix: Floats = (stacked @ stacked.T).astype(np.float64)
        return matrix


async def compare_window(run: ConsolidationRun, ids: npt.NDArray[np.int64]) -> None:
    """Compare the memories of the window, those after `run.state.reached`; commits block by block."""
    size = MULTIPLIED_BLOCK if embeddings.is_multiplied(run.namespace, MULTIPLIED_BLOCK) else GRAPH_BLOCK
    left = ids[ids > run.state.reached]
    for first in range(0, len(left), size):
        chosen = left[first : first + size].tolist()
        block = await run.step(lambda connection, chosen=chosen: read_block(connection, run, chosen))  # type: ignore[misc]
        run.count(contradicted=len(block.denials.contradicted), changed=len(block.denials.superseded))
        for memory_id in chosen:
            await asyncio.sleep(0)  # others go on while texts are compared
            if memory_id in block.rows and is_mergeable(block.rows[memory_id]):
                await _gather(run, block, block.rows[memory_id])
        run.enter(run.state.phase, chosen[-1])
        await run.note()
        await run.means.report(len(ids) - len(left) + first + len(chosen), len(ids))


async def read_block(connection: Connection, run: ConsolidationRun, ids: Sequence[int]) -> Block:
    """Read the nearest of a block's memories, and what is needed to compare the near ones."""
    org_id, namespace = run.org_id, run.namespace
    owners, vectors = await embeddings.read_directions(connection, org_id, namespace.id, ids)
    if not len(owners):
        return Block({})
    found = await embeddings.find_nearest_to_each(connection, org_id, namespace, vectors, CONSOLIDATION_NEIGHBORS + 1)
    near = {
        owner: list(zip(nearest.ids.tolist(), nearest.cosines.tolist(), strict=True))
        for owner, nearest in zip(owners.tolist(), found, strict=True)
    }
    alike = {
        memory_id
        for owner, pairs in near.items()
        for memory_id, cosine in pairs
        if cosine >= NEAR_IDENTICAL_COSINE and any(other != owner and c >= NEAR_IDENTICAL_COSINE for other, c in pairs)
    }
    block = Block(near)
    block.denials = await _deny(connection, run, near)
    if alike:
        await _fill(connection, run, block, alike)
    return block


async def _deny(connection: Connection, run: ConsolidationRun, near: Near) -> Denials:
    """Mark those of a block's memories, and of their nearest, that a newer one contradicts or takes the place of.

    Returns what was not known before.
    """
    org_id, namespace_id = run.org_id, run.namespace.id
    pairs = [
        (memory_id, other, cosine)
        for memory_id, others in near.items()
        for other, cosine in others
        if other != memory_id and _is_to_be_judged(memory_id, other, cosine)
    ]
    if not pairs:
        return Denials()
    wanted = sorted({memory_id for one, other, _ in pairs for memory_id in (one, other)})
    claims = await successions.read_claims(connection, org_id, namespace_id, wanted)
    found = find_denials(claims, pairs)
    known = await consolidations.list_contradictions(connection, org_id, sorted(found.contradicted))
    fresh = {
        older: {newer for newer in all_newer if (newer, older) not in known}
        for older, all_newer in found.contradicted.items()
    }
    denials = Denials(found.superseded, {older: all_newer for older, all_newer in fresh.items() if all_newer})
    await mark_denied(connection, org_id, namespace_id, denials, run.now)
    return denials


def _is_to_be_judged(memory_id: int, other: int, cosine: float) -> bool:
    """Say whether a pair may hold a contradiction that the write has not seen: near-identical, or of one moment.

    Two that are written at the same moment do not see each other, however little alike they are.
    """
    if cosine >= NEAR_IDENTICAL_COSINE:
        return True
    return cosine >= SUBJECT_COSINE and abs(moment_of(memory_id) - moment_of(other)) <= LONGEST_WRITE


async def _fill(connection: Connection, run: ConsolidationRun, block: Block, ids: set[int]) -> None:
    """Read the texts and vectors of some memories, and the summaries that they are, or have been merged into."""
    org_id = run.org_id
    memberships = await consolidations.list_memberships(connection, org_id, sorted(ids))
    homes = {
        each.member_id: each.summary_id
        for each in memberships
        if each.detector is Detector.REPETITION and not each.is_adopted
    }
    made = await consolidations.read_provenances(connection, org_id, sorted({*ids, *homes.values()}))
    block.made = {
        summary_id: provenance
        for summary_id, provenance in made.items()
        if provenance.detector is Detector.REPETITION and provenance.adopted_at is None
    }
    block.homes = homes | {summary_id: summary_id for summary_id in block.made}
    members = {member.memory_id for provenance in block.made.values() for member in provenance.members}
    wanted = sorted({*ids, *block.made, *members})
    block.rows = await memories.read_memories(connection, org_id, wanted)
    block.refusals = await consolidations.read_refusals(connection, org_id, wanted, Detector.REPETITION)
    owners, vectors = await embeddings.read_directions(connection, org_id, run.namespace.id, wanted)
    block.vectors = dict(zip(owners.tolist(), vectors, strict=True))


async def _gather(run: ConsolidationRun, block: Block, memory: Memory) -> None:
    """Let a memory join the summary of what it repeats, or make one of it and others."""
    if memory.id not in block.vectors:
        return
    scope = scope_of(memory)
    alike = [
        other
        for other, _ in block.nearest(memory.id, REPETITION_COSINE)
        if other.id in block.vectors and scope_of(other) == scope
    ]
    homes = dict.fromkeys(block.homes[other.id] for other in alike if other.id in block.homes)
    for summary_id in homes:
        if await _join(run, block, memory, summary_id):
            return
    fresh = [memory, *(other for other in alike if is_mergeable(other))]
    if len(fresh) < REPETITION_MEMBERS:
        return
    cosines = block.cosines([each.id for each in fresh])
    places = grow_cluster(cosines, lambda first, second: block.agree(fresh[first], fresh[second]), REPETITION_COSINE)
    if len(places) >= REPETITION_MEMBERS:
        cluster = Cluster(tuple(fresh[place] for place in places), cosines[np.ix_(places, places)], scope)
        await _merge(run, block, cluster)


async def _merge(run: ConsolidationRun, block: Block, cluster: Cluster) -> None:
    draft = await draft_summary(cluster, await run.means.embedder(), run.means.writer, new_id=run.means.ids.next())
    near = block.near.get(draft.quoted_member.id) or block.near[cluster.members[0].id]
    now = run.now
    stored = await run.step(lambda connection: store_summary(connection, run.org_id, run.namespace, draft, near, now))
    if not stored:
        return
    run.count(summaries=1, repeated=len(cluster.members))
    await run.step(lambda connection: _refresh(connection, run, block, draft.memory_id))


async def _join(run: ConsolidationRun, block: Block, memory: Memory, summary_id: int) -> bool:
    """Let a memory join a summary, if it is like and agrees with every member of it."""
    made, summary = block.made.get(summary_id), block.rows.get(summary_id)
    if made is None or summary is None or summary.state is not MemoryState.ACTIVE:
        return False
    members = [block.rows[member.memory_id] for member in made.members if member.memory_id in block.rows]
    compared = [summary, *members]
    if len(members) >= SUMMARY_MOST_MEMBERS or any(each.id not in block.vectors for each in compared):
        return False
    cosines = block.cosines([memory.id, *(each.id for each in compared)])[0][1:]
    if cosines.min() < REPETITION_COSINE or not all(block.agree(memory, member) for member in members):
        return False
    extension = await draft_extension(summary, made, memory, cosines, await run.means.embedder())
    now = run.now
    stored = await run.step(lambda connection: store_extension(connection, run.org_id, run.namespace, extension, now))
    if stored:
        run.count(extended=1, repeated=1)
        await run.step(lambda connection: _refresh(connection, run, block, summary_id))
    return stored


async def _refresh(connection: Connection, run: ConsolidationRun, block: Block, summary_id: int) -> None:
    """Read again what a merge has changed, for the rest of the block."""
    org_id = run.org_id
    made = await consolidations.read_provenances(connection, org_id, [summary_id])
    if summary_id not in made:
        return
    block.made[summary_id] = made[summary_id]
    members = [member.memory_id for member in made[summary_id].members]
    block.homes |= dict.fromkeys([summary_id, *members], summary_id)
    block.rows |= await memories.read_memories(connection, org_id, [summary_id, *members])
    owners, vectors = await embeddings.read_directions(connection, org_id, run.namespace.id, [summary_id])
    block.vectors |= dict(zip(owners.tolist(), vectors, strict=True))
