"""Causes are found where they are stated, and nowhere else."""

import pytest

from memoria.causes import Told, find_causes, states_cause
from memoria.lexical import term_hash, terms
from memoria.records import NewMemory
from memoria.vocabulary import EdgeType
from tests.tenants import Tenant

pytestmark = pytest.mark.anyio


def tell(*texts: str, session: str | None = None) -> list[Told]:
    """Let texts be written together, in this order; the ids count from 1."""
    hashed = [frozenset(term_hash(term) for term in terms(text)) for text in texts]
    return [
        Told(place, text, held, session, place - 1 if place > 1 else None)
        for place, (text, held) in enumerate(zip(texts, hashed, strict=True), 1)
    ]


DISK = "The disk of the database was full"


@pytest.mark.parametrize(
    "effect",
    [
        "Checkout failed because of the full disk",
        "The outage was caused by the full database disk.",
        "Checkout failed due to the full disk, and nobody slept",
        "Therefore checkout failed",
        "Tom: Therefore checkout failed",
        "That's why checkout failed",
        "As a result, checkout failed",
        "Because of this, checkout failed for an hour",
        "Checkout failed because of that",
    ],
)
def test_a_stated_cause_is_found(effect: str) -> None:
    assert states_cause(effect)
    assert find_causes(tell(DISK, effect), {}) == [(1, 2)]


@pytest.mark.parametrize(
    "effect",
    [
        "Checkout failed because of the late bank",
        "Checkout failed",
        "We said therefore twice",
        "The disk was full because nobody looked",
        "That is why not",
    ],
)
def test_what_states_no_cause_that_is_there_joins_nothing(effect: str) -> None:
    unrelated = tell("Lunch is at noon", "Somebody else said so", effect)
    assert find_causes([unrelated[0], Told(3, effect, unrelated[2].terms, None, None)], {}) == []


def test_a_named_cause_may_stand_after_its_effect_and_further_away() -> None:
    texts = ("Checkout failed because of the full database disk", "Lunch is at noon", "Tom sang", DISK)
    assert find_causes(tell(*texts), {}) == [(4, 1)]


def test_a_cause_of_one_word_must_stand_right_beside() -> None:
    assert find_causes(tell("The flood came on Monday", "We moved because of the flood"), {}) == [(1, 2)]
    assert find_causes(tell("The flood came on Monday", "Lunch", "We moved because of the flood"), {}) == []


def test_the_memory_that_shares_most_words_is_the_cause() -> None:
    told = tell("The disk was new", "We waited because of the full database disk", DISK)
    assert find_causes(told, {}) == [(3, 2)]


def test_a_long_text_is_neither_cause_nor_effect() -> None:
    much = " ".join(f"word{number}" for number in range(100))
    effect = "Checkout failed because of the full database disk"
    assert find_causes(tell(f"{DISK} {much}", effect), {}) == []
    assert find_causes(tell(DISK, f"{effect}. {much}"), {}) == []


def test_another_conversation_holds_no_cause() -> None:
    first, second = tell(DISK, "Checkout failed because of the full disk")
    assert find_causes([first, Told(2, second.text, second.terms, "elsewhere", None)], {}) == []


async def causes_of(tenant: Tenant, memory_id: int) -> list[int]:
    page = await tenant.engine.neighbors(tenant.principal, memory_id)
    return [each.memory.id for each in page.items if each.edge.type is EdgeType.CAUSAL and not each.outgoing]


async def test_memories_of_a_batch_are_joined(tenant: Tenant) -> None:
    cause, effect = await tenant.encode_batch(
        [NewMemory(DISK), NewMemory("The outage was caused by the full database disk")]
    )
    assert await causes_of(tenant, effect.memory.id) == [cause.memory.id]


@pytest.mark.parametrize("effect", ["Therefore checkout failed", "Checkout failed because of the full disk"])
async def test_a_memory_is_joined_to_the_one_just_before_it(tenant: Tenant, effect: str) -> None:
    cause = await tenant.encode(DISK, context={"session_id": "s"})
    tenant.clock.advance(minutes=5)
    stored = await tenant.encode(effect, context={"session_id": "s"})
    assert await causes_of(tenant, stored.id) == [cause.id]


async def test_a_hidden_memory_is_no_cause(tenant: Tenant) -> None:
    cause = await tenant.encode(DISK, context={"session_id": "s"})
    await tenant.engine.archive(tenant.principal, cause.id)
    stored = await tenant.encode("Therefore checkout failed", context={"session_id": "s"})
    assert await causes_of(tenant, stored.id) == []
