"""Run the server as its own process, as in production, on databases that are there."""

import asyncio
import contextlib
import os
import secrets
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

START_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class RunningServer:
    """Be a server that answers: its URL and its process."""

    url: str
    process_id: int


@asynccontextmanager
async def running_server(database_url: str, redis_url: str, home: Path) -> AsyncIterator[RunningServer]:
    """Start `python -m server` on a free port, and stop it at the end."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    environment = os.environ | {
        "DATABASE_URL": database_url,
        "REDIS_URL": redis_url,
        "MEMORIA_SECRET_KEY": secrets.token_hex(32),
        "MEMORIA_HOME": str(home),
        "MEMORIA_LOG_LEVEL": "warning",
        "PORT": str(port),
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "server", env=environment, stdout=asyncio.subprocess.DEVNULL
    )
    try:
        url = f"http://127.0.0.1:{port}"
        await _wait_until_ready(url, process)
        yield RunningServer(url, process.pid)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def _wait_until_ready(url: str, process: asyncio.subprocess.Process) -> None:
    async with asyncio.timeout(START_SECONDS), httpx.AsyncClient() as client:
        while process.returncode is None:
            with contextlib.suppress(httpx.TransportError):
                if (await client.get(f"{url}/v1/health/ready")).status_code == httpx.codes.OK:
                    return
            await asyncio.sleep(0.05)
    raise RuntimeError("the server ended before it answered")
