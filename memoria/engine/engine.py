"""The engine: one short method per public verb. It owns each transaction and delegates the rest."""

import asyncio
import copy
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import cast

from memoria import forget, listing, memories, memory_events, namespaces, recall, revise, search
from memoria.chunking import chunk_text
from memoria.context import build_context, context_recall
from memoria.database import Connection, Database
from memoria.embedding.port import Embedder
from memoria.encode import Encoder, embed_prepared
from memoria.engine.consolidation import Consolidation
from memoria.engine.embedders import with_either_embedder
from memoria.engine.intentions import Intentions
from memoria.engine.jobs import Jobs
from memoria.engine.learning import Learning
from memoria.engine.transactions import Clock, Transactions, utc_now
from memoria.engine.transfer import Transfer
from memoria.engine.upkeep import Upkeep
from memoria.errors import InvalidInputError
from memoria.identifiers import IdMaker
from memoria.ingest import Ingest, prepare_batch
from memoria.language.port import SummaryWriter
from memoria.learn import RecallLearner, note_recall
from memoria.lexical import query_terms
from memoria.passages import embed_queries
from memoria.recall import Ground, Plan
from memoria.recalls import Recalled
from memoria.records import (
    Chunk,
    Context,
    ContextRequest,
    Encoded,
    EncodeFailure,
    Filters,
    ForgetResult,
    HistoryEntry,
    Memory,
    MemoryPage,
    MemoryPatch,
    NamespacePage,
    NamespaceStats,
    NeighborPage,
    NewMemory,
    Once,
    Principal,
    Recall,
    RecallRequest,
    Replay,
    SearchPage,
    SearchRequest,
)
from memoria.tokens import count_tokens
from memoria.validation import check_context, check_filters
from memoria.vocabulary import (
    CHUNK_TOKENS,
    MAX_BATCH_MEMORIES,
    MAX_BATCH_QUERIES,
    MAX_FORGET_IDS,
    MemoryState,
    Scope,
)

WARM_UP_TEXT = "a few words"


def _of_the_first(once: Once | None) -> Once | None:
    """Render the only answer of a batch of one, not the batch."""
    if once is None:
        return None
    render = once.render
    return replace(once, render=lambda stored: render(stored[0]))


