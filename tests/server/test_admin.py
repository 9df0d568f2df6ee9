"""The operator's commands make what they say, in lines that a shell can read, and fail in one sentence."""

from dataclasses import replace
from uuid import uuid4

import pytest

from server.admin import main
from server.settings import Settings


def run(settings: Settings, capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, str]:
    """Run a command that succeeds and read its NAME=value lines."""
    assert main(arguments, settings) == 0
    return dict(line.split("=", 1) for line in capsys.readouterr().out.splitlines())


def fresh_email() -> str:
    """Make an address that nobody has."""
    return f"ops.{uuid4().hex[:8]}@example.com"


def test_an_account_and_its_keys_live_from_creation_to_revocation(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    email = fresh_email()
    account = run(settings, capsys, "create-account", "--email", email)
    assert account["MEMORIA_NAMESPACE"].startswith("org:ops-")
    assert account["MEMORIA_KEY"].startswith("mem_dev_")
    grant = ["--name", "reader", "--scopes", "read", "--namespace", "support/*", "--expires", "2099-01-01T00:00:00Z"]
    key = run(settings, capsys, "create-key", "--email", email, *grant, "--rate", "5")
    assert main(["list-keys", "--email", email], settings) == 0
    listed = capsys.readouterr().out
    assert len(listed.splitlines()) == 2
    assert "support/*" in listed
    assert account["MEMORIA_KEY"] not in listed
    assert key["MEMORIA_KEY"] not in listed
    run(settings, capsys, "revoke-key", "--email", email, "--key-id", key["MEMORIA_KEY_ID"])
    assert main(["list-keys", "--email", email], settings) == 0
    assert "revoked" in capsys.readouterr().out.splitlines()[1]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["create-account", "--email", "nonsense"], "This is no e-mail address."),
        (["create-key", "--email", "nobody@example.com"], "There is no account for nobody@example.com."),
        (["list-keys", "--email", "nobody@example.com"], "There is no account for nobody@example.com."),
    ],
)
def test_what_cannot_be_done_is_one_sentence(
    settings: Settings, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert main(arguments, settings) == 1
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", sentence + "\n")


@pytest.mark.parametrize("default", ["sales/acme", "org:another-000000", "two words"])
def test_a_key_gets_no_default_namespace_that_it_may_not_use(
    settings: Settings, capsys: pytest.CaptureFixture[str], default: str
) -> None:
    email = fresh_email()
    run(settings, capsys, "create-account", "--email", email)
    grant = ["--namespace", "support/*", "--namespace", "org:*", "--default-namespace", default]
    assert main(["create-key", "--email", email, *grant], settings) == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["list-keys", "--email", email], settings) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["create-key", "--email", "a@b.c", "--scopes", "everything"],
        ["create-key", "--email", "a@b.c", "--expires", "2099-01-01"],
        ["create-key", "--email", "a@b.c", "--rate", "-1"],
        ["create-key", "--email", "a@b.c", "--burst", "5"],
        ["revoke-key", "--email", "a@b.c", "--key-id", "7"],
    ],
)
def test_wrong_arguments_end_with_2(settings: Settings, arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments, settings)
    assert ended.value.code == 2


def test_a_database_that_does_not_answer_is_one_sentence(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    away = replace(settings, database_url="postgresql://nobody@127.0.0.1:1/none")
    assert main(["list-keys", "--email", "a@b.c"], away) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_an_organization_is_erased_with_its_keys_when_its_namespace_is_repeated(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    email = fresh_email()
    account = run(settings, capsys, "create-account", "--email", email)
    assert main(["erase-organization", "--email", email, "--confirm", "org:another-000000"], settings) == 1
    assert capsys.readouterr().err.startswith("Nothing is erased")
    command = ["erase-organization", "--email", email, "--confirm", account["MEMORIA_NAMESPACE"]]
    job = run(settings, capsys, *command, "--by-job")
    assert job["MEMORIA_JOB_ID"].startswith("job_")
    assert main(command, settings) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "api_keys  before 1  after 0" in lines
    assert "jobs  before 1  after 0" in lines
    assert lines[-1] == f"MEMORIA_ERASED={account['MEMORIA_NAMESPACE']}"
    assert main(["list-keys", "--email", email], settings) == 1
