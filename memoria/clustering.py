"""Group memories: those that say the same, and those that happened in one go.

Pure functions. A cluster is complete: every two of its members are alike and agree, so that a chain of small steps
never joins two memories that differ.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Agreement = Callable[[int, int], bool]


def grow_cluster(cosines: Floats, agree: Agreement, least_cosine: float) -> list[int]:
    """Gather around element 0 what is alike and agrees with it and with each other, nearest first.

    `cosines` is the (n, n) matrix among the elements, `agree(i, j)` compares what they say. Returns positions, 0 first.
    """
    gathered = [0]
    for candidate in np.argsort(-cosines[0], kind="stable").tolist():
        if candidate == 0 or cosines[candidate, gathered].min() < least_cosine:
            continue
        if all(agree(candidate, member) for member in gathered):
            gathered.append(candidate)
    return gathered


def medoid(cosines: Floats) -> int:
    """Point at the element that is nearest to all: the first of the best."""
    return int(np.argmax(cosines.sum(axis=1)))


def least_pair(cosines: Floats) -> float:
    """Return the cosine of the two elements that are least alike."""
    return float(cosines[~np.eye(len(cosines), dtype=bool)].min())


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Say when a memory of a conversation happened."""

    memory_id: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Burst:
    """Be memories of one conversation within a short time; with `burst_id`, additions to one that is there."""

    burst_id: int | None
    memory_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class KnownBurst:
    """Be a burst that is there: when its earliest member happened, and how many it has."""

    burst_id: int
    started_at: datetime
    size: int


def cut_bursts(
    occurrences: Iterable[Occurrence], known: Sequence[KnownBurst], span: timedelta, least: int, most: int
) -> list[Burst]:
    """Cut one conversation into bursts, each of `least` to `most` memories within `span` of its first.

    What falls within a known burst joins it while there is room. Times decide, then ids, so that the same memories
    always give the same bursts.
    """
    sizes = {burst.burst_id: burst.size for burst in known}
    joining: dict[int, list[int]] = {}
    free: list[Occurrence] = []
    for occurrence in sorted(occurrences, key=lambda each: (each.at, each.memory_id)):
        home = next((b for b in known if b.started_at <= occurrence.at <= b.started_at + span), None)
        if home is None:
            free.append(occurrence)
        elif sizes[home.burst_id] < most:
            sizes[home.burst_id] += 1
            joining.setdefault(home.burst_id, []).append(occurrence.memory_id)
    added = [Burst(burst_id, tuple(ids)) for burst_id, ids in joining.items()]
    return added + [Burst(None, ids) for ids in _greedy(free, span, most) if len(ids) >= least]


def _greedy(ordered: Sequence[Occurrence], span: timedelta, most: int) -> list[tuple[int, ...]]:
    groups: list[list[Occurrence]] = []
    for occurrence in ordered:
        last = groups[-1] if groups else None
        if last is None or len(last) == most or occurrence.at - last[0].at > span:
            groups.append([occurrence])
        else:
            last.append(occurrence)
    return [tuple(occurrence.memory_id for occurrence in group) for group in groups]
