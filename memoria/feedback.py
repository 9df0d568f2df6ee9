"""Feedback: let what helped gain and what did not lose, along the way that recall came to it."""

from dataclasses import dataclass
from datetime import datetime

import asyncpg

from memoria import dampenings, edges, memories, memory_events, recalls
from memoria.dampenings import Asked, Dampening
from memoria.database import Connection
from memoria.errors import InvalidInputError, NotFoundError
from memoria.identifiers import IdMaker
from memoria.recalls import Result, StoredRecall
from memoria.records import Principal
from memoria.revise import lock_visible
from memoria.reward import (
    Feedback,
    FeedbackResult,
    Lesson,
    dampen_once,
    dampening_factor,
    learn_from,
    mark_dampening,
    reward_edges,
)


@dataclass(frozen=True, slots=True)
class Mark:
    """Be feedback with all that was found out before its transaction: the recall it answers, the query it is about."""

    feedback: Feedback
    recall: StoredRecall | None
    asked: Asked | None


def no_such_recall() -> NotFoundError:
    """Make the one answer for recalls that left no trace, are past their lifetime, or are another tenant's."""
    return NotFoundError(
        "There is no recall with this id: recalls with `learn: false` leave no trace, the others are kept for 30 days.",
        field="recall_id",
    )


def result_of(mark: Mark, namespace_id: int) -> Result | None:
    """Find the marked memory among the results of the recall; None without a recall.

    Raises NotFoundError for a recall of another namespace, and InvalidInputError when it did not return the memory.
    """
    if mark.recall is None:
        return None
    if mark.recall.namespace_id != namespace_id:
        raise no_such_recall()
    result = mark.recall.result(mark.feedback.memory_id)
    if result is None:
        raise InvalidInputError("This recall did not return this memory.", field="recall_id")
    return result


async def give_feedback(
    connection: Connection, principal: Principal, mark: Mark, ids: IdMaker, now: datetime
) -> FeedbackResult:
    """Learn from one mark. Raises NotFoundError and InvalidInputError.

    The memory's row is locked first, so that marks by several keys add up and one that is given twice counts once.
    """
    org_id, feedback = principal.org_id, mark.feedback
    row = await lock_visible(connection, principal, feedback.memory_id)
    result = result_of(mark, row["namespace_id"])
    if mark.recall and not await recalls.mark_result(connection, org_id, mark.recall.recall_id, feedback.memory_id):
        return await _stand(connection, row, mark)
    lesson = learn_from(row["utility"], row["salience"], useful=feedback.useful)
    await memories.teach_memory(
        connection,
        org_id,
        feedback.memory_id,
        utility=lesson.utility,
        salience=lesson.salience,
        useful=feedback.useful,
    )
    if lesson.salience != row["salience"]:
        await _remember_surprise(connection, principal, row, mark, lesson, now)
    if result is not None and result.path:
        rewards = reward_edges(result.path, lesson.prediction_error)
        await edges.reward_edges(connection, org_id, result.path, rewards)
    marks = await _mark_query(connection, row, mark, ids, now)
    return FeedbackResult(
        feedback.memory_id,
        counted=True,
        prediction_error=lesson.prediction_error,
        utility=lesson.utility,
        salience=lesson.salience,
        dampening=dampening_factor(marks),
    )


async def dampen(
    connection: Connection, principal: Principal, memory_id: int, asked: Asked, ids: IdMaker, now: datetime
) -> float:
    """Lower a memory's score for queries like this one by a step; returns the factor. Raises NotFoundError."""
    row = await lock_visible(connection, principal, memory_id)
    found = await dampenings.find_dampening(connection, principal.org_id, memory_id, asked)
    marks = dampen_once(found.marks if found else 0)
    await _set_marks(connection, row, asked, found, Dampening(ids.next(), marks), now)
    return dampening_factor(marks)


async def _stand(connection: Connection, row: asyncpg.Record, mark: Mark) -> FeedbackResult:
    """Tell where a memory stands, when the mark counted before."""
    marks = 0
    if mark.asked is not None:
        found = await dampenings.find_dampening(connection, row["org_id"], row["memory_id"], mark.asked)
        marks = found.marks if found else 0
    return FeedbackResult(
        row["memory_id"],
        counted=False,
        prediction_error=0.0,
        utility=row["utility"],
        salience=row["salience"],
        dampening=dampening_factor(marks),
    )


async def _remember_surprise(
    connection: Connection, principal: Principal, row: asyncpg.Record, mark: Mark, lesson: Lesson, now: datetime
) -> None:
    """Write into the memory's history that a surprise moved its salience; other marks leave no event."""
    await memory_events.record_event(
        connection,
        principal.org_id,
        row["memory_id"],
        event="learned",
        version=row["version"],
        at=now,
        key_id=principal.key_id,
        fields={"useful": mark.feedback.useful, "salience_before": row["salience"], "salience": lesson.salience},
    )


async def _mark_query(connection: Connection, row: asyncpg.Record, mark: Mark, ids: IdMaker, now: datetime) -> int:
    """Count the mark for queries like the one it is about; returns the unhelpful marks that stand."""
    if mark.asked is None:
        return 0
    found = await dampenings.find_dampening(connection, row["org_id"], row["memory_id"], mark.asked)
    marks = mark_dampening(found.marks if found else 0, useful=mark.feedback.useful)
    await _set_marks(connection, row, mark.asked, found, Dampening(ids.next(), marks), now)
    return marks


async def _set_marks(
    connection: Connection,
    row: asyncpg.Record,
    asked: Asked,
    found: Dampening | None,
    wanted: Dampening,
    now: datetime,
) -> None:
    """Write a count of marks; `wanted` has the id of a row that may have to be made."""
    org_id, memory_id = row["org_id"], row["memory_id"]
    if found is not None:
        await dampenings.set_marks(connection, org_id, memory_id, found, wanted.marks, now)
    elif wanted.marks:
        await dampenings.insert_dampening(connection, org_id, row["namespace_id"], memory_id, asked, wanted, now)
