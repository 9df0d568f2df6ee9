import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoria.spreading import (
    EDGE_TYPES,
    Activation,
    Edges,
    advance,
    frontier,
    fuse,
    ignite,
    path_to,
)
from memoria.vocabulary import (
    ACTIVATION_FLOOR,
    CO_RETRIEVAL_SHARE,
    EDGE_DECAY,
    SEMANTIC_GAIN,
    WAVE_NODES,
    EdgeType,
    Intent,
)

strengths = st.floats(0, 1)
Link = tuple[int, int, EdgeType, float]


def both_ways(*links: Link) -> Edges:
    ways = [way for a, b, t, w in links for way in ((a, b, t, w), (b, a, t, w))]
    return Edges(
        np.array([way[0] for way in ways], np.int64),
        np.array([way[1] for way in ways], np.int64),
        np.array([EDGE_TYPES.index(way[2]) for way in ways], np.int64),
        np.array([way[3] for way in ways], np.float64),
    )


def lit(seeds: dict[int, float]) -> Activation:
    return ignite(np.array(list(seeds), np.int64), np.array(list(seeds.values())))


def spread(seeds: dict[int, float], edges: Edges, hops: int = 1, intent: Intent = Intent.GENERAL) -> Activation:
    activation = lit(seeds)
    for _ in range(hops):
        reached = frontier(activation)
        here = np.isin(edges.from_ids, reached)
        at_frontier = Edges(edges.from_ids[here], edges.to_ids[here], edges.types[here], edges.weights[here])
        activation = advance(activation, at_frontier, intent)
    return activation


def strength_of(activation: Activation, memory_id: int) -> float:
    return float(activation.strengths[activation.memory_ids.tolist().index(memory_id)])


@pytest.mark.parametrize("edge_type", [t for t in EDGE_TYPES if t is not EdgeType.SEMANTIC])
def test_an_edge_passes_on_weight_times_decay(edge_type: EdgeType) -> None:
    activation = spread({1: 0.8}, both_ways((1, 2, edge_type, 0.4)))
    assert strength_of(activation, 2) == pytest.approx(0.8 * 0.4 * EDGE_DECAY[edge_type])


def test_paths_that_meet_combine_as_independent_evidence() -> None:
    activation = spread({1: 0.8, 2: 0.6}, both_ways((1, 3, EdgeType.CAUSAL, 1.0), (2, 3, EdgeType.PART_OF, 1.0)))
    assert strength_of(activation, 3) == pytest.approx(1 - (1 - 0.8 * 0.8) * (1 - 0.6 * 0.65))


def test_a_chain_decays_with_each_hop_and_ends_after_the_last_wave() -> None:
    chain = both_ways(*[(i, i + 1, EdgeType.TEMPORAL, 1.0) for i in range(1, 6)])
    activation = spread({1: 1.0}, chain, hops=3)
    assert [strength_of(activation, i) for i in (2, 3, 4)] == pytest.approx([0.5, 0.25, 0.125])
    assert 5 not in activation.memory_ids


def test_a_memory_gets_nothing_back_from_whom_it_gave_to() -> None:
    activation = spread({1: 0.9}, both_ways((1, 2, EdgeType.CAUSAL, 1.0)), hops=3)
    assert strength_of(activation, 1) == pytest.approx(0.9)


def test_semantic_neighbours_share_what_one_passes_on() -> None:
    alone = spread({1: 1.0}, both_ways((1, 2, EdgeType.SEMANTIC, 1.0)))
    crowded = spread({1: 1.0}, both_ways(*[(1, i, EdgeType.SEMANTIC, 1.0) for i in (2, 3, 4)]))
    assert strength_of(alone, 2) == pytest.approx(EDGE_DECAY[EdgeType.SEMANTIC] * SEMANTIC_GAIN)
    assert strength_of(crowded, 2) == pytest.approx(strength_of(alone, 2) / 3)


def test_memories_recalled_together_share_what_one_passes_on() -> None:
    together = EDGE_DECAY[EdgeType.CO_RETRIEVAL]
    weak = spread({1: 1.0}, both_ways((1, 2, EdgeType.CO_RETRIEVAL, 0.2)))
    assert strength_of(weak, 2) == pytest.approx(0.2 * together)
    alone = spread({1: 1.0}, both_ways((1, 2, EdgeType.CO_RETRIEVAL, 1.0)))
    assert strength_of(alone, 2) == pytest.approx(CO_RETRIEVAL_SHARE * together)
    crowded = spread({1: 1.0}, both_ways(*[(1, i, EdgeType.CO_RETRIEVAL, 1.0) for i in (2, 3, 4)]))
    assert strength_of(crowded, 2) == pytest.approx(strength_of(alone, 2) / 3)


def test_a_question_for_the_cause_favours_causal_edges() -> None:
    edges = both_ways((1, 2, EdgeType.CAUSAL, 1.0))
    assert strength_of(spread({1: 0.5}, edges, intent=Intent.CAUSAL), 2) > strength_of(spread({1: 0.5}, edges), 2)


def test_weak_impulses_end() -> None:
    activation = spread({1: ACTIVATION_FLOOR}, both_ways((1, 2, EdgeType.CAUSAL, 0.9)))
    assert activation.memory_ids.tolist() == [1]


def test_the_frontier_is_the_strongest_of_the_last_wave() -> None:
    seeds = {i: i / 1000 for i in range(1, 201)}
    assert sorted(frontier(lit(seeds)).tolist()) == list(range(201 - WAVE_NODES, 201))


