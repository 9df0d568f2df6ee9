"""The verbs of prospective memory: what to be reminded of, when, and that it is done."""

import copy
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

import numpy as np

from memoria import intentions, namespaces
from memoria.cursors import check_limit, fingerprint, read_cursor, write_cursor
from memoria.database import Connection, Database
from memoria.embedding.port import Embedder
from memoria.engine.embedders import with_either_embedder
from memoria.engine.transactions import Clock, Transactions
from memoria.errors import ConflictError, InvalidInputError, OtherEmbedderError, UnavailableError
from memoria.identifiers import IdMaker
from memoria.intention_records import (
    Intention,
    IntentionCheck,
    IntentionPage,
    IntentionPatch,
    NewIntention,
    SemanticTrigger,
    Trigger,
)
from memoria.intentions import NewRow, Occasion, no_such_intention
from memoria.passages import embed_queries
from memoria.prospective import OPEN, change, check_intention, complete
from memoria.recall import Ground, Plan
from memoria.records import Once, Principal, Replay
from memoria.remind import remind
from memoria.triggers import check_event, first_due
from memoria.validation import check_content, check_time
from memoria.vocabulary import (
    CHECK_INTENTIONS,
    MAX_CHECK_DAYS,
    MAX_OPEN_INTENTIONS,
    RECALL_INTENTIONS,
    IntentionStatus,
    Scope,
)


