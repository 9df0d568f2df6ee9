import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import asyncpg
import pytest
import redis

from server.embedded import EmbeddedError, EmbeddedServers
from tests.support.processes import wait_until

pytestmark = pytest.mark.anyio


@pytest.fixture
def home() -> Iterator[Path]:
    with TemporaryDirectory(prefix="memoria-home-") as folder:
        yield Path(folder)
