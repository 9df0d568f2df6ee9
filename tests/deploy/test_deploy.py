"""What can be known of the deployment without running it: files are well formed, and agree with the code."""

import importlib.util
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from server.metrics import Metrics
from server.routes import OPERATIONS
from server.settings import read_settings
from tests.deploy.files import (
    COMPOSE,
    DEPLOY,
    ROOT,
    UNITS,
    read_unit,
    read_variables,
    read_yaml,
    settings_of_the_server,
    unit_environment,
)
from tests.workers.job_rig import filled_job_metrics

BIN = Path(sys.executable).parent
# What the images and the language read, and our programs do not.
FOREIGN = {"HOME", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "ORT_DISABLE_TELEMETRY"}
SECRET = "00" * 32


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return read_yaml(COMPOSE)


@pytest.fixture(scope="module")
def dockerfile() -> str:
    return (DEPLOY / "Dockerfile").read_text()


@pytest.fixture(scope="module")
def runbook() -> str:
    return (DEPLOY / "runbook.md").read_text()


def ours(compose: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: service for name, service in compose["services"].items() if service["image"].startswith("memoria:")}


def filled_in(value: str) -> str:
    """Replace each variable of a compose value by its default, or by something of its form where it has none."""
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", re.sub(r"\$\{\w+:\?[^}]*\}", SECRET, value))


def modules_of(text: str) -> set[str]:
    return set(re.findall(r"python -m (\w+)", text))


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, words)], capture_output=True, text=True, check=False, cwd=ROOT)


def test_dockerfile_passes_the_linter() -> None:
    result = run(BIN / "hadolint", DEPLOY / "Dockerfile")
    assert (result.returncode, result.stdout) == (0, "")


def test_dockerfile_copies_files_that_are_there_and_not_ignored(dockerfile: str) -> None:
    let_through = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    sources = [
        source
        for words in re.findall(r"^COPY (?!--from)(.+)$", dockerfile, re.MULTILINE)
        for source in words.split()[:-1]
    ]
    assert sources
    assert {source for source in sources if not (ROOT / source).exists()} == set()
    assert set(sources) == let_through


def test_image_installs_what_the_server_needs_and_no_embedded_servers(dockerfile: str) -> None:
    installs = re.findall(r"^RUN uv sync (.+)$", dockerfile, re.MULTILINE)
    assert installs
    for words in installs:
        assert {"--frozen", "--no-dev"} <= set(words.split())
        assert re.findall(r"--extra (\S+)", words) == ["server"]


def test_image_and_makefile_use_one_version_of_uv(dockerfile: str) -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert re.findall(r"uv==([\d.]+)", dockerfile) == re.findall(r"^UV_VERSION := (.+)$", makefile, re.MULTILINE)


def test_both_stages_of_the_image_are_the_same_python(dockerfile: str) -> None:
    images = re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE)
    assert len(images) == 2
    assert len(set(images)) == 1


def test_image_runs_as_an_unprivileged_user(dockerfile: str) -> None:
    assert re.findall(r"^USER (\S+)$", dockerfile, re.MULTILINE) == ["10001:10001"]


def test_image_listens_where_it_says(dockerfile: str) -> None:
    environment = dict(re.findall(r"^\s+([A-Z_]+)=(\S+?)(?: \\)?$", dockerfile, re.MULTILINE))
    assert re.findall(r"^EXPOSE (\d+)$", dockerfile, re.MULTILINE) == [environment["PORT"]]
    assert environment["HOST"] == "0.0.0.0"  # noqa: S104 - read, not bound
    assert f"{environment['MEMORIA_HOME']}/models" in dockerfile