class Intentions:
    """Keep intentions and tell when they are triggered, confined to the organization of the principal.

    Methods raise what those of Engine raise. An intention is told of once: by the first check, or recall of a key that
    may write, that its trigger is met in.
    """

    def __init__(
        self, database: Database, embedder: Embedder, clock: Clock, ids: IdMaker, transactions: Transactions
    ) -> None:
        self._database = database
        self._embedder = embedder
        self._clock = clock
        self._ids = ids
        self._transactions = transactions
        self.twin: Intentions | None = None

    def with_embedder(self, embedder: Embedder) -> "Intentions":
        """Make, and know from now on, the same with the embedder of before."""
        self.twin = copy.copy(self)
        self.twin._embedder, self.twin.twin = embedder, None
        return self.twin

    @with_either_embedder
    async def create(self, principal: Principal, new: NewIntention, once: Once | None = None) -> Intention | Replay:
        """Store an intention; the first write makes its namespace. Raises ConflictError where too many are open."""
        namespaces.require_scope(principal, Scope.WRITE)
        name = namespaces.resolve_namespace(principal, new.namespace)
        checked = check_intention(new, self._clock())
        if once and (replay := await self._transactions.find_answer(principal, once)):
            return replay
        vector = await self._direct(checked.trigger)
        work = partial(self._store, principal=principal, name=name, new=checked, vector=vector)
        return await self._transactions.retry(lambda: self._transactions.write_once(principal, once, work))

    async def get(self, principal: Principal, intention_id: int) -> Intention:
        """Read one intention."""
        namespaces.require_scope(principal, Scope.READ)
        return await self._read(principal, intention_id)

    async def list(
        self,
        principal: Principal,
        *,
        statuses: Sequence[IntentionStatus] = (),
        namespace: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> IntentionPage:
        """Read a page of a namespace's intentions, the highest priority first and of equal ones the newest."""
        namespaces.require_scope(principal, Scope.READ)
        name = namespaces.resolve_namespace(principal, namespace)
        request = fingerprint("intentions", name, sorted(statuses))
        before = _read_position(read_cursor(cursor, request, str))
        check_limit(limit)
        async with self._database.tenant(principal.org_id) as connection:
            place = await namespaces.find_namespace(connection, principal.org_id, name)
            if place is None:
                return IntentionPage((), None, 0)
            found, total = await intentions.list_intentions(
                connection,
                principal.org_id,
                place.id,
                statuses=statuses,
                before=before,
                limit=limit + 1,
                now=self._clock(),
            )
        page = found[:limit]
        following = f"{page[-1].priority!r} {page[-1].id}" if len(found) > limit else None
        return IntentionPage(tuple(page), None if following is None else write_cursor(following, request), total)

    @with_either_embedder
    async def update(self, principal: Principal, intention_id: int, patch: IntentionPatch) -> Intention:
        """Change an intention. A new trigger arms an open one again; `status` Pending arms any, Cancelled ends it."""
        namespaces.require_scope(principal, Scope.WRITE)
        now = self._clock()
        known = await self._read(principal, intention_id)
        trigger = change(known, patch.changes, now).trigger if "trigger" in patch.changes else None
        vector = None if trigger is None else await self._direct(trigger)

        async def work(connection: Connection) -> Intention:
            await self._lock_namespace(connection, principal, known.namespace_id, vector)
            before = await self._lock(connection, principal, intention_id, now)
            after = change(before, patch.changes, now)
            if before.status not in OPEN and after.status in OPEN:
                await self._require_room(connection, principal, before.namespace_id, now)
            await intentions.rewrite(connection, principal.org_id, after, trigger, vector)
            return after

        return await self._transactions.retry(lambda: self._transactions.write(principal, work))

    async def complete(self, principal: Principal, intention_id: int, once: Once | None = None) -> Intention | Replay:
        """Say that an intention is done: it ends, or waits for its next occurrence. Twice does what once does."""
        namespaces.require_scope(principal, Scope.WRITE)

        async def work(connection: Connection) -> Intention:
            now = self._clock()
            done = complete(await self._lock(connection, principal, intention_id, now), now)
            await intentions.rewrite(connection, principal.org_id, done, None, None)
            return done

        return await self._transactions.retry(lambda: self._transactions.write_once(principal, once, work))

    async def delete(self, principal: Principal, intention_id: int) -> None:
        """Delete an intention for good."""
        namespaces.require_scope(principal, Scope.WRITE)

        async def work(connection: Connection) -> None:
            await self._lock(connection, principal, intention_id, self._clock())
            await intentions.delete_intention(connection, principal.org_id, intention_id)

        await self._transactions.retry(lambda: self._transactions.write(principal, work))

    @with_either_embedder
    async def check(
        self, principal: Principal, asked: IntentionCheck, once: Once | None = None
    ) -> tuple[Intention, ...] | Replay:
        """Trigger what the words, the event and the time of a check meet, and return it, the highest priority first.

        At most 100 at once; the others stay for the next check.
        """
        namespaces.require_scope(principal, Scope.WRITE)
        name = namespaces.resolve_namespace(principal, asked.namespace)
        occasion = self._occasion(asked)
        if once and (replay := await self._transactions.find_answer(principal, once)):
            return replay
        if occasion.text:
            occasion = replace(occasion, vector=await self._hear(principal, name, occasion.text))

        async def work(connection: Connection) -> tuple[Intention, ...]:
            place = await namespaces.find_namespace(connection, principal.org_id, name)
            if place is None:
                return ()
            if occasion.vector is not None:
                namespaces.require_embedder(place, self._embedder.name)
            return await remind(connection, principal.org_id, place.id, occasion, limit=CHECK_INTENTIONS, tell=True)

        return await self._transactions.retry(lambda: self._transactions.write_once(principal, once, work))

    async def recalled(
        self, connection: Connection, principal: Principal, plan: Plan, ground: Ground | None, vector: np.ndarray | None
    ) -> tuple[Intention, ...]:
        """Return what a recall triggers, in its transaction; it changes nothing unless it may learn and write."""
        if ground is None or plan.request.at is not None or not ground.place.namespace.may_remind:
            return ()
        occasion = Occasion(ground.place.now, ground.place.now, plan.query, vector)
        tell = plan.request.learn and Scope.WRITE in principal.scopes
        return await remind(
            connection, principal.org_id, ground.place.namespace.id, occasion, limit=RECALL_INTENTIONS, tell=tell
        )

    def _occasion(self, asked: IntentionCheck) -> Occasion:
        clock = self._clock()
        now = check_time(asked.now, "now") or clock
        if abs(now - clock) > timedelta(days=MAX_CHECK_DAYS):
            raise InvalidInputError(f"`now` may differ from the clock by {MAX_CHECK_DAYS} days at most.", field="now")
        text = check_content(asked.text, "text") if asked.text else ""
        event = None if asked.event is None else check_event(asked.event, "event")
        return Occasion(now, max(now, clock), text, None, event)

    async def _hear(self, principal: Principal, name: str, text: str) -> np.ndarray | None:
        """Embed what was said, holding no connection, if its meaning can trigger anything."""
        async with self._database.tenant(principal.org_id) as connection:
            place = await namespaces.find_namespace(connection, principal.org_id, name)
            if place is None or not await intentions.has_semantic(connection, principal.org_id, place.id):
                return None
        namespaces.require_embedder(place, self._embedder.name)
        return (await embed_queries(self._embedder, [text]))[0]

    async def _direct(self, trigger: Trigger) -> np.ndarray | None:
        if not isinstance(trigger, SemanticTrigger):
            return None
        return (await embed_queries(self._embedder, [trigger.text]))[0]

    async def _store(
        self, connection: Connection, principal: Principal, name: str, new: NewIntention, vector: np.ndarray | None
    ) -> Intention:
        org_id, now = principal.org_id, self._clock()
        place = await namespaces.ensure_namespace(
            connection, org_id, name, new_id=self._ids.next(), embedder=self._embedder.name, now=now
        )
        await self._lock_namespace(connection, principal, place.id, vector)
        await self._require_room(connection, principal, place.id, now)
        row = NewRow(
            self._ids.next(),
            place.id,
            new.content,
            new.priority,
            new.trigger,
            first_due(new.trigger, now),
            new.expires_at,
            vector,
        )
        await intentions.insert_intention(connection, org_id, row, now)
        return (await intentions.read_intentions(connection, org_id, [row.intention_id], now))[0]

    async def _lock_namespace(
        self, connection: Connection, principal: Principal, namespace_id: int, vector: np.ndarray | None
    ) -> None:
        """Let the namespace stay as it is while a vector goes in that its embedder has made."""
        embedder = await intentions.lock_namespace(connection, principal.org_id, namespace_id)
        if embedder is None:
            raise UnavailableError("The namespace was deleted while this was written: try again.")
        if vector is not None and embedder != self._embedder.name:
            raise OtherEmbedderError("The namespace changes to another embedder: try again.", embedder=embedder)

    async def _require_room(
        self, connection: Connection, principal: Principal, namespace_id: int, now: datetime
    ) -> None:
        if await intentions.count_open(connection, principal.org_id, namespace_id, now) >= MAX_OPEN_INTENTIONS:
            raise ConflictError(
                f"This namespace has {MAX_OPEN_INTENTIONS:,} open intentions, the most there may be: complete, "
                "cancel or delete some.",
                limit=MAX_OPEN_INTENTIONS,
            )

    async def _read(self, principal: Principal, intention_id: int) -> Intention:
        async with self._database.tenant(principal.org_id) as connection:
            found = await intentions.read_intentions(connection, principal.org_id, [intention_id], self._clock())
        return _visible(principal, found)

    async def _lock(self, connection: Connection, principal: Principal, intention_id: int, now: datetime) -> Intention:
        return _visible(principal, await intentions.lock_intentions(connection, principal.org_id, [intention_id], now))


def _visible(principal: Principal, found: Sequence[Intention]) -> Intention:
    """Return the one intention if the principal may see it. Raises NotFoundError."""
    if not found or not namespaces.may_use(principal, found[0].namespace):
        raise no_such_intention()
    return found[0]


def _read_position(position: str | None) -> tuple[float, int] | None:
    """Read where a page begins. Raises InvalidInputError for what no page ended with."""
    if position is None:
        return None
    try:
        priority, intention_id = position.split(" ")
        return float(priority), int(intention_id)
    except ValueError as error:
        raise InvalidInputError("`cursor` is not one that this list gave.", field="cursor") from error
