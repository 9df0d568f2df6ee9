"""A deterministic embedder for tests: no model, no network, microseconds a text."""

import functools
import hashlib
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from memoria.embedding.port import TextTooLongError, Vectors
from memoria.errors import EmbedderUnavailableError

_WORD = re.compile(r"\w+|[^\w\s]")


class FakeEmbedder:
    """Hashed bag of words: texts that share words are similar, equal bags of words are equal vectors.

    Each word is a fixed pseudo-random direction; a text is the sum of its words' directions, each times the
    square root of its count. Case is ignored. A token is a word or a punctuation mark.
    """

    def __init__(self, dimensions: int = 384, max_tokens: int = 254) -> None:
        self.name = f"fake-{dimensions}"
        self.dimensions = dimensions
        self.max_tokens = max_tokens
        self._closed = False

    def count_tokens(self, text: str) -> int:
        """Count words and punctuation marks."""
        return len(_WORD.findall(text))

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Locate every word and punctuation mark as (first, end) character positions."""
        return [match.span() for match in _WORD.finditer(text)]

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed the texts; raises TextTooLongError, and EmbedderUnavailableError when closed."""
        if self._closed:
            raise EmbedderUnavailableError("the embedder is closed")
        return np.array([self._vector(text) for text in texts], np.float32).reshape(-1, self.dimensions)

    async def close(self) -> None:
        """Refuse further texts."""
        self._closed = True

    def _vector(self, text: str) -> Vectors:
        words = _WORD.findall(text.casefold())
        if len(words) > self.max_tokens:
            raise TextTooLongError(len(words), self.max_tokens)
        # A text without a word still has a direction of its own.
        counts = Counter(words or [text])
        total = np.zeros(self.dimensions, np.float32)
        for word, count in counts.items():
            total += _direction(word, self.dimensions) * np.float32(count**0.5)
        return np.asarray(total / np.linalg.norm(total), np.float32)


@functools.lru_cache(maxsize=20_000)
def _direction(word: str, dimensions: int) -> Vectors:
    digest = hashlib.blake2b(word.encode(errors="surrogatepass"), digest_size=8).digest()
    seed = int.from_bytes(digest, "little")
    vector = np.random.default_rng(seed).standard_normal(dimensions, np.float32)
    return vector / np.linalg.norm(vector)
