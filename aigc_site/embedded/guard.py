"""Ends the children of a manager that was killed, on systems without parent-death signals.

The manager starts `python -I -S guard.py` (outside Linux only) with a pipe as its input and
writes "+GROUP SIGNAL" for each child it starts and "-GROUP" for each that has ended. The pipe
closes when the manager is gone, whatever killed it. Then the guard sends each remaining group
its signal, waits a little and kills it.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from aigc_site.embedded.children import Child

_GRACE = 3.0  # seconds between the signal and SIGKILL


class Guard:
    """The manager's end of the pipe; does nothing where the kernel does the work."""

    def __init__(self, *, needed: bool = sys.platform != "linux") -> None:
        self._process: subprocess.Popen[str] | None = None
        self._known: dict[int, int] = {}
        if needed:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", __file__],
                stdin=subprocess.PIPE,
                text=True,
                process_group=0,
            )

    def remember(self, child: "Child") -> None:
        """The child was started."""
        if child.process is not None:
            group = child.process.pid
            self._known[id(child)] = group
            self._write(f"+{group} {int(child.program.stop_signal)}\n")

    def forget(self, child: "Child") -> None:
        """The child has ended."""
        group = self._known.pop(id(child), None)
        if group is not None:
            self._write(f"-{group}\n")

    def close(self) -> None:
        """No children are left: the guard has nothing to do."""
        if self._process is not None:
            self._process.communicate(timeout=10)

    def _write(self, line: str) -> None:
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.write(line)
                self._process.stdin.flush()


def watch(stream: TextIO) -> dict[int, int]:
    """The groups that are left when the stream ends, with the signal for each."""
    groups: dict[int, int] = {}
    for line in stream:
        group, _, number = line[1:].strip().partition(" ")
        if line.startswith("+"):
            groups[int(group)] = int(number)
        else:
            groups.pop(int(group), None)
    return groups


def end(groups: dict[int, int]) -> None:
    """Signal the groups, wait, kill what is left."""
    deadline = time.monotonic() + _GRACE
    for group, number in groups.items():
        _signal(group, number)
    while time.monotonic() < deadline and any(_signal(group, 0) for group in groups):
        time.sleep(0.05)
    for group in groups:
        _signal(group, signal.SIGKILL)


def _signal(group: int, number: int) -> bool:
    """Whether the group still exists."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


if __name__ == "__main__":
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    end(watch(sys.stdin))
