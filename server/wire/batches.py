"""Read a batch of memories, so that one wrong item need not refuse the others."""

from collections.abc import Sequence
from dataclasses import dataclass

from memoria.errors import InvalidInputError
from memoria.records import Encoded, EncodeFailure, NewMemory
from server.wire.parsing import parse_model
from server.wire.requests import EncodeBody, LooseBatchBody

Outcome = Encoded | EncodeFailure


@dataclass(frozen=True, slots=True)
class BatchItems:
    """Be a batch's items that could be read, and why the others could not, each by its place."""

    memories: dict[int, NewMemory]
    failures: dict[int, EncodeFailure]

    def outcomes(self, results: Sequence[Outcome]) -> list[Outcome]:
        """Put the results of what was read and the failures in the order sent."""
        by_place = {**self.failures, **dict(zip(self.memories, results, strict=True))}
        return [by_place[place] for place in sorted(by_place)]


def read_batch(body: LooseBatchBody, namespace: str | None) -> BatchItems:
    """Read each memory; in an atomic batch the first wrong one refuses all, with InvalidInputError."""
    items = BatchItems({}, {})
    for place, value in enumerate(body.memories):
        try:
            memory = parse_model(EncodeBody, value, f"memories.{place}")
            items.memories[place] = memory.to_record(body.namespace or namespace)
        except InvalidInputError as error:
            if body.atomic:
                raise InvalidInputError(error.message, **error.details, index=place) from None
            items.failures[place] = EncodeFailure(error.code, error.message, error.details)
    return items
