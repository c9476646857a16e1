"""One supervised child: start it, see it end, end its whole process group."""

import contextlib
import enum
import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from aigc_site.embedded import locks, logs
from aigc_site.embedded.spawn import Command, spawn

FIRST_DELAY, LONGEST_DELAY = 0.25, 10.0  # seconds before a restart; doubles from one to the other
HEALTHY_AFTER = 20.0  # seconds alive after which earlier failures are forgotten


class Stage(enum.IntEnum):
    """Children stop in the reverse of this order: nothing loses its database while it drains."""

    SERVER = 0
    SERVICE = 1


@dataclass(frozen=True)
class Program:
    """What a child is. `lock` is held by all its processes, also by those that left its group."""

    name: str
    command: Callable[[], Command]
    stage: Stage = Stage.SERVICE
    stop_signal: signal.Signals = signal.SIGTERM
    lock: Path | None = None
    restart: bool = True


class Child:
    """A program and its process, if one is running."""

    def __init__(self, program: Program, log_folder: Path) -> None:
        self.program, self._logs = program, log_folder
        self.process: subprocess.Popen[bytes] | None = None
        self.exit_code: int | None = None
        self.due = time.monotonic()  # when to start (again)
        self._failures = 0
        self._started = 0.0

    @property
    def alive(self) -> bool:
        """Whether it runs, as far as the last `reap` could see."""
        return self.process is not None

    def start(self) -> None:
        """Raises EmbeddedError when it cannot be started."""
        self._started = time.monotonic()
        inherited: tuple[int, ...] = ()
        output = logs.open_log(self._logs, self.program.name)
        try:
            command = self.program.command()
            inherited = tuple(command.inherit)
            self.process = spawn(command, output=output)
        finally:
            # A lock must be held by the child alone, so that its end frees it.
            for descriptor in (output, *inherited):
                os.close(descriptor)

    def reap(self) -> bool:
        """Whether the process has ended since the last look; what was left of its group is killed.

        The group is killed before the process is reaped: until then its number cannot belong
        to anything new.
        """
        process = self.process
        if process is None or not _has_ended(process):
            return False
        self._kill_group(process.pid)
        self.exit_code = process.wait()
        self.process = None
        return True

    def plan_restart(self) -> float:
        """The delay in seconds until the next start, doubling while it keeps failing."""
        if time.monotonic() - self._started > HEALTHY_AFTER:
            self._failures = 0
        delay = min(LONGEST_DELAY, FIRST_DELAY * 2.0 ** min(self._failures, 10))
        self._failures += 1
        self.due = time.monotonic() + delay
        return delay

    def ask_to_stop(self) -> None:
        """Send the stop signal to the process itself; it ends its own children in its own way."""
        if self.process is not None:
            self.process.send_signal(self.program.stop_signal)

    def kill(self) -> None:
        """SIGKILL to the whole group and to what still holds its lock."""
        if self.process is not None:
            self._kill_group(self.process.pid)
        if self.program.lock is not None and self.program.lock.exists():
            locks.kill_holders(self.program.lock)

    @staticmethod
    def _kill_group(group: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


def how_it_ended(code: int) -> str:
    """An exit code in words."""
    if code >= 0:
        return f"exit status {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether the process is a zombie, which is left as it is where the system allows."""
    if not hasattr(os, "waitid"):  # macOS before Python 3.13
        return process.poll() is not None
    try:
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, process.pid, flags) is not None
    except ChildProcessError:
        return True
