"""Off-loop batching: many coroutines share one blocking model."""

import asyncio
from collections import deque
from collections.abc import Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import numpy as np

from memoria.embedding.port import Vectors
from memoria.errors import EmbedderUnavailableError

PreparedT = TypeVar("PreparedT", bound=Sized)

# Larger batches gain almost no speed on a CPU (benchmarks/embedder), and a query waits behind one of them:
# 256 tokens, one text of full length, take about a tenth of a second on one core.
MAX_BATCH_TEXTS = 32
MAX_BATCH_TOKENS = 256
SHORT_REQUEST_TEXTS = 8  # requests up to both of these sizes take the short lane
SHORT_REQUEST_TOKENS = 256
PREPARED_AT_ONCE_CHARACTERS = 1000  # tokenising so little takes less time than handing it to a thread


class BlockingModel(Protocol[PreparedT]):
    """A model that computes in the calling thread; texts are prepared (tokenised) first, then encoded.

    `len()` of a prepared text is its cost in tokens. `prepare` and `encode` may run at the same time.
    """

    @property
    def name(self) -> str:
        """Identity of the vectors."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of every vector."""
        ...

    @property
    def max_tokens(self) -> int:
        """Window in tokens, special tokens excluded."""
        ...

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text."""
        ...

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Locate every token as (first, end) character positions."""
        ...

    def prepare(self, texts: Sequence[str]) -> list[PreparedT]:
        """Tokenise; raises TextTooLongError when a text exceeds the window."""
        ...

    def encode(self, prepared: Sequence[PreparedT]) -> Vectors:
        """Compute the vectors, float32 of shape (len(prepared), dimensions), each row of length 1."""
        ...

    def close(self) -> None:
        """Release the model."""
        ...


@dataclass(eq=False, slots=True)
class _Request(Generic[PreparedT]):
    """One caller's texts, cheapest first, so that a batch holds texts of one length and little padding."""

    texts: list[PreparedT]
    vectors: Vectors
    answer: asyncio.Future[Vectors]
    order: deque[int] = field(default_factory=deque)


