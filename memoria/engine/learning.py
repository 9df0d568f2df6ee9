"""The verbs of learning: feedback on what was recalled, dampening, and links between memories."""

import asyncio
from datetime import timedelta

from memoria import feedback, links, namespaces, recalls
from memoria.dampenings import Asked
from memoria.database import Connection, Database, encode_half_vector
from memoria.edges import NewEdge
from memoria.embedding.port import Embedder
from memoria.engine.transactions import Clock, Transactions
from memoria.errors import InvalidInputError
from memoria.feedback import Mark, no_such_recall
from memoria.identifiers import IdMaker, moment_of
from memoria.learn import RecallLearner
from memoria.passages import embed_queries
from memoria.recalls import StoredRecall
from memoria.records import Edge, Once, Principal, Replay
from memoria.reward import Feedback, FeedbackResult
from memoria.validation import check_query
from memoria.vocabulary import EdgeType, Scope

# Another process may have answered the recall, and writes it within a second.
YOUNG_RECALL = timedelta(seconds=5)
LOOK_AGAIN_SECONDS = 0.2
LOOKS = 10


class Learning:
    """Learn from what callers say about memories, confined to the organization of the principal.

    Methods raise what those of Engine raise.
    """

    def __init__(
        self,
        database: Database,
        embedder: Embedder,
        clock: Clock,
        ids: IdMaker,
        transactions: Transactions,
        learner: RecallLearner,
    ) -> None:
        self._database = database
        self._embedder = embedder
        self._clock = clock
        self._ids = ids
        self._transactions = transactions
        self._learner = learner

    async def feedback(
        self, principal: Principal, given: Feedback, once: Once | None = None
    ) -> FeedbackResult | Replay:
        """Mark a memory as useful or not; a second mark for the same result of the same recall does not count.

        Raises NotFoundError for a recall that left no trace, InvalidInputError for one that did not return the memory.
        """
        namespaces.require_scope(principal, Scope.WRITE)
        query = None if given.query is None else check_query(given.query)
        if once and (replay := await self._transactions.find_answer(principal, once)):
            return replay
        recall = None if given.recall_id is None else await self._find_recall(principal, given.recall_id)
        mark = Mark(given, recall, await self._read_query(recall, query))

        async def work(connection: Connection) -> FeedbackResult:
            return await feedback.give_feedback(connection, principal, mark, self._ids, self._clock())

        return await self._transactions.retry(lambda: self._transactions.write_once(principal, once, work))

    async def dampen(
        self, principal: Principal, memory_id: int, query: str, once: Once | None = None
    ) -> float | Replay:
        """Lower a memory's score for queries like this one by a step, and return the factor; nothing is deleted."""
        namespaces.require_scope(principal, Scope.WRITE)
        if once and (replay := await self._transactions.find_answer(principal, once)):
            return replay
        asked = await self._ask(check_query(query))

        async def work(connection: Connection) -> float:
            return await feedback.dampen(connection, principal, memory_id, asked, self._ids, self._clock())

        return await self._transactions.retry(lambda: self._transactions.write_once(principal, once, work))

    async def link(self, principal: Principal, wanted: NewEdge, once: Once | None = None) -> tuple[Edge, bool] | Replay:
        """Join two memories of one namespace by an edge, and say whether it is new; doing it twice changes nothing."""
        namespaces.require_scope(principal, Scope.WRITE)
        links.check_link(wanted)

        async def work(connection: Connection) -> tuple[Edge, bool]:
            return await links.link(connection, principal, wanted, self._clock())

        return await self._transactions.retry(lambda: self._transactions.write_once(principal, once, work))

    async def unlink(self, principal: Principal, source_id: int, target_id: int, edge_type: EdgeType) -> None:
        """Delete one edge of a type that clients may set. Raises NotFoundError when it is not there."""
        namespaces.require_scope(principal, Scope.WRITE)
        links.check_link(NewEdge(source_id, target_id, edge_type, 1.0))

        async def work(connection: Connection) -> None:
            await links.unlink(connection, principal, source_id, target_id, edge_type)

        await self._transactions.write(principal, work)

    async def _find_recall(self, principal: Principal, recall_id: int) -> StoredRecall:
        """Read a recall; one of a moment ago is waited for, since recalls are written after their answer.

        This process writes what it has noted at once; another one does within a second. Raises NotFoundError.
        """
        if self._learner.has_noted(recall_id):
            await self._learner.flush()
        for look in range(LOOKS):
            if look:
                await asyncio.sleep(LOOK_AGAIN_SECONDS)
            async with self._database.tenant(principal.org_id) as connection:
                found = await recalls.find_recall(connection, principal.org_id, recall_id)
            if found is not None:
                return found
            if abs(self._clock() - moment_of(recall_id)) > YOUNG_RECALL:
                break
        raise no_such_recall()

    async def _read_query(self, recall: StoredRecall | None, query: str | None) -> Asked | None:
        """Say which query a mark is about: the recall's own, else the one given; None where there is neither."""
        if recall is not None and recall.vector is not None:
            return Asked(recall.query, recall.vector)
        return None if query is None else await self._ask(query)

    async def _ask(self, query: str) -> Asked:
        vector = (await embed_queries(self._embedder, [query]))[0]
        if vector is None:
            raise InvalidInputError("`query` must hold text.", field="query")
        return Asked(query, encode_half_vector(vector))
