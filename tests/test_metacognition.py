"""Judge answers: by arithmetic alone, and in real recalls."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoria.embedding import Embedder
from memoria.engine import Engine
from memoria.metacognition import Evidence, confidence_of, context_mode_of, gather, intervene
from memoria.records import Filters, NewMemory, RecallRequest
from memoria.vocabulary import Confidence, ContextMode, Intervention
from tests.tenants import Tenant

shares = st.floats(0.0, 1.0)

NOTES = (
    "Ada plays the cello in the town orchestra",
    "The build fails on Windows because of path separators",
    "Lunch is at noon on Tuesdays",
    "The invoice service retries three times",
    "Grace prefers tabs over spaces",
)


@given(shares, shares, shares, st.floats(0.01, 1.0))
def test_more_evidence_never_lowers_the_grade(cosine: float, coverage: float, gap: float, more: float) -> None:
    order = [Confidence.LOW, Confidence.MODERATE, Confidence.HIGH]
    weaker = Evidence(cosine, coverage, coverage, gap, 1.2)
    stronger = Evidence(cosine + more, min(1.0, coverage + more), min(1.0, coverage + more), gap + more, 1.2 + more)
    assert 0.0 <= weaker.strength <= stronger.strength <= 1.0
    assert order.index(confidence_of(weaker)) <= order.index(confidence_of(stronger))


def test_nothing_answered_has_no_confidence() -> None:
    assert confidence_of(None) is Confidence.NONE


def test_a_match_that_stands_out_is_trusted_and_a_flat_field_is_not() -> None:
    flat = np.full(50, 0.4)
    peak = np.concatenate([[0.8], np.full(49, 0.3)])
    even, clear = np.full(10, 0.5), np.array([1.0, *[0.3] * 9])
    outstanding = gather(clear, peak[:10], np.array([0.9, *[0.1] * 9]), np.ones(10), peak)
    assert confidence_of(outstanding) is Confidence.HIGH
    assert confidence_of(gather(even, flat[:10], np.full(10, 0.1), np.ones(10), flat)) is Confidence.LOW


def test_a_single_memory_that_matches_is_trusted() -> None:
    one = np.array([0.7])
    assert confidence_of(gather(one, one, np.array([1.0]), np.ones(1), one)) is Confidence.HIGH


def test_what_somebody_else_said_is_trusted_less() -> None:
    peak = np.concatenate([[0.8], np.full(49, 0.3)])
    scores, coverages = np.array([1.0, *[0.3] * 9]), np.array([0.9, *[0.1] * 9])

    def grade(authors: list[float]) -> Confidence:
        return confidence_of(gather(scores, peak[:10], coverages, np.array(authors), peak))

    assert grade([1.0, *[0.8] * 9]) is Confidence.HIGH
    assert grade([0.8, *[1.0] * 9]) is Confidence.MODERATE


@pytest.mark.parametrize(
    ("cosines", "coverages", "expected"),
    [
        ([0.0, 0.1], [0.0, 0.0], Intervention.BROADENED),
        ([0.9, 0.1, 0.1], [0.0, 0.0, 0.0], Intervention.BROADENED),
        ([0.9, 0.9], [0.0, 0.0], Intervention.NONE),
        ([0.4] * 10, [0.0] * 10, Intervention.NONE),
        ([0.0] * 5, [0.3] * 5, Intervention.NONE),
        ([0.6] * 41, [0.0] * 41, Intervention.NARROWED),
        ([0.2] * 41, [0.9] * 41, Intervention.NARROWED),
    ],
)
def test_spreading_is_fitted_to_the_seeds(cosines: list[float], coverages: list[float], expected: Intervention) -> None:
    assert intervene(np.array(cosines), np.array(coverages)) is expected


@pytest.mark.parametrize(
    ("namespace", "mode"),
    [
        ("org:acme-0a1b2c", ContextMode.ORGANIZATIONAL),
        ("support/tickets", ContextMode.SUPPORT),
        ("research/papers", ContextMode.RESEARCH),
        ("user:john", ContextMode.PERSONAL),
        ("Code/myapp", ContextMode.CODE),
        ("notes", ContextMode.GENERAL),
    ],
)
def test_the_shape_of_a_namespaces_name_says_what_it_holds(namespace: str, mode: ContextMode) -> None:
    assert context_mode_of(namespace) is mode


@pytest.fixture
async def well_read(tenant: Tenant, minilm_embedder: Embedder) -> Tenant:
    engine = Engine(tenant.database, minilm_embedder, tenant.clock)
    await engine.encode_batch(tenant.principal, [NewMemory(note) for note in NOTES])
    return Tenant(engine, tenant.principal, tenant.clock)


@pytest.mark.anyio
async def test_a_question_that_is_answered_is_graded_above_one_that_is_not(well_read: Tenant) -> None:
    answered = await well_read.recall("Which instrument does Ada play?")
    assert answered.confidence is Confidence.HIGH
    assert answered.intervention is not Intervention.EMPTY
    unanswered = await well_read.recall("How tall is the Eiffel tower?")
    assert unanswered.confidence in (Confidence.LOW, Confidence.NONE)


@pytest.mark.anyio
async def test_noise_is_not_answered_but_explained(well_read: Tenant) -> None:
    answer = await well_read.recall("zxqv wlkj pfft", explain=True)
    assert answer.hits == ()
    assert answer.confidence is Confidence.NONE
    assert answer.intervention is Intervention.EMPTY
    assert len(answer.candidates) == len(NOTES)


@pytest.mark.anyio
async def test_a_page_is_answered_whatever_the_query(well_read: Tenant) -> None:
    memory = await well_read.encode("The save button is #save", url="https://example.com/edit")
    answer = await well_read.recall("zxqv wlkj pfft", url="https://example.com/edit")
    assert answer.hits[0].memory.id == memory.id
    alone = await well_read.recall(None, url="https://example.com/edit")
    assert alone.confidence is Confidence.HIGH


@pytest.mark.anyio
async def test_a_namespace_that_does_not_exist_is_empty_and_not_an_intervention(tenant: Tenant) -> None:
    answer = await tenant.recall("anything", namespace="research/none")
    assert answer.confidence is Confidence.NONE
    assert answer.intervention is Intervention.NONE
    assert answer.context_mode is ContextMode.RESEARCH


@pytest.mark.anyio
async def test_asking_again_soon_is_noticed_once_written_and_before(well_read: Tenant) -> None:
    first = await well_read.recall("Which instrument does Ada play?")
    again = await well_read.recall("What instrument does Ada play?")
    await well_read.engine.write_lessons()
    well_read.clock.advance(seconds=60)
    later = await well_read.recall("which instrument does Ada play")
    assert [first.requery, again.requery, later.requery] == [False, True, True]
    assert again.hits[0].memory.id == first.hits[0].memory.id


@pytest.mark.anyio
async def test_asking_again_later_or_elsewhere_or_by_another_key_or_of_something_else_is_no_requery(
    well_read: Tenant, other: Tenant
) -> None:
    question = "Which instrument does Ada play?"
    await well_read.recall(question)
    await well_read.engine.write_lessons()
    assert not (await well_read.recall("When is lunch?")).requery
    assert not (await well_read.recall(question, namespace="elsewhere")).requery
    assert not (await other.recall(question)).requery
    well_read.clock.advance(seconds=121)
    assert not (await well_read.recall(question)).requery


@pytest.mark.anyio
async def test_a_recall_that_leaves_no_trace_is_not_asked_again(well_read: Tenant) -> None:
    question = "Which instrument does Ada play?"
    await well_read.engine.recall(well_read.principal, RecallRequest(question, learn=False))
    await well_read.engine.write_lessons()
    assert not (await well_read.recall(question)).requery


@pytest.mark.anyio
async def test_filters_do_not_change_what_the_words_are_worth(well_read: Tenant) -> None:
    plain = await well_read.recall("Which instrument does Ada play?")
    filtered = await well_read.recall("Which instrument does Ada play?", filters=Filters(tags_none=("no",)))
    assert plain.confidence is filtered.confidence
