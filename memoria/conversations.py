"""Let conversations speak for their memories: what was said around a match tells whether it is the one meant."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from memoria.lexical import TermMatches, score_groups
from memoria.vocabulary import (
    CONVERSATION_BEST,
    CONVERSATION_MATCH_SHARE,
    CONVERSATION_TEXT_SHARE,
    CROWDED_FACTOR,
    CROWDED_MOST,
    DEEP_CROWDED_FACTOR,
    DEEP_RANK,
)

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]


def number_conversations(sessions: Sequence[str | None]) -> Ids:
    """Number the conversations that candidates belong to from 0; -1 is none."""
    numbers: dict[str, int] = {}
    return np.array(
        [-1 if session is None else numbers.setdefault(session, len(numbers)) for session in sessions], np.int64
    )


def lift_conversations(strengths: Floats, evidence: Floats) -> Floats:
    """Multiply strengths (0-1) by what speaks for their conversations, so that the best possible stays at 1."""
    return strengths * (1.0 + evidence) / (1.0 + CONVERSATION_MATCH_SHARE + CONVERSATION_TEXT_SHARE)


def weigh_conversations(
    conversations: Ids, strengths: Floats, own: Floats, matches: TermMatches, ids: Ids, lengths: Floats
) -> Floats:
    """Tell of each candidate what speaks for its conversation, from 0 to the sum of the two shares.

    `conversations` numbers each candidate's, `own` is how well it matches the query itself, `strengths` that with what
    it received over edges, `ids` and `lengths` (in terms) are for the words. A conversation counts by the mean of its
    best matches, missing ones counted as 0, so that a single match is not mistaken for a topic; and by BM25, as if all
    its candidates were one text, scaled to the best conversation. A memory of no conversation (-1) stands for itself.
    """
    evidence = (CONVERSATION_MATCH_SHARE + CONVERSATION_TEXT_SHARE) * strengths
    turns = conversations >= 0
    if not turns.any():
        return evidence
    group = conversations[turns]
    best = _mean_of_best(own[turns], group)
    texts = score_groups(matches, ids[turns], group, lengths[turns])
    # Where no word of the query is known, the matches speak alone.
    spoken = texts / texts.max() if texts.max() > 0.0 else best
    evidence[turns] = (CONVERSATION_MATCH_SHARE * best + CONVERSATION_TEXT_SHARE * spoken)[group]
    return evidence


def spread_out(scores: Floats, conversations: Ids) -> Floats:
    """Return a factor for each candidate that lets other conversations in: the nth best of one counts for less.

    Among the first `DEEP_RANK` mildly, so that an answer told over several turns stays together; behind them strongly,
    since who reads so far looks for something else. What belongs to no conversation (-1) keeps 1.
    """
    order = np.argsort(-scores, kind="stable")
    better = _places_in_group(conversations[order])
    steps = np.where(np.arange(len(order)) < DEEP_RANK, CROWDED_FACTOR, DEEP_CROWDED_FACTOR)
    factors = np.ones(len(scores))
    factors[order] = np.where(conversations[order] >= 0, steps ** np.minimum(better, CROWDED_MOST), 1.0)
    return factors


def _mean_of_best(own: Floats, group: Ids) -> Floats:
    """Average the `CONVERSATION_BEST` best of each group, numbered from 0; missing ones are 0."""
    order = np.argsort(-own, kind="stable")
    kept = order[_places_in_group(group[order]) < CONVERSATION_BEST]
    return np.bincount(group[kept], own[kept], int(group.max()) + 1) / CONVERSATION_BEST


def _places_in_group(group: Ids) -> Ids:
    """Count for each element those of its group before it."""
    order = np.argsort(group, kind="stable")
    _, first, sizes = np.unique(group[order], return_index=True, return_counts=True)
    places = np.empty(len(group), np.int64)
    places[order] = np.arange(len(group)) - np.repeat(first, sizes)
    return places
