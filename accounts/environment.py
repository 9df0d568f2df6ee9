"""Read settings from environment variables, for every process alike, and refuse what is wrong in one sentence."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit

LARGEST_PORT = 65535

Variables = Mapping[str, tuple[str, str]]  # name: default, meaning


class SettingsError(Exception):
    """A setting is missing or wrong; the message is one sentence that names the variable."""


class LogLevel(StrEnum):
    """Name the levels of logging, least urgent first."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class EnvironmentReader:
    """Read the variables that a process knows. An empty value counts as unset. Every method raises SettingsError."""

    environ: Mapping[str, str]
    variables: Variables

    def text(self, name: str) -> str:
        """Read a text, or its default."""
        return self.environ.get(name, "").strip() or self.variables[name][0]

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        """Read one of a few words, whatever its case."""
        value = self.text(name).lower()
        if value not in choices:
            message = f"{name} must be one of {', '.join(choices)}, not {value!r}."
            raise SettingsError(message)
        return value

    def whole_number(self, name: str, lowest: int, highest: int) -> int:
        """Read a whole number between two bounds."""
        value = self.text(name)
        if not (value.isascii() and value.isdigit() and lowest <= int(value) <= highest):
            message = f"{name} must be a whole number from {lowest} to {highest}, not {value!r}."
            raise SettingsError(message)
        return int(value)

    def port(self, name: str) -> int:
        """Read the number of a port."""
        return self.whole_number(name, 1, LARGEST_PORT)

    def optional_port(self, name: str) -> int | None:
        """Read the number of a port; None when unset."""
        return self.port(name) if self.text(name) else None

    def url(self, name: str, schemes: tuple[str, ...]) -> str | None:
        """Read a URL; None when unset."""
        value = self.text(name)
        if value and urlsplit(value).scheme not in schemes:
            # The value itself may hold a password, and is not repeated.
            message = f"{name} must be a URL that begins {schemes[0]}://."
            raise SettingsError(message)
        return value or None

    def log_level(self) -> LogLevel:
        """Read the least urgent level that is logged."""
        return LogLevel(self.choice("MEMORIA_LOG_LEVEL", tuple(LogLevel)))


def describe_variables(variables: Variables) -> str:
    """Return one line for each variable: its name, what it means, and its default."""
    width = max(map(len, variables))
    lines = []
    for name, (default, meaning) in variables.items():
        lines.append(f"  {name:<{width}}  {meaning}" + (f" [{default}]" if default else ""))
    return "\n".join(lines)
