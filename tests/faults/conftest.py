"""Servers that a test may kill, beside those of the run."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from django.core.management import call_command
from django.db import connection

from aigc_site.embedded import servers, valkey
from tests.acceptance.conftest import service as service

CRASH_SAFE = {"fsync": "off", "max_connections": "60", "shared_buffers": "32MB"}
"""What was committed survives the death of the server's processes, if not of the machine."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder that the servers can use, also for their sockets."""
    made = Path(tempfile.mkdtemp(prefix="darkroom-faults-"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made, ignore_errors=True)


class OwnServer:
    """A server of one test: ``kill`` and ``start`` it at will."""

    def __init__(self, home: Path, *, database: bool) -> None:
        self.home, self._database = home, database
        self._running = self._started()
        self.url = self._running.server.url

    def kill(self) -> None:
        """kill -9, as a crash does."""
        self._running.process.kill()
        self._running.process.wait()

    def start(self) -> None:
        """Start it again, on the same data."""
        self._running = self._started()

    def stop(self) -> None:
        """End it."""
        self._running.stop()

    def _started(self) -> servers.Running:
        if self._database:
            return servers.start_postgres(self.home, CRASH_SAFE)
        return servers.start_valkey(self.home, valkey.IN_MEMORY)


@pytest.fixture
def own_redis(folder: Path) -> Iterator[OwnServer]:
    """Return a Valkey that keeps nothing unless it is told to save."""
    made = OwnServer(folder / "valkey", database=False)
    yield made
    made.stop()


@pytest.fixture
def own_database(folder: Path, transactional_db: None) -> Iterator[OwnServer]:
    """Return a PostgreSQL, migrated, which is also this process' database during the test."""
    made = OwnServer(folder / "postgres", database=True)
    url = urlsplit(made.url)
    own = {
        "HOST": unquote(url.hostname or ""),
        "USER": unquote(url.username or ""),
        "PASSWORD": unquote(url.password or ""),
        "NAME": url.path.lstrip("/"),
    }
    kept = {name: connection.settings_dict[name] for name in own}
    connection.close()
    connection.settings_dict.update(own)
    try:
        call_command("migrate", verbosity=0)
        yield made
    finally:
        connection.close()
        connection.settings_dict.update(kept)
        made.stop()
