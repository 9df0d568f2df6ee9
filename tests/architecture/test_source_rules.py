"""A rule that cannot fail is worthless: each is shown to fail on a bad sample, and to pass on a good one."""

import pytest

from tests.architecture import source_rules as rules
from tests.architecture.source_rules import Module, Rule

RUNS = ": await connection.fetch('list_edges')"
LONG_FUNCTION = "def f():\n" + "    x = 1\n" * 80
LONG_DOCSTRING = 'def f():\n    """One.\n' + "    word\n" * 90 + '    """\n    return 1\n'
NESTED = (
    "def f(a):\n    if a:\n        for b in a:\n            with b:\n                while b:\n                    "
)
ELIFS = "def f(a):\n    if a == 0:\n        pass\n" + "".join(
    f"    elif a == {n}:\n        pass\n" for n in range(1, 9)
)

BAD: list[tuple[Rule, str, str]] = [
    (rules.file_is_short, "x = 1\n" * 501, "memoria/a.py"),
    (rules.functions_are_short, LONG_FUNCTION, "memoria/a.py"),
    (rules.nesting_is_shallow, NESTED + "if b:\n                        pass\n", "memoria/a.py"),
    (rules.sql_is_elsewhere, "q = 'select id from memories'", "memoria/a.py"),
    (rules.sql_is_elsewhere, "q = f'SELECT {columns} FROM memories'", "memoria/a.py"),
    (rules.sql_is_elsewhere, "q = '''\n  insert into edges values ($1)'''", "memoria/a.py"),
    (rules.sql_is_elsewhere, "q = 'update memories set state = $1'", "memoria/a.py"),
    (rules.sql_is_elsewhere, "q = 'delete from memories where id = $1'", "memoria/a.py"),
    (rules.sql_is_elsewhere, "q = 'with seeds as (select 1)'", "memoria/a.py"),
    (rules.sql_is_elsewhere, "await c.execute('BEGIN')", "memoria/a.py"),
    (rules.sql_is_elsewhere, "await c.execute(f\"set local app.org_id = '{org}'\")", "memoria/a.py"),
    (rules.sql_is_elsewhere, "await c.execute('create table x (y int)')", "memoria/a.py"),
    (rules.module_name_says_something, "", "memoria/memory_utils.py"),
    (rules.module_name_says_something, "", "server/common/auth.py"),
    (rules.exceptions_are_named, "try:\n    f()\nexcept Exception:\n    pass", "memoria/a.py"),
    (rules.exceptions_are_named, "try:\n    f()\nexcept:\n    pass", "memoria/a.py"),
    (rules.exceptions_are_named, "try:\n    f()\nexcept (OSError, BaseException):\n    pass", "memoria/a.py"),
    (rules.nothing_is_unfinished, "x = 1  # TO" + "DO: more", "memoria/a.py"),
    (rules.nothing_is_skipped, "@pytest.mark.ski" + "p\ndef test_a(): ...", "tests/test_a.py"),
    (rules.nothing_is_skipped, "pytest.import" + "orskip('numpy')", "tests/test_a.py"),
    (rules.public_names_have_docstrings, "x = 1", "memoria/a.py"),
    (rules.public_names_have_docstrings, '"""A."""\nclass A: ...', "memoria/a.py"),
    (
        rules.public_names_have_docstrings,
        '"""A."""\nclass A:\n    """A."""\n    async def b(self): ...',
        "memoria/a.py",
    ),
    (rules.dataclasses_are_tight, "@dataclass\nclass A: ...", "memoria/a.py"),
    (rules.dataclasses_are_tight, "@dataclass(frozen=True)\nclass A: ...", "memoria/a.py"),
    (rules.dataclasses_are_tight, "@dataclass(slots=True)\nclass A: ...", "memoria/records.py"),
    (rules.errors_are_named_so, "class Missing(MemoriaError): ...", "memoria/a.py"),
    (rules.errors_are_named_so, "class PermissionError(Exception): ...", "memoria/a.py"),
    (rules.nothing_is_composed_on_import, "client = redis.Redis.from_url(url)", "server/a.py"),
    (rules.nothing_is_composed_on_import, "SETTINGS = read_settings(os.environ)", "server/a.py"),
    (rules.middleware_is_pure_asgi, "from starlette.middleware.base import BaseHTTPMiddleware", "server/a.py"),
    (rules.log_events_are_static, "log.info(f'{user} came')", "server/a.py"),
    (rules.log_events_are_static, "log.info('User came')", "server/a.py"),
    (rules.log_events_are_static, "_logger.warning('lost ' + name)", "memoria/a.py"),
    (rules.stores_take_the_tenant_first, "async def f(connection, namespace_id, org_id)" + RUNS, "memoria/a.py"),
]

