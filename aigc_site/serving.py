"""The site behind granian's RSGI: no thread waits for a caller's network.

Under WSGI a thread belongs to a request from its first header to the last byte of its answer.
A handful of callers who send a byte of a form, or do not read a file, would hold all threads, and
granian's blocking reads and writes cannot be interrupted. So bodies are read here, on the event
loop, with a limit (``bodies``) and a deadline; a thread of the pool gets a request that is
complete; files are sent by granian itself, by name.
"""

import asyncio
import io
import os
import signal
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from aigc_site import bodies

Environ = bodies.Environ

SMALL_SECONDS: Final = 10.0
"""Until the whole of a form has come."""

LARGE_SECONDS: Final = 60.0
"""Until the whole of a body below /v1 has come: 4 MiB at half a megabit a second."""

MOST_HELD: Final = 64 * 1024 * 1024
"""Bytes of unfinished bodies in this process, above which only small ones are taken."""

MOST_PIECES: Final = 16_384
"""Pieces of one body: each costs a turn of the loop, and a chunk may have one byte."""

_PATIENCE: Final = 8
"""How many times its limit is read, and thrown away, of a body that is too long.

Left unread, it would make the server drop a connection that the caller goes on using.
"""

_INCOMPLETE: Final = 400
_LAST: Final = [("connection", "close")]


class Sending:
    """What an application returns for a file (``wsgi.file_wrapper``)."""

    def __init__(self, file: Any, block_size: int = 65_536) -> None:
        self.file, self._block_size = file, block_size

    def __iter__(self) -> "Sending":
        return self

    def __next__(self) -> bytes:
        block: bytes = self.file.read(self._block_size)
        if not block:
            raise StopIteration
        return block

    def place(self) -> tuple[str, int, int] | None:
        """Return path, start and end of the bytes; None when they have no path."""
        path = getattr(self.file, "name", None)
        if not isinstance(path, str) or not path.startswith("/"):
            return None
        start, length = getattr(self.file, "span", (0, None))
        return path, start, -1 if length is None else start + length

    def close(self) -> None:
        """Close the file, and the response that it belongs to."""
        self.file.close()


class Serving:
    """An RSGI application that runs a WSGI application in a pool of threads."""

    def __init__(
        self, application: bodies.Application, threads: int, drain_seconds: float = 0.0
    ) -> None:
        """``drain_seconds``: how long requests are still taken after SIGTERM."""
        self._application = application
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="request")
        self._held = 0
        self._drain_seconds, self._draining = drain_seconds, False

    def __rsgi_init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Take SIGTERM from granian: it would end connections that callers are about to use."""
        if self._drain_seconds > 0:
            loop.add_signal_handler(signal.SIGTERM, self._drain, loop)

    def _drain(self, loop: asyncio.AbstractEventLoop) -> None:
        """Go on for a while, asking every caller to come by a new connection next time.

        `/readyz` says no meanwhile. Then granian ends, as SIGINT tells it to, and what is being
        answered is answered.
        """
        if not self._draining:
            self._draining = True
            loop.call_later(self._drain_seconds, os.kill, os.getpid(), signal.SIGINT)

    async def __rsgi__(self, scope: Any, proto: Any) -> None:
        """Read the body, then answer in a thread."""
        body = bytearray()
        try:
            refusal = await self._read(scope, proto, body)
            if refusal == _INCOMPLETE:
                proto.response_empty(400, [])  # to somebody who has gone
                return
            run = asyncio.get_running_loop().run_in_executor
            await run(self._pool, self._answer, scope, proto, body, refusal)
        finally:
            self._held -= len(body)

    async def _read(self, scope: Any, proto: Any, body: bytearray) -> int:
        """Fill ``body``, whose bytes count as held; returns a status to refuse with, or 0."""
        declared = scope.headers.get("content-length")
        chunked = "transfer-encoding" in scope.headers
        if not chunked and (not declared or declared == "0"):
            return 0
        path = scope.path
        limit = bodies.most(path)
        if not chunked and int(declared) > limit * _PATIENCE:
            return 413
        small = limit <= bodies.STAFF_FORM
        try:
            async with asyncio.timeout(SMALL_SECONDS if small else LARGE_SECONDS):
                size, refusal = await self._collect(proto, body, limit)
        except TimeoutError:
            return 408
        if not refusal and not chunked and size != int(declared):
            return _INCOMPLETE
        return refusal

    async def _collect(self, proto: Any, body: bytearray, limit: int) -> tuple[int, int]:
        size = pieces = 0
        async for piece in proto:
            size += len(piece)
            pieces += 1
            if size > limit * _PATIENCE or pieces > MOST_PIECES:
                return size, 413
            if size > limit:
                self._held -= len(body)
                body.clear()
            elif size > bodies.FORM and self._held > MOST_HELD:
                return size, 503
            else:
                body += piece
                self._held += len(piece)
        return size, 413 if size > limit else 0

    def _answer(self, scope: Any, proto: Any, body: bytearray, refusal: int) -> None:
        """Run the application for one request that has come whole."""
        environ = environ_of(scope, bytes(body))
        if self._draining and scope.path == "/readyz":
            proto.response_bytes(503, [("content-type", "text/plain"), *_LAST], b"draining\n")
            return
        if refusal:
            bodies.refuse(environ, refusal)
        head: list[Any] = []

        def start_response(status: str, headers: Any, exc_info: Any = None) -> None:
            last = _LAST if self._draining else []
            head[:] = [int(status[:3]), [*headers, *last]]

        result = self._application(environ, start_response)
        try:
            _respond(proto, head, result)
        finally:
            close: Callable[[], None] | None = getattr(result, "close", None)
            if close is not None:
                close()


def _respond(proto: Any, head: list[Any], result: Iterable[bytes]) -> None:
    place = result.place() if isinstance(result, Sending) else None
    if place is None:
        # Pages and documents: small, and handed over whole, so that nobody waits for the caller.
        proto.response_bytes(*head, b"".join(result))
        return
    path, start, end = place
    if end < 0:
        proto.response_file(*head, path)
    else:
        proto.response_file_range(*head, path, start, end)


def environ_of(scope: Any, body: bytes) -> Environ:
    """Return the WSGI environ of a request (PEP 3333) whose body is here."""
    server, _, port = scope.server.rpartition(":")
    environ: Environ = {
        "REQUEST_METHOD": scope.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": scope.path.encode().decode("latin-1"),
        "QUERY_STRING": scope.query_string,
        "SERVER_NAME": server.strip("[]"),
        "SERVER_PORT": port,
        "SERVER_PROTOCOL": f"HTTP/{scope.http_version}",
        "REMOTE_ADDR": scope.client.rpartition(":")[0].strip("[]"),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope.scheme,
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.file_wrapper": Sending,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for name in scope.headers.keys():  # noqa: SIM118 - iterating the headers gives them as well
        if "_" in name or name in ("content-length", "transfer-encoding"):
            continue  # X_Real_IP is not X-Real-IP, though both would be called the same
        joint = ";" if name == "cookie" else ","
        value = joint.join(scope.headers.get_all(name))  # without what is not ASCII
        if name == "content-type":
            environ["CONTENT_TYPE"] = value
        else:
            environ[f"HTTP_{name.replace('-', '_').upper()}"] = value
    if "HTTP_HOST" not in environ:
        environ["HTTP_HOST"] = scope.authority or ""
    environ["CONTENT_LENGTH"] = str(len(body))
    return environ
