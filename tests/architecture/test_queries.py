"""Every query is correct against the migrated schema, and used."""

import ast
from collections.abc import AsyncIterator

import asyncpg
import pytest

from memoria.statements import Statement, load_statements
from tests.architecture.schema import SCHEMA_FILE, dump_schema
from tests.architecture.source_rules import ROOT, source_modules

pytestmark = pytest.mark.anyio

STATEMENTS = load_statements("postgres")
# Two statements in one round trip, which the protocol cannot prepare; the tests of transactions run it.
NOT_PREPARABLE = {"begin_tenant"}


@pytest.fixture
async def owner(owner_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(owner_url)
    yield connection
    await connection.close()


@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=lambda statement: statement.name)
async def test_the_query_can_be_prepared(statement: Statement, owner: asyncpg.Connection) -> None:
    if statement.name in NOT_PREPARABLE:
        with pytest.raises(asyncpg.PostgresSyntaxError, match="multiple commands"):
            await owner.prepare(statement.sql)
        return
    prepared = await owner.prepare(statement.sql)
    assert len(prepared.get_parameters()) == len(statement.parameters)


@pytest.mark.parametrize("sql", ["select nothing from organizations", "select org_id from organizations where x = $1"])
async def test_a_wrong_query_cannot_be_prepared(sql: str, owner: asyncpg.Connection) -> None:
    with pytest.raises(asyncpg.UndefinedColumnError):
        await owner.prepare(sql)


def test_every_query_is_used() -> None:
    words = {
        node.value
        for module in source_modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert STATEMENTS.keys() - words == set()


@pytest.mark.parametrize("file", sorted((ROOT / "sql/postgres/queries").glob("*.sql")), ids=lambda file: file.stem)
def test_every_query_has_a_sentence_of_purpose(file) -> None:  # type: ignore[no-untyped-def]
    lines = file.read_text().splitlines()
    names = [number for number, line in enumerate(lines) if line.startswith("-- name: ")]
    assert names
    assert [lines[number] for number in names if not lines[number + 1].startswith("-- ")] == []


def test_the_schema_file_equals_the_migrations(owner_url: str) -> None:
    assert SCHEMA_FILE.read_text() == dump_schema(owner_url), "run `make schema`"
