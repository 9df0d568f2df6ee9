"""Choose the embedder by settings and open it: servers and workers of one database must use the same."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from accounts.environment import EnvironmentReader, SettingsError, Variables
from memoria.embedding import Embedder, EndpointSettings, FakeEmbedder, OpenAICompatibleEmbedder, open_minilm

DEFAULT_DIMENSIONS = 384
EMBEDDER_VARIABLES: Variables = {
    "MEMORIA_EMBEDDER": ("minilm", "minilm (bundled), openai (any compatible endpoint) or fake (tests)"),
    "MEMORIA_EMBEDDER_URL": ("", "base URL of the endpoint, such as https://api.example.com/v1"),
    "MEMORIA_EMBEDDER_KEY": ("", "bearer token of the endpoint"),
    "MEMORIA_EMBEDDER_MODEL": ("", "model name at the endpoint"),
    "MEMORIA_EMBEDDER_DIMENSIONS": (str(DEFAULT_DIMENSIONS), "length of its vectors"),
}


PREVIOUS = "MEMORIA_PREVIOUS_EMBEDDER"
PREVIOUS_VARIABLES: Variables = {
    PREVIOUS: ("", "the embedder of before, while namespaces change over to the new one; unset: none"),
    **{
        name.replace("MEMORIA_EMBEDDER", PREVIOUS): (default, meaning)
        for name, (default, meaning) in EMBEDDER_VARIABLES.items()
        if name != "MEMORIA_EMBEDDER"
    },
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


def read_embedder(read: EnvironmentReader, variable: str = "MEMORIA_EMBEDDER") -> EmbedderSettings:
    """Read the settings of the embedder, which begin with `variable`. Raises SettingsError."""
    kind = EmbedderKind(read.choice(variable, tuple(EmbedderKind)))
    url = read.url(f"{variable}_URL", ("https", "http"))
    model = read.text(f"{variable}_MODEL") or None
    for name, value in ((f"{variable}_URL", url), (f"{variable}_MODEL", model)):
        if kind is EmbedderKind.OPENAI and value is None:
            message = f"{name} is required when {variable} is openai."
            raise SettingsError(message)
    dimensions = read.whole_number(f"{variable}_DIMENSIONS", 8, 4000)
    return EmbedderSettings(kind, url, read.text(f"{variable}_KEY") or None, model, dimensions)


def read_previous_embedder(read: EnvironmentReader) -> EmbedderSettings | None:
    """Read the settings of the embedder of before; None when there is none. Raises SettingsError."""
    return read_embedder(read, PREVIOUS) if read.text(PREVIOUS) else None


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