class Engine:
    """Remember and recall, confined to the organization of the principal that each call names.

    Every method raises ForbiddenError when the key's scopes or namespaces do not cover the call, NotFoundError for
    ids that the principal cannot see, InvalidInputError for values out of bounds, and UnavailableError while the
    database or the embedder is away. A write with `once` is done once: a repeat gets the stored answer as Replay.
    """

    def __init__(
        self,
        database: Database,
        embedder: Embedder,
        clock: Clock = utc_now,
        *,
        previous: Embedder | None = None,
        writer: SummaryWriter | None = None,
    ) -> None:
        self.database = database
        self._embedder = embedder
        self._clock = clock
        self._ids = IdMaker(clock)
        self._transactions = Transactions(database, clock)
        self._learner = RecallLearner(database)
        self.learning = Learning(database, embedder, clock, self._ids, self._transactions, self._learner)
        self.upkeep = Upkeep(database, self._transactions, self._ids, embedder.name, clock)
        self.transfer = Transfer(database, self._transactions, self._ids, embedder, clock)
        self.intentions = Intentions(database, embedder, clock, self._ids, self._transactions)
        self.jobs = Jobs(database, embedder.name, self._ids, clock)
        self.consolidation = Consolidation(database, embedder, clock, self._ids, self._transactions, writer)
        self.twin = None if previous is None else self._with_embedder(previous)

    @classmethod
    async def open(
        cls,
        database_url: str,
        embedder: Embedder,
        *,
        clock: Clock = utc_now,
        pool_size: int = 10,
        previous: Embedder | None = None,
        writer: SummaryWriter | None = None,
    ) -> "Engine":
        """Connect to a migrated database. Raises UnavailableError when it does not answer.

        `previous` serves the namespaces that it has embedded until they have changed over to `embedder`. `writer` is a
        language model that may write summaries; without one they are quoted.
        """
        database = await Database.open(database_url, pool_size=pool_size)
        engine = cls(database, embedder, clock, previous=previous, writer=writer)
        engine._learner.start()
        return engine

    async def close(self) -> None:
        """Let running calls end and write what they taught, then close the embedder and the connections."""
        await self._learner.close()
        await self._embedder.close()
        if self.twin is not None:
            await self.twin._embedder.close()
        await self.database.close()

    def _with_embedder(self, embedder: Embedder) -> "Engine":
        """Make an engine that differs in its embedder alone, and shares all the rest."""
        twin = copy.copy(self)
        twin._embedder, twin.twin = embedder, None
        twin.intentions = self.intentions.with_embedder(embedder)
        return twin

    def warm_up(self) -> None:
        """Read the vocabularies that the first call would otherwise wait for: about half a second. Blocks."""
        for count in (count_tokens, self._embedder.count_tokens):
            count(WARM_UP_TEXT)
        query_terms(WARM_UP_TEXT)

    async def ping(self) -> None:
        """Raise UnavailableError unless the database answers."""
        async with self.database.untenanted() as connection:
            await connection.fetch_value("ping")

    # Encode

    async def encode(self, principal: Principal, new: NewMemory, once: Once | None = None) -> Encoded | Replay:
        """Store one memory, or find the equal one that is there."""
        stored = await self.encode_batch(principal, [new], once=_of_the_first(once))
        if isinstance(stored, Replay):
            return stored
        return cast(Encoded, stored[0])  # an atomic batch holds no failures

    @with_either_embedder
    async def encode_batch(
        self, principal: Principal, items: Sequence[NewMemory], *, atomic: bool = True, once: Once | None = None
    ) -> tuple[Encoded | EncodeFailure, ...] | Replay:
        """Store up to 500 memories, embedded together, in the order sent.

        Atomic: all or none, and an error's details name the item by `index`. Else each item has its own outcome.
        """
        namespaces.require_scope(principal, Scope.WRITE)
        if not 1 <= len(items) <= MAX_BATCH_MEMORIES:
            raise InvalidInputError(
                f"A batch holds 1 to {MAX_BATCH_MEMORIES} memories.", field="memories", limit=MAX_BATCH_MEMORIES
            )
        if once and (replay := await self._transactions.find_answer(principal, once)):
            return replay
        now = self._clock()
        batch = await prepare_batch(principal, items, now, self._embedder, atomic=atomic)
        return await self._transactions.retry(lambda: self._encode_once(principal, batch, once, now))

    def chunk(self, content: str, max_tokens: int = CHUNK_TOKENS) -> tuple[Chunk, ...]:
        """Cut a text into chunks on sentence and code-block borders; nothing is stored."""
        return chunk_text(content, max_tokens, count_tokens)

    # Recall

    async def recall(self, principal: Principal, request: RecallRequest) -> Recall:
        """Return what the query lights up, best first; a namespace that does not exist answers an empty result."""
        return (await self.recall_batch(principal, [request]))[0]

    async def recall_batch(self, principal: Principal, requests: Sequence[RecallRequest]) -> tuple[Recall, ...]:
        """Answer up to 50 queries, embedded together."""
        namespaces.require_scope(principal, Scope.READ)
        if not 1 <= len(requests) <= MAX_BATCH_QUERIES:
            raise InvalidInputError(
                f"A batch holds 1 to {MAX_BATCH_QUERIES} queries.", field="queries", limit=MAX_BATCH_QUERIES
            )
        answers = await self._recall_noted(principal, requests)
        for (_, noted), request in zip(answers, requests, strict=True):
            if request.learn and noted is not None:
                self._learner.note(noted)
        return tuple(answer for answer, _ in answers)

    @with_either_embedder
    async def _recall_noted(
        self, principal: Principal, requests: Sequence[RecallRequest]
    ) -> list[tuple[Recall, Recalled | None]]:
        """Answer queries, and say of each what may be learned from it."""
        plans = [recall.plan(principal, request) for request in requests]
        now = self._clock()
        # The words are looked up while the embedder computes; neither waits for the other with a connection in hand.
        vectors, grounds = await asyncio.gather(
            embed_queries(self._embedder, [plan.query for plan in plans]), self._survey(principal, plans, now)
        )
        answers = []
        for plan, ground, vector in zip(plans, grounds, vectors, strict=True):
            async with self.database.tenant(principal.org_id) as connection:
                answer = await recall.run(connection, plan, ground, vector, self._ids.next())
                noted = note_recall(principal, plan, ground, vector, answer.recall_id, answer.hits)
                if noted is not None and plan.request.at is None:
                    answer = replace(answer, requery=await self._learner.was_asked(connection, noted))
                reminders = await self.intentions.recalled(connection, principal, plan, ground, vector)
                answer = replace(answer, intentions=reminders)
            answers.append((answer, noted if plan.request.at is None else None))
        return answers

    async def _survey(self, principal: Principal, plans: Sequence[Plan], now: datetime) -> list[Ground | None]:
        async with self.database.tenant(principal.org_id) as connection:
            return [await recall.survey(connection, principal.org_id, plan, self._embedder.name, now) for plan in plans]

    async def build_context(self, principal: Principal, request: ContextRequest) -> Context:
        """Recall and write the result as text for a model's prompt, within a token budget."""
        namespaces.require_scope(principal, Scope.READ)
        [(answer, noted)] = await self._recall_noted(principal, [context_recall(request)])
        context = build_context(request, answer)
        if noted is not None:
            self._learner.note(noted.only(memory.id for memory in context.memories))
        return context

    async def write_lessons(self) -> None:
        """Write now what recalls have taught; else it is written within a second."""
        await self._learner.flush()

    @with_either_embedder
    async def search(self, principal: Principal, request: SearchRequest) -> SearchPage:
        """Rank by words and meaning, page by page, without spreading or learning."""
        namespaces.require_scope(principal, Scope.READ)
        plan = search.plan(principal, request)
        vector = (await embed_queries(self._embedder, [plan.embeds]))[0]
        async with self.database.tenant(principal.org_id) as connection:
            return await search.run(connection, principal.org_id, plan, vector, self._embedder.name, self._clock())

    # Read

    async def list_memories(
        self,
        principal: Principal,
        *,
        namespace: str | None = None,
        filters: Filters | None = None,
        include: Sequence[str] = (),
        limit: int = 50,
        cursor: str | None = None,
    ) -> MemoryPage:
        """Read a page of the memories that pass the filters, newest first."""
        namespaces.require_scope(principal, Scope.READ)
        name = namespaces.resolve_namespace(principal, namespace)
        query = listing.plan(name, check_filters(filters or Filters()), include, limit, cursor)
        async with self.database.tenant(principal.org_id) as connection:
            return await listing.list_memories(connection, principal.org_id, query, self._clock())

    async def get(self, principal: Principal, memory_id: int) -> Memory:
        """Read one memory, whatever its state."""
        namespaces.require_scope(principal, Scope.READ)
        async with self.database.tenant(principal.org_id) as connection:
            return await listing.read_visible(connection, principal, memory_id)

    async def history(self, principal: Principal, memory_id: int) -> tuple[HistoryEntry, ...]:
        """Read a memory's earlier versions and moves, oldest first."""
        namespaces.require_scope(principal, Scope.READ)
        async with self.database.tenant(principal.org_id) as connection:
            await listing.read_visible(connection, principal, memory_id)
            return tuple(await memory_events.list_events(connection, principal.org_id, memory_id))

    async def neighbors(
        self, principal: Principal, memory_id: int, *, limit: int = 50, cursor: str | None = None
    ) -> NeighborPage:
        """Read a page of a memory's edges and their other ends, heaviest first."""
        namespaces.require_scope(principal, Scope.READ)
        async with self.database.tenant(principal.org_id) as connection:
            return await listing.list_neighbors(connection, principal, memory_id, limit, cursor)

    async def stats(self, principal: Principal, namespace: str | None = None) -> NamespaceStats:
        """Count what a namespace holds."""
        namespaces.require_scope(principal, Scope.READ)
        name = namespaces.resolve_namespace(principal, namespace)
        async with self.database.tenant(principal.org_id) as connection:
            return await namespaces.read_statistics(connection, principal.org_id, name)

    async def list_namespaces(
        self, principal: Principal, *, limit: int = 50, cursor: str | None = None
    ) -> NamespacePage:
        """Read a page of the namespaces that the principal may use, by name."""
        namespaces.require_scope(principal, Scope.READ)
        async with self.database.tenant(principal.org_id) as connection:
            return await listing.list_namespaces(connection, principal, limit, cursor)

    # Change

    @with_either_embedder
    async def update(self, principal: Principal, memory_id: int, patch: MemoryPatch) -> Memory:
        """Edit a memory: it keeps its id, gets a new version, and is embedded and indexed again.

        Raises ConflictError when `expected_version` (or the memory, meanwhile) has moved on.
        """
        namespaces.require_scope(principal, Scope.WRITE)
        now = self._clock()
        async with self.database.tenant(principal.org_id) as connection:
            memory = await listing.read_visible(connection, principal, memory_id)
            part_ids = await memories.list_part_ids(connection, principal.org_id, memory_id)
        revision = revise.apply_patch(memory, part_ids, patch, now, self._embedder)
        vectors = await embed_prepared(self._embedder, [revision.prepared])

        async def store(connection: Connection) -> Memory:
            encoder = self._encoder(connection, principal, now)
            return await revise.store_revision(encoder, principal, revision, vectors)

        return await self._transactions.retry(lambda: self._transactions.write(principal, store))

    async def archive(self, principal: Principal, memory_id: int, once: Once | None = None) -> Memory | Replay:
        """Take a memory out of recall; it stays readable and can be restored."""
        return await self._move(principal, memory_id, MemoryState.ARCHIVED, once)

    async def restore(self, principal: Principal, memory_id: int, once: Once | None = None) -> Memory | Replay:
        """Put an archived memory back into recall."""
        return await self._move(principal, memory_id, MemoryState.ACTIVE, once)

    async def forget(self, principal: Principal, memory_id: int) -> None:
        """Delete a memory for good, with its edges, vectors, versions and parts."""
        namespaces.require_scope(principal, Scope.WRITE)

        async def work(connection: Connection) -> None:
            await forget.forget_one(connection, principal, memory_id, self._clock())

        await self._transactions.retry(lambda: self._transactions.write(principal, work))

    async def forget_many(
        self, principal: Principal, ids: Sequence[int], once: Once | None = None
    ) -> ForgetResult | Replay:
        """Delete up to 1,000 memories for good; ids that do not exist are left out of the answer."""
        namespaces.require_scope(principal, Scope.WRITE)
        if not 1 <= len(ids) <= MAX_FORGET_IDS:
            raise InvalidInputError(f"Give 1 to {MAX_FORGET_IDS} ids.", field="ids", limit=MAX_FORGET_IDS)

        async def work(connection: Connection) -> ForgetResult:
            gone = await forget.forget_visible(connection, principal, ids, self._clock())
            return ForgetResult(tuple(gone), dry_run=False)

        return await self._transactions.retry(lambda: self._transactions.write_once(principal, once, work))

    async def forget_matching(
        self,
        principal: Principal,
        filters: Filters,
        *,
        namespace: str | None = None,
        dry_run: bool = False,
        once: Once | None = None,
    ) -> ForgetResult | Replay:
        """Delete every memory of a namespace that passes the filters, whatever its state unless they name one.

        Raises InvalidInputError for filters that name nothing: that would empty the namespace by mistake.
        """
        namespaces.require_scope(principal, Scope.WRITE)
        name = namespaces.resolve_namespace(principal, namespace)
        checked = check_filters(filters)
        if checked == Filters():
            raise InvalidInputError("`filters` must name at least one condition.", field="filters")

        async def work(connection: Connection) -> ForgetResult:
            return await forget.forget_matching(
                connection, principal, name, checked, dry_run=dry_run, now=self._clock()
            )

        return await self._transactions.retry(lambda: self._transactions.write_once(principal, once, work))

    async def delete_by_context(
        self, principal: Principal, key: str, value: str, *, namespace: str | None = None, once: Once | None = None
    ) -> int | Replay:
        """Delete every memory that carries a context pair, and return how many."""
        namespaces.require_scope(principal, Scope.WRITE)
        name = namespaces.resolve_namespace(principal, namespace)
        filters = Filters(context=check_context({key: value}))

        async def work(connection: Connection) -> int:
            result = await forget.forget_matching(
                connection, principal, name, filters, dry_run=False, now=self._clock()
            )
            return len(result.ids)

        return await self._transactions.retry(lambda: self._transactions.write_once(principal, once, work))

    def _encoder(self, connection: Connection, principal: Principal, now: datetime) -> Encoder:
        return Encoder(connection, principal.org_id, self._ids, now, self._embedder.name, principal.key_id)

    async def _encode_once(
        self, principal: Principal, batch: Ingest, once: Once | None, now: datetime
    ) -> tuple[Encoded | EncodeFailure, ...] | Replay:
        """Embed what is not stored yet, holding no connection meanwhile, then store the batch."""
        async with self.database.tenant(principal.org_id) as connection:
            unknown = await batch.find_unknown(connection, principal.org_id)
        vectors = await embed_prepared(self._embedder, unknown)

        async def work(connection: Connection) -> tuple[Encoded | EncodeFailure, ...]:
            return await batch.store(self._encoder(connection, principal, now), vectors)

        return await self._transactions.write_once(principal, once, work)

    async def _move(
        self, principal: Principal, memory_id: int, state: MemoryState, once: Once | None
    ) -> Memory | Replay:
        namespaces.require_scope(principal, Scope.WRITE)

        async def work(connection: Connection) -> Memory:
            return await revise.move_state(connection, principal, memory_id, state, self._clock())

        return await self._transactions.retry(lambda: self._transactions.write_once(principal, once, work))
