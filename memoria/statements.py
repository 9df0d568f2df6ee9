"""Load the named queries of `sql/<dialect>/queries/*.sql` and turn `:name` parameters into `$n`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

NAME_LINE = re.compile(r"^-- name: (?P<name>[a-z][a-z0-9_]*)$")
# A parameter is a colon and a word; `::type` casts, string literals and comments are passed over.
TOKENS = re.compile(r"'(?:[^']|'')*'|--[^\n]*|::|:(?P<parameter>[a-z][a-z0-9_]*)")


@dataclass(frozen=True, slots=True)
class Statement:
    """Be one query: its text in `$n` form and the names of its parameters, in the order of their numbers."""

    name: str
    sql: str
    parameters: tuple[str, ...]

    def arguments(self, values: Mapping[str, object]) -> list[object]:
        """Put named values in order. Raises TypeError when a name is missing or not the statement's."""
        if values.keys() != set(self.parameters):
            missing = set(self.parameters) - values.keys()
            unknown = values.keys() - set(self.parameters)
            raise TypeError(f"{self.name}: missing {sorted(missing)}, unknown {sorted(unknown)}")
        return [values[parameter] for parameter in self.parameters]


def sql_folder(dialect: str) -> Traversable:
    """Find the SQL of a dialect: inside the installed package, or beside it in a checkout."""
    packaged = resources.files("memoria") / "sql" / dialect
    if packaged.is_dir():
        return packaged
    return Path(__file__).resolve().parent.parent / "sql" / dialect


def parse_statement(name: str, text: str) -> Statement:
    """Turn one named query into a Statement; a parameter used twice keeps one number."""
    parameters: list[str] = []

    def number(match: re.Match[str]) -> str:
        parameter = match["parameter"]
        if parameter is None:
            return match[0]
        if parameter not in parameters:
            parameters.append(parameter)
        return f"${parameters.index(parameter) + 1}"

    return Statement(name, TOKENS.sub(number, text).strip().rstrip(";"), tuple(parameters))


def parse_queries(text: str) -> list[Statement]:
    """Split a file at its `-- name:` lines. Raises ValueError when SQL stands before the first name."""
    blocks: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if match := NAME_LINE.match(line):
            blocks.append((match["name"], []))
        elif blocks:
            blocks[-1][1].append(line)
        elif line.strip() and not line.startswith("--"):
            raise ValueError(f"SQL before the first name: {line!r}")
    return [parse_statement(name, "\n".join(lines)) for name, lines in blocks]


@cache
def load_statements(dialect: str) -> Mapping[str, Statement]:
    """Load every named query of a dialect. Raises ValueError when two share a name."""
    statements: dict[str, Statement] = {}
    for file in sorted((sql_folder(dialect) / "queries").iterdir(), key=lambda entry: entry.name):
        for statement in parse_queries(file.read_text(encoding="utf-8")):
            if statement.name in statements:
                raise ValueError(f"two queries are named {statement.name}")
            statements[statement.name] = statement
    return statements
