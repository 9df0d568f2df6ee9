"""Define the records of consolidation that cross a boundary."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime

from memoria.vocabulary import Detector, MemoryState


@dataclass(frozen=True, slots=True)
class Counts:
    """Count what a run has done so far, by detector.

    `considered` counts memories of the window; `summaries` new ones, `extended` those that took members in, `repeated`
    the memories that a summary took the place of; `strengthened` pairs; `episodes` new ones, `episode_members` the
    memories that came into any; `contradicted` and `changed` the memories that a differing value, or a stated change,
    was found for.
    """

    considered: int = 0
    summaries: int = 0
    extended: int = 0
    repeated: int = 0
    strengthened: int = 0
    episodes: int = 0
    episode_members: int = 0
    contradicted: int = 0
    changed: int = 0

    def plus(self, **added: int) -> "Counts":
        """Add to some counts."""
        return Counts(**{name: count + added.get(name, 0) for name, count in asdict(self).items()})

    def to_json(self) -> dict[str, int]:
        """Write the counts as they are kept."""
        return asdict(self)

    @classmethod
    def from_json(cls, kept: Mapping[str, int]) -> "Counts":
        """Read counts that were kept."""
        return cls(**{field.name: kept.get(field.name, 0) for field in fields(cls)})


@dataclass(frozen=True, slots=True)
class Consolidated:
    """Answer a consolidation that was waited for."""

    namespace: str
    window_from: datetime
    window_to: datetime
    counts: Counts


@dataclass(frozen=True, slots=True)
class ConsolidationAnswer:
    """Be what was done, or the id of the job that will do it."""

    done: Consolidated | None
    job_id: int | None


@dataclass(frozen=True, slots=True)
class SummaryMember:
    """Be a memory that a summary was made of; `cosine` is to the member that it quotes (None in an episode)."""

    memory_id: int
    state_before: MemoryState
    cosine: float | None
    joined_at: datetime


@dataclass(frozen=True, slots=True)
class Provenance:
    """Say why the service made a memory: the detector, when, out of what, and who wrote the words.

    `cosine` is that of the two members that are least alike. `writer` is `extract` for a quotation, else the language
    model. `adopted_at` is when somebody edited it: since then it is theirs.
    """

    memory_id: int
    detector: Detector
    cosine: float | None
    writer: str
    made_at: datetime
    updated_at: datetime
    adopted_at: datetime | None
    members: tuple[SummaryMember, ...]


@dataclass(frozen=True, slots=True)
class Unconsolidated:
    """Say what undoing did: the summary that is gone, its members, and those of them that are active again."""

    memory_id: int
    member_ids: tuple[int, ...]
    restored_ids: tuple[int, ...]
