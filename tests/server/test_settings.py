import base64
from pathlib import Path

import pytest

from accounts.embedders import EmbedderKind
from accounts.environment import SettingsError
from server.settings import describe_settings, new_secret_key, read_settings

DATABASE_URL = "postgresql://memoria:hunter2@db.example/memoria"


def refusal(**environ: str) -> str:
    with pytest.raises(SettingsError) as caught:
        read_settings(environ)
    return str(caught.value)


def test_an_empty_environment_means_local_development() -> None:
    settings = read_settings({})
    assert settings.database_url is None
    assert settings.redis_url is None
    assert (settings.host, settings.port) == ("127.0.0.1", 8080)
    assert settings.public_url == "http://127.0.0.1:8080"
    assert settings.home == Path.cwd() / ".memoria"
    assert settings.embedder.kind is EmbedderKind.MINILM
    assert settings.metrics_port is None


def test_an_empty_value_counts_as_unset() -> None:
    assert read_settings({"PORT": "", "DATABASE_URL": " "}) == read_settings({})


def test_a_database_without_a_secret_key_is_refused() -> None:
    message = refusal(DATABASE_URL=DATABASE_URL)
    assert message.startswith("MEMORIA_SECRET_KEY is required")
    assert "openssl rand -base64 32" in message


@pytest.mark.parametrize("write", [lambda key: base64.b64encode(key).decode(), bytes.hex])
def test_the_secret_key_is_read_from_base64_and_from_hex(write) -> None:  # type: ignore[no-untyped-def]
    key = bytes(range(200, 232))
    assert read_settings({"MEMORIA_SECRET_KEY": write(key)}).secret_key == key


def test_a_url_safe_secret_key_is_read() -> None:
    key = b"\xff" * 33
    assert read_settings({"MEMORIA_SECRET_KEY": base64.urlsafe_b64encode(key).decode()}).secret_key == key


@pytest.mark.parametrize("value", ["short", "ab" * 16, "not base64 at all, and quite long indeed, too"])
def test_a_weak_secret_key_is_refused_without_repeating_it(value: str) -> None:
    message = refusal(MEMORIA_SECRET_KEY=value)
    assert message.startswith("MEMORIA_SECRET_KEY must be at least 32 bytes")
    assert value not in message


def test_a_new_secret_key_is_accepted() -> None:
    settings = read_settings({"DATABASE_URL": DATABASE_URL, "MEMORIA_SECRET_KEY": new_secret_key()})
    assert settings.secret_key is not None
    assert settings.owner_database_url == DATABASE_URL


def test_secrets_are_not_in_the_representation() -> None:
    environ = {
        "DATABASE_URL": DATABASE_URL,
        "REDIS_URL": "redis://:swordfish@cache.example",
        "MEMORIA_SECRET_KEY": new_secret_key(),
        "MEMORIA_EMBEDDER_KEY": "sk-verysecret",
    }
    shown = repr(read_settings(environ))
    for secret in ("hunter2", "swordfish", environ["MEMORIA_SECRET_KEY"], "sk-verysecret", "secret_key"):
        assert secret not in shown


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "0"),
        ("PORT", "65536"),
        ("PORT", "8o80"),
        ("PORT", "²"),
        ("DATABASE_URL", "mysql://u:secretword@h/db"),
        ("REDIS_URL", "localhost:6379"),
        ("MEMORIA_EMBEDDER", "word2vec"),
        ("MEMORIA_PROCESSES", "0"),
        ("MEMORIA_POOL_SIZE", "many"),
        ("MEMORIA_LOG_LEVEL", "loud"),
        ("MEMORIA_METRICS_PORT", "-1"),
        ("MEMORIA_PUBLIC_URL", "memoria.example"),
        ("MEMORIA_EMBEDDER_DIMENSIONS", "1"),
    ],
)
def test_a_wrong_value_is_one_sentence_that_names_its_variable(name: str, value: str) -> None:
    message = refusal(**{name: value})
    assert message.startswith(f"{name} must be")
    assert "\n" not in message
    assert "secretword" not in message


@pytest.mark.parametrize("missing", ["MEMORIA_EMBEDDER_URL", "MEMORIA_EMBEDDER_MODEL"])
def test_an_endpoint_needs_its_url_and_model(missing: str) -> None:
    environ = {
        "MEMORIA_EMBEDDER": "openai",
        "MEMORIA_EMBEDDER_URL": "https://embed.example/v1",
        "MEMORIA_EMBEDDER_MODEL": "small",
    }
    assert read_settings(environ).embedder.model == "small"
    del environ[missing]
    assert refusal(**environ).startswith(f"{missing} is required")


def test_a_misspelled_setting_is_refused_with_the_right_name() -> None:
    assert refusal(MEMORIA_EMBEDER="openai") == "MEMORIA_EMBEDER is no setting: did you mean MEMORIA_EMBEDDER?"


def test_the_variables_of_clients_are_left_alone() -> None:
    environ = {
        "MEMORIA_URL": "http://x",
        "MEMORIA_KEY": "k",
        "MEMORIA_NAMESPACE": "n",
        "MEMORIA_OTHER_TOOL": "1",
    }
    assert read_settings(environ) == read_settings({})


def test_the_public_url_is_reachable_when_listening_everywhere() -> None:
    assert read_settings({"HOST": "0.0.0.0", "PORT": "9"}).public_url == "http://127.0.0.1:9"  # noqa: S104


def test_the_public_url_names_an_allowed_host() -> None:
    settings = read_settings({"MEMORIA_PUBLIC_URL": "https://memory.example/"})
    assert settings.public_url == "https://memory.example"
    assert "memory.example" in settings.allowed_hosts
    assert "localhost" in settings.allowed_hosts


def test_allowed_hosts_can_be_named() -> None:
    assert read_settings({"MEMORIA_ALLOWED_HOSTS": "A.example, *"}).allowed_hosts == ("a.example", "*")


def test_every_variable_is_described() -> None:
    for name in ("DATABASE_URL", "REDIS_URL", "MEMORIA_SECRET_KEY", "MEMORIA_EMBEDDER", "PORT"):
        assert f"  {name} " in describe_settings()
