"""Read every setting of the server from the environment, once, and refuse what is wrong in one sentence."""

import base64
import binascii
import difflib
import secrets
import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from accounts.embedders import (
    EMBEDDER_VARIABLES,
    PREVIOUS_VARIABLES,
    EmbedderSettings,
    read_embedder,
    read_previous_embedder,
)
from accounts.environment import EnvironmentReader, LogLevel, SettingsError, Variables, describe_variables
from accounts.language import LANGUAGE_VARIABLES, LanguageSettings, read_language

SECRET_KEY_BYTES = 32
_HOW_TO_MAKE_ONE = "make one with: openssl rand -base64 32"
_URL_SAFE = str.maketrans("-_", "+/")


@dataclass(frozen=True, slots=True)
class Settings:
    """Hold the settings of one server process. Secrets, and URLs that may carry one, are not in its repr.

    `database_url` and `redis_url` are None where the embedded servers are to be started.
    `owner_database_url` is the role that owns the schema, for migrations; `database_url` unless set.
    `secret_key` is 32 bytes or more; None only in development, where one is kept in the home folder.
    `processes` counts the uvicorn processes, `pool_size` the database connections of each.
    `allowed_hosts` are the values of the Host header that are answered; `*` allows any.
    """

    database_url: str | None = field(repr=False)
    owner_database_url: str | None = field(repr=False)
    redis_url: str | None = field(repr=False)
    secret_key: bytes | None = field(repr=False)
    home: Path
    host: str
    port: int
    public_url: str
    metrics_port: int | None
    embedder: EmbedderSettings
    language: LanguageSettings | None
    previous_embedder: EmbedderSettings | None
    processes: int
    pool_size: int
    log_level: LogLevel
    allowed_hosts: tuple[str, ...]


_VARIABLES: Variables = {
    "DATABASE_URL": ("", "PostgreSQL >= 15 with pgvector >= 0.8; unset: start one in MEMORIA_HOME"),
    "REDIS_URL": ("", "Redis >= 6.2; unset: start one in MEMORIA_HOME"),
    "MEMORIA_SECRET_KEY": (
        "",
        f"32 random bytes, base64 or hex; required with DATABASE_URL; {_HOW_TO_MAKE_ONE}",
    ),
    "MEMORIA_OWNER_DATABASE_URL": ("", "the role that owns the schema, for migrations; unset: DATABASE_URL"),
    "MEMORIA_HOME": (".memoria", "folder of the embedded servers and of local files"),
    "HOST": ("127.0.0.1", "address to listen on"),
    "PORT": ("8080", "port to listen on"),
    "MEMORIA_PUBLIC_URL": ("", "the URL under which clients reach this server; unset: http://HOST:PORT"),
    "MEMORIA_ALLOWED_HOSTS": (
        "",
        "Host headers to answer, with commas; unset: localhost and the public URL's",
    ),
    "MEMORIA_METRICS_PORT": ("", "port for Prometheus metrics on HOST; unset: none"),
    **EMBEDDER_VARIABLES,
    **LANGUAGE_VARIABLES,
    **PREVIOUS_VARIABLES,
    "MEMORIA_PROCESSES": ("1", "number of server processes"),
    "MEMORIA_POOL_SIZE": ("10", "database connections of each process"),
    "MEMORIA_LOG_LEVEL": ("info", "debug, info, warning or error"),
}

# What clients of the server read from the same environment (`.memoria/dev.env`).
_CLIENT_VARIABLES = {"MEMORIA_URL", "MEMORIA_KEY", "MEMORIA_NAMESPACE"}


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Read and check the settings. An empty value counts as unset. Raises `SettingsError`."""
    _refuse_misspelled(environ)
    read = EnvironmentReader(environ, _VARIABLES)
    host, port = read.text("HOST"), read.port("PORT")
    database_url = read.url("DATABASE_URL", ("postgresql", "postgres"))
    secret_key = _read_secret(read)
    if database_url is not None and secret_key is None:
        message = f"MEMORIA_SECRET_KEY is required when DATABASE_URL is set; {_HOW_TO_MAKE_ONE}"
        raise SettingsError(message)
    public_url = read.url("MEMORIA_PUBLIC_URL", ("https", "http")) or f"http://{_reachable(host)}:{port}"
    return Settings(
        database_url=database_url,
        owner_database_url=read.url("MEMORIA_OWNER_DATABASE_URL", ("postgresql", "postgres")) or database_url,
        redis_url=read.url("REDIS_URL", ("redis", "rediss", "unix")),
        secret_key=secret_key,
        home=Path(read.text("MEMORIA_HOME")).expanduser().absolute(),
        host=host,
        port=port,
        public_url=public_url.rstrip("/"),
        metrics_port=read.optional_port("MEMORIA_METRICS_PORT"),
        embedder=read_embedder(read),
        language=read_language(read),
        previous_embedder=read_previous_embedder(read),
        processes=read.whole_number("MEMORIA_PROCESSES", 1, 64),
        pool_size=read.whole_number("MEMORIA_POOL_SIZE", 1, 200),
        log_level=read.log_level(),
        allowed_hosts=_read_allowed_hosts(read, public_url),
    )


def new_secret_key() -> str:
    """Return a fresh value for MEMORIA_SECRET_KEY: 32 random bytes in base64."""
    return base64.b64encode(secrets.token_bytes(SECRET_KEY_BYTES)).decode()


def read_secret_key(text: str) -> bytes:
    """Decode a secret key from base64 (either alphabet) or hex. Raises `SettingsError` when it is too short."""
    decoded = _decode_secret(text.strip())
    if decoded is None or len(decoded) < SECRET_KEY_BYTES:
        message = f"MEMORIA_SECRET_KEY must be at least 32 bytes, in base64 or hex; {_HOW_TO_MAKE_ONE}"
        raise SettingsError(message)
    return decoded


def describe_settings() -> str:
    """Return one line for each variable: its name, what it means, and its default."""
    return describe_variables(_VARIABLES)


def _read_secret(read: EnvironmentReader) -> bytes | None:
    value = read.text("MEMORIA_SECRET_KEY")
    return read_secret_key(value) if value else None


def _read_allowed_hosts(read: EnvironmentReader, public_url: str) -> tuple[str, ...]:
    named = tuple(host.strip().lower() for host in read.text("MEMORIA_ALLOWED_HOSTS").split(",") if host.strip())
    return named or tuple(dict.fromkeys(("localhost", "127.0.0.1", "::1", urlsplit(public_url).hostname or "")))


def _refuse_misspelled(environ: Mapping[str, str]) -> None:
    known = _VARIABLES.keys() | _CLIENT_VARIABLES
    for name in environ:
        if name.startswith("MEMORIA_") and name not in known:
            close = difflib.get_close_matches(name, known, n=1, cutoff=0.9)
            if close:
                message = f"{name} is no setting: did you mean {close[0]}?"
                raise SettingsError(message)


def _decode_secret(value: str) -> bytes | None:
    is_hex = len(value) >= 2 * SECRET_KEY_BYTES and set(value) <= set(string.hexdigits)
    try:
        return bytes.fromhex(value) if is_hex else base64.b64decode(value.translate(_URL_SAFE), validate=True)
    except (ValueError, binascii.Error):
        return None


def _reachable(host: str) -> str:
    if host in {"0.0.0.0", "::", ""}:  # noqa: S104 - compared, not bound
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host
