"""Fetching files of results from where upstreams say they are: their links are hostile input.

The name of a link's host is resolved here, every address is judged, and one that was judged is
dialled. Redirects are followed a few times, each judged like the link. Only the origin that the
operator wrote into the generator's settings is trusted to be where it is. A download has one total
time and one size, nothing is decompressed, and what came is only what its first bytes say it is.
"""

import asyncio
import ssl
from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

import httpcore

from tasks_app import conf
from tasks_app.callbacks.networks import all_permitted
from tasks_app.callbacks.resolving import Resolver
from tasks_app.generators.base import Output
from tasks_app.generators.errors import GeneratorError
from tasks_app.generators.signatures import media_type_of
from tasks_app.lifecycle import ErrorCode

SECONDS: Final = 120.0
"""For one file, from the look-up of the name to the last byte."""
_CONNECT_SECONDS: Final = 5.0
_READ_SECONDS: Final = 20.0
_MOST_REDIRECTS: Final = 3
_MOST_LINK: Final = 8_192
_HEADERS: Final = [
    (b"User-Agent", b"darkroom"),
    (b"Accept", b"*/*"),
    (b"Accept-Encoding", b"identity"),
]

Origin = tuple[str, str, int]


class NotAllowed(Exception):
    """A link leads to where no link of a stranger may."""


class Vetted(httpcore.AsyncNetworkBackend):
    """Dials only addresses that were judged."""

    def __init__(self) -> None:
        self._plain = httpcore.AnyIOBackend()
        self._resolve = Resolver()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Resolve, judge, dial. Raises ``NotAllowed`` if any address is a closed one."""
        try:
            found = await asyncio.wait_for(self._resolve(host, port), timeout)
        except (OSError, TimeoutError) as error:
            raise httpcore.ConnectError("the name cannot be resolved") from error
        if not all_permitted(found, conf.get().fetch_allow):
            raise NotAllowed
        return await self._plain.connect_tcp(
            str(found[0]), port, timeout, local_address, socket_options
        )


class Fetcher:
    """The connections of one process to where results are; made and closed on its event loop."""

    def __init__(self) -> None:
        trust = ssl.create_default_context()
        limits: Any = {"ssl_context": trust, "max_connections": 16, "keepalive_expiry": 10}
        self._vetted = httpcore.AsyncConnectionPool(network_backend=Vetted(), **limits)
        self._plain = httpcore.AsyncConnectionPool(**limits)

    async def close(self) -> None:
        """Close every connection."""
        await self._vetted.aclose()
        await self._plain.aclose()

    async def fetch(self, link: str, trusted: Origin | None = None) -> bytes:
        """Return the file behind a link; ``trusted`` is the origin of the generator's settings.

        Raises ``GeneratorError``: retryable where another try may help, such as a link that has
        ended in the meantime.
        """
        try:
            async with asyncio.timeout(SECONDS):
                return await self._followed(link, trusted)
        except NotAllowed:
            raise _unusable("The result is at an address that is not fetched from.") from None
        except (TimeoutError, httpcore.TimeoutException, httpcore.NetworkError) as error:
            raise _unreachable() from error
        except httpcore.ProtocolError as error:
            raise _unreachable() from error

    async def _followed(self, link: str, trusted: Origin | None) -> bytes:
        for _ in range(1 + _MOST_REDIRECTS):
            origin = origin_of(link)
            if origin is None or len(link) > _MOST_LINK:
                raise _unusable("The result's link is no address.")
            pool = self._plain if origin == trusted else self._vetted
            target, content = await self._once(pool, link)
            if target is None:
                return content
            link = urljoin(link, target)
        raise _unusable("The result's link leads from one to another without an end.")

    async def _once(
        self, pool: httpcore.AsyncConnectionPool, link: str
    ) -> tuple[str | None, bytes]:
        """Ask for a link once; returns where it redirects to, or the file."""
        timeouts = {
            "connect": _CONNECT_SECONDS,
            "read": _READ_SECONDS,
            "write": _READ_SECONDS,
            "pool": SECONDS,
        }
        try:
            url = httpcore.URL(link)
        except (ValueError, UnicodeError) as error:
            raise _unusable("The result's link is no address.") from error
        async with pool.stream("GET", url, headers=_HEADERS, extensions={"timeout": timeouts}) as r:
            names = {name.lower(): value for name, value in r.headers}
            if r.status in (301, 302, 303, 307, 308) and b"location" in names:
                return names[b"location"].decode("latin-1"), b""
            _judge(r.status, names.get(b"content-encoding", b"identity"))
            return None, await _content(r, names.get(b"content-length", b""))


def origin_of(link: str) -> Origin | None:
    """Return scheme, host and port of an http or https address; None for anything else."""
    try:
        parts = urlsplit(link)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        return None
    return parts.scheme, parts.hostname, port


def output_of(content: bytes, seed: int | None = None) -> Output:
    """Return a fetched file as an output: its type is what its first bytes say."""
    found = media_type_of(content)
    if found is None:
        raise _unusable("The file of the result is no PNG, JPEG, WebP or MP4 file.")
    return Output(content, found, seed)


def _judge(status: int, encoding: bytes) -> None:
    if status in (401, 403, 404, 410):
        raise GeneratorError(
            ErrorCode.RESULT_UNUSABLE, "The result is not there any more.", retryable=True
        )
    if status == 429 or status >= 500:
        raise _unreachable()
    if status != 200:
        raise _unusable(f"The result could not be fetched (HTTP {status}).")
    if encoding.strip().lower() not in (b"", b"identity"):
        raise _unusable("The result came in an encoding that nobody asked for.")


async def _content(response: httpcore.Response, length: bytes) -> bytes:
    most = conf.get().max_artifact_bytes
    if length.isdigit() and int(length) > most:
        raise _unusable("The file of the result is too large.")
    content = bytearray()
    async for piece in response.aiter_stream():
        content += piece
        if len(content) > most:
            raise _unusable("The file of the result is too large.")
    return bytes(content)


def _unusable(detail: str) -> GeneratorError:
    return GeneratorError(ErrorCode.RESULT_UNUSABLE, detail)


def _unreachable() -> GeneratorError:
    detail = "The result could not be fetched."
    return GeneratorError(ErrorCode.UPSTREAM_UNREACHABLE, detail, retryable=True)
