"""Embedders: the port, the bundled MiniLM model, any OpenAI-compatible endpoint, and a fake for tests."""

from memoria.embedding.batching import BatchingEmbedder, BlockingModel
from memoria.embedding.fake import FakeEmbedder
from memoria.embedding.minilm import MiniLM, open_minilm
from memoria.embedding.openai_compatible import EndpointSettings, OpenAICompatibleEmbedder
from memoria.embedding.port import Embedder, TextTooLongError, Vectors
from memoria.errors import EmbedderUnavailableError

__all__ = [
    "BatchingEmbedder",
    "BlockingModel",
    "Embedder",
    "EmbedderUnavailableError",
    "EndpointSettings",
    "FakeEmbedder",
    "MiniLM",
    "OpenAICompatibleEmbedder",
    "TextTooLongError",
    "Vectors",
    "open_minilm",
]
