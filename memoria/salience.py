"""Judge how important a new memory is, from its novelty, its stakes and the caller's hint."""

import re

from memoria.vocabulary import (
    CONSEQUENCE_SALIENCE,
    DEFAULT_SALIENCE,
    NOVELTY_FLOOR,
    NOVELTY_MIN_MEMORIES,
    SALIENCE_NUDGE,
)

# A text that holds one of these speaks of something with consequences. The first six stems are fixed.
HIGH_STAKES = (
    r"production(?:s)?",
    r"incident(?:s)?",
    r"outage(?:s)?",
    r"securit(?:y|ies)",
    r"breach(?:es|ed|ing)?",
    r"critical(?:ly|ity)?",
    r"vulnerabilit(?:y|ies)",
    r"data loss",
    r"deadline(?:s)?",
    r"emergenc(?:y|ies)",
    r"rollback(?:s)?|roll(?:ed|ing)? back",
    r"ייצור|פרודקשן",
    r"תקרי(?:ת|ות)|תקרית|אירוע(?:י)? אבטחה",
    r"השבת(?:ה|ות)|נפיל(?:ה|ות)",
    r"אבטח(?:ה|ת)",
    r"פריצ(?:ה|ות)|דליפ(?:ה|ות|ת)",
    r"קריטי(?:ת|ים|ות)?",
)
# Hebrew joins "the", "in", "to", "and" … to the word as single letters.
HIGH_STAKES_PATTERN = re.compile(r"(?<!\w)[ובלהמשכ]{0,3}(?:" + "|".join(HIGH_STAKES) + r")(?!\w)", re.IGNORECASE)


def novelty(nearest_cosine: float | None, namespace_memories: int) -> float | None:
    """Return how new a text is, 0–1, or None where that says nothing.

    It is 1 − the highest cosine, above the floor rescaled to 0–1; in a nearly empty namespace everything is new.
    """
    if nearest_cosine is None or namespace_memories < NOVELTY_MIN_MEMORIES:
        return None
    distance = 1.0 - nearest_cosine
    return min(1.0, (distance - NOVELTY_FLOOR) / (1.0 - NOVELTY_FLOOR)) if distance > NOVELTY_FLOOR else None


def consequence(text: str) -> float | None:
    """Return 0.9 for a text that holds a high-stakes word, else None."""
    return CONSEQUENCE_SALIENCE if HIGH_STAKES_PATTERN.search(text) else None


def combine(signals: list[float]) -> float:
    """Let the loudest signal dominate and the others nudge: s = max + 0.1·(1 − max)·mean(others).

    With no signal the salience is 0.3.
    """
    if not signals:
        return DEFAULT_SALIENCE
    loudest, *others = sorted(signals, reverse=True)
    nudge = sum(others) / len(others) if others else 0.0
    return loudest + SALIENCE_NUDGE * (1.0 - loudest) * nudge


def judge_salience(
    *, explicit: float | None, hint: float | None, text: str, nearest_cosine: float | None, namespace_memories: int
) -> float:
    """Return a new memory's salience, 0–1; an explicit value always wins."""
    if explicit is not None:
        return explicit
    signals = (novelty(nearest_cosine, namespace_memories), consequence(text), hint)
    return combine([signal for signal in signals if signal is not None])
