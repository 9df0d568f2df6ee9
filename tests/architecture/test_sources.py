import re
import statistics
import tomllib

import pytest

from tests.architecture import source_rules as rules
from tests.architecture.source_rules import ROOT, SOURCE_RULES, TEST_RULES, Module, Rule, source_modules

TEXT_SUFFIXES = {".py", ".sql", ".md", ".toml", ".yaml", ".yml", ".html", ".css", ".ts", ".sh", ".service", ".conf"}
# What git ignores, and what says the words in order to forbid them.
OUTSIDE = {".venv", ".uv", ".memoria", ".git", "node_modules", "dist", "build"}
RULE_FILES = {f"tests/architecture/{name}.py" for name in ("source_rules", "test_source_rules", "test_sources")} | {
    "CONTRIBUTING.md"
}


@pytest.fixture(scope="module")
def sources() -> list[Module]:
    return source_modules()


@pytest.fixture(scope="module")
def tests() -> list[Module]:
    files = sorted((ROOT / "tests").rglob("*.py"))
    modules = [Module.of(file.read_text(), file.relative_to(ROOT).as_posix()) for file in files]
    return [module for module in modules if module.path not in RULE_FILES]


@pytest.mark.parametrize("rule", SOURCE_RULES, ids=lambda rule: rule.__name__)
def test_the_sources_keep_the_rule(rule: Rule, sources: list[Module]) -> None:
    assert [violation for module in sources for violation in rule(module)] == []


@pytest.mark.parametrize("rule", TEST_RULES, ids=lambda rule: rule.__name__)
def test_the_tests_keep_the_rule(rule: Rule, tests: list[Module]) -> None:
    assert [violation for module in tests for violation in rule(module)] == []


def test_nine_functions_in_ten_are_short(sources: list[Module]) -> None:
    lengths = [rules.line_count(function) for module in sources for function in rules.functions(module)]
    assert statistics.quantiles(lengths, n=10)[-1] <= rules.FUNCTION_LINES_P90


def test_nothing_is_left_unfinished_in_any_file() -> None:
    files = [
        file
        for file in ROOT.rglob("*")
        if file.suffix in TEXT_SUFFIXES and not OUTSIDE & set(file.relative_to(ROOT).parts) and file.is_file()
    ]
    found = [
        f"{file.relative_to(ROOT)}:{number}"
        for file in files
        if file.relative_to(ROOT).as_posix() not in RULE_FILES
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if re.search(r"\b(?:TODO|FIXME)\b", line)
    ]
    assert found == []


def test_no_module_is_named_like_a_dependency(sources: list[Module]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    requirements = [
        *project["dependencies"],
        *(r for extra in project["optional-dependencies"].values() for r in extra),
    ]
    dependencies = {
        re.split(r"[^A-Za-z0-9_.-]", requirement)[0].lower().replace("-", "_") for requirement in requirements
    }
    assert "starlette" in dependencies
    names = {part for module in sources for part in module.path.removesuffix(".py").split("/")}
    assert names & dependencies == set()


def test_every_package_is_checked_for_types_and_imports() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    packages = {package for package in rules.PACKAGES if (ROOT / package).exists()}
    assert set(tools["mypy"]["packages"]) == packages
    assert set(tools["importlinter"]["root_packages"]) == packages


def test_the_tests_are_no_package() -> None:
    assert list((ROOT / "tests").rglob("__init__.py")) == []


def test_every_link_in_the_documentation_leads_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "sql").rglob("*.md")]
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages
        for target in re.findall(r"\]\((?!https?://|mailto:|#)([^)#\s]+)", page.read_text())
        if not (page.parent / target).exists()
    ]
    assert pages
    assert broken == []
