"""What the engine asks of an embedder."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class TextTooLongError(ValueError):
    """A text exceeds the embedder's window; the caller must split it into passages."""

    def __init__(self, tokens: int, max_tokens: int) -> None:
        super().__init__(f"a text of {tokens} tokens exceeds the embedder's window of {max_tokens} tokens")
        self.tokens = tokens
        self.max_tokens = max_tokens


class Embedder(Protocol):
    """Turns texts into vectors of length 1, whose dot product is their cosine similarity."""

    @property
    def name(self) -> str:
        """Identity of the vectors, stored beside them: equal names mean comparable vectors."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of every vector."""
        ...

    @property
    def max_tokens(self) -> int:
        """Window in tokens as `count_tokens` counts them, the model's own special tokens excluded."""
        ...

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text; may exceed `max_tokens`."""
        ...

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Locate every token as (first, end) character positions, in order.

        A piece `text[first_of_a:end_of_b]` cut on these borders holds no more tokens than lie in it.
        """
        ...

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed the texts: float32 of shape (len(texts), dimensions), each row of length 1.

        Raises TextTooLongError when a text exceeds the window (nothing is ever cut), and
        EmbedderUnavailableError when the embedder cannot answer.
        """
        ...

    async def close(self) -> None:
        """Finish what was accepted and release everything held; closing twice is harmless."""
        ...
