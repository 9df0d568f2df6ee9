"""Store a conversation in a namespace, ask it questions, and mark what it answers, on an engine in this process."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from benchmarks.recall_quality.dataset import Conversation, Question
from memoria.embedding.port import Embedder, Vectors
from memoria.engine import Engine
from memoria.errors import MemoriaError
from memoria.records import Encoded, Memory, NewMemory, Principal, Recall, RecallRequest
from memoria.reward import Feedback
from memoria.vocabulary import MAX_BATCH_MEMORIES

LIMIT = 20
MARKED = 10  # results of a recall that feedback is given for
MINUTES_A_RECALL = 1


class PacedClock:
    """Tell a time that moves a minute with each recall, so that a run can be repeated."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        """Read the clock."""
        return self.now

    def advance(self) -> None:
        """Let a minute pass."""
        self.now += timedelta(minutes=MINUTES_A_RECALL)


class RememberingEmbedder:
    """Embed each text once: the same conversation goes into several namespaces."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, np.ndarray] = {}
        self.name, self.dimensions, self.max_tokens = embedder.name, embedder.dimensions, embedder.max_tokens
        self.count_tokens, self.token_offsets = embedder.count_tokens, embedder.token_offsets

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed the texts that are new."""
        unknown = [text for text in dict.fromkeys(texts) if text not in self._known]
        if unknown:
            self._known.update(zip(unknown, await self._embedder.embed(unknown), strict=True))
        return np.stack([self._known[text] for text in texts])

    async def close(self) -> None:
        """Close the embedder."""
        await self._embedder.close()


@dataclass(frozen=True, slots=True)
class Pupil:
    """Be a namespace that holds one conversation; `units` names the turns behind each memory."""

    engine: Engine
    principal: Principal
    clock: PacedClock
    namespace: str
    units: dict[int, tuple[str, ...]]

    async def ask(self, text: str, *, learn: bool) -> Recall:
        """Ask; with `learn`, what it teaches is written before the next question."""
        self.clock.advance()
        request = RecallRequest(text, self.namespace, limit=LIMIT, learn=learn)
        answer = await self.engine.recall(self.principal, request)
        if learn:
            await self.engine.write_lessons()
        return answer

    async def rank(self, text: str, *, learn: bool = False) -> list[str]:
        """Name the units that a question finds, best first."""
        return self.units_of(await self.ask(text, learn=learn))

    async def teach(self, question: Question) -> None:
        """Ask, and mark the first results as their labels say."""
        answer = await self.ask(question.text, learn=True)
        for hit in answer.hits[:MARKED]:
            useful = bool(set(self.units[hit.memory.id]) & question.evidence)
            await self.mark(Feedback(hit.memory.id, useful, answer.recall_id))

    async def mark(self, given: Feedback) -> None:
        """Give feedback. Raises MemoriaError when it is refused."""
        await self.engine.learning.feedback(self.principal, given)

    async def all_memories(self) -> list[Memory]:
        """Read every memory."""
        memories: list[Memory] = []
        cursor: str | None = None
        while True:
            page = await self.engine.list_memories(self.principal, namespace=self.namespace, limit=200, cursor=cursor)
            memories += page.items
            cursor = page.next_cursor
            if cursor is None:
                return memories

    def units_of(self, answer: Recall) -> list[str]:
        """Name the units behind results, each once, where it first occurs."""
        return list(dict.fromkeys(unit for hit in answer.hits for unit in self.units[hit.memory.id]))


async def enrol(
    engine: Engine, principal: Principal, clock: PacedClock, conversation: Conversation, name: str
) -> Pupil:
    """Store every turn, in order. Raises MemoriaError when one is refused."""
    namespace = f"{name}/{conversation.name}"
    units: dict[int, tuple[str, ...]] = {}
    for start in range(0, len(conversation.turns), MAX_BATCH_MEMORIES):
        turns = conversation.turns[start : start + MAX_BATCH_MEMORIES]
        items = [NewMemory(t.content, namespace=namespace, context=t.context, occurred_at=t.occurred_at) for t in turns]
        stored = await engine.encode_batch(principal, items)
        for turn, outcome in zip(turns, stored, strict=True):
            if not isinstance(outcome, Encoded):
                raise MemoriaError("a turn was refused")
            units[outcome.memory.id] = (*units.get(outcome.memory.id, ()), turn.unit)
    return Pupil(engine, principal, clock, namespace, units)