def test_each_memory_remembers_its_strongest_path() -> None:
    edges = both_ways((1, 2, EdgeType.TEMPORAL, 1.0), (2, 3, EdgeType.CAUSAL, 0.9), (1, 3, EdgeType.CONTRADICTS, 0.5))
    activation = spread({1: 1.0}, edges, hops=2)
    seed, steps = path_to(activation, 3)
    assert seed == 1
    assert [(step.memory_id, step.edge_type, step.weight) for step in steps] == [
        (2, EdgeType.TEMPORAL, 1.0),
        (3, EdgeType.CAUSAL, 0.9),
    ]
    assert activation.hops.tolist() == [0, 1, 2]
    assert path_to(activation, 1) == (1, ())


def test_every_seed_gets_both_scores_scaled_among_the_seeds() -> None:
    fused = fuse(np.array([0.2, 0.6, 0.4]), np.array([0.0, 3.0, 6.0]))
    assert fused == pytest.approx([0.0, (1 + 0.4) / 1.8, (0.5 + 0.8) / 1.8])


def test_what_is_no_seed_is_scaled_among_the_seeds_too() -> None:
    seed_cosines, seed_lexical = np.array([0.2, 0.6]), np.array([0.0, 4.0])
    own = fuse(np.array([0.1, 0.4, 0.6]), np.array([1.0, 0.0, 4.0]), seed_cosines, seed_lexical)
    assert own == pytest.approx([0.8 * 0.25 / 1.8, 0.5 / 1.8, 1.0])
    assert fuse(np.array([0.3]), np.array([0.0]), np.array([0.5]), np.array([0.0])).tolist() == [0.0]
    assert fuse(np.array([0.3]), np.array([2.0]), np.zeros(0), np.zeros(0)).tolist() == [0.0]


def test_nothing_lights_nothing() -> None:
    activation = spread({}, both_ways())
    assert len(activation.memory_ids) == len(fuse(np.zeros(0), np.zeros(0))) == 0


@st.composite
def graphs(draw: st.DrawFn) -> tuple[dict[int, float], Edges]:
    seeds = draw(st.dictionaries(st.integers(1, 12), strengths, min_size=1))
    node, edge_type = st.integers(1, 12), st.sampled_from(EDGE_TYPES)
    links = draw(st.lists(st.tuples(node, node, edge_type, strengths), max_size=30))
    return seeds, both_ways(*[link for link in links if link[0] != link[1]])


@given(graphs())
def test_activation_only_grows_and_stays_below_one(graph: tuple[dict[int, float], Edges]) -> None:
    seeds, edges = graph
    before, after = lit(seeds), spread(seeds, edges, hops=3)
    assert np.isfinite(after.strengths).all()
    assert ((after.strengths >= 0) & (after.strengths <= 1)).all()
    for memory_id, strength in zip(before.memory_ids.tolist(), before.strengths.tolist(), strict=True):
        assert strength_of(after, memory_id) >= strength - 1e-9


@given(graphs())
def test_every_path_leads_back_to_a_seed(graph: tuple[dict[int, float], Edges]) -> None:
    seeds, edges = graph
    activation = spread(seeds, edges, hops=3)
    for memory_id in activation.memory_ids.tolist():
        seed, steps = path_to(activation, memory_id)
        assert seed in seeds
        assert not steps or steps[-1].memory_id == memory_id


@given(graphs(), st.integers(1, 12), st.floats(0, 0.3))
def test_a_stronger_seed_dims_nothing(graph: tuple[dict[int, float], Edges], seed: int, more: float) -> None:
    seeds, edges = graph
    raised = {**seeds, seed: min(1.0, seeds.get(seed, 0.0) + more)}
    before, after = spread(seeds, edges), spread(raised, edges)
    for memory_id in before.memory_ids.tolist():
        assert strength_of(after, memory_id) >= strength_of(before, memory_id) - 1e-9


def plain_wave(wave: dict[tuple[int, int], float], edges: list[tuple[int, int, float]]) -> dict[tuple[int, int], float]:
    """Send impulses, held by (from, to), over Causal edges (from, to, weight), one edge after another."""
    sent = {}
    for source, target, weight in edges:
        left = 1.0
        for (giver, receiver), impulse in wave.items():
            if receiver == source and giver != target:
                left *= 1 - impulse
        if (1 - left) * weight * 0.8 >= 0.05:
            sent[source, target] = (1 - left) * weight * 0.8
    return sent


@pytest.mark.parametrize("seed", range(5))
def test_waves_are_those_of_one_crossing_after_another(seed: int) -> None:
    draw = np.random.default_rng(seed)
    pairs = [(a, b) for a, b in draw.integers(12, size=(40, 2)).tolist() if a < b]
    ways = {
        (a, b): w
        for (x, y), w in zip(pairs, draw.random(len(pairs)).tolist(), strict=True)
        for a, b in ((x, y), (y, x))
    }
    activation = ignite(np.arange(6), draw.random(6))
    wave = {(-1, int(i)): float(s) for i, s in zip(activation.impulse_to, activation.impulses, strict=True)}
    for _ in range(3):
        lit = set(frontier(activation).tolist())
        open_ways = [(a, b, w) for (a, b), w in ways.items() if a in lit]
        columns = zip(*open_ways, strict=True)
        froms, tos, weights = (np.array(column) for column in columns)
        causal = np.full(len(froms), EDGE_TYPES.index(EdgeType.CAUSAL))
        activation = advance(activation, Edges(froms, tos, causal, weights), Intent.GENERAL)
        wave = plain_wave(wave, open_ways)
        sent = zip(
            activation.impulse_from.tolist(), activation.impulse_to.tolist(), activation.impulses.tolist(), strict=True
        )
        assert {(a, b): s for a, b, s in sent} == pytest.approx(wave)
