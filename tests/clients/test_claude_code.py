"""Claude Code connects with the line that the documentation gives. No model is called."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.clients.installing import npm_package
from tests.live_server import Person

pytestmark = pytest.mark.clients

QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
}


def _claude(home: Path, *arguments: str) -> str:
    program = npm_package("@anthropic-ai/claude-code") / ".bin" / "claude"
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), **QUIET}
    done = subprocess.run(
        [str(program), "mcp", *arguments], env=environment, cwd=home, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_claude_code_connects(server_url: str, alice: Person, tmp_path: Path) -> None:
    url = f"{server_url}/v1/mcp"
    bearer = f"Authorization: Bearer {alice.key}"
    _claude(tmp_path, "add", "--transport", "http", "memoria", url, "--header", bearer)
    (line,) = [line for line in _claude(tmp_path, "list").splitlines() if line.startswith("memoria:")]
    assert url in line
    assert line.endswith("Connected")


def test_claude_code_is_refused_without_a_good_key(server_url: str, tmp_path: Path) -> None:
    _claude(
        tmp_path, "add", "--transport", "http", "memoria", f"{server_url}/v1/mcp", "--header", "Authorization: Bearer x"
    )
    assert "Connected" not in _claude(tmp_path, "list")
