"""Servers that say what a test wants: old versions, proxies' errors, silence."""

import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Impostor:
    """Listens on loopback and handles one connection at a time with a function."""

    def __init__(self, handle: Callable[[socket.socket], None]) -> None:
        self._handle = handle
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                one, _ = self._listener.accept()
            except OSError:
                return
            one.settimeout(5)
            with one, suppress(OSError, ValueError):
                self._handle(one)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()


def postgres_of(version: str) -> Impostor:
    """Return a PostgreSQL that lets everybody in and says that it has this version."""

    def message(kind: bytes, body: bytes) -> bytes:
        return kind + struct.pack("!I", len(body) + 4) + body

    def handle(one: socket.socket) -> None:
        (length,) = struct.unpack("!I", one.recv(4))
        one.recv(length - 4)
        names = {"server_version": version, "client_encoding": "UTF8"}
        told = [message(b"S", f"{k}\0{v}\0".encode()) for k, v in names.items()]
        one.sendall(message(b"R", struct.pack("!I", 0)) + b"".join(told) + message(b"Z", b"I"))
        while one.recv(1000):
            pass

    return Impostor(handle)


def redis_of(version: str) -> Impostor:
    """Return a Redis that answers INFO with this version and OK to everything else."""

    def handle(one: socket.socket) -> None:
        stream = one.makefile("rb")
        while line := stream.readline():
            words = []
            for _ in range(int(line[1:])):
                length = int(stream.readline()[1:])
                words.append(stream.read(length + 2)[:-2].upper())
            info = f"redis_version:{version}\r\n"
            answer = f"${len(info)}\r\n{info}\r\n" if words[0] == b"INFO" else "+OK\r\n"
            one.sendall(answer.encode())

    return Impostor(handle)


class Page:
    """A web server that gives one answer to every GET and HEAD."""

    def __init__(self, status: int, body: bytes = b"", **headers: str) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def do_HEAD(self) -> None:
                self.do_GET()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self._thread.join()
        self.server.server_close()
