"""Make up a year of an agent's memories: what is stored on which day, and when each of them is needed again."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from memoria.records import NewMemory

DAYS = 365
WORDS = [
    "gateway",
    "ledger",
    "canary",
    "invoice",
    "pager",
    "cluster",
    "token",
    "schema",
    "branch",
    "ticket",
    "vendor",
    "queue",
    "mirror",
    "beacon",
    "harbor",
    "lantern",
    "meadow",
    "copper",
    "walnut",
    "violet",
    "saffron",
    "heron",
    "cobalt",
    "juniper",
    "granite",
    "thistle",
    "ember",
    "maple",
    "orchid",
    "falcon",
]


@dataclass(frozen=True, slots=True)
class Sort:
    """Be one sort of memory: its share, how it is stored, and on how many days of which span it is needed again.

    `needed` are the least and the most times, spread over `within_days` after it was stored.
    """

    name: str
    share: float
    type: str
    salience: tuple[float, float] | None
    needed: tuple[int, int]
    within_days: int
    useful: float = 0.0  # the share of recalls that are marked as useful
    confidence: float = 0.8
    pinned: bool = False
    ttl_days: int | None = None


# Half of what agents write down is small talk; few things are needed all year. Salience None is left to the engine, 0.3
# where nothing stands out.
SORTS = (
    Sort("small talk", 0.50, "Episodic", None, (0, 1), 20),
    Sort("aside", 0.12, "Procedural", (0.05, 0.25), (0, 2), 30),
    Sort("event", 0.15, "Episodic", (0.5, 0.75), (0, 7), 60),
    Sort("fact", 0.13, "Semantic", (0.45, 0.8), (2, 12), DAYS, useful=0.3),
    Sort("rule", 0.04, "Semantic", (0.85, 0.95), (10, 40), DAYS, useful=0.5),
    Sort("pinned", 0.02, "Episodic", (0.05, 0.4), (0, 1), 30, pinned=True),
    Sort("sure", 0.02, "Episodic", (0.05, 0.4), (0, 1), 30, confidence=0.95),
    Sort("short-lived", 0.02, "Episodic", None, (0, 1), 5, ttl_days=10),
)


@dataclass(frozen=True, slots=True)
class Planned:
    """Be a memory that will be stored on a day, with the days on which it is needed again."""

    number: int
    sort: Sort
    day: int
    new: NewMemory
    needed_on: tuple[int, ...]
    useful_on: frozenset[int]


def plan_year(memories: int, seed: int = 7) -> list[Planned]:
    """Plan a year; the same numbers give the same year."""
    chance = random.Random(seed)
    return list(_plan(memories, chance))


def _plan(memories: int, chance: random.Random) -> Iterator[Planned]:
    # At least one of each sort, however short the year.
    sorts = [sort for sort in SORTS for _ in range(max(1, round(sort.share * memories)))]
    chance.shuffle(sorts)
    for number, sort in enumerate(sorts):
        day = number * DAYS // len(sorts)
        days = range(day + 1, min(DAYS, day + 1 + sort.within_days))
        count = min(chance.randint(*sort.needed), len(days))
        needed = tuple(sorted(chance.sample(days, count)))
        useful = frozenset(on for on in needed if chance.random() < sort.useful)
        yield Planned(number, sort, day, _new(number, sort, chance), needed, useful)


def _new(number: int, sort: Sort, chance: random.Random) -> NewMemory:
    words = " ".join(chance.sample(WORDS, 5))
    return NewMemory(
        f"Note{number:05d} {words}",
        type=sort.type,
        salience=None if sort.salience is None else round(chance.uniform(*sort.salience), 2),
        confidence=sort.confidence,
        pinned=sort.pinned,
        ttl_seconds=None if sort.ttl_days is None else sort.ttl_days * 86_400,
    )
