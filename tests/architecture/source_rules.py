"""The rules of the house that can be read off the source, each a function from a module to its violations."""

import ast
import builtins
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("memoria", "accounts", "server", "workers")

FILE_LINES = 500
FUNCTION_LINES = 80
FUNCTION_LINES_P90 = 30
NESTING = 4

WORDLESS_NAMES = frozenset(
    {"util", "utils", "helper", "helpers", "common", "base", "core", "manager", "service", "handler", "processor"}
    | {"data", "info", "misc"}
)
# The edges of a request, a job and a process, where every error becomes an outcome that is recorded.
BROAD_EXCEPT_FILES = frozenset({"server/edge.py", "server/mcp_server.py", "workers/schedule.py", "workers/runner.py"})
# Made once, in a composition function, and handed on.
COMPOSED = frozenset({"create_pool", "Redis", "from_url", "AsyncClient", "Client", "read_settings", "get_settings"})
# Run before a tenant is known, or for none: the lookups of a key and of an account, and the migrations.
BEFORE_THE_TENANT = frozenset(
    {
        "find_key",
        "find_organization",
        "find_unindexed_namespaces",
        "find_outlived_answers",
        "find_organizations_to_serve",
        "find_namespaces_to_schedule",
        "find_organizations_to_schedule",
        "find_outlived_jobs",
        "find_namespaces_to_reembed",
        "find_jobs_of_all",
        "count_jobs_of_all",
        "find_outlived_recalls",
        "find_organizations_with_expired_memories",
        "find_due_intentions",
        "migrate",
        "missing_migrations",
        "_apply",
    }
)
STATEMENT_METHODS = frozenset({"fetch", "fetch_row", "fetch_value", "execute"})
TENANT_PARAMETERS = frozenset({"org_id", "organization", "principal"})
LOGGERS = frozenset({"log", "_log", "logger", "_logger"})
LOG_METHODS = frozenset({"debug", "info", "warning", "error", "exception", "critical"})

