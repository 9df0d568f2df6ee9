"""Choose the embedder by settings and open it: servers and workers of one database must use the same."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from accounts.environment import EnvironmentReader, SettingsError, Variables
from memoria.embedding import Embedder, EndpointSettings, FakeEmbedder, MiniLM, OpenAICompatibleEmbedder, open_minilm

DEFAULT_DIMENSIONS = 384
EMBEDDER_VARIABLES: Variables = {
    "MEMORIA_EMBEDDER": ("minilm", "minilm (bundled), openai (any compatible endpoint) or fake (tests)"),
    "MEMORIA_EMBEDDER_URL": ("", "base URL of the endpoint, such as https://api.example.com/v1"),
    "MEMORIA_EMBEDDER_KEY": ("", "bearer token of the endpoint"),
    "MEMORIA_EMBEDDER_MODEL": ("", "model name at the endpoint"),
    "MEMORIA_EMBEDDER_DIMENSIONS": (str(DEFAULT_DIMENSIONS), "length of its vectors"),
}


class EmbedderKind(StrEnum):
    """Name the makers of vectors."""

    MINILM = "minilm"
    OPENAI = "openai"
    FAKE = "fake"


@dataclass(frozen=True, slots=True)
class EmbedderSettings:
    """Choose the embedder; `url`, `key` and `model` are for an OpenAI-compatible endpoint only."""

    kind: EmbedderKind
    url: str | None
    key: str | None = field(repr=False)
    model: str | None
    dimensions: int


def read_embedder(read: EnvironmentReader) -> EmbedderSettings:
    """Read the settings of the embedder. Raises SettingsError."""
    kind = EmbedderKind(read.choice("MEMORIA_EMBEDDER", tuple(EmbedderKind)))
    url = read.url("MEMORIA_EMBEDDER_URL", ("https", "http"))
    model = read.text("MEMORIA_EMBEDDER_MODEL") or None
    for name, value in (("MEMORIA_EMBEDDER_URL", url), ("MEMORIA_EMBEDDER_MODEL", model)):
        if kind is EmbedderKind.OPENAI and value is None:
            message = f"{name} is required when MEMORIA_EMBEDDER is openai."
            raise SettingsError(message)
    dimensions = read.whole_number("MEMORIA_EMBEDDER_DIMENSIONS", 8, 4000)
    return EmbedderSettings(kind, url, read.text("MEMORIA_EMBEDDER_KEY") or None, model, dimensions)


def embedder_name(chosen: EmbedderSettings) -> str:
    """Name the vectors of the embedder without opening it."""
    if chosen.kind is EmbedderKind.FAKE:
        return FakeEmbedder(chosen.dimensions).name
    return MiniLM.name if chosen.kind is EmbedderKind.MINILM else f"{chosen.model}-{chosen.dimensions}"


def open_embedder(chosen: EmbedderSettings, home: Path) -> Embedder:
    """Open the embedder; the bundled model keeps its assembled graph in the home folder."""
    if chosen.kind is EmbedderKind.FAKE:
        return FakeEmbedder(chosen.dimensions)
    if chosen.kind is EmbedderKind.MINILM:
        return open_minilm(home / "models")
    if chosen.url is None or chosen.model is None:
        raise SettingsError("MEMORIA_EMBEDDER_URL and MEMORIA_EMBEDDER_MODEL are required.")
    endpoint = EndpointSettings(
        base_url=chosen.url, api_key=chosen.key, model=chosen.model, dimensions=chosen.dimensions
    )
    return OpenAICompatibleEmbedder(endpoint)
