"""What libraries log is told as our own events are: kinds and places, without the text of an exception."""

import json
import subprocess
import sys

PROGRAM = """
import logging
from accounts.logs import configure_logging

configure_logging("info")
try:
    raise ValueError("saffron heron")
except ValueError:
    logging.getLogger("a.library").exception("it broke")
"""


def test_the_exception_of_a_library_is_told_without_its_text() -> None:
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True)
    (line,) = ended.stdout.splitlines()
    told = json.loads(line)
    assert (told["event"], told["level"], told["error"]) == ("it broke", "error", "ValueError")
    assert len(told["frames"]) == 1
    assert "saffron" not in ended.stdout + ended.stderr
