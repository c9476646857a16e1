"""Receivers of callbacks on real sockets: good ones, and all kinds of bad ones."""

import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import trustme

Behave = Callable[["Connection"], None]

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@dataclass
class Received:
    """One request, with the moment at which its last byte was there."""

    path: str
    headers: dict[str, str]
    body: bytes
    at: float = field(default_factory=time.monotonic)


@dataclass
class Connection:
    """A connection whose request has been read."""

    socket: socket.socket
    request: Received
    ended: threading.Event

    def say(self, data: bytes) -> None:
        """Send bytes."""
        self.socket.sendall(data)

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        """Send a whole answer."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in named.items()]
        self.say("\r\n".join(lines).encode() + b"\r\n\r\n" + body)


def good(connection: Connection) -> None:
    """Take it."""
    connection.say(OK)


def hang(connection: Connection) -> None:
    """Never answer."""
    connection.ended.wait(30)


def drip(connection: Connection) -> None:
    """Send a byte every now and then, of an answer that goes on and on."""
    connection.say(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while not connection.ended.wait(0.1):
        connection.say(b".")


def drip_headers(connection: Connection) -> None:
    """Never come to the end of the headers."""
    connection.say(b"HTTP/1.1 200 OK\r\n")
    while not connection.ended.wait(0.1):
        connection.say(b"X")


def reset(connection: Connection) -> None:
    """Cut the connection off."""
    connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def babble(connection: Connection) -> None:
    """Answer in something that is not HTTP."""
    connection.say(b"\x00\x01 220 mail.example ESMTP\r\n")


def flood(connection: Connection) -> None:
    """Send a gigabyte, or as much of it as somebody reads."""
    connection.say(b"HTTP/1.1 500 Full\r\nContent-Length: 1073741824\r\n\r\n")
    block = b"x" * 65536
    for _ in range(16384):
        connection.say(block)
        connection.request.body = b"%d" % (int(connection.request.body or b"0") + len(block))


def flood_headers(connection: Connection) -> None:
    """Send headers without an end."""
    connection.say(b"HTTP/1.1 200 OK\r\n")
    for number in range(1_000_000):
        connection.say(b"X-%d: %s\r\n" % (number, b"y" * 1000))


class Receiver:
    """Listens on a port of loopback and remembers what it was told."""

    def __init__(
        self,
        behave: Behave = good,
        *,
        host: str = "127.0.0.1",
        tls: ssl.SSLContext | None = None,
        port: int = 0,
    ) -> None:
        self.behave = behave
        self.received: list[Received] = []
        self.connections = 0
        self.names: list[str | None] = []
        self._tls = tls
        self._ended = threading.Event()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, port), family=family, backlog=512)
        self.port = int(self._listener.getsockname()[1])
        self.host = host
        self._threads: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()
        if tls is not None:
            tls.sni_callback = lambda _, name, __: self.names.append(name)

    def url(self, path: str = "/hook", *, host: str = "", scheme: str = "") -> str:
        """Return an address of it."""
        name = host or (f"[{self.host}]" if ":" in self.host else self.host)
        return f"{scheme or ('https' if self._tls else 'http')}://{name}:{self.port}{path}"

    def ids(self) -> list[str]:
        """Return the ids of what was received, in order."""
        return [one.headers["webhook-id"] for one in self.received]

    def close(self) -> None:
        """Stop listening and end all connections."""
        self._ended.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._accepting.join()
        for thread in self._threads:
            thread.join(5)

    def _accept(self) -> None:
        while True:
            try:
                one, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            thread = threading.Thread(target=self._serve, args=(one,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, one: socket.socket) -> None:
        one.settimeout(10)
        with suppress(OSError, ValueError):
            if self._tls is not None:
                one = self._tls.wrap_socket(one, server_side=True)
            request = _read(one)
            self.received.append(request)
            self.behave(Connection(one, request, self._ended))
        one.close()


def _read(one: socket.socket) -> Received:
    raw = b""
    while b"\r\n\r\n" not in raw:
        raw += _some(one)
        if raw[0] == 0x16:
            raise ValueError("TLS, where none is spoken")
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    while len(body) < int(headers["content-length"]):
        body += _some(one)
    return Received(first.split()[1], headers, body)


def _some(one: socket.socket) -> bytes:
    part = one.recv(65536)
    if not part:
        raise OSError("closed")
    return part


@contextmanager
def receiver(behave: Behave = good, **options: object) -> Iterator[Receiver]:
    """Open a receiver for a while."""
    found = Receiver(behave, **options)  # type: ignore[arg-type]
    try:
        yield found
    finally:
        found.close()


class Authority:
    """An authority for certificates that only a test believes."""

    def __init__(self) -> None:
        self._ca = trustme.CA()

    def server(self, *names: str) -> ssl.SSLContext:
        """Return what a server with these names needs."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._ca.issue_cert(*names).configure_cert(context)
        return context

    def client(self) -> ssl.SSLContext:
        """Return what a client that believes this authority needs."""
        context = ssl.create_default_context()
        self._ca.configure_trust(context)
        return context
