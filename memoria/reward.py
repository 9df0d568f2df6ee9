"""Work out what feedback teaches: how far utility, salience, edges and dampening move. Pure arithmetic.

The prediction error is Δ = reward - utility, as in temporal-difference learning (Sutton and Barto, ch. 6): what was
expected teaches little, what surprises teaches much.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from memoria.vocabulary import (
    DAMPENING_FLOOR,
    DAMPENING_MARKS,
    DAMPENING_STEP,
    EDGE_RATE,
    EDGE_REWARD_DECAY,
    LEARNED_LEAST,
    LEARNED_MOST,
    SALIENCE_RATE,
    SURPRISE,
    UTILITY_RATE,
    EdgeType,
)


@dataclass(frozen=True, slots=True)
class Feedback:
    """Say whether a memory helped, and what with: a recall that returned it, or the query that was asked."""

    memory_id: int
    useful: bool
    recall_id: int | None = None
    query: str | None = None


@dataclass(frozen=True, slots=True)
class FeedbackResult:
    """Answer feedback: whether it counted (for one result of one recall it does once), and where the memory stands.

    `prediction_error` is 0 where it did not count. `dampening` is the factor of the memory's score for such queries.
    """

    memory_id: int
    counted: bool
    prediction_error: float
    utility: float
    salience: float
    dampening: float


@dataclass(frozen=True, slots=True)
class Lesson:
    """Hold what one mark teaches about a memory; `utility` and `salience` are the new values."""

    prediction_error: float
    utility: float
    salience: float


@dataclass(frozen=True, slots=True)
class Crossing:
    """Be one edge of a path as it was crossed; it may be stored the other way round."""

    from_id: int
    to_id: int
    type: EdgeType


def learn_from(utility: float, salience: float, *, useful: bool) -> Lesson:
    """Compare a mark with what was expected of the memory.

    Values stay away from 0 and 1, so that the other kind of mark always finds a way back; one that was set beyond
    those bounds is not pulled within them.
    """
    error = (1.0 if useful else 0.0) - utility
    moved = salience + SALIENCE_RATE * error if abs(error) > SURPRISE else salience
    return Lesson(error, _bounded(utility + UTILITY_RATE * error, utility), _bounded(moved, salience))


def reward_edges(path: Sequence[Crossing], prediction_error: float) -> list[float]:
    """Tell by how much the weight of each edge of a path moves; the last one, at the memory, moves the most."""
    return [EDGE_RATE * prediction_error * EDGE_REWARD_DECAY**distance for distance in reversed(range(len(path)))]


def mark_dampening(marks: int, *, useful: bool) -> int:
    """Count one more mark for queries of one kind: unhelpful ones add up, a helpful one takes one back."""
    return max(marks - 1, 0) if useful else min(marks + 1, DAMPENING_MARKS)


def dampen_once(marks: int) -> int:
    """Count what lowers the score by one step at once, as a client may ask for."""
    return min(max(marks, 1) + 1, DAMPENING_MARKS)


def dampening_factor(marks: int) -> float:
    """Return what a score is multiplied with: the first unhelpful mark may be chance, each after it halves."""
    return max(DAMPENING_STEP ** max(marks - 1, 0), DAMPENING_FLOOR)


def _bounded(value: float, before: float) -> float:
    return max(min(value, max(LEARNED_MOST, before)), min(LEARNED_LEAST, before))