class BatchingEmbedder(Generic[PreparedT]):
    """An Embedder over a blocking model.

    One thread computes, so the event loop never waits. An idle embedder starts at once; requests that arrive
    meanwhile go together into the next batch. There are two lanes, short and bulk, and while both hold work
    their batches alternate: a query waits for one bulk batch at most, and bulk work is never starved. Within a
    lane requests take turns, one batch each, so that a long note does not wait for the whole of an import.
    An instance belongs to the event loop that first uses it.
    """

    def __init__(self, model: BlockingModel[PreparedT]) -> None:
        self._model = model
        self._computing = ThreadPoolExecutor(1, thread_name_prefix="embedding")
        # Tokenising a long document takes milliseconds: off the loop, and beside a running batch.
        self._preparing = ThreadPoolExecutor(1, thread_name_prefix="tokenising")
        self._short: deque[_Request[PreparedT]] = deque()
        self._bulk: deque[_Request[PreparedT]] = deque()
        self._short_went_last = False
        self._accepted = 0
        self._idle: asyncio.Event = asyncio.Event()
        self._idle.set()
        self._runner: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def name(self) -> str:
        """Identity of the vectors: the model's."""
        return self._model.name

    @property
    def dimensions(self) -> int:
        """Length of every vector."""
        return self._model.dimensions

    @property
    def max_tokens(self) -> int:
        """Window in tokens, special tokens excluded."""
        return self._model.max_tokens

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text with the model's tokenizer."""
        return self._model.count_tokens(text)

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Locate every token as (first, end) character positions."""
        return self._model.token_offsets(text)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed the texts, sharing batches with concurrent callers.

        Raises what the model raises: TextTooLongError to this caller alone, a fault of the model to every
        caller with a text in the failing batch; and EmbedderUnavailableError once closed.
        """
        if self._closed:
            raise EmbedderUnavailableError("the embedder is closed")
        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        self._accepted += 1
        self._idle.clear()
        try:
            return await self._answer(texts)
        finally:
            self._accepted -= 1
            if not self._accepted:
                self._idle.set()

    async def close(self) -> None:
        """Refuse new texts, finish the accepted ones, then release the threads and the model."""
        already_closed, self._closed = self._closed, True
        await self._idle.wait()
        if self._runner is not None:
            await self._runner
        if already_closed:
            return
        self._preparing.shutdown(wait=False)
        self._computing.shutdown(wait=False)
        self._model.close()

    async def _answer(self, texts: Sequence[str]) -> Vectors:
        loop = asyncio.get_running_loop()
        if sum(map(len, texts)) <= PREPARED_AT_ONCE_CHARACTERS:
            prepared = self._model.prepare(texts)
        else:
            prepared = await loop.run_in_executor(self._preparing, self._model.prepare, list(texts))
        request = _Request(
            texts=prepared,
            vectors=np.empty((len(prepared), self.dimensions), np.float32),
            answer=loop.create_future(),
            order=deque(sorted(range(len(prepared)), key=lambda index: len(prepared[index]))),
        )
        lane = self._short if _is_short(prepared) else self._bulk
        lane.append(request)
        if self._runner is None or self._runner.done():
            self._runner = loop.create_task(self._run())
        return await request.answer

    async def _run(self) -> None:
        """Compute batch after batch until both lanes are empty."""
        loop = asyncio.get_running_loop()
        while batch := self._next_batch():
            texts = [request.texts[index] for request, index in batch]
            computed = loop.run_in_executor(self._computing, self._compute, texts)
            await asyncio.wait([computed])
            _deliver(batch, computed)

    def _compute(self, texts: list[PreparedT]) -> Vectors:
        vectors = self._model.encode(texts)
        # A row too few would otherwise leave its caller waiting for ever.
        if vectors.shape != (len(texts), self.dimensions):
            raise EmbedderUnavailableError(f"the model gave vectors of shape {vectors.shape}")
        return vectors

    def _next_batch(self) -> list[tuple[_Request[PreparedT], int]]:
        bulk_turn = self._short_went_last and bool(self._bulk)
        for lane in (self._bulk, self._short) if bulk_turn else (self._short, self._bulk):
            batch = _take(lane)
            if batch:
                self._short_went_last = lane is self._short
                return batch
        return []


def _is_short(prepared: Sequence[Sized]) -> bool:
    return len(prepared) <= SHORT_REQUEST_TEXTS and sum(map(len, prepared)) <= SHORT_REQUEST_TOKENS


def _take(lane: deque[_Request[PreparedT]]) -> list[tuple[_Request[PreparedT], int]]:
    """Take texts from the front of a lane up to the caps, dropping requests that nobody awaits any more."""
    batch: list[tuple[_Request[PreparedT], int]] = []
    tokens = 0
    while lane and len(batch) < MAX_BATCH_TEXTS:
        request = lane[0]
        if request.answer.done() or not request.order:
            lane.popleft()
            continue
        index = request.order[0]
        tokens += len(request.texts[index])
        if batch and tokens > MAX_BATCH_TOKENS:
            break
        batch.append((request, request.order.popleft()))
    if lane and batch and lane[0] is batch[-1][0]:
        lane.rotate(-1)  # it has had its turn; a request that has not been taken from yet keeps its place
    return batch


def _deliver(batch: list[tuple[_Request[PreparedT], int]], computed: asyncio.Future[Vectors]) -> None:
    """Hand each row to its request, or the fault to every request of the batch.

    Batches run one after another, so a request with nothing left to take is complete.
    """
    waiting = [(row, request, index) for row, (request, index) in enumerate(batch) if not request.answer.done()]
    fault = computed.exception()
    if fault is not None:
        for request in {request for _, request, _ in waiting}:
            request.answer.set_exception(fault)
        return
    vectors = computed.result()
    for row, request, index in waiting:
        request.vectors[index] = vectors[row]
    for request in {request for _, request, _ in waiting}:
        if not request.order:
            request.answer.set_result(request.vectors)
