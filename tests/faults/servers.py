"""Servers of one test or module, to be killed and started at will."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

from django.core.management import call_command
from django.db import connection

from aigc_site.embedded import servers, valkey

CRASH_SAFE = {"fsync": "off", "max_connections": "60", "shared_buffers": "32MB"}
"""What was committed survives the death of the server's processes, if not of the machine."""


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


@contextmanager
def this_database(server: OwnServer) -> Iterator[None]:
    """Make a PostgreSQL this process' database, migrated, for the length of a with block."""
    url = urlsplit(server.url)
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
        yield
    finally:
        connection.close()
        connection.settings_dict.update(kept)
