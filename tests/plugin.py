"""Start PostgreSQL and Valkey for a test run, before Django reads its settings.

Named in `addopts` as `-p tests.plugin`: a conftest would be too late for pytest-django.
TEST_DATABASE_URL and TEST_REDIS_URL name real servers instead (each on its own).

The servers have private Unix sockets in a folder of this run, so that any number of runs can be
active at once. They die with pytest however it ends; the folder of a run that was killed is
removed by the next one.
"""

import os
import secrets
import shutil
import sys
import tempfile
import time
from pathlib import Path

from aigc_site.embedded import locks, postgres, servers, valkey

_PREFIX = f"darkroom-tests-{os.getuid()}-"
_MINIMUM_FREE = 1024**3  # bytes; containers often have a /dev/shm of 64 MB
_SETTLED = 60  # seconds after which a run has surely taken its lock
_RUNNING: list[servers.Running] = []
_FOLDERS: list[Path] = []


def pytest_addoption() -> None:
    """The first hook of all, called when this plugin is registered."""
    if not _FOLDERS:
        _start()


def pytest_unconfigure() -> None:
    """The last hook, also after Ctrl-C."""
    for running in reversed(_RUNNING):
        running.stop()
    _RUNNING.clear()
    for folder in _FOLDERS:
        shutil.rmtree(folder, ignore_errors=True)


def _start() -> None:
    parent = _parent()
    _remove_left_over(parent)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
    # PostgreSQL's user must be able to pass; the folders below are closed.
    folder.chmod(0o711)
    _FOLDERS.append(folder)
    locks.try_lock(locks.open_lock(folder / "run"))  # held until this process ends
    os.environ.update(
        DJANGO_SETTINGS_MODULE="aigc_site.settings",
        DATABASE_URL=os.environ.get("TEST_DATABASE_URL") or _postgres(folder),
        REDIS_URL=os.environ.get("TEST_REDIS_URL") or _valkey(folder),
        DARKROOM_REDIS_PREFIX=f"test-{secrets.token_hex(6)}",
        DARKROOM_SECRET_KEY=secrets.token_urlsafe(48),
        DARKROOM_DATA=str(folder / "data"),
    )
    (folder / "data").mkdir(mode=0o700)


def _postgres(folder: Path) -> str:
    running = servers.start_postgres(folder / "postgres", postgres.UNSAFE_BUT_FAST)
    _RUNNING.append(running)
    return running.server.url


def _valkey(folder: Path) -> str:
    running = servers.start_valkey(folder / "valkey", valkey.IN_MEMORY)
    _RUNNING.append(running)
    return running.server.url


def _parent() -> Path:
    memory = Path("/dev/shm")
    if sys.platform == "linux" and os.access(memory, os.W_OK):
        if shutil.disk_usage(memory).free > _MINIMUM_FREE:
            return memory
    return Path(tempfile.gettempdir())


def _remove_left_over(parent: Path) -> None:
    """Folders of runs that were killed: their lock is free, and not because it is so new."""
    for folder in parent.glob(f"{_PREFIX}*"):
        try:
            if time.time() - folder.stat().st_mtime < _SETTLED:
                continue
            lock = os.open(folder / "run", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue  # removed in the meantime
        if locks.try_lock(lock):
            shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)
