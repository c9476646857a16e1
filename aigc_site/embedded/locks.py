"""File locks that a server and all its children inherit.

The lock belongs to the open file, not to a process: as long as any process of a server lives,
the lock is held, and when the last one is gone it is free. So no pid is ever read from a file,
and no foreign process that was given an old pid can be mistaken for ours.
"""

import contextlib
import fcntl
import os
import time
from pathlib import Path

import psutil

from aigc_site.embedded import EmbeddedError

_STEP = 0.02  # seconds between two looks


def open_lock(path: Path) -> int:
    """A new descriptor for the lock file, closed on exec unless it is passed on."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def try_lock(descriptor: int) -> bool:
    """Take the lock if it is free."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait_lock(descriptor: int, seconds: float) -> bool:
    """Take the lock as soon as it is free, for at most so many seconds."""
    deadline = time.monotonic() + seconds
    while not try_lock(descriptor):
        if time.monotonic() >= deadline:
            return False
        time.sleep(_STEP)
    return True


def take_from_leftovers(path: Path, *, patience: float = 4.0, force: float = 5.0) -> int:
    """The lock of a server, taken from whatever an earlier run left behind.

    1. Wait `patience` seconds: left-overs are usually in the middle of their own shutdown.
    2. Kill what still holds the lock file open, and wait up to `force` seconds.
    Returns a descriptor for the server to inherit; raises EmbeddedError if the lock stays taken.
    """
    descriptor = open_lock(path)
    if wait_lock(descriptor, patience):
        return descriptor
    deadline = time.monotonic() + force
    while time.monotonic() < deadline:
        kill_holders(path)
        if wait_lock(descriptor, 0.5):
            return descriptor
    os.close(descriptor)
    raise EmbeddedError(f"A process that cannot be stopped holds {path}: end it, then try again.")


def kill_holders(path: Path) -> int:
    """SIGKILL to every other process that has the lock file open; how many there were."""
    killed = 0
    for process in psutil.process_iter():
        if process.pid != os.getpid() and _holds(process, path):
            with contextlib.suppress(psutil.Error):
                process.kill()
                killed += 1
    return killed


def _holds(process: psutil.Process, path: Path) -> bool:
    try:
        return any(path.samefile(file.path) for file in process.open_files())
    except (psutil.Error, OSError):
        return False
