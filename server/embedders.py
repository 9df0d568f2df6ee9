"""Make the embedder that the settings choose."""

from memoria.embedding import Embedder, EndpointSettings, FakeEmbedder, OpenAICompatibleEmbedder, open_minilm
from server.settings import EmbedderKind, Settings, SettingsError


def open_embedder(settings: Settings) -> Embedder:
    """Open the embedder; the bundled model keeps its assembled graph in the home folder."""
    chosen = settings.embedder
    if chosen.kind is EmbedderKind.FAKE:
        return FakeEmbedder(chosen.dimensions)
    if chosen.kind is EmbedderKind.MINILM:
        return open_minilm(settings.home / "models")
    if chosen.url is None or chosen.model is None:
        raise SettingsError("MEMORIA_EMBEDDER_URL and MEMORIA_EMBEDDER_MODEL are required.")
    endpoint = EndpointSettings(
        base_url=chosen.url, api_key=chosen.key, model=chosen.model, dimensions=chosen.dimensions
    )
    return OpenAICompatibleEmbedder(endpoint)
