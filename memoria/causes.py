"""Find causes that a text states: "because of …", "caused by …", "therefore …", between memories written together.

Careful rather than complete: a cause is either named in words that another memory shares, or is the memory just before.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memoria.lexical import query_terms, term_hash

NEAR = 5  # memories before and after, among those written together, that a named cause is looked for in
COVERED = 0.6  # share of a named cause's words that the memory must hold
MOST_TERMS = 80  # a longer text says many things: it shares words with anything, and which is the cause is a guess
FEW_WORDS = 2  # a cause named in fewer words is looked for right before and after alone

_NAMED = re.compile(r"\b(?:because of|caused by|due to|as a result of)\s+(?P<cause>[^.,;:!?\n]+)", re.IGNORECASE)
# Who speaks may stand before: "Ann: Therefore we …".
_DRAWN = re.compile(
    r"(?:[^\s:]+(?: [^\s:]+){0,2}: )?[\"'“]?"
    r"(?:therefore|consequently|as a result(?! of)|that is why|that's why|that’s why"
    r"|because of (?:this|that)|due to (?:this|that))\b",
    re.IGNORECASE,
)
_POINTING = re.compile(r"(?:this|that|it)\s*(?:,|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Told:
    """Be a new memory among those written together: its text, its hashed terms, its conversation.

    `before` is the memory just before it in time, stored earlier or written together with it.
    """

    memory_id: int
    text: str
    terms: frozenset[int]
    session: str | None
    before: int | None


def states_cause(text: str) -> bool:
    """Say whether a text states a cause at all: most do not, and need no further look."""
    return _DRAWN.match(text) is not None or _NAMED.search(text) is not None


def find_causes(told: Sequence[Told], stored: Mapping[int, frozenset[int]]) -> list[tuple[int, int]]:
    """Find (cause, effect) among memories written together, in their order, and those just before them.

    `stored` has the terms of memories that were there already. A memory has at most one stated cause.
    """
    found = []
    for place, effect in enumerate(told):
        cause = _cause_of(told, place, stored)
        if cause is not None and cause != effect.memory_id:
            found.append((cause, effect.memory_id))
    return found


def _cause_of(told: Sequence[Told], place: int, stored: Mapping[int, frozenset[int]]) -> int | None:
    effect = told[place]
    if _DRAWN.match(effect.text):
        return effect.before
    match = _NAMED.search(effect.text)
    if match is None or len(effect.terms) > MOST_TERMS:
        return None
    if _POINTING.match(match["cause"]):
        return effect.before
    named = query_terms(match["cause"])
    reach = NEAR if sum(named.values()) >= FEW_WORDS else 1
    near = [
        (abs(place - other), each.memory_id, each.terms)
        for other, each in enumerate(told)
        if 0 < abs(place - other) <= reach and each.session == effect.session
    ]
    if effect.before is not None and effect.before in stored:
        near.append((1, effect.before, stored[effect.before]))
    fitting = [
        (-share, distance, memory_id)
        for distance, memory_id, terms in near
        if len(terms) <= MOST_TERMS and (share := _share(named, terms)) >= COVERED
    ]
    return min(fitting)[2] if fitting else None


def _share(named: Mapping[str, float], terms: frozenset[int]) -> float:
    held = sum(weight for term, weight in named.items() if term_hash(term) in terms)
    return held / sum(named.values()) if named else 0.0