def test_compose_file_is_valid() -> None:
    result = run(BIN / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", COMPOSE)
    assert result.returncode == 0, result.stdout


def test_compose_runs_two_servers_and_a_worker(compose: dict[str, Any]) -> None:
    commands = [service.get("command") for service in ours(compose).values()]
    assert commands.count(None) == 2
    assert commands.count(["python", "-m", "workers"]) == 1


def test_every_container_of_ours_is_locked_down(compose: dict[str, Any]) -> None:
    for name, service in ours(compose).items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert "user" not in service, name


def test_only_the_proxy_is_reached_from_outside(compose: dict[str, Any]) -> None:
    assert {name for name, service in compose["services"].items() if "ports" in service} == {"proxy"}
    assert compose["networks"]["back"] == {"internal": True}
    for name in ("postgres", "redis", "migrate"):
        assert compose["services"][name]["networks"] == ["back"]


def test_every_container_is_checked_for_health_or_says_why_not(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        inherits = service.get("command") is None and service["image"].startswith("memoria:")
        assert inherits or "healthcheck" in service, name


def test_containers_are_given_settings_that_the_server_takes(compose: dict[str, Any]) -> None:
    for name, service in ours(compose).items():
        environment = {key: filled_in(value) for key, value in service["environment"].items()}
        assert set(environment) <= settings_of_the_server(), name
        assert read_settings(environment).secret_key == bytes(32), name


def test_only_the_migration_is_given_the_owner_of_the_schema(compose: dict[str, Any]) -> None:
    owners = {name for name, service in ours(compose).items() if "OWNER" in str(service["environment"])}
    assert owners == {"migrate"}
    units = {path.name for path in UNITS if "owner.env" in path.read_text()}
    assert units == {"memoria-migrate.service"}


def test_example_environment_names_what_compose_asks_for() -> None:
    asked = set(re.findall(r"\$\{(\w+)", COMPOSE.read_text()))
    assert set(read_variables(DEPLOY / "example.env")) == asked


def test_files_with_secrets_are_kept_out_of_git() -> None:
    assert run("git", "check-ignore", "deploy/.env").returncode == 0


def test_proxy_passes_on_to_the_servers_and_their_port(compose: dict[str, Any]) -> None:
    upstreams = re.findall(r"^\s*reverse_proxy (.+) \{$", (DEPLOY / "Caddyfile").read_text(), re.MULTILINE)
    names = [name for name, service in ours(compose).items() if "command" not in service]
    assert upstreams == [" ".join(f"{name}:{compose['services'][name]['environment']['PORT']}" for name in names)]


def test_prometheus_scrapes_the_metrics_ports(compose: dict[str, Any]) -> None:
    jobs = read_yaml(DEPLOY / "prometheus" / "prometheus.yaml")["scrape_configs"]
    expected = [
        f"{name}:{service['environment']['MEMORIA_METRICS_PORT']}"
        for name, service in ours(compose).items()
        if "MEMORIA_METRICS_PORT" in service["environment"]
    ]
    targets = [target for job in jobs for config in job["static_configs"] for target in config["targets"]]
    assert targets == expected
    # The alarms about servers name them by this word.
    assert jobs[0]["job_name"] == "memoria"


def test_every_program_that_is_started_exists(compose: dict[str, Any], dockerfile: str, runbook: str) -> None:
    texts = [runbook, dockerfile.replace('", "', " ")]
    texts += [" ".join(service["command"]) for service in ours(compose).values() if "command" in service]
    texts += [path.read_text() for path in UNITS]
    started = set.union(*map(modules_of, texts)) - {"pip", "compileall"}
    assert started == {"server", "workers"}
    assert all(importlib.util.find_spec(f"{module}.__main__") for module in started)


@pytest.mark.parametrize(
    "words",
    ["server migrate", "server admin create-account", "server admin create-key", "server admin list-jobs", "workers"],
)
def test_every_command_of_the_runbook_is_understood(words: str) -> None:
    result = run(sys.executable, "-m", *words.split(), "--help")
    assert result.returncode == 0, result.stderr


def test_commands_of_the_runbook_are_those_tested(runbook: str) -> None:
    assert set(re.findall(r"python -m server (admin \S+|migrate)", runbook)) <= {
        "admin create-account",
        "admin create-key",
        "admin list-jobs",
        "migrate",
    }


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_units_are_confined_and_set_what_is_read(path: Path) -> None:
    service = read_unit(path)["Service"]
    assert service["User"] == ["memoria"]
    for directive, value in (("NoNewPrivileges", "yes"), ("ProtectSystem", "strict"), ("CapabilityBoundingSet", "")):
        assert service[directive] == [value], directive
    assert set(unit_environment(path)) <= settings_of_the_server() | FOREIGN
    # A driver looks into HOME, which must be readable under ProtectHome.
    assert unit_environment(path)["HOME"] == "/var/lib/memoria"


@pytest.mark.parametrize("name", ["memoria.env", "owner.env"])
def test_environment_files_of_the_units_hold_settings(name: str) -> None:
    variables = read_variables(DEPLOY / "systemd" / name)
    assert set(variables) <= settings_of_the_server()
    assert variables


def test_a_server_unit_serves_on_the_port_of_its_name() -> None:
    (unit,) = (path for path in UNITS if path.name == "memoria-server@.service")
    environment = {key: value.replace("%i", "8081") for key, value in unit_environment(unit).items()}
    variables = read_variables(DEPLOY / "systemd" / "memoria.env") | {"MEMORIA_SECRET_KEY": SECRET}
    settings = read_settings(variables | environment)
    assert (settings.port, settings.metrics_port) == (8081, 18081)
    assert "127.0.0.1:18081" in (DEPLOY / "prometheus" / "prometheus.yaml").read_text()
    assert "server 127.0.0.1:8081" in (DEPLOY / "nginx" / "memoria.conf").read_text()


def test_alerts_use_metrics_routes_and_labels_that_exist() -> None:
    metrics = Metrics()
    metrics.observe("GET", "/", 200, 0.1)
    families = [*metrics.registry.collect(), *filled_job_metrics().registry.collect()]
    exported = {sample.name for family in families for sample in family.samples} | {"up"}
    routes = {operation.path for operation in OPERATIONS} | {"/v1/health/ready"}
    for rule in alert_rules():
        expression = rule["expr"]
        assert set(re.findall(r"\b(up|memoria_\w+)\b", expression)) - {"memoria"} <= exported, rule["alert"]
        assert set(re.findall(r'route!?="([^"]+)"', expression)) <= routes, rule["alert"]
        assert set(re.findall(r'(\w+)!?="', expression)) <= {"job", "status", "route", "method", "state"}, rule["alert"]
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}


def test_runbook_explains_every_alarm_and_no_other(runbook: str) -> None:
    assert re.findall(r"^### (Memoria\w+)$", runbook, re.MULTILINE) == [rule["alert"] for rule in alert_rules()]


def alert_rules() -> list[dict[str, Any]]:
    (group,) = read_yaml(DEPLOY / "prometheus" / "alerts.yaml")["groups"]
    return group["rules"]


def test_script_of_the_roles_can_be_executed() -> None:
    # The image sources scripts that are not executable, and its own script does not survive `set -u`.
    assert (DEPLOY / "postgres" / "roles.sh").stat().st_mode & stat.S_IXUSR
