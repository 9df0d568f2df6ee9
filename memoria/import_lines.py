"""Import: take an export line by line, in batches that are each committed by themselves, and tell what became of it.

What is there already stays as it is, so that the same lines may come again, whole or after an interruption.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

import numpy as np

from memoria import memories, namespaces, policies, transfers
from memoria.database import Connection, Database
from memoria.embedding.port import Embedder
from memoria.encode import embed_prepared
from memoria.errors import ConflictError, ForbiddenError, InvalidInputError, NotFoundError
from memoria.identifiers import IdMaker
from memoria.import_intentions import ArrivingIntention, IntentionImporter, find_texts, prepare_intentions
from memoria.import_marks import Dampenings, Refusals, check_marks, find_queries, store_dampenings, store_refusals
from memoria.import_memories import Arrived, Arriving, Importer, find_unknown, prepare_all
from memoria.import_outcomes import CONFLICTING, MISSING, Outcome, Tally
from memoria.namespaces import Namespace
from memoria.passages import embed_queries
from memoria.records import Policy, Principal
from memoria.transfer_records import (
    Carried,
    CarriedDampening,
    CarriedEdge,
    CarriedEvent,
    CarriedIntention,
    CarriedMember,
    CarriedMemory,
    CarriedRefusal,
    ExportEnd,
    ExportHeader,
    ImportLine,
    ImportResult,
    LineRefusal,
)
from memoria.vocabulary import (
    IMPORT_BATCH,
    IMPORT_BATCH_CHARACTERS,
    MAX_REFUSALS_TOLD,
    TRANSFER_FORMAT,
    Scope,
)

Mark = TypeVar("Mark", CarriedDampening, CarriedRefusal)
Retry = Callable[[Callable[[], Awaitable[Any]]], Awaitable[Any]]


class ImportRun:
    """Be one import. `asked` is the namespace that the caller names; else the header's, or the caller's default."""

    def __init__(
        self,
        database: Database,
        retry: Retry,
        ids: IdMaker,
        embedder: Embedder,
        clock: Callable[[], datetime],
        principal: Principal,
        asked: str | None,
    ) -> None:
        self._database = database
        self._retry = retry
        self._ids = ids
        self._embedder = embedder
        self._clock = clock
        self._principal = principal
        self._asked = asked
        self._name = asked
        self._tally = Tally()
        self._new_ids: dict[int, int] = {}
        self._merged: set[int] = set()
        self._conflicting: set[int] = set()

    async def take_all(self, lines: AsyncIterator[ImportLine]) -> ImportResult:
        """Take every line. Raises ForbiddenError for a namespace that the caller may not use."""
        batch: list[ImportLine] = []
        size = 0
        async for line in lines:
            self._tally.lines = line.number
            starts_another = batch and type(line.carried) is not type(batch[0].carried)
            if starts_another or len(batch) >= IMPORT_BATCH or size >= IMPORT_BATCH_CHARACTERS:
                await self._take(batch)
                batch, size = [], 0
            batch.append(line)
            size += line.size_bytes
        await self._take(batch)
        return self._tally.result(self._namespace_name())

    def _namespace_name(self) -> str:
        if self._name is None:
            self._name = namespaces.resolve_namespace(self._principal, None)
        return self._name

    async def _take(self, batch: Sequence[ImportLine]) -> None:
        """Take lines of one kind."""
        items: list[tuple[int, Carried | LineRefusal]] = [(line.number, line.carried) for line in batch]
        match items[0][1] if items else None:
            case LineRefusal() | ExportHeader() | ExportEnd():
                for _, item in items:
                    self._take_other(item)
            case Policy():
                for number, policy in items:
                    if isinstance(policy, Policy):
                        await self._retry(partial(self._take_policy, number, policy))
            case CarriedMemory():
                await self._take_memories([(number, each) for number, each in items if isinstance(each, CarriedMemory)])
            case CarriedMember():
                members = [(number, each) for number, each in items if isinstance(each, CarriedMember)]
                self._tally.count(await self._retry(lambda: self._take_members(members)), "members")
            case CarriedEvent():
                events = [(number, each) for number, each in items if isinstance(each, CarriedEvent)]
                self._tally.count(await self._retry(lambda: self._take_events(events)), "events")
            case CarriedEdge():
                edges = [(number, each) for number, each in items if isinstance(each, CarriedEdge)]
                self._tally.count(await self._retry(lambda: self._take_edges(edges)), "edges")
            case CarriedDampening():
                await self._take_dampenings(
                    [(number, each) for number, each in items if isinstance(each, CarriedDampening)]
                )
            case CarriedRefusal():
                await self._take_refusals(
                    [(number, each) for number, each in items if isinstance(each, CarriedRefusal)]
                )
            case CarriedIntention():
                await self._take_intentions(
                    [(number, each) for number, each in items if isinstance(each, CarriedIntention)]
                )

    def _take_other(self, item: Carried | LineRefusal) -> None:
        if isinstance(item, LineRefusal):
            self._tally.refuse(item)
        elif isinstance(item, ExportEnd):
            self._tally.is_complete = True
        elif isinstance(item, ExportHeader):
            if item.format != TRANSFER_FORMAT:
                raise InvalidInputError(
                    f"This is an export of format {item.format}; format {TRANSFER_FORMAT} is read here.", field="format"
                )
            if self._name is None:
                self._name = namespaces.resolve_namespace(self._principal, item.namespace)

    async def _ensure(self, connection: Connection) -> Namespace:
        return await namespaces.ensure_namespace(
            connection,
            self._principal.org_id,
            self._namespace_name(),
            new_id=self._ids.next(),
            embedder=self._embedder.name,
            now=self._clock(),
        )

    # Policy

    async def _take_policy(self, number: int, policy: Policy) -> None:
        org_id = self._principal.org_id
        if not self._is_trusted:
            self._tally.refuse(LineRefusal(number, ForbiddenError.code, "A policy is set with the scope `admin` only."))
            return
        async with self._database.tenant(org_id) as connection:
            namespace = await self._ensure(connection)
            stored = await policies.find_policy(connection, org_id, namespace.id)
            if stored is None:
                await policies.write_policy(connection, org_id, namespace.id, policy, self._clock())
        if stored is not None and stored != policy:
            message = "The namespace has another policy, which stays as it is."
            self._tally.refuse(LineRefusal(number, ConflictError.code, message))
        else:
            (self._tally.imported if stored is None else self._tally.skipped)["policies"] += 1

    # Memories

    async def _take_memories(self, batch: Sequence[tuple[int, CarriedMemory]]) -> None:
        ready, refusals = await asyncio.to_thread(
            prepare_all, batch, self._clock(), self._embedder, trusted=self._is_trusted
        )
        arrived: Arrived = await self._retry(lambda: self._store(ready))
        self._tally.imported["memories"] += arrived.imported
        self._tally.skipped["memories"] += arrived.skipped
        self._tally.mapped += arrived.mapped
        self._new_ids |= arrived.new_ids
        self._merged |= arrived.merged
        self._conflicting |= arrived.conflicting
        for old, new in arrived.new_ids.items():
            if len(self._tally.mappings) < MAX_REFUSALS_TOLD:
                self._tally.mappings[old] = new
        for refusal in sorted((*refusals, *arrived.refusals), key=lambda refusal: refusal.line):
            self._tally.refuse(refusal)

    async def _store(self, ready: Sequence[Arriving]) -> Arrived:
        """Embed what is not stored yet, holding no connection meanwhile, then store the batch."""
        org_id, name = self._principal.org_id, self._namespace_name()
        async with self._database.tenant(org_id) as connection:
            unknown = await find_unknown(connection, org_id, name, ready)
        vectors = await embed_prepared(self._embedder, unknown)
        async with self._database.tenant(org_id) as connection:
            namespace = await self._ensure(connection)
            return await Importer(connection, org_id, self._ids, namespace).store(ready, vectors)

    # Members, histories and edges

    @property
    def _is_trusted(self) -> bool:
        return Scope.ADMIN in self._principal.scopes

    async def _take_members(self, batch: Sequence[tuple[int, CarriedMember]]) -> Outcome:
        org_id, outcome = self._principal.org_id, Outcome()
        if not self._is_trusted:
            message = "What summaries were made of is taken with the scope `admin` only."
            outcome.refusals += [LineRefusal(number, ForbiddenError.code, message) for number, _ in batch]
            return outcome
        members = [
            replace(member, summary_id=self._now_id(member.summary_id), member_id=self._now_id(member.member_id))
            for _, member in batch
        ]
        async with self._database.tenant(org_id) as connection:
            namespace = await self._ensure(connection)
            firm = [new for (_, old), new in zip(batch, members, strict=True) if not self._is_conflicting(old)]
            inserted = await transfers.import_members(connection, org_id, namespace.id, firm)
            known = await transfers.find_known_members(connection, org_id, members)
        for (number, old), member in zip(batch, members, strict=True):
            key = (member.summary_id, member.member_id)
            if key in inserted:
                outcome.imported += 1
                inserted.discard(key)
            elif key in known:
                outcome.skipped += 1
            elif self._is_conflicting(old):
                outcome.refusals.append(LineRefusal(number, ConflictError.code, CONFLICTING))
            else:
                outcome.refusals.append(LineRefusal(number, NotFoundError.code, MISSING))
        return outcome

    async def _take_events(self, batch: Sequence[tuple[int, CarriedEvent]]) -> Outcome:
        org_id, outcome = self._principal.org_id, Outcome()
        wanted: list[tuple[int, CarriedEvent]] = []
        for number, event in batch:
            if event.memory_id in self._conflicting:
                outcome.refusals.append(LineRefusal(number, ConflictError.code, CONFLICTING))
            elif event.memory_id in self._merged:
                outcome.skipped += 1
            else:
                wanted.append((number, replace(event, memory_id=self._now_id(event.memory_id))))
        events = [event for _, event in wanted]
        async with self._database.tenant(org_id) as connection:
            namespace = await self._ensure(connection)
            inserted = await transfers.import_events(connection, org_id, namespace.id, events)
            homes = await memories.find_homes(connection, org_id, sorted({event.memory_id for event in events}))
        for number, event in wanted:
            home = homes.get(event.memory_id)
            if (event.memory_id, event.number) in inserted:
                outcome.imported += 1
                inserted.discard((event.memory_id, event.number))
            elif home is not None and home[0] == namespace.id:
                outcome.skipped += 1
            else:
                outcome.refusals.append(LineRefusal(number, NotFoundError.code, MISSING))
        return outcome

    async def _take_edges(self, batch: Sequence[tuple[int, CarriedEdge]]) -> Outcome:
        org_id, outcome = self._principal.org_id, Outcome()
        edges = [
            replace(edge, source_id=self._now_id(edge.source_id), target_id=self._now_id(edge.target_id))
            for _, edge in batch
        ]
        firm = [
            edge
            for (_, old), edge in zip(batch, edges, strict=True)
            if not self._is_conflicting(old) and edge.source_id != edge.target_id
        ]
        async with self._database.tenant(org_id) as connection:
            namespace = await self._ensure(connection)
            inserted = await transfers.import_edges(connection, org_id, namespace.id, firm)
            known = await transfers.find_known_edges(connection, org_id, edges)
        for (number, old), edge in zip(batch, edges, strict=True):
            key = (edge.source_id, edge.target_id, edge.type.value)
            if key in inserted:
                outcome.imported += 1
                inserted.discard(key)
            elif key in known or edge.source_id == edge.target_id:
                outcome.skipped += 1
            elif self._is_conflicting(old):
                outcome.refusals.append(LineRefusal(number, ConflictError.code, CONFLICTING))
            else:
                outcome.refusals.append(LineRefusal(number, NotFoundError.code, MISSING))
        return outcome

    # Marks

    async def _take_dampenings(self, batch: Dampenings) -> None:
        ready, refusals = check_marks(batch, self._clock())
        wanted, outcome = self._of_memories(ready)
        stored: Outcome = await self._retry(lambda: self._store_dampenings(wanted))
        stored.refusals = sorted((*refusals, *outcome.refusals, *stored.refusals), key=lambda refusal: refusal.line)
        self._tally.count(stored, "dampenings")

    async def _store_dampenings(self, batch: Dampenings) -> Outcome:
        org_id = self._principal.org_id
        async with self._database.tenant(org_id) as connection:
            queries = await find_queries(connection, org_id, batch)
        vectors = await self._direct(queries)
        async with self._database.tenant(org_id) as connection:
            namespace = await self._ensure(connection)
            return await store_dampenings(connection, org_id, namespace.id, batch, vectors, self._ids)

    async def _take_refusals(self, batch: Refusals) -> None:
        wanted, outcome = self._of_memories(batch)
        stored: Outcome = await self._retry(lambda: self._store_refusals(wanted))
        stored.refusals = sorted((*outcome.refusals, *stored.refusals), key=lambda refusal: refusal.line)
        self._tally.count(stored, "refused_merges")

    async def _store_refusals(self, batch: Refusals) -> Outcome:
        async with self._database.tenant(self._principal.org_id) as connection:
            namespace = await self._ensure(connection)
            return await store_refusals(connection, self._principal.org_id, namespace.id, batch)

    def _of_memories(self, batch: Sequence[tuple[int, Mark]]) -> tuple[list[tuple[int, Mark]], Outcome]:
        """Name the memories as they are called here, and refuse what belongs to a different one."""
        outcome, wanted = Outcome(), []
        for number, carried in batch:
            if carried.memory_id in self._conflicting:
                outcome.refusals.append(LineRefusal(number, ConflictError.code, CONFLICTING))
            else:
                wanted.append((number, replace(carried, memory_id=self._now_id(carried.memory_id))))
        return wanted, outcome

    # Intentions

    async def _take_intentions(self, batch: Sequence[tuple[int, CarriedIntention]]) -> None:
        ready, refusals = prepare_intentions(batch, self._clock())
        outcome: Outcome = await self._retry(lambda: self._store_intentions(ready))
        outcome.refusals = sorted((*refusals, *outcome.refusals), key=lambda refusal: refusal.line)
        self._tally.count(outcome, "intentions")

    async def _store_intentions(self, ready: Sequence[ArrivingIntention]) -> Outcome:
        """Embed the meanings that are not stored yet, holding no connection meanwhile, then store the batch."""
        org_id, name = self._principal.org_id, self._namespace_name()
        async with self._database.tenant(org_id) as connection:
            texts = await find_texts(connection, org_id, name, ready)
        vectors = await self._direct(texts)
        async with self._database.tenant(org_id) as connection:
            namespace = await self._ensure(connection)
            importer = IntentionImporter(connection, org_id, self._ids, namespace, self._clock())
            return await importer.store(ready, vectors)

    async def _direct(self, texts: Sequence[str]) -> dict[str, np.ndarray]:
        found = await embed_queries(self._embedder, texts) if texts else []
        return {text: vector for text, vector in zip(texts, found, strict=True) if vector is not None}

    def _now_id(self, exported_id: int) -> int:
        return self._new_ids.get(exported_id, exported_id)

    def _is_conflicting(self, old: CarriedEdge | CarriedMember) -> bool:
        ends = (old.source_id, old.target_id) if isinstance(old, CarriedEdge) else (old.summary_id, old.member_id)
        return not self._conflicting.isdisjoint(ends)
