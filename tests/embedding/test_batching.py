import asyncio
import threading
from collections.abc import AsyncIterator, Sequence

import numpy as np
import pytest
from anyio.lowlevel import checkpoint

from memoria.embedding import BatchingEmbedder, EmbedderUnavailableError, TextTooLongError, Vectors
from memoria.embedding.batching import MAX_BATCH_TEXTS, MAX_BATCH_TOKENS

pytestmark = pytest.mark.anyio


class GatedModel:
    """Embeds a text as [its length, 1]; each batch waits for one permit and is written down."""

    name = "gated"
    dimensions = 2
    max_tokens = 254

    def __init__(self) -> None:
        self.permits = threading.Semaphore(0)
        self.started = threading.Semaphore(0)
        self.batches: list[list[str]] = []
        self.threads: set[int] = set()
        self.closed = False

    def count_tokens(self, text: str) -> int:
        return len(text)

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        return [(place, place + 1) for place in range(len(text))]

    def prepare(self, texts: Sequence[str]) -> list[str]:
        for text in texts:
            if len(text) > self.max_tokens:
                raise TextTooLongError(len(text), self.max_tokens)
        return list(texts)

    def encode(self, prepared: Sequence[str]) -> Vectors:
        self.threads.add(threading.get_ident())
        self.batches.append(list(prepared))
        self.started.release()
        assert self.permits.acquire(timeout=30)
        if "too few" in prepared:
            return np.zeros((0, 2), np.float32)
        if "fault" in prepared:
            raise RuntimeError("the model broke")
        return np.array([[len(text), 1] for text in prepared], np.float32)

    def close(self) -> None:
        self.closed = True

    async def batch_started(self) -> None:
        assert await asyncio.to_thread(self.started.acquire, timeout=30)

    def permit(self, batches: int = 1000) -> None:
        self.permits.release(batches)


@pytest.fixture
def model() -> GatedModel:
    return GatedModel()


@pytest.fixture
async def embedder(model: GatedModel) -> AsyncIterator[BatchingEmbedder[str]]:
    opened = BatchingEmbedder(model)
    yield opened
    model.permit()
    await opened.close()


async def queue(embedder: BatchingEmbedder[str], *requests: list[str]) -> list[asyncio.Task[Vectors]]:
    """Start the requests and return once all of them wait in their lanes (or are answered)."""
    tasks = [asyncio.create_task(embedder.embed(texts)) for texts in requests]
    await checkpoint()  # lets each task hand its texts to the tokenising thread
    # That thread works in order: when this later piece of work is done, so are theirs.
    await asyncio.get_running_loop().run_in_executor(embedder._preparing, lambda: None)
    for _ in range(3):
        await checkpoint()
    return tasks


async def test_an_idle_embedder_starts_at_once_and_off_the_loop(
    model: GatedModel, embedder: BatchingEmbedder[str]
) -> None:
    model.permit()
    assert (await embedder.embed(["four"])).tolist() == [[4, 1]]
    assert model.threads.isdisjoint({threading.get_ident()})


async def test_requests_that_arrive_during_a_batch_go_together_into_the_next(
    model: GatedModel, embedder: BatchingEmbedder[str]
) -> None:
    first = asyncio.create_task(embedder.embed(["a"]))
    await model.batch_started()
    others = await queue(embedder, ["bb"], ["ccc", "d"], ["ee"])
    model.permit()
    answers = [answer.tolist() for answer in await asyncio.gather(first, *others)]
    assert model.batches == [["a"], ["bb", "d", "ccc", "ee"]]
    assert answers == [[[1, 1]], [[2, 1]], [[3, 1], [1, 1]], [[2, 1]]]


async def test_a_batch_stays_within_its_caps(model: GatedModel, embedder: BatchingEmbedder[str]) -> None:
    model.permit()
    vectors = await embedder.embed(["x" * (1 + place % 250) for place in range(500)])
    assert vectors[:, 0].tolist() == [1 + place % 250 for place in range(500)]
    await embedder.embed(["x"] * 100)
    assert max(len(batch) for batch in model.batches) == MAX_BATCH_TEXTS
    assert max(sum(map(len, batch)) for batch in model.batches) <= MAX_BATCH_TOKENS