GOOD: list[tuple[Rule, str, str]] = [
    (rules.file_is_short, "x = 1\n" * 500, "memoria/a.py"),
    (rules.functions_are_short, LONG_DOCSTRING, "memoria/a.py"),
    (rules.nesting_is_shallow, NESTED + "pass\n", "memoria/a.py"),
    (rules.nesting_is_shallow, ELIFS, "memoria/a.py"),
    (
        rules.sql_is_elsewhere,
        "def f():\n    'Delete from the store.'\n    raise X('select a namespace')",
        "memoria/a.py",
    ),
    (rules.sql_is_elsewhere, "m = 'Update the fields of a memory; begin with its id.'", "memoria/a.py"),
    (rules.module_name_says_something, "", "memoria/metadata_limits.py"),
    (rules.exceptions_are_named, "try:\n    f()\nexcept BaseException:\n    g()\n    raise", "memoria/a.py"),
    (rules.exceptions_are_named, "try:\n    f()\nexcept Exception:\n    g()", "workers/schedule.py"),
    (rules.nothing_is_unfinished, "todo = 1", "memoria/a.py"),
    (rules.nothing_is_skipped, "def test_a_skip_is_counted(): ...", "tests/test_a.py"),
    (rules.public_names_have_docstrings, '"""A."""\ndef _a(): ...\nclass _B:\n    def c(self): ...', "memoria/a.py"),
    (rules.dataclasses_are_tight, "@dataclass(frozen=True, slots=True)\nclass A: ...", "memoria/records.py"),
    (rules.errors_are_named_so, "class LostError(MemoriaError): ...", "memoria/a.py"),
    (rules.nothing_is_composed_on_import, "def main():\n    return read_settings(os.environ)", "server/a.py"),
    (rules.log_events_are_static, "log.info('request_done', status=200)", "server/a.py"),
    (rules.log_events_are_static, "_logger.warning('lost %s', name)", "memoria/a.py"),
    (rules.stores_take_the_tenant_first, "async def f(connection, org_id)" + RUNS, "memoria/a.py"),
    (rules.stores_take_the_tenant_first, "async def f(connection, place): await g(connection, place)", "memoria/a.py"),
    (rules.stores_take_the_tenant_first, "async def find_key(connection, secret)" + RUNS, "accounts/keys.py"),
]


@pytest.mark.parametrize(("rule", "text", "path"), BAD)
def test_a_bad_sample_breaks_the_rule(rule: Rule, text: str, path: str) -> None:
    assert list(rule(Module.of(text, path)))


@pytest.mark.parametrize(("rule", "text", "path"), GOOD)
def test_a_good_sample_passes_the_rule(rule: Rule, text: str, path: str) -> None:
    assert not list(rule(Module.of(text, path)))


@pytest.mark.parametrize("rule", sorted({*rules.SOURCE_RULES, *rules.TEST_RULES}, key=lambda rule: rule.__name__))
def test_every_rule_has_a_bad_sample(rule: Rule) -> None:
    assert rule in {bad for bad, _, _ in BAD}
