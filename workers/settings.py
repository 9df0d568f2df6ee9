"""Read the settings of a worker from the environment: those of the server that concern it, and one of its own."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from accounts.embedders import EMBEDDER_VARIABLES, EmbedderSettings, read_embedder
from accounts.environment import EnvironmentReader, LogLevel, SettingsError, Variables, describe_variables
from accounts.language import LANGUAGE_VARIABLES, LanguageSettings, read_language

MAX_SLOTS = 32

_VARIABLES: Variables = {
    "DATABASE_URL": ("", "the database that the server uses"),
    "MEMORIA_HOME": (".memoria", "folder of the assembled embedding model"),
    **EMBEDDER_VARIABLES,
    **LANGUAGE_VARIABLES,
    "MEMORIA_WORKER_JOBS": ("2", "jobs that run at once in this process"),
    "MEMORIA_METRICS_PORT": ("", "port for Prometheus metrics on HOST; unset: none"),
    "HOST": ("127.0.0.1", "address of the metrics"),
    "MEMORIA_LOG_LEVEL": ("info", "debug, info, warning or error"),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """Hold the settings of one worker process; the URL may carry a password and is not in the repr.

    `slots` counts the jobs that run at once. `embedder` is opened when the first job needs it.
    """

    database_url: str = field(repr=False)
    log_level: LogLevel
    home: Path
    embedder: EmbedderSettings
    language: LanguageSettings | None
    slots: int
    host: str
    metrics_port: int | None


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Read and check the settings. An empty value counts as unset. Raises SettingsError."""
    read = EnvironmentReader(environ, _VARIABLES)
    database_url = read.url("DATABASE_URL", ("postgresql", "postgres"))
    if database_url is None:
        raise SettingsError("DATABASE_URL must be the postgresql:// URL that the server uses.")
    return Settings(
        database_url=database_url,
        log_level=read.log_level(),
        home=Path(read.text("MEMORIA_HOME")).expanduser().absolute(),
        embedder=read_embedder(read),
        language=read_language(read),
        slots=read.whole_number("MEMORIA_WORKER_JOBS", 1, MAX_SLOTS),
        host=read.text("HOST"),
        metrics_port=read.optional_port("MEMORIA_METRICS_PORT"),
    )


def describe_settings() -> str:
    """Return one line for each variable: its name, what it means, and its default."""
    return describe_variables(_VARIABLES)