async def test_a_query_overtakes_a_large_ingestion(model: GatedModel, embedder: BatchingEmbedder[str]) -> None:
    ingestion = asyncio.create_task(embedder.embed(["document"] * 500))
    await model.batch_started()
    (query,) = await queue(embedder, ["query"])
    model.permit(2)
    await query
    assert model.batches[1] == ["query"]
    assert not ingestion.done()
    model.permit()
    assert len(await ingestion) == 500


async def test_a_long_note_does_not_wait_for_the_whole_of_an_import(
    model: GatedModel, embedder: BatchingEmbedder[str]
) -> None:
    imported = asyncio.create_task(embedder.embed(["i" * 254] * 8))
    await model.batch_started()
    (note,) = await queue(embedder, ["n" * 254] * 4)
    model.permit()
    await asyncio.gather(imported, note)
    assert "".join(batch[0][0] for batch in model.batches) == "iinininini" + "ii"


async def test_steady_queries_do_not_starve_an_ingestion(model: GatedModel, embedder: BatchingEmbedder[str]) -> None:
    first = asyncio.create_task(embedder.embed(["first"]))
    await model.batch_started()
    waiting = await queue(embedder, ["document"] * 64, *[["q" * 8] * 8 for _ in range(12)])
    model.permit()
    await asyncio.gather(first, *waiting)
    kinds = ["bulk" if batch[0] == "document" else "short" for batch in model.batches]
    assert kinds[:5] == ["short", "bulk", "short", "bulk", "short"]


async def test_cancelling_one_waiter_leaves_the_others_unharmed(
    model: GatedModel, embedder: BatchingEmbedder[str]
) -> None:
    running = asyncio.create_task(embedder.embed(["running"]))
    await model.batch_started()
    dropped, kept = await queue(embedder, ["dropped"], ["kept"])
    running.cancel()
    dropped.cancel()
    model.permit()
    assert (await kept).tolist() == [[4, 1]]
    assert model.batches == [["running"], ["kept"]]
    for cancelled in (running, dropped):
        with pytest.raises(asyncio.CancelledError):
            await cancelled


async def test_a_fault_reaches_exactly_the_callers_of_its_batch(
    model: GatedModel, embedder: BatchingEmbedder[str]
) -> None:
    before = asyncio.create_task(embedder.embed(["before"]))
    await model.batch_started()
    broken = await queue(embedder, ["fault"], ["neighbour"])
    model.permit(1)
    await before
    await model.batch_started()
    (after,) = await queue(embedder, ["after"])
    model.permit()
    outcomes = await asyncio.gather(*broken, return_exceptions=True)
    assert [str(outcome) for outcome in outcomes] == ["the model broke"] * 2
    assert (await after).tolist() == [[5, 1]]


async def test_a_model_that_gives_too_few_vectors_is_unavailable(
    model: GatedModel, embedder: BatchingEmbedder[str]
) -> None:
    model.permit()
    with pytest.raises(EmbedderUnavailableError, match="shape"):
        await embedder.embed(["too few"])


async def test_a_text_beyond_the_window_fails_its_own_caller_alone(
    model: GatedModel, embedder: BatchingEmbedder[str]
) -> None:
    model.permit()
    good, bad = await asyncio.gather(embedder.embed(["good"]), embedder.embed(["x" * 255]), return_exceptions=True)
    assert isinstance(bad, TextTooLongError)
    assert isinstance(good, np.ndarray)
    assert model.batches == [["good"]]


async def test_no_texts_give_no_vectors(embedder: BatchingEmbedder[str]) -> None:
    assert (await embedder.embed([])).shape == (0, 2)


async def test_close_finishes_what_was_accepted_and_refuses_the_rest(model: GatedModel) -> None:
    embedder = BatchingEmbedder(model)
    running = asyncio.create_task(embedder.embed(["running"]))
    await model.batch_started()
    (waiting,) = await queue(embedder, ["waiting"] * 40)
    closing = asyncio.create_task(embedder.close())
    await checkpoint()
    with pytest.raises(EmbedderUnavailableError):
        await embedder.embed(["late"])
    assert not model.closed
    model.permit()
    await closing
    assert len(await running) == 1
    assert len(await waiting) == 40
    assert model.closed
    await embedder.close()


async def test_the_model_describes_the_embedder(embedder: BatchingEmbedder[str]) -> None:
    assert (embedder.name, embedder.dimensions, embedder.max_tokens) == ("gated", 2, 254)
    assert embedder.count_tokens("four") == 4
    assert embedder.token_offsets("ab") == [(0, 1), (1, 2)]
