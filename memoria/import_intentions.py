"""Import intentions: check them like a client's, find out which are there already, and store the others as they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

import numpy as np

from memoria import intentions, namespaces
from memoria.database import Connection
from memoria.encode import MovedError
from memoria.errors import ConflictError, MemoriaError
from memoria.identifiers import IdKind, IdMaker, format_id
from memoria.import_outcomes import Outcome
from memoria.intention_records import NewIntention, SemanticTrigger, TimeTrigger
from memoria.intentions import KnownIntention
from memoria.namespaces import Namespace
from memoria.prospective import OPEN, check_intention
from memoria.transfer_records import CarriedIntention, LineRefusal
from memoria.validation import check_past, check_time
from memoria.vocabulary import MAX_OPEN_INTENTIONS

PAST_TIMES = ("created_at", "updated_at", "triggered_at", "completed_at")


@dataclass(frozen=True, slots=True)
class ArrivingIntention:
    """Be one intention of an import, checked, and the number of its line."""

    line: int
    intention: CarriedIntention

    @property
    def text(self) -> str | None:
        """The text whose direction has to be known, where a meaning triggers."""
        trigger = self.intention.trigger
        return trigger.text if isinstance(trigger, SemanticTrigger) else None


def prepare_intentions(
    batch: Sequence[tuple[int, CarriedIntention]], now: datetime
) -> tuple[list[ArrivingIntention], list[LineRefusal]]:
    """Check intentions, given with the numbers of their lines."""
    ready, refusals = [], []
    for line, intention in batch:
        try:
            ready.append(ArrivingIntention(line, _check(intention, now)))
        except MemoriaError as error:
            refusals.append(LineRefusal(line, error.code, error.message))
    return ready, refusals


def _check(intention: CarriedIntention, now: datetime) -> CarriedIntention:
    for name in PAST_TIMES:
        check_past(getattr(intention, name), name, now)
    # Its expiry may have passed: it was right when it was stored.
    checked = check_intention(NewIntention(intention.content, intention.trigger, intention.priority), now)
    rings = isinstance(checked.trigger, TimeTrigger) and intention.status in OPEN
    return replace(
        intention,
        content=checked.content,
        trigger=checked.trigger,
        next_at=check_time(intention.next_at, "next_at") if rings else None,
        expires_at=check_time(intention.expires_at, "expires_at"),
    )


async def find_texts(
    connection: Connection, org_id: UUID, namespace: str, batch: Sequence[ArrivingIntention]
) -> list[str]:
    """List the texts of meanings that are not stored yet, each once: those need vectors."""
    found = await namespaces.find_namespace(connection, org_id, namespace)
    known = [] if found is None else await _list_known(connection, org_id, found.id, batch)
    unknown = [each for each in batch if found is None or not _is_there(each, known, found.id)]
    return list(dict.fromkeys(each.text for each in unknown if each.text is not None))


@dataclass(frozen=True, slots=True)
class IntentionImporter:
    """Store arriving intentions within the caller's transaction."""

    connection: Connection
    org_id: UUID
    ids: IdMaker
    namespace: Namespace
    now: datetime

    async def store(self, batch: Sequence[ArrivingIntention], vectors: Mapping[str, np.ndarray]) -> Outcome:
        """Store those that are not there, under their own ids where these are free, `vectors` by the texts of meanings.

        Raises MovedError when another transaction has changed what this one was computed from.
        """
        embedder = await intentions.lock_namespace(self.connection, self.org_id, self.namespace.id)
        if embedder != self.namespace.embedder:
            raise MovedError("the namespace has changed over to another embedder, or is gone")
        known = await _list_known(self.connection, self.org_id, self.namespace.id, batch)
        room = MAX_OPEN_INTENTIONS - await intentions.count_open(
            self.connection, self.org_id, self.namespace.id, self.now
        )
        outcome = Outcome()
        for each in batch:
            if _is_there(each, known, self.namespace.id):
                outcome.skipped += 1
            elif refusal := self._refusal(each, known, room):
                outcome.refusals.append(refusal)
            else:
                known.append(await self._insert(each, known, vectors))
                outcome.imported += 1
                room -= int(each.intention.status in OPEN)
        return outcome

    def _refusal(self, each: ArrivingIntention, known: Sequence[KnownIntention], room: int) -> LineRefusal | None:
        if any(other.id == each.intention.id and other.namespace_id == self.namespace.id for other in known):
            name = format_id(each.intention.id, IdKind.INTENTION)
            message = f"{name} is there with another content or trigger, and stays as it is."
        elif room <= 0 and each.intention.status in OPEN:
            message = f"The namespace has {MAX_OPEN_INTENTIONS:,} open intentions, the most there may be."
        else:
            return None
        return LineRefusal(each.line, ConflictError.code, message)

    async def _insert(
        self, each: ArrivingIntention, known: Sequence[KnownIntention], vectors: Mapping[str, np.ndarray]
    ) -> KnownIntention:
        intention = each.intention
        is_taken = any(other.id == intention.id for other in known)
        stored = replace(intention, id=self.ids.next()) if is_taken else intention
        vector = None if each.text is None else vectors.get(each.text)
        if each.text is not None and vector is None:
            raise MovedError("an equal intention was deleted after it had been found")
        if not await intentions.import_intention(self.connection, self.org_id, self.namespace.id, stored, vector):
            raise MovedError("an intention with the same id arrived meanwhile")
        return KnownIntention(stored.id, self.namespace.id, stored.content, stored.trigger, stored.created_at)


async def _list_known(
    connection: Connection, org_id: UUID, namespace_id: int, batch: Sequence[ArrivingIntention]
) -> list[KnownIntention]:
    """Find what has the ids of the batch, in any namespace, and what was made in this one in the same moments."""
    return await intentions.list_known(
        connection,
        org_id,
        namespace_id,
        ids=[each.intention.id for each in batch],
        times=[each.intention.created_at for each in batch],
    )


def _is_there(each: ArrivingIntention, known: Sequence[KnownIntention], namespace_id: int) -> bool:
    """Say whether an intention is in the namespace already, perhaps under another id."""
    new = each.intention
    return any(
        (other.namespace_id, other.created_at, other.content, other.trigger)
        == (namespace_id, new.created_at, new.content, new.trigger)
        for other in known
    )
