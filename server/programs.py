"""Run another program for as long as this process lives: start it, wait until it is ready, stop it."""

import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_POLL_SECONDS = 0.01
_LEFTOVER_SECONDS = 15.0


class ProgramError(Exception):
    """A program cannot be started; the message is one sentence that says why."""


@dataclass(frozen=True, slots=True)
class SystemUser:
    """A user of the operating system, by number."""

    uid: int
    gid: int


@dataclass(frozen=True, slots=True)
class Program:
    """What to run, how to tell that it is ready, and how to end it.

    `is_ready` gets the process id. `retry_message`: an early exit whose log ends with it is tried again.
    """

    name: str
    command: tuple[str, ...]
    log: Path
    stop_signal: signal.Signals
    is_ready: Callable[[int], bool]
    readable: tuple[Path, ...] = ()
    retry_message: str = ""


@dataclass(slots=True)
class RunningProgram:
    """A program that was started, in a session of its own: Ctrl-C reaches us, and we stop it in order."""

    program: Program
    _process: subprocess.Popen[bytes] = field(init=False)
    _log_start: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        """Start the program."""
        self._launch()

    def wait_until_ready(self, timeout_seconds: float) -> None:
        """Return when the program answers; raise `ProgramError` when it ended or took too long."""
        deadline = time.monotonic() + timeout_seconds
        while not self.program.is_ready(self._process.pid):
            if self._process.poll() is not None:
                self._relaunch_or_raise()
            if time.monotonic() > deadline:
                message = f"{self.program.name} was not ready after {timeout_seconds:.0f} s: see {self.program.log}"
                raise ProgramError(message)
            time.sleep(_POLL_SECONDS)

    def stop(self, timeout_seconds: float) -> None:
        """Ask the program to end and wait for it; kill it only when it does not. Safe to repeat."""
        if self._process.poll() is not None:
            return
        self._process.send_signal(self.program.stop_signal)
        try:
            self._process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait()

    def _launch(self) -> None:
        program = self.program
        with program.log.open("ab") as log:
            self._log_start = log.tell()
            self._process = subprocess.Popen(  # noqa: S603 - the command is composed by us
                [*launcher_prefix(program.readable, program.stop_signal), *program.command],
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _relaunch_or_raise(self) -> None:
        with self.program.log.open("rb") as log:
            log.seek(self._log_start)
            lines = log.read().decode(errors="replace").strip().splitlines() or ["it wrote nothing"]
        if self.program.retry_message and any(self.program.retry_message in line for line in lines):
            time.sleep(_POLL_SECONDS * 10)
            self._launch()
            return
        message = f"{self.program.name} did not start: {lines[-1]} (see {self.program.log})"
        raise ProgramError(message)


def server_user() -> SystemUser:
    """Return the user that servers run as: ourselves, or `nobody` under root, as which Postgres refuses to run."""
    if os.geteuid() != 0:
        return SystemUser(os.geteuid(), os.getegid())
    nobody = pwd.getpwnam("nobody")
    return SystemUser(nobody.pw_uid, nobody.pw_gid)


def launcher_prefix(readable: Iterable[Path], death_signal: signal.Signals | None = None) -> Sequence[str]:
    """Return the words before a command that make it run as `server_user()` and end with this process.

    Where `nobody` may not enter a folder on the way to `readable` (a checkout under /root), the program gets
    the one capability to do so; the permissions of the folders stay as they are.
    """
    setpriv = shutil.which("setpriv")
    is_root = os.geteuid() == 0
    if setpriv is None:
        if is_root:
            message = "Running as root needs the program setpriv (Debian: util-linux), or start as another user."
            raise ProgramError(message)
        return ()
    words = [setpriv]
    if is_root:
        user = server_user()
        words += [f"--reuid={user.uid}", f"--regid={user.gid}", "--clear-groups"]
        if not all(_others_may_enter(path) for path in readable):
            capability = "-all,+dac_override"
            words += [
                f"--inh-caps={capability}",
                f"--ambient-caps={capability}",
                "--securebits=+no_setuid_fixup",
            ]
    if death_signal is not None:
        words += ["--pdeathsig", death_signal.name.removeprefix("SIG")]
    return words if len(words) > 1 else ()


def stop_leftover(pid_file: Path, words: Iterable[str], stop_signal: signal.Signals) -> None:
    """End a program that an earlier run left behind, and remove its `pid_file`.

    Only a process whose command line holds all of `words` is taken for it: after a restart of the machine
    the same number belongs to somebody else. Raises `ProgramError` when it does not end.
    """
    try:
        pid = int(pid_file.read_text().split("\n", 1)[0])
    except (FileNotFoundError, ValueError):
        return
    if _is_running(pid, words):
        os.kill(pid, stop_signal)
        deadline = time.monotonic() + _LEFTOVER_SECONDS
        while _is_running(pid, words):
            if time.monotonic() > deadline:
                message = f"Process {pid} of an earlier run does not end: stop it, then start again."
                raise ProgramError(message)
            time.sleep(_POLL_SECONDS)
    pid_file.unlink(missing_ok=True)


def _is_running(pid: int, words: Iterable[str]) -> bool:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return False
    # A zombie has an empty command line.
    return bool(command) and all(word in command for word in words)


def _others_may_enter(path: Path) -> bool:
    return all(folder.stat().st_mode & 0o001 for folder in path.resolve().parents)
