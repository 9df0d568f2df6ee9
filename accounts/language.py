"""Choose the language model that may write summaries by settings, and open it; without one they are quoted."""

from dataclasses import dataclass, field

from accounts.environment import EnvironmentReader, SettingsError, Variables
from memoria.language import LanguageEndpoint, OpenAICompatibleWriter, SummaryWriter

LANGUAGE_VARIABLES: Variables = {
    "MEMORIA_LANGUAGE_URL": (
        "",
        "base URL of an OpenAI-compatible endpoint that writes summaries; unset: they are quoted",
    ),
    "MEMORIA_LANGUAGE_KEY": ("", "bearer token of that endpoint"),
    "MEMORIA_LANGUAGE_MODEL": ("", "model name at that endpoint"),
}


@dataclass(frozen=True, slots=True)
class LanguageSettings:
    """Name the endpoint of a language model."""

    url: str
    model: str
    key: str | None = field(repr=False)


def read_language(read: EnvironmentReader) -> LanguageSettings | None:
    """Read the settings of the language model; None when there is none. Raises SettingsError."""
    url, model = read.url("MEMORIA_LANGUAGE_URL", ("https", "http")), read.text("MEMORIA_LANGUAGE_MODEL")
    key = read.text("MEMORIA_LANGUAGE_KEY") or None
    if url is None:
        return None
    if not model:
        message = "MEMORIA_LANGUAGE_MODEL is required with MEMORIA_LANGUAGE_URL."
        raise SettingsError(message)
    if key is not None and not (key.isascii() and key.isprintable()):
        message = "MEMORIA_LANGUAGE_KEY holds characters that a header cannot carry."
        raise SettingsError(message)
    return LanguageSettings(url, model, key)


def open_writer(chosen: LanguageSettings | None) -> SummaryWriter | None:
    """Open what writes summaries, or nothing."""
    if chosen is None:
        return None
    return OpenAICompatibleWriter(LanguageEndpoint(chosen.url, chosen.model, chosen.key))
