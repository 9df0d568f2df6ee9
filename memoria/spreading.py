"""Spread activation from the seeds of a recall along the edges of the memory graph.

Pure arithmetic on arrays; the caller reads the edges between two waves:

    activation = ignite(ids, strengths)
    for _ in range(MAX_HOPS):
        activation = advance(activation, <edges at frontier(activation)>, intent)

Impulses are non-backtracking: a memory does not get back through a neighbour what it gave to that neighbour, so a
chain of turns does not amplify itself.
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from memoria.vocabulary import (
    ACTIVATION_FLOOR,
    CO_RETRIEVAL_SHARE,
    EDGE_DECAY,
    INTENT_BOOST,
    INTENT_EDGE,
    LEXICAL_DISCOUNT,
    SEMANTIC_GAIN,
    WAVE_NODES,
    EdgeType,
    Intent,
)

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Number = TypeVar("Number", np.int64, np.float64)

EDGE_TYPES: tuple[EdgeType, ...] = tuple(EDGE_DECAY)
"""The order that `Impulses.types` and `Activation.edge_types` count in."""

_CERTAIN = 1.0 - 1e-12  # keeps the logarithm of what is left finite


@dataclass(frozen=True, slots=True)
class Edges:
    """Hold the ways out of a frontier, one an element: an edge inside the frontier stands there once each way."""

    from_ids: Ids
    to_ids: Ids
    types: Ids
    weights: Floats

    def only(self, kept: npt.NDArray[np.bool_]) -> "Edges":
        """Keep the edges of which `kept` is true."""
        return Edges(self.from_ids[kept], self.to_ids[kept], self.types[kept], self.weights[kept])


@dataclass(frozen=True, slots=True)
class Activation:
    """Hold the lit memories, ids ascending, and the impulses of the last wave.

    `strengths` are in 0-1. `hops` is 0 where a memory's own match is stronger than what reached it; else the wave of
    its strongest impulse, which came over an edge of `edge_types` (an index of `EDGE_TYPES`) and `edge_weights` from
    `predecessors`. Without such a path the three are -1, 0 and -1. `peaks` is the strength of that strongest source.
    """

    memory_ids: Ids
    strengths: Floats
    peaks: Floats
    hops: Ids
    predecessors: Ids
    edge_types: Ids
    edge_weights: Floats
    wave: int
    impulse_from: Ids
    impulse_to: Ids
    impulses: Floats


@dataclass(frozen=True, slots=True)
class Step:
    """Be one crossing of a path: the memory arrived at, and the edge that led there."""

    memory_id: int
    edge_type: EdgeType
    weight: float


def fuse(
    cosines: Floats, lexical_scores: Floats, seed_cosines: Floats | None = None, seed_lexical: Floats | None = None
) -> Floats:
    """Join both scores of each memory into its match, 0-1: each is scaled to 0-1 among the seeds first.

    Without those of the seeds the memories are the seeds. A seed's match is the activation that it starts with.
    """
    by_meaning = _scaled(cosines, cosines if seed_cosines is None else seed_cosines)
    by_words = _scaled(lexical_scores, lexical_scores if seed_lexical is None else seed_lexical)
    return (by_meaning + LEXICAL_DISCOUNT * by_words) / (1.0 + LEXICAL_DISCOUNT)


def ignite(memory_ids: Ids, strengths: Floats) -> Activation:
    """Light the seeds; ids must be distinct, strengths are clipped to 0-1."""
    order = np.argsort(memory_ids)
    ids = np.asarray(memory_ids, np.int64)[order]
    lit = np.clip(np.asarray(strengths, np.float64)[order], 0.0, 1.0)
    return Activation(
        memory_ids=ids,
        strengths=lit,
        peaks=lit,
        hops=np.zeros(len(ids), np.int64),
        predecessors=np.full(len(ids), -1, np.int64),
        edge_types=np.full(len(ids), -1, np.int64),
        edge_weights=np.zeros(len(ids)),
        wave=0,
        impulse_from=np.full(len(ids), -1, np.int64),
        impulse_to=ids,
        impulses=lit,
    )


def frontier(activation: Activation, width: int = WAVE_NODES, floor: float = ACTIVATION_FLOOR) -> Ids:
    """Name the memories whose edges the next wave crosses: those that the last one lit most, at most `width`."""
    ids, received = _received(activation)
    strongest = np.lexsort((ids, -received))[:width]
    return ids[strongest][received[strongest] >= floor]


def advance(activation: Activation, edges: Edges, intent: Intent, floor: float = ACTIVATION_FLOOR) -> Activation:
    """Send one wave over the edges at the frontier.

    Each impulse is what its source received in the last wave, without what came from the target, times weight, decay
    and intent boost; one below the floor is not passed on. Impulses that meet in a memory combine with what it has as
    `1 - prod(1 - a)`.
    """
    given = _given(activation, edges.from_ids, edges.to_ids) * _conductance(edges, intent)
    kept = given >= floor
    source, target, impulse = edges.from_ids[kept], edges.to_ids[kept], given[kept]
    ids = np.union1d(activation.memory_ids, target)
    old, new = np.searchsorted(ids, activation.memory_ids), np.searchsorted(ids, target)
    left = np.zeros(len(ids))
    left[old] = np.log1p(-np.minimum(activation.strengths, _CERTAIN))
    left += np.bincount(new, np.log1p(-np.minimum(impulse, _CERTAIN)), len(ids))
    best = _strongest(new, impulse)
    peaks = _placed(activation.peaks, old, len(ids), 0.0)
    best = best[impulse[best] > peaks[new[best]]]
    hops, predecessors = _placed(activation.hops, old, len(ids), 0), _placed(activation.predecessors, old, len(ids), -1)
    types = _placed(activation.edge_types, old, len(ids), -1)
    weights = _placed(activation.edge_weights, old, len(ids), 0.0)
    peaks[new[best]], hops[new[best]], predecessors[new[best]] = impulse[best], activation.wave + 1, source[best]
    types[new[best]], weights[new[best]] = edges.types[kept][best], edges.weights[kept][best]
    return Activation(
        memory_ids=ids,
        strengths=-np.expm1(left),
        peaks=peaks,
        hops=hops,
        predecessors=predecessors,
        edge_types=types,
        edge_weights=weights,
        wave=activation.wave + 1,
        impulse_from=source,
        impulse_to=target,
        impulses=impulse,
    )


def path_to(activation: Activation, memory_id: int) -> tuple[int, tuple[Step, ...]]:
    """Trace the strongest path back to its seed: the seed's id, and the crossings from there (none for a seed)."""
    steps: list[Step] = []
    seen = {memory_id}
    here = int(np.searchsorted(activation.memory_ids, memory_id))
    while activation.predecessors[here] >= 0:
        edge_type = EDGE_TYPES[int(activation.edge_types[here])]
        steps.append(Step(int(activation.memory_ids[here]), edge_type, float(activation.edge_weights[here])))
        before = int(activation.predecessors[here])
        here = int(np.searchsorted(activation.memory_ids, before))
        if before in seen:
            break
        seen.add(before)
    return int(activation.memory_ids[here]), tuple(reversed(steps))


