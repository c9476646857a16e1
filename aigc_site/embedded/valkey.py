"""One Valkey in a folder: its configuration, its URL, is it ready.

It listens on a Unix socket in a private folder only and asks for a password. What was written
survives a crash but for the last second (append-only file), and nothing is ever evicted.
"""

import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from aigc_site.embedded import binaries, places
from aigc_site.embedded.spawn import Command

_SOCKET = "valkey.sock"
_SETTINGS = {
    "port": "0",
    "unixsocketperm": "700",
    "daemonize": "no",
    "appendonly": "yes",
    "appendfsync": "everysec",
    "save": '""',
    "maxmemory-policy": "noeviction",
    "maxclients": "1000",
    "loglevel": "notice",
    "shutdown-timeout": "3",
}
IN_MEMORY = {"appendonly": "no"}


@dataclass(frozen=True)
class Valkey:
    """A prepared Valkey. `home` holds the data, the configuration, the lock and the socket."""

    home: Path
    sockets: Path
    program: Path
    password: str

    stop_signal = signal.SIGTERM

    @property
    def lock(self) -> Path:
        """The file that every process of the server holds locked."""
        return self.home / "lock"

    @property
    def socket(self) -> Path:
        """The socket it listens on."""
        return self.sockets / _SOCKET

    @property
    def url(self) -> str:
        """Where clients reach it, password included."""
        return f"unix://:{quote(self.password, safe='')}@{quote(str(self.socket))}?db=0"

    def command(self, lock: int) -> Command:
        """The server in the foreground. The caller holds `lock`, so no server is running."""
        self.socket.unlink(missing_ok=True)
        return Command(
            [self.program, self.home / "valkey.conf"],
            cwd=self.home,
            death_signal=self.stop_signal,
            inherit=(lock,),
        )

    def ready(self) -> bool:
        """Whether it answers and has read its data."""
        try:
            with redis.Redis(
                unix_socket_path=str(self.socket),
                password=self.password,
                socket_timeout=2,
                retry=Retry(NoBackoff(), 0),
            ) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False


def prepare(home: Path, password: str, settings: Mapping[str, str] | None = None) -> Valkey:
    """Write the configuration into home. Raises EmbeddedError when folder or binary fail."""
    sockets = places.socket_folder(home, _SOCKET)
    server = Valkey(home, sockets, binaries.valkey_server(), password)
    lines = {
        "dir": _quoted(home),
        "unixsocket": _quoted(server.socket),
        "requirepass": password,
        **_SETTINGS,
        **(settings or {}),
    }
    places.write_private(
        home / "valkey.conf", "".join(f"{name} {value}\n" for name, value in lines.items())
    )
    return server


def _quoted(path: Path) -> str:
    escaped = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
