"""Read the settings of a worker from the environment."""

from collections.abc import Mapping
from dataclasses import dataclass, field

LEVELS = ("debug", "info", "warning", "error")


class SettingsError(Exception):
    """A setting is missing or wrong; the message is one sentence that names the variable."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Hold the settings of one worker process; the URL may carry a password and is not in the repr."""

    database_url: str = field(repr=False)
    log_level: str


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Read and check the settings. An empty value counts as unset. Raises SettingsError."""
    url = environ.get("DATABASE_URL", "")
    if not url.startswith(("postgresql://", "postgres://")):
        raise SettingsError("DATABASE_URL must be the postgresql:// URL that the server uses.")
    level = environ.get("MEMORIA_LOG_LEVEL", "").strip().lower() or "info"
    if level not in LEVELS:
        raise SettingsError(f"MEMORIA_LOG_LEVEL must be one of {', '.join(LEVELS)}.")
    return Settings(url, level)
