"""What is acknowledged is stored whole and found; what does not fit is refused with numbers, never cut."""

import pytest

from memoria.embedding import Embedder
from memoria.engine import Engine
from memoria.errors import ContentTooLargeError, EmbedderUnavailableError, InvalidInputError
from memoria.records import Encoded, EncodeFailure, NewMemory, RecallRequest
from memoria.vocabulary import MAX_CONTENT_BYTES
from tests.invariants import broken_invariants
from tests.tenants import Tenant

pytestmark = pytest.mark.anyio

FILLER = "The meeting went on about budgets and chairs. "


def long_text(ending: str, size: int = MAX_CONTENT_BYTES) -> str:
    """Make a text of exactly so many bytes that ends with a sentence of its own."""
    room = size - len(ending.encode())
    return (FILLER * (room // len(FILLER) + 1))[:room] + ending


@pytest.mark.parametrize("chunk", [False, True])
async def test_the_longest_content_is_stored_whole_and_found_at_its_end(tenant: Tenant, chunk: bool) -> None:
    content = long_text("The zebra password is kept in the orchid vault.")
    memory = await tenant.encode(content, chunk=chunk)
    assert (await tenant.engine.get(tenant.principal, memory.id)).content == content
    for number in range(30):
        await tenant.encode(f"Unrelated note number {number} on other things")
    hits = (await tenant.recall("zebra password orchid vault", limit=3)).hits
    assert "zebra password" in hits[0].memory.content
    assert memory.id in {hits[0].memory.id, hits[0].memory.part_of}
    assert await broken_invariants(tenant) == {}


async def test_one_byte_too_many_is_refused_with_its_numbers(tenant: Tenant) -> None:
    for content in ("x" * (MAX_CONTENT_BYTES + 1), "é" * (MAX_CONTENT_BYTES // 2) + "x"):
        with pytest.raises(ContentTooLargeError) as caught:
            await tenant.encode(content)
        assert caught.value.details["limit_bytes"] == MAX_CONTENT_BYTES
        assert caught.value.details["size_bytes"] == MAX_CONTENT_BYTES + 1
    assert await tenant.listed() == []


async def test_a_bad_item_fails_an_atomic_batch_whole_and_is_named(tenant: Tenant) -> None:
    with pytest.raises(ContentTooLargeError) as caught:
        await tenant.encode_batch([NewMemory("good"), NewMemory("x" * (MAX_CONTENT_BYTES + 1)), NewMemory("good too")])
    assert caught.value.details["index"] == 1
    assert await tenant.listed() == []


async def test_a_bad_item_of_another_batch_fails_alone_and_is_named(tenant: Tenant) -> None:
    items = [NewMemory("good"), NewMemory(" "), NewMemory("good too"), NewMemory("worse", salience=7.0)]
    stored = await tenant.engine.encode_batch(tenant.principal, items, atomic=False)
    assert isinstance(stored, tuple)
    assert [type(outcome) for outcome in stored] == [Encoded, EncodeFailure, Encoded, EncodeFailure]
    assert [one.details["field"] for one in stored if isinstance(one, EncodeFailure)] == ["content", "salience"]
    assert len(await tenant.listed()) == 2


async def test_a_batch_has_a_limit_with_a_number(tenant: Tenant) -> None:
    for count in (0, 501):
        with pytest.raises(InvalidInputError) as caught:
            await tenant.engine.encode_batch(tenant.principal, [NewMemory("x")] * count)
        assert caught.value.details == {"field": "memories", "limit": 500}


async def test_a_full_batch_is_stored_in_the_order_sent(tenant: Tenant) -> None:
    items = [NewMemory(f"entry {number} of the log") for number in range(500)]
    stored = await tenant.encode_batch(items)
    assert [one.memory.content for one in stored] == [item.content for item in items]
    ids = [one.memory.id for one in stored]
    assert ids == sorted(ids)
    assert await broken_invariants(tenant) == {}


async def test_nothing_is_acknowledged_while_the_embedder_is_away(tenant: Tenant) -> None:
    await tenant.engine._embedder.close()
    with pytest.raises(EmbedderUnavailableError):
        await tenant.encode("never stored")
    assert await tenant.listed() == []


@pytest.mark.parametrize(
    "content",
    [
        "a",
        "!",
        "🦓",
        "  leading and trailing  \n",
        "tab\tand\r\nline ends\r",
        "e\u0301 and é",
        "\u200b\u200d",
        "א",
        "\ufeffx",
    ],
    ids=repr,
)
async def test_content_comes_back_as_it_was_sent(tenant: Tenant, content: str) -> None:
    memory = await tenant.encode(content)
    assert memory.content == content
    assert (await tenant.engine.get(tenant.principal, memory.id)).content == content
    assert memory.id in await tenant.listed()


async def test_every_field_comes_back_as_it_was_sent(tenant: Tenant) -> None:
    metadata = {"deep": [{"a": None, "b": [1, 2.5, "x\\u0000y"]}], "ünï": "\"quotes\" 'and' \\", "big": 2**53 + 1}
    memory = await tenant.encode(
        "All fields",
        type="procedural",
        salience=0.25,
        confidence=1.0,
        title="Title, 'quoted' {braces}",
        tags=("a,b", 'q"t', "{}", "NULL", "ü"),
        category="api_quirk",
        source="HUMAN",
        url="Example.com:443/Path/?q=1#frag",
        related_urls=("http://a.example/", "b.example"),
        project="p",
        context={"user_id": "ann", "empty": ""},
        metadata=metadata,
        pinned=True,
    )
    assert (memory.type.value, memory.salience, memory.confidence, memory.pinned) == ("Procedural", 0.25, 1.0, True)
    assert memory.tags == ("a,b", 'q"t', "{}", "NULL", "ü")
    assert memory.title == "Title, 'quoted' {braces}"
    assert memory.metadata == metadata
    assert dict(memory.context) == {"user_id": "ann", "empty": ""}
    assert memory.url == "https://example.com/Path?q=1"
    assert (memory.site, memory.related_urls) == ("example.com", ("http://a.example", "https://b.example"))
    assert (memory.category, memory.source, memory.project) == ("api_quirk", "human", "p")


async def test_the_bundled_model_finds_the_end_of_a_long_text_by_meaning(
    tenant: Tenant, minilm_embedder: Embedder
) -> None:
    engine = Engine(tenant.database, minilm_embedder, tenant.clock)
    content = long_text("My daughter plays the violin in the school orchestra.", 8_000)
    stored = await engine.encode(tenant.principal, NewMemory(content))
    assert isinstance(stored, Encoded)
    await engine.encode_batch(tenant.principal, [NewMemory(f"Budget item {number}: chairs") for number in range(12)])
    answer = await engine.recall(tenant.principal, RecallRequest("Which musical instrument does the kid practise?"))
    assert answer.hits[0].memory.id == stored.memory.id
    assert await broken_invariants(tenant) == {}
