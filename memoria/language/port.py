"""What consolidation asks of a language model, where one is set: the words of a summary."""

from collections.abc import Sequence
from typing import Protocol

from memoria.errors import UnavailableError


class LanguageUnavailableError(UnavailableError):
    """The language model does not answer, or not with what was asked for; the summary is quoted instead."""


class SummaryWriter(Protocol):
    """Writes one short text for memories that say the same; what it writes is checked before it is kept."""

    @property
    def name(self) -> str:
        """Identity of the model, kept in the provenance of what it wrote."""
        ...

    async def write(self, texts: Sequence[str]) -> str:
        """Sum the texts up. Raises LanguageUnavailableError. Hold no connection meanwhile."""
        ...

    async def close(self) -> None:
        """Release everything held; closing twice is harmless."""
        ...
