"""A proxy in front of PostgreSQL's socket that breaks connections at chosen moments.

The worst moment of a transaction is its end: the server commits and the client is not told.
``lose_commit`` makes that happen to the next transaction that fits.
"""

import contextlib
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

_SOCKET = ".s.PGSQL.5432"
_COMMIT = b"COMMIT"


class Proxy:
    """Listens on a socket of its own and forwards to another one."""

    def __init__(self, folder: Path, target: Path) -> None:
        self._target = target
        self._lock = threading.Lock()
        self._wanted: bytes | None = None
        self._open: set[socket.socket] = set()
        self.lost: list[bytes] = []
        """The transactions whose commit went through although their client was not told."""
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / _SOCKET))
        self._listener.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def lose_commit(self, statement: bytes) -> None:
        """Lose the answer to the next commit of a transaction in which this was sent."""
        with self._lock:
            self._wanted = statement

    def close(self) -> None:
        """End the proxy and all connections."""
        # close() alone would leave the thread in accept().
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for one in self._open:
                _shut(one)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(str(self._target))
            except OSError:
                client.close()
                continue
            with self._lock:
                self._open |= {client, server}
            threading.Thread(target=_Pair(self, client, server).run, daemon=True).start()

    def takes(self, transaction: bytes) -> bool:
        """Whether this commit's answer should be lost; only one is."""
        with self._lock:
            if self._wanted is None or self._wanted not in transaction:
                return False
            self._wanted = None
            return True

    def forget(self, *ends: socket.socket) -> None:
        """Close both ends of a connection that is over."""
        with self._lock:
            self._open -= set(ends)
        for one in ends:
            _shut(one)
            one.close()


class _Pair:
    """One connection: a thread for each direction."""

    def __init__(self, proxy: Proxy, client: socket.socket, server: socket.socket) -> None:
        self._proxy, self._client, self._server = proxy, client, server
        self._transaction = b""
        self._losing = False

    def run(self) -> None:
        back = threading.Thread(target=self._backward, daemon=True)
        back.start()
        with contextlib.suppress(OSError):
            while data := self._client.recv(65_536):
                self._transaction += data
                if _COMMIT in data:
                    self._losing = self._proxy.takes(self._transaction)
                    if not self._losing:
                        self._transaction = b""
                self._server.sendall(data)
        _shut(self._server)
        back.join()
        self._proxy.forget(self._client, self._server)

    def _backward(self) -> None:
        with contextlib.suppress(OSError):
            while data := self._server.recv(65_536):
                if self._losing:
                    # The server has answered, so the transaction is committed.
                    assert _COMMIT in data, data
                    self._proxy.lost.append(self._transaction)
                    break
                self._client.sendall(data)
        _shut(self._client)


def _shut(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def proxy(host: str) -> Iterator[tuple[Proxy, str]]:
    """Return a proxy for the PostgreSQL whose socket is in the folder ``host``, and its URL's host.

    Its folder is short: the path of a socket may have 107 bytes.
    """
    folder = Path(tempfile.mkdtemp(prefix="darkroom-proxy-"))
    made = Proxy(folder, Path(host) / _SOCKET)
    try:
        yield made, quote(str(folder), safe="")
    finally:
        made.close()
        shutil.rmtree(folder, ignore_errors=True)
