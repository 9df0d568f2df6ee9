"""The import contracts of pyproject.toml hold, and each of them can fail."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.source_rules import PACKAGES, ROOT

BAD_IMPORTS = [
    ("packages", "memoria/errors.py", "import accounts"),
    ("packages", "accounts/keys.py", "import server"),
    ("engine", "memoria/database.py", "from memoria import edges"),
    ("engine", "memoria/tiers.py", "from memoria import database"),
    ("engine", "memoria/errors.py", "from memoria import records"),
    ("engine", "memoria/unplaced.py", ""),
    ("stores-do-not-embed", "memoria/edges.py", "from memoria.embedding import minilm"),
    ("embedding-knows-no-database", "memoria/embedding/port.py", "import asyncpg"),
    ("engine-libraries", "memoria/encode.py", "import starlette"),
    ("engine-libraries", "memoria/records.py", "import pydantic"),
    ("accounts-libraries", "accounts/keys.py", "import starlette"),
    ("http-clients", "memoria/tokens.py", "import httpx"),
]


def check_imports(root: Path, *contracts: str) -> subprocess.CompletedProcess[str]:
    words = [word for contract in contracts for word in ("--contract", contract)]
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache", *words, root / "pyproject.toml"],
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for package in PACKAGES:
        if (ROOT / package).exists():
            shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_the_sources_keep_every_contract() -> None:
    result = check_imports(ROOT)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(("contract", "path", "line"), BAD_IMPORTS)
def test_a_bad_import_breaks_its_contract(contract: str, path: str, line: str, copy: Path) -> None:
    file = copy / path
    text = file.read_text() if file.exists() else ""
    file.write_text(f"{text}\n{line}\n")
    result = check_imports(copy, contract)
    assert result.returncode == 1
    assert "1 broken" in result.stdout
