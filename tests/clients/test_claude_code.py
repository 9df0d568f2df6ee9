"""Claude Code connects with the lines that the guide gives. No model is called."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.clients.installing import ROOT, npm_package
from tests.live_server import Person

pytestmark = pytest.mark.clients

QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
}
(LINES,) = re.findall(r"^```bash\n(claude .*?)^```$", (ROOT / "docs" / "mcp.md").read_text(), re.MULTILINE | re.DOTALL)


def _status(home: Path, url: str, key: str) -> str:
    """Run the lines of the guide as somebody who has never used the client; return the server's status."""
    program = npm_package("@anthropic-ai/claude-code") / ".bin"
    variables = {"MEMORIA_URL": url, "MEMORIA_KEY": key, "HOME": str(home), **QUIET}
    environment = variables | {"PATH": f"{program}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-euc", LINES], env=environment, cwd=home, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith(f"memoria: {url}/v1/mcp")]
    return line.rpartition(" - ")[2]


def test_claude_code_connects(server_url: str, alice: Person, tmp_path: Path) -> None:
    assert _status(tmp_path, server_url, alice.key) == "✔ Connected"


def test_claude_code_is_refused_without_a_good_key(server_url: str, tmp_path: Path) -> None:
    assert "Connected" not in _status(tmp_path, server_url, "mem_dev_unknown")
