"""Count what becomes of the lines of an import."""

from collections import Counter
from dataclasses import dataclass, field

from memoria.transfer_records import ImportResult, LineRefusal, TransferCounts
from memoria.vocabulary import MAX_REFUSALS_TOLD

CONFLICTING = "The memory that this belongs to is there with another content or version."
MISSING = "The memory that this belongs to is neither in the namespace nor in a line before."


@dataclass(slots=True)
class Outcome:
    """Collect what became of a batch of one kind; counted once its transaction has been committed."""

    imported: int = 0
    skipped: int = 0
    refusals: list[LineRefusal] = field(default_factory=list)


@dataclass(slots=True)
class Tally:
    """Count what became of the lines so far; of mappings and refusals the first are kept."""

    lines: int = 0
    is_complete: bool = False
    imported: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    mapped: int = 0
    mappings: dict[int, int] = field(default_factory=dict)
    refused: int = 0
    refusals: list[LineRefusal] = field(default_factory=list)

    def count(self, outcome: Outcome, kind: str) -> None:
        """Count a batch."""
        self.imported[kind] += outcome.imported
        self.skipped[kind] += outcome.skipped
        for refusal in outcome.refusals:
            self.refuse(refusal)

    def refuse(self, refusal: LineRefusal) -> None:
        """Count a line that was not taken."""
        self.refused += 1
        if len(self.refusals) < MAX_REFUSALS_TOLD:
            self.refusals.append(refusal)

    def result(self, namespace: str) -> ImportResult:
        """Make the answer."""
        return ImportResult(
            namespace=namespace,
            lines=self.lines,
            is_complete=self.is_complete,
            imported=TransferCounts(**self.imported),
            skipped=TransferCounts(**self.skipped),
            mapped=self.mapped,
            mappings=self.mappings,
            refused=self.refused,
            refusals=tuple(sorted(self.refusals, key=lambda refusal: refusal.line)),
        )
