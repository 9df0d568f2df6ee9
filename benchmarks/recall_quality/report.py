"""Print what was measured as tables."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.recall_quality.dataset import Question
from benchmarks.recall_quality.metrics import METRICS, bootstrap_interval

ENGINE = "engine"
UNSPREAD = "engine, spreading off"
CONSOLIDATED = "engine, consolidated"
SIMPLE = ("vectors", "BM25", "rank fusion")
COMPARED = {"LoCoMo": "recall@10", "RealMem": "recall@5"}
WIDTH = 24


@dataclass(frozen=True, slots=True)
class Measured:
    """Hold the questions of a collection, each method's ranking of each, and the engine's times in milliseconds."""

    collection: str
    questions: Sequence[Question]
    rankings: dict[str, list[list[str]]]
    milliseconds: Sequence[float]


def render(measured: Measured) -> str:
    """Lay out one collection: every metric by method, recall by category, the lead of the engine, the time."""
    values = {method: _values(measured, rankings) for method, rankings in measured.rankings.items()}
    compared = COMPARED[measured.collection]
    lines = [f"{measured.collection}: {len(measured.questions)} questions", ""]
    lines += _table("", list(METRICS), {m: [float(v[name].mean()) for name in METRICS] for m, v in values.items()})
    categories = sorted({question.category for question in measured.questions})
    of = np.array([question.category for question in measured.questions])
    by_category = {m: [float(v[compared][of == c].mean()) for c in categories] for m, v in values.items()}
    lines += ["", *_table(f"{compared} by category", categories, by_category), ""]
    lines += _leads(values, compared)
    p50, p95 = np.percentile(measured.milliseconds, (50, 95))
    return "\n".join([*lines, f"a recall takes {p50:.1f} ms (p50), {p95:.1f} ms (p95), as the client sees it", ""])


def _values(measured: Measured, rankings: Sequence[Sequence[str]]) -> dict[str, np.ndarray]:
    pairs = list(zip(rankings, measured.questions, strict=True))
    return {
        name: np.array([metric(ranking, question.evidence) for ranking, question in pairs])
        for name, metric in METRICS.items()
    }


def _table(title: str, columns: Sequence[str], rows: dict[str, list[float]]) -> list[str]:
    widths = [max(len(column), 6) for column in columns]
    head = f"{title:<{WIDTH}}" + "".join(f"  {c:>{w}}" for c, w in zip(columns, widths, strict=True))
    body = [
        f"{name:<{WIDTH}}" + "".join(f"  {value:>{w}.3f}" for value, w in zip(values, widths, strict=True))
        for name, values in rows.items()
    ]
    return [head, *body]


def _leads(values: dict[str, dict[str, np.ndarray]], compared: str) -> list[str]:
    """Tell how far the engine leads the best simple method and itself without spreading, question by question."""
    best = max((m for m in SIMPLE if m in values), key=lambda m: float(values[m][compared].mean()), default=None)
    rivals = [rival for rival in (best, UNSPREAD, CONSOLIDATED) if rival in values]
    lines = []
    for rival in rivals:
        difference = values[ENGINE][compared] - values[rival][compared]
        low, high = bootstrap_interval(difference.tolist())
        lines.append(f"{compared}: engine - {rival} = {difference.mean():+.3f}  [{low:+.3f}, {high:+.3f}] (95 %)")
    return lines
