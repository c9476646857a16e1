"""One attempt to deliver one callback: a POST within 3 seconds, DNS to last byte.

1. The URL is read and its name resolved; every address that it leads to must be permitted.
2. One of these very addresses is dialled. Name, ``Host`` and certificate stay those of the URL.
3. The answer's beginning is read, then the connection is closed. Redirects are answers like any
   other; proxies of the environment are not used; nothing is kept for the next attempt.
"""

import asyncio
import re
import ssl
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

import httpcore
from httpcore import AsyncNetworkBackend, AsyncNetworkStream

from tasks_app.callbacks.networks import Address, Network, all_permitted
from tasks_app.callbacks.resolving import Resolve, Unresolved
from tasks_app.callbacks.targets import Target, Unacceptable, plain_is_right, read
from tasks_app.lifecycle import Delivery

SECONDS: Final = 3.0
"""An attempt in all: DNS, connection, TLS, request, answer."""

MOST_ANSWER: Final = 64 * 1024
"""Bytes of an answer that are read."""

MOST_KEPT: Final = 1_024
"""Bytes of an answer that the log keeps."""

_MOST_ADDRESSES: Final = 4
_NEXT_ADDRESS: Final = 1.0
"""Seconds for a connection while there is another address to try."""
_USER_AGENT: Final = "Darkroom-Callbacks/1"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of an attempt; ``seconds`` is how long it took."""

    outcome: Delivery
    status: int | None = None
    body: bytes = b""
    retry_after: float | None = None
    seconds: float = 0.0

    @property
    def text(self) -> str:
        """The beginning of the answer, as text that can be stored."""
        return self.body[:MOST_KEPT].decode("utf-8", "replace").replace("\x00", "�")


def trust() -> ssl.SSLContext:
    """Return what certificates are checked with: the authorities that this system trusts."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


async def send(
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    resolve: Resolve,
    allowed: Sequence[Network],
    context: ssl.SSLContext,
) -> Answer:
    """Make one attempt. Never raises for what a receiver, a name server or a network does."""
    begun = time.monotonic()
    try:
        async with asyncio.timeout(SECONDS):
            answer = await _attempt(url, headers, body, resolve, allowed, context)
    except TimeoutError:
        answer = Answer(Delivery.TOO_SLOW)
    return Answer(
        answer.outcome, answer.status, answer.body, answer.retry_after, time.monotonic() - begun
    )


async def _attempt(
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    resolve: Resolve,
    allowed: Sequence[Network],
    context: ssl.SSLContext,
) -> Answer:
    try:
        target = read(url, allowed)
        literal = target.literal
        found = [literal] if literal else await resolve(target.host, target.port)
    except Unacceptable:
        return Answer(Delivery.FORBIDDEN)
    except Unresolved:
        return Answer(Delivery.UNKNOWN_HOST)
    if not found:
        return Answer(Delivery.UNKNOWN_HOST)
    # All of them: one wrong address among right ones is a trick, or a mistake.
    if not all_permitted(found, allowed) or not plain_is_right(target, found, allowed):
        return Answer(Delivery.FORBIDDEN)
    dialler = _Dialler(found[:_MOST_ADDRESSES])
    try:
        return await _post(target, headers, body, dialler, context)
    except httpcore.TimeoutException:
        return Answer(Delivery.TOO_SLOW)
    except httpcore.ConnectError:
        return Answer(Delivery.BAD_TLS if dialler.connected else Delivery.NO_CONNECTION)
    except (httpcore.NetworkError, httpcore.ProtocolError, ssl.SSLError, OSError):
        return Answer(Delivery.NO_ANSWER)


async def _post(
    target: Target,
    headers: Mapping[str, str],
    body: bytes,
    dialler: "_Dialler",
    context: ssl.SSLContext,
) -> Answer:
    own = {
        "Host": target.netloc,
        "User-Agent": _USER_AGENT,
        "Accept": "*/*",
        "Accept-Encoding": "identity",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "Connection": "close",
    }
    place = httpcore.URL(
        scheme=target.scheme, host=target.host, port=target.port, target=target.path
    )
    pool = httpcore.AsyncConnectionPool(
        ssl_context=context, max_connections=1, retries=0, network_backend=dialler
    )
    said = list({**own, **headers}.items())
    async with pool, pool.stream("POST", place, headers=said, content=body) as answer:
        status = int(answer.status)
        told = await _beginning(answer)
        return Answer(_outcome(status), status, told, _retry_after(answer.headers))


async def _beginning(answer: httpcore.Response) -> bytes:
    """Read up to ``MOST_ANSWER`` bytes. A body that breaks off is an answer all the same."""
    kept = bytearray()
    seen = 0
    try:
        async for part in answer.aiter_stream():
            seen += len(part)
            kept += part[: MOST_KEPT - len(kept)]
            if seen >= MOST_ANSWER:
                break
    except (httpcore.NetworkError, httpcore.ProtocolError):
        pass
    return bytes(kept)


def _outcome(status: int) -> Delivery:
    if 200 <= status < 300:
        return Delivery.DELIVERED
    if status == 410:
        return Delivery.GONE
    return Delivery.REDIRECTED if 300 <= status < 400 else Delivery.REFUSED


def _retry_after(headers: Iterable[tuple[bytes, bytes]]) -> float | None:
    """Read seconds or a date; what is neither counts as not said."""
    for name, value in headers:
        if name.lower() == b"retry-after":
            return _seconds(value.decode("ascii", "replace").strip())
    return None


def _seconds(text: str) -> float | None:
    if re.fullmatch(r"\d{1,9}", text, re.ASCII):
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
        return max(0.0, (moment.astimezone(UTC) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None


class _Dialler(AsyncNetworkBackend):
    """Connects to addresses that were judged, whatever host it is asked for."""

    def __init__(self, addresses: Sequence[Address]) -> None:
        self._addresses = addresses
        self._inner = httpcore.AnyIOBackend()
        self.connected = False

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> AsyncNetworkStream:
        """Try the addresses in their order; the last one has all the time that is left."""
        for address in self._addresses[:-1]:
            try:
                stream = await self._inner.connect_tcp(str(address), port, _NEXT_ADDRESS)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
            self.connected = True
            return stream
        stream = await self._inner.connect_tcp(str(self._addresses[-1]), port)
        self.connected = True
        return stream

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> AsyncNetworkStream:
        """Not for callbacks. Raises ``OSError``."""
        raise OSError("callbacks go to the network")

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)