def _scaled(scores: Floats, among: Floats) -> Floats:
    if not len(among):
        return np.zeros(len(scores))
    low, high = float(np.min(among)), float(np.max(among))
    if high <= low:
        return np.where((scores >= high) & (scores > 0.0), 1.0, 0.0)
    return np.clip((scores - low) / (high - low), 0.0, 1.0)


def _received(activation: Activation) -> tuple[Ids, Floats]:
    """Combine the impulses of the last wave by the memory they reached."""
    ids, slot = np.unique(activation.impulse_to, return_inverse=True)
    left = np.bincount(slot, np.log1p(-np.minimum(activation.impulses, _CERTAIN)), len(ids))
    return ids, -np.expm1(left)


def _given(activation: Activation, sources: Ids, targets: Ids) -> Floats:
    """Combine what each source received in the last wave, leaving out what came from that very target."""
    ids, slot = np.unique(activation.impulse_to, return_inverse=True)
    if not len(ids) or not len(sources):
        return np.zeros(len(sources))
    left = np.log1p(-np.minimum(activation.impulses, _CERTAIN))
    total = np.bincount(slot, left, len(ids))
    # Pairs are numbered, so that those of the edges are found among those of the impulses, the other way round.
    givers, giver = np.unique(activation.impulse_from, return_inverse=True)
    pairs, pair = np.unique(slot * len(givers) + giver, return_inverse=True)
    returned = np.bincount(pair, left, len(pairs))
    place, known = _find(ids, sources)
    giver_place, gave = _find(givers, targets)
    pair_place, met = _find(pairs, place * len(givers) + giver_place)
    back = np.where(known & gave & met, returned[pair_place], 0.0)
    return np.where(known, -np.expm1(np.minimum(total[place] - back, 0.0)), 0.0)


def _find(rising: Ids, wanted: Ids) -> tuple[Ids, npt.NDArray[np.bool_]]:
    """Point at the places of numbers among rising ones, and tell which of them are there."""
    places = np.minimum(np.searchsorted(rising, wanted), len(rising) - 1)
    return places, rising[places] == wanted


def _conductance(edges: Edges, intent: Intent) -> Floats:
    """Tell what share of its source's activation each edge passes on, 0-1."""
    decay = np.array([EDGE_DECAY[edge_type] for edge_type in EDGE_TYPES])
    favoured = INTENT_EDGE.get(intent)
    if favoured is not None:
        decay[EDGE_TYPES.index(favoured)] *= INTENT_BOOST
    share = np.clip(edges.weights, 0.0, 1.0) * decay[edges.types]
    semantic = edges.types == EDGE_TYPES.index(EdgeType.SEMANTIC)
    if semantic.any():
        _, slot, fan = np.unique(edges.from_ids[semantic], return_inverse=True, return_counts=True)
        share[semantic] *= SEMANTIC_GAIN / fan[slot]
    together = edges.types == EDGE_TYPES.index(EdgeType.CO_RETRIEVAL)
    if together.any():
        _, slot = np.unique(edges.from_ids[together], return_inverse=True)
        weighed = np.bincount(slot, edges.weights[together])
        share[together] *= CO_RETRIEVAL_SHARE / np.maximum(weighed, CO_RETRIEVAL_SHARE)[slot]
    limited: Floats = np.minimum(share, 1.0)
    return limited


def _strongest(targets: Ids, impulses: Floats) -> Ids:
    """Point at the strongest impulse of each target."""
    order = np.lexsort((-impulses, targets))
    _, first = np.unique(targets[order], return_index=True)
    return order[first]


def _placed(values: npt.NDArray[Number], places: Ids, size: int, empty: float) -> npt.NDArray[Number]:
    placed = np.full(size, empty, values.dtype)
    placed[places] = values
    return placed