_SQL = re.compile(
    r"""^\s*(?:
        select\s+[^.]*?\s+from\s+\w | select\s+\w+\s*\( | insert\s+into\s | delete\s+from\s
        | update\s+\w+\s+set\s+\w+\s*= | with\s+(?:recursive\s+)?\w+\s+as\s*(?:materialized\s*)?\(
        | (?:create|alter|drop)\s+(?:unique\s+)?(?:table|index|role|policy|database|extension|schema|function|view)\s
        | truncate\s+(?:table\s+)?\w+\s*(?:cascade|;|$)
        | (?:begin|commit|rollback)\s*;\s*$ | (?-i:BEGIN|COMMIT|ROLLBACK)\s*$ | set\s+(?:local|role)\s
        | (?:un)?listen\s+\w+\s*;?\s*$ | notify\s+\w+\s*[,;] | copy\s+\w+\s*(?:\(|from\s|to\s)
        | explain\s+(?:\(|analyze)
    )""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_UNFINISHED = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b")
_SKIPS = re.compile(r"\b(?:pytest\.(?:skip|xfail|importorskip)|mark\.(?:skip|skipif|xfail)|unittest\.skip\w*)\b")
_EVENT = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Module:
    """One source file: its path from the root, its text and its syntax tree."""

    path: str
    text: str
    tree: ast.Module

    @classmethod
    def of(cls, text: str, path: str = "memoria/sample.py") -> "Module":
        """Parse `text` as if it stood at `path`."""
        return cls(path, text, ast.parse(text))


Rule = Callable[[Module], Iterator[str]]
Function = ast.FunctionDef | ast.AsyncFunctionDef


def source_modules(root: Path = ROOT) -> list[Module]:
    """Read every Python file of the packages, tests and benchmarks left out."""
    files = sorted(file for package in PACKAGES for file in (root / package).rglob("*.py"))
    return [Module.of(file.read_text(), file.relative_to(root).as_posix()) for file in files]


def functions(module: Module) -> list[Function]:
    """List every function and method, nested ones included."""
    return [node for node in ast.walk(module.tree) if isinstance(node, Function)]


def line_count(function: Function) -> int:
    """Count the lines of a function from `def` to its end, its docstring left out."""
    first = function.body[0]
    docstring = (first.end_lineno or 0) - first.lineno + 1 if _docstring_node(function) is not None else 0
    return (function.end_lineno or 0) - function.lineno + 1 - docstring


def file_is_short(module: Module) -> Iterator[str]:
    """A file tells one story."""
    lines = module.text.count("\n")
    if lines > FILE_LINES:
        yield f"{module.path}: {lines} lines, more than {FILE_LINES}"


def functions_are_short(module: Module) -> Iterator[str]:
    """A function does one thing."""
    for function in functions(module):
        if line_count(function) > FUNCTION_LINES:
            yield _at(module, function, f"{function.name} has more than {FUNCTION_LINES} lines")


def nesting_is_shallow(module: Module) -> Iterator[str]:
    """A reader holds few conditions in mind at once."""
    for function in functions(module):
        if _depth(function.body) > NESTING:
            yield _at(module, function, f"{function.name} is nested deeper than {NESTING}")


def sql_is_elsewhere(module: Module) -> Iterator[str]:
    """SQL lives in sql/ and nowhere else."""
    docstrings = {id(node) for node in map(_docstring_node, ast.walk(module.tree)) if node is not None}
    for node in ast.walk(module.tree):
        text = _text(node)
        if text is not None and id(node) not in docstrings and _SQL.match(text):
            yield _at(module, node, f"SQL in Python: {text.strip()[:40]!r}")


def module_name_says_something(module: Module) -> Iterator[str]:
    """A name says what is inside."""
    for part in Path(module.path).with_suffix("").parts:
        for word in set(part.split("_")) & WORDLESS_NAMES:
            yield f"{module.path}: {word!r} says nothing about what is inside"


def exceptions_are_named(module: Module) -> Iterator[str]:
    """Only an edge may catch everything; elsewhere a broad handler cleans up and raises again."""
    if module.path in BROAD_EXCEPT_FILES:
        return
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ExceptHandler) and _is_broad(node.type) and not _raises_again(node):
            yield _at(module, node, "a broad except outside of an edge")


def nothing_is_unfinished(module: Module) -> Iterator[str]:
    """What is not done is not promised in a comment."""
    for number, line in enumerate(module.text.splitlines(), 1):
        if match := _UNFINISHED.search(line):
            yield f"{module.path}:{number}: {match[0]}"


def nothing_is_skipped(module: Module) -> Iterator[str]:
    """A test that does not run is no test."""
    for token in tokenize.generate_tokens(StringIO(module.text).readline):
        if token.type == tokenize.NAME and (match := _SKIPS.search(token.line)):
            yield f"{module.path}:{token.start[0]}: {match[0]}"


def public_names_have_docstrings(module: Module) -> Iterator[str]:
    """Every public module, class, function and method says what it is for."""
    if ast.get_docstring(module.tree) is None:
        yield f"{module.path}: the module has no docstring"
    for name, node in _public_definitions(module.tree.body):
        if ast.get_docstring(node) is None:
            yield _at(module, node, f"{name} has no docstring")


def dataclasses_are_tight(module: Module) -> Iterator[str]:
    """Dataclasses have slots, and a record is frozen."""
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.ClassDef):
            continue
        for decorator in node.decorator_list:
            options = _dataclass_options(decorator)
            if options is not None and "slots" not in options:
                yield _at(module, node, f"{node.name} is a dataclass without slots=True")
            if options is not None and "frozen" not in options and module.path.endswith("records.py"):
                yield _at(module, node, f"{node.name} is a record that is not frozen")


def errors_are_named_so(module: Module) -> Iterator[str]:
    """An error ends in Error and hides no builtin."""
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.ClassDef):
            continue
        bases = {_last_name(base) for base in node.bases}
        if any(base.endswith(("Error", "Exception")) for base in bases) and not node.name.endswith("Error"):
            yield _at(module, node, f"{node.name} is an error that does not end in Error")
        if hasattr(builtins, node.name):
            yield _at(module, node, f"{node.name} hides a builtin")


def nothing_is_composed_on_import(module: Module) -> Iterator[str]:
    """No pool, client or settings at module level."""
    for statement in module.tree.body:
        if not isinstance(statement, ast.Assign | ast.AnnAssign | ast.Expr):
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and _last_name(node.func) in COMPOSED:
                yield _at(module, node, f"{_last_name(node.func)} is called on import")


def middleware_is_pure_asgi(module: Module) -> Iterator[str]:
    """Starlette's BaseHTTPMiddleware breaks context variables and streaming."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom) and node.module == "starlette.middleware.base":
            yield _at(module, node, "BaseHTTPMiddleware")


def log_events_are_static(module: Module) -> Iterator[str]:
    """A log event is a constant: snake_case at the edges, a constant format in the engine."""
    for node in ast.walk(module.tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            continue
        if node.func.attr not in LOG_METHODS or _last_name(node.func.value) not in LOGGERS:
            continue
        event = node.args[0]
        is_constant = isinstance(event, ast.Constant) and isinstance(event.value, str)
        if not is_constant:
            yield _at(module, node, "a log event that is no constant")
        elif not module.path.startswith("memoria/") and not _EVENT.fullmatch(event.value):
            yield _at(module, node, f"the log event {event.value!r} is not snake_case")


def stores_take_the_tenant_first(module: Module) -> Iterator[str]:
    """What runs a statement names its tenant right after the connection."""
    if module.path.startswith("server/"):
        return
    for function in functions(module):
        names = [argument.arg for argument in function.args.args]
        is_store = names[:1] == ["connection"] and _runs_statements(function)
        if is_store and function.name not in BEFORE_THE_TENANT and not TENANT_PARAMETERS & set(names[1:2]):
            yield _at(module, function, f"{function.name} does not take org_id after the connection")


SOURCE_RULES: tuple[Rule, ...] = (
    file_is_short,
    functions_are_short,
    nesting_is_shallow,
    sql_is_elsewhere,
    module_name_says_something,
    exceptions_are_named,
    nothing_is_unfinished,
    public_names_have_docstrings,
    dataclasses_are_tight,
    errors_are_named_so,
    nothing_is_composed_on_import,
    middleware_is_pure_asgi,
    log_events_are_static,
    stores_take_the_tenant_first,
)
TEST_RULES: tuple[Rule, ...] = (
    file_is_short,
    functions_are_short,
    nesting_is_shallow,
    nothing_is_unfinished,
    nothing_is_skipped,
    nothing_is_composed_on_import,
)


def _at(module: Module, node: ast.AST, message: str) -> str:
    return f"{module.path}:{getattr(node, 'lineno', 0)}: {message}"


def _docstring_node(node: ast.AST) -> ast.Constant | None:
    if not isinstance(node, ast.Module | ast.ClassDef | Function) or not node.body:
        return None
    first = node.body[0]
    is_text = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    return first.value if is_text else None


def _text(node: ast.AST) -> str | None:
    """Return the text of a string, with a word for each expression of an f-string; None for anything else."""
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) or "x" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _depth(body: Iterable[ast.stmt]) -> int:
    deepest = 0
    for statement in body:
        if isinstance(statement, Function | ast.ClassDef):
            continue
        # An elif is written at the depth of its if.
        blocks = [
            _depth(block) if name == "orelse" and _is_elif(block) else 1 + _depth(block)
            for name, block in _blocks(statement)
            if block
        ]
        deepest = max(deepest, *blocks, 0)
    return deepest


def _blocks(statement: ast.stmt) -> Iterator[tuple[str, list[ast.stmt]]]:
    for name in ("body", "orelse", "finalbody"):
        yield name, getattr(statement, name, [])
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield "body", part.body


def _is_elif(block: list[ast.stmt]) -> bool:
    return len(block) == 1 and isinstance(block[0], ast.If)


def _is_broad(kind: ast.expr | None) -> bool:
    if kind is None:
        return True
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(_last_name(each) in {"Exception", "BaseException"} for each in kinds)


def _raises_again(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def _public_definitions(body: Iterable[ast.stmt], prefix: str = "") -> Iterator[tuple[str, ast.ClassDef | Function]]:
    for node in body:
        if isinstance(node, ast.ClassDef | Function) and not node.name.startswith("_"):
            yield prefix + node.name, node
            if isinstance(node, ast.ClassDef):
                yield from _public_definitions(node.body, f"{prefix}{node.name}.")


def _runs_statements(function: Function) -> bool:
    calls = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
    return any(
        isinstance(call, ast.Attribute) and call.attr in STATEMENT_METHODS and _last_name(call.value) == "connection"
        for call in calls
    )


def _dataclass_options(decorator: ast.expr) -> set[str] | None:
    """Return the options that a dataclass decorator switches on; None when it is another decorator."""
    call = decorator if isinstance(decorator, ast.Call) else None
    if _last_name(call.func if call else decorator) != "dataclass":
        return None
    keywords = call.keywords if call else []
    return {word.arg for word in keywords if word.arg and getattr(word.value, "value", False) is True}


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
