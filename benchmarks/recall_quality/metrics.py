"""Measure rankings against evidence, and tell how sure the averages are."""

import math
from collections.abc import Callable, Collection, Sequence

import numpy as np
import numpy.typing as npt

Ranking = Sequence[str]
Evidence = Collection[str]
Metric = Callable[[Ranking, Evidence], float]

RESAMPLES = 5000


def recall_at(k: int) -> Metric:
    """Measure the share of the evidence that is among the first k."""
    return lambda ranking, evidence: len(set(ranking[:k]) & set(evidence)) / len(evidence)


def any_hit_at(k: int) -> Metric:
    """Measure whether any of the evidence is among the first k."""
    return lambda ranking, evidence: float(bool(set(ranking[:k]) & set(evidence)))


def reciprocal_rank(ranking: Ranking, evidence: Evidence) -> float:
    """Return 1 / the rank of the first evidence, 0 without any."""
    return next((1.0 / rank for rank, unit in enumerate(ranking, 1) if unit in evidence), 0.0)


def ndcg_at(k: int) -> Metric:
    """Measure discounted gain: evidence counts 1 / log2(rank + 1), over the best that is possible."""

    def measure(ranking: Ranking, evidence: Evidence) -> float:
        gains = [1.0 / math.log2(rank + 1) for rank, unit in enumerate(ranking[:k], 1) if unit in evidence]
        best = [1.0 / math.log2(rank + 1) for rank in range(1, min(k, len(evidence)) + 1)]
        return sum(gains) / sum(best)

    return measure


METRICS: dict[str, Metric] = {
    "recall@1": recall_at(1),
    "recall@5": recall_at(5),
    "recall@10": recall_at(10),
    "recall@20": recall_at(20),
    "any@5": any_hit_at(5),
    "MRR": reciprocal_rank,
    "nDCG@10": ndcg_at(10),
}


def bootstrap_interval(values: Sequence[float], seed: int = 0) -> tuple[float, float]:
    """Return the 95 % interval of the mean, by resampling the questions."""
    sample: npt.NDArray[np.float64] = np.asarray(values, np.float64)
    draws = np.random.default_rng(seed).integers(0, len(sample), (RESAMPLES, len(sample)))
    low, high = np.percentile(sample[draws].mean(axis=1), (2.5, 97.5))
    return float(low), float(high)
