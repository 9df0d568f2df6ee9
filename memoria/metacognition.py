"""Judge how far the answer of a recall can be trusted, from what the query found and how clearly it found it.

Pure arithmetic on what a recall has read anyway. The constants are calibrated on labelled conversations
(`benchmarks/calibration`): the share of answers whose evidence is among the first ten rises from Low to High.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memoria.vocabulary import (
    BACKGROUND_COSINE,
    BACKGROUND_RANK,
    CLEAR_MARGIN,
    EMPTY_COSINE,
    EMPTY_COVERAGE,
    FEW_SEEDS,
    HIGH_CONFIDENCE,
    KIN_COSINE,
    LIKE_COSINE,
    LOW_CONFIDENCE,
    MANY_SEEDS,
    MARGIN_RESULTS,
    STRONG_COSINE,
    STRONG_COVERAGE,
    WIDE_GAP,
    Confidence,
    ContextMode,
    Intervention,
)

Floats = npt.NDArray[np.float64]

MODE_OF_PREFIX = {
    "org:": ContextMode.ORGANIZATIONAL,
    "support/": ContextMode.SUPPORT,
    "research/": ContextMode.RESEARCH,
    "user:": ContextMode.PERSONAL,
    "code/": ContextMode.CODE,
}


@dataclass(frozen=True, slots=True)
class Evidence:
    """Hold what speaks for an answer.

    `best_cosine` is the highest cosine of query and result among the first ten. `coverage` is the share of the query's
    weight in words (their idf) that the first result holds, `best_coverage` the highest such share among the first
    ten. `gap` is how far the best cosine of all stands above the background (the 21st), and `margin` the ratio of
    the first score to the mean of the first ten, missing ones counted as 0. `of_another` says that what matches
    best was said by somebody else than the one whom the query names.
    """

    best_cosine: float
    coverage: float
    best_coverage: float
    gap: float
    margin: float
    of_another: bool = False

    @property
    def strength(self) -> float:
        """Weigh it all to 0-1: how like, how literal, how distinct from the rest, how much better than the next."""
        parts = (
            _ramp(self.best_cosine, KIN_COSINE, LIKE_COSINE),
            self.coverage,
            _ramp(self.gap, 0.0, WIDE_GAP),
            _ramp(self.margin, 1.0, CLEAR_MARGIN),
        )
        return sum(parts) / len(parts)

    @property
    def clears_the_bar(self) -> bool:
        """Say whether anything was found at all: something like the query, or one of its telling words."""
        return self.best_cosine >= EMPTY_COSINE or self.best_coverage >= EMPTY_COVERAGE


def gather(scores: Floats, cosines: Floats, coverages: Floats, authors: Floats, seed_cosines: Floats) -> Evidence:
    """Gather the evidence for an answer.

    `scores`, `cosines`, `coverages` and `authors` (the factor of the score, below 1 for what somebody else said than
    the query names) are those of the results, best first, at least one of them; a cosine that is not known is 0.
    `seed_cosines` are those of all seeds.
    """
    first = slice(0, MARGIN_RESULTS)
    background = np.sort(seed_cosines)[::-1][BACKGROUND_RANK : BACKGROUND_RANK + 1]
    best = float(seed_cosines.max(initial=0.0))
    return Evidence(
        best_cosine=float(cosines[first].max()),
        coverage=float(coverages[0]),
        best_coverage=float(coverages[first].max()),
        gap=best - (float(background[0]) if len(background) else BACKGROUND_COSINE),
        margin=float(scores[0]) * MARGIN_RESULTS / float(scores[first].sum()),
        of_another=bool(authors[(scores / authors).argmax()] < 1.0),
    )


def confidence_of(evidence: Evidence | None) -> Confidence:
    """Grade an answer; None is an empty one. What somebody else has said is one grade lower."""
    if evidence is None:
        return Confidence.NONE
    if evidence.strength < LOW_CONFIDENCE:
        return Confidence.LOW
    if evidence.strength < HIGH_CONFIDENCE:
        return Confidence.LOW if evidence.of_another else Confidence.MODERATE
    return Confidence.MODERATE if evidence.of_another else Confidence.HIGH


def intervene(cosines: Floats, coverages: Floats) -> Intervention:
    """Choose how to spread from seeds: wider where hardly any of them is a match, more narrowly where very many are.

    `coverages` are the shares of the query's weight in words that each seed holds.
    """
    matches = (cosines >= EMPTY_COSINE) | (coverages > 0.0)
    if int(matches.sum()) < min(FEW_SEEDS, len(matches)):
        return Intervention.BROADENED
    strong = (cosines >= STRONG_COSINE) | (coverages >= STRONG_COVERAGE)
    return Intervention.NARROWED if int(strong.sum()) > MANY_SEEDS else Intervention.NONE


def context_mode_of(namespace: str) -> ContextMode:
    """Tell what kind of knowledge a namespace holds, by the shape of its name."""
    lowered = namespace.casefold()
    return next((mode for prefix, mode in MODE_OF_PREFIX.items() if lowered.startswith(prefix)), ContextMode.GENERAL)


def _ramp(value: float, low: float, high: float) -> float:
    return min(1.0, max(0.0, (value - low) / (high - low)))
