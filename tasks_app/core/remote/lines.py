"""The way to an upstream: pooled connections, one total timeout, a size limit, the credential.

Questions are repeatable and share kept connections. A submission gets a connection of its own: on
a kept one that the upstream closes in the same moment nobody could tell whether it arrived. From
which moment on that is not known any more, ``httpcore`` tells.

Answers are read as they come and never decompressed: none is asked for that is, and a small one
could become a large one. Credentials that an upstream repeats are taken out of what it said.
"""

import asyncio
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from tasks_app import metrics
from tasks_app.core.remote import secrets
from tasks_app.generators.errors import NoAnswer, Unsent
from tasks_app.generators.phrases import Phrase
from tasks_app.generators.remote import RemoteAdapter, base_url
from tasks_app.generators.upstream import MAX_ANSWER, Reply
from tasks_app.logs import HIDDEN

CONNECT_SECONDS: Final = 5.0
POLL_SECONDS: Final = 10.0
SUBMIT_SECONDS: Final = 30.0
_POOLS: Final = 64
_EACH: Final = 2
"""Kept connections of a pool, and requests at once before the next pool is used. ``httpcore`` looks
at each idle connection of a pool at each request: with all of them in one pool that was a third of
the time of a process with thousands of generations in flight."""
_SENDING: Final = frozenset(
    {"http11.send_request_headers.started", "http2.send_request_headers.started"}
)
_NEVER_SENT: Final = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
    httpx.LocalProtocolError,
    httpx.InvalidURL,
)


class Clients:
    """The connections of one process; made and closed on its event loop."""

    def __init__(self) -> None:
        trust = ssl.create_default_context()
        self.keeping = Pools([_client(trust, _EACH) for _ in range(_POOLS)])
        self.single = Pools([_client(trust, 0)])

    async def close(self) -> None:
        """Close every connection."""
        await self.keeping.close()
        await self.single.close()


class Pools:
    """Clients that take turns: the first one with room, so that its connections stay in use."""

    def __init__(self, clients: Sequence[httpx.AsyncClient]) -> None:
        self._clients, self._busy = clients, [0] * len(clients)

    @contextmanager
    def lend(self) -> Iterator[httpx.AsyncClient]:
        """Lend a client for one exchange; to be called on the event loop."""
        place = next((n for n, busy in enumerate(self._busy) if busy < _EACH), None)
        if place is None:
            place = self._busy.index(min(self._busy))
        self._busy[place] += 1
        try:
            yield self._clients[place]
        finally:
            self._busy[place] -= 1

    async def close(self) -> None:
        """Close every connection."""
        for client in self._clients:
            await client.aclose()


def _client(trust: ssl.SSLContext, kept: int) -> httpx.AsyncClient:
    # How many calls there are is the engine's business: who waited here for a connection, while
    # others took long, would count as somebody who could not connect.
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=kept, keepalive_expiry=20)
    timeout = httpx.Timeout(None, connect=CONNECT_SECONDS)
    return httpx.AsyncClient(
        verify=trust,
        limits=limits,
        timeout=timeout,
        follow_redirects=False,
        trust_env=False,
        headers={"User-Agent": "darkroom", "Accept-Encoding": "identity"},
    )


@dataclass(frozen=True, slots=True)
class Line:
    """One generator's way to its upstream; an adapter's ``Upstream``."""

    clients: Pools
    generator: str
    adapter: RemoteAdapter
    settings: Mapping[str, Any]
    seconds: float | None = None
    """For one exchange, from the look-up of the name to the last byte; None: for a question."""

    async def call(
        self,
        method: str,
        path: str,
        *,
        json: object = None,
        fields: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        limit: int = MAX_ANSWER,
    ) -> Reply:
        """Make one exchange; see ``Upstream``."""
        secret = secrets.read(self.settings.get("credential"))
        seconds = POLL_SECONDS if self.seconds is None else self.seconds
        with self.clients.lend() as client:
            request = client.build_request(
                method,
                self.address(path),
                json=json,
                files={name: (None, value) for name, value in fields.items()} if fields else None,
                params=dict(query) if query else None,
                headers={**self.credentials(secret), **(headers or {})},
            )
            reply = await _exchanged(client, request, seconds, limit, self.generator)
        return reply if secret is None else _without(reply, secret)

    def address(self, path: str) -> str:
        """Return the address of a path of the upstream; of no other host, whatever it says."""
        base = base_url(self.adapter, self.settings)
        url = path if path.startswith(("http://", "https://")) else f"{base}/{path.lstrip('/')}"
        if origin(url) != origin(base):
            raise Unsent(Phrase("The model service named another address than its own."))
        return url

    def credentials(self, secret: str | None) -> Mapping[str, str]:
        """Return the headers that show the credential, if there is one."""
        return self.adapter.authorize(secret) if secret is not None else {}


def origin(url: str) -> tuple[str, str, int] | None:
    """Return scheme, host and port of an address; None if it has none."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
        return (parts.scheme, parts.hostname, port) if parts.hostname and port else None
    except ValueError:
        return None


async def _exchanged(
    client: httpx.AsyncClient, request: httpx.Request, seconds: float, limit: int, generator: str
) -> Reply:
    sent = False

    async def trace(event: str, _info: Mapping[str, Any]) -> None:
        nonlocal sent
        sent = sent or event in _SENDING

    request.extensions["trace"] = trace
    status: int | None = None
    try:
        async with asyncio.timeout(seconds):
            response = await client.send(request, stream=True)
            try:
                body = await _body(response, limit)
            finally:
                await response.aclose()
        status = response.status_code
    except (TimeoutError, httpx.HTTPError, httpx.InvalidURL) as error:
        if isinstance(error, _NEVER_SENT) or not sent:
            raise Unsent from error
        raise NoAnswer from error
    finally:
        metrics.upstream_answer(generator, status)
    names = {name.lower(): value for name, value in response.headers.items()}
    return Reply(status, names, body)


async def _body(response: httpx.Response, limit: int) -> bytes:
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        odd = Phrase("The model service answered in an encoding that nobody asked for.")
        raise NoAnswer(odd)
    body = bytearray()
    async for piece in response.aiter_raw():
        body += piece
        if len(body) > limit:
            raise NoAnswer(Phrase("The model service answered with more than is read."))
    return bytes(body)


def _without(reply: Reply, secret: str) -> Reply:
    body = reply.body
    if len(secret) > 3 and secret.encode() in body:
        body = body.replace(secret.encode(), HIDDEN.encode())
    return Reply(reply.status, reply.headers, body)
