"""Read the deployment files, for the tests about them."""

import configparser
import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
COMPOSE = DEPLOY / "compose.yaml"


def read_yaml(path: Path) -> Any:
    """Read a YAML file; merge keys and anchors are resolved."""
    return yaml.safe_load(path.read_text())


def read_unit(path: Path) -> dict[str, dict[str, list[str]]]:
    """Read a systemd unit: the values of each directive of each section, in order."""
    sections: dict[str, dict[str, list[str]]] = {}
    current: dict[str, list[str]] = {}
    for line in path.read_text().splitlines():
        if line.startswith("["):
            current = sections.setdefault(line.strip("[]"), {})
        elif line and not line.startswith("#"):
            name, _, value = line.partition("=")
            current.setdefault(name, []).append(value)
    return sections


def unit_environment(path: Path) -> dict[str, str]:
    """Read the variables that a unit sets itself."""
    words = " ".join(read_unit(path)["Service"].get("Environment", [])).split()
    return dict(word.split("=", 1) for word in words)


def read_variables(path: Path) -> dict[str, str]:
    """Read a file of NAME=value lines; those that are commented out count too."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    lines = [line.removeprefix("#") for line in path.read_text().splitlines()]
    parser.read_string("[all]\n" + "\n".join(line for line in lines if re.match(r"[A-Z_]+=", line)))
    return dict(parser["all"])


def settings_of_the_server() -> set[str]:
    """List the variables that the server reads."""
    from server.settings import describe_settings

    return {line.split()[0] for line in describe_settings().splitlines()}
