"""Embed texts of any length: what is longer than the embedder's window goes in as overlapping passages."""

from collections.abc import Sequence

import numpy as np

from memoria.chunking import split_passages
from memoria.embedding.port import Embedder

SMALLEST_NORM = 1e-12  # passages that cancel out have no direction: do not divide by zero


def embedded_text(title: str | None, content: str) -> str:
    """Join what a memory is embedded by: its title and its content."""
    return f"{title}\n{content}" if title else content


def passages_of(embedder: Embedder, text: str) -> list[str]:
    """Cut a text into passages that fit the embedder's window; a short one is its own only passage."""
    return split_passages(text, embedder.token_offsets(text), embedder.max_tokens, embedder.count_tokens)


def mean_direction(vectors: np.ndarray) -> np.ndarray:
    """Average the passages (p, d) of one text into one direction (d,) of length 1."""
    mean: np.ndarray = vectors.mean(axis=0)
    direction: np.ndarray = mean / max(float(np.linalg.norm(mean)), SMALLEST_NORM)
    return direction


async def embed_queries(embedder: Embedder, queries: Sequence[str]) -> list[np.ndarray | None]:
    """Embed several queries together, each into one direction (d,); an empty query has none.

    Raises EmbedderUnavailableError. Hold no connection meanwhile.
    """
    passages = [passages_of(embedder, query) if query else [] for query in queries]
    flat = [passage for texts in passages for passage in texts]
    vectors = await embedder.embed(flat) if flat else np.empty((0, embedder.dimensions), np.float32)
    ends = np.cumsum([len(texts) for texts in passages])
    return [
        mean_direction(vectors[end - len(texts) : end]) if texts else None
        for texts, end in zip(passages, ends, strict=True)
    ]
