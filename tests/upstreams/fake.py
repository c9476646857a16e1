"""A small HTTP server in a thread: routes of a subclass, faults in front of them, a log."""

import json
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from tests.artists import picture

PICTURE = picture(48)


@dataclass
class Seen:
    """One request as the server saw it. ``headers`` are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    at: float = field(default_factory=time.monotonic)

    @property
    def json(self) -> Any:
        """What the body says."""
        return json.loads(self.body)


@dataclass
class Answer:
    """What the server says; ``parts`` are written with pauses between them."""

    status: int = 200
    body: Any = b""
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def content(self) -> bytes:
        """The body's bytes."""
        if isinstance(self.body, bytes):
            return self.body
        return json.dumps(self.body).encode()


Fault = Callable[[BaseHTTPRequestHandler, Callable[[], Answer]], None]


class Fake:
    """The server; ``faults[name]`` are used up one by one by requests of that name."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.faults: dict[str, list[Fault]] = defaultdict(list)
        self.lock = threading.RLock()
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 30

            def _serve(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length)
                names = {name.lower(): value for name, value in self.headers.items()}
                seen = Seen(self.command, urlsplit(self.path).path, names, body)
                with fake.lock:
                    fake.seen.append(seen)
                    waiting = fake.faults[fake.name_of(seen)]
                    fault = waiting.pop(0) if waiting else None

                def answer() -> Answer:
                    return fake.answer(seen)

                try:
                    if fault is not None:
                        fault(self, answer)
                    else:
                        say(self, answer())
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            do_GET = do_POST = do_PUT = do_DELETE = _serve  # noqa: N815

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()

    def name_of(self, seen: Seen) -> str:
        """Return what kind of request it is, for faults and counts."""
        raise NotImplementedError

    def answer(self, seen: Seen) -> Answer:
        """Answer as the vendor would."""
        raise NotImplementedError

    def count(self, name: str) -> int:
        """Return how many requests of a kind came."""
        with self.lock:
            return sum(self.name_of(seen) == name for seen in self.seen)

    def of(self, name: str) -> list[Seen]:
        """Return the requests of a kind."""
        with self.lock:
            return [seen for seen in self.seen if self.name_of(seen) == name]


def say(handler: BaseHTTPRequestHandler, answer: Answer) -> None:
    """Write an answer."""
    content = answer.content
    handler.send_response(answer.status)
    kind = "application/json" if not isinstance(answer.body, bytes) else "application/octet-stream"
    headers = {"Content-Type": kind, "Content-Length": str(len(content)), **answer.headers}
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(content)


@contextmanager
def serving(made: Fake) -> Iterator[Fake]:
    """Stop the server at the end."""
    try:
        yield made
    finally:
        made.stop()


# --- faults --------------------------------------------------------------------------------


def status(code: int, body: Any = b"", **headers: str) -> Fault:
    """Answer so, without doing anything."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler, _do: say(handler, Answer(code, body, names))


def reset(handler: BaseHTTPRequestHandler, _do: Callable[[], Answer]) -> None:
    """Break the connection after the request came, without doing anything."""
    _cut(handler)


def done_then_reset(handler: BaseHTTPRequestHandler, do: Callable[[], Answer]) -> None:
    """Do what was asked, and break the connection before a word is said."""
    do()
    _cut(handler)


def done_then_silent(handler: BaseHTTPRequestHandler, do: Callable[[], Answer]) -> None:
    """Do what was asked, and say nothing for a long time."""
    do()
    _hold(handler)


def silent(handler: BaseHTTPRequestHandler, _do: Callable[[], Answer]) -> None:
    """Say nothing for a long time."""
    _hold(handler)


def after(seconds: float) -> Fault:
    """Do what was asked, and say so later."""

    def fault(handler: BaseHTTPRequestHandler, do: Callable[[], Answer]) -> None:
        answer = do()
        time.sleep(seconds)
        say(handler, answer)

    return fault


def saying(content: bytes) -> Fault:
    """Do what was asked, and answer 200 with these bytes."""

    def fault(handler: BaseHTTPRequestHandler, do: Callable[[], Answer]) -> None:
        do()
        say(handler, Answer(200, content, {"Content-Type": "text/html"}))

    return fault


def truncated(handler: BaseHTTPRequestHandler, do: Callable[[], Answer]) -> None:
    """Do what was asked, and break off in the middle of the answer."""
    content = do().content
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content[: len(content) // 2])
    _cut(handler)


def drip(handler: BaseHTTPRequestHandler, do: Callable[[], Answer]) -> None:
    """Do what was asked, and answer with a byte now and then, for a long time."""
    content = do().content
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    for byte in content:
        handler.wfile.write(bytes([byte]))
        time.sleep(0.3)


def _cut(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True
    try:
        handler.connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


def _hold(handler: BaseHTTPRequestHandler) -> None:
    """Wait until the other side has gone."""
    handler.close_connection = True
    handler.connection.settimeout(60)
    try:
        while handler.connection.recv(1024):
            pass
    except OSError:
        pass
