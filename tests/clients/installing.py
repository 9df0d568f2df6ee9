"""Install other people's MCP clients into a cache of their own, outside of the project's environment."""

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
CACHE = Path(os.environ.get("MEMORIA_CLIENTS_HOME", ROOT / ".clients"))
INSTALL_SECONDS = 900


def npm_package(name: str) -> Path:
    """Install `package@version` from npm once; return its `node_modules`."""
    folder = CACHE / "npm" / name.replace("/", "-").strip("@")
    modules, done = folder / "node_modules", folder / ".installed"
    if not done.exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = [_program("npm"), "install", "--no-audit", "--no-fund", "--no-save", "--prefix", str(folder), name]
        subprocess.run(command, check=True, capture_output=True, timeout=INSTALL_SECONDS)
        done.touch()
    return modules


def python_with(*requirements: str) -> Path:
    """Make an environment that holds these requirements; return its interpreter."""
    folder = CACHE / "python" / "_".join(requirements).translate(str.maketrans("<>=,*", "-----"))
    python, done = folder / "bin" / "python", folder / ".installed"
    if not done.exists():
        uv = shutil.which("uv", path=f"{ROOT / '.uv' / 'bin'}{os.pathsep}{os.environ['PATH']}") or _program("uv")
        subprocess.run([uv, "venv", "--clear", str(folder)], check=True, capture_output=True)
        install = [uv, "pip", "install", "--python", str(python), *requirements]
        subprocess.run(install, check=True, capture_output=True, timeout=INSTALL_SECONDS)
        done.touch()
    return python


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"{name} is needed to run the client tests; it is not on the PATH.")
    return found
