"""A network that fails: a proxy before a server, which cuts, delays, holds and resets connections.

It also breaks them at chosen moments. The worst one of a transaction is its end: the server
commits and the client is not told. ``lose_commit`` makes that happen to the next one that fits.
"""

import asyncio
import contextlib
import shutil
import socket
import struct
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

_SOCKET = ".s.PGSQL.5432"
_COMMIT = b"COMMIT"
_BLOCK = 65_536
_RESET = struct.pack("ii", 1, 0)
"""SO_LINGER that sends RST at close."""

Target = Path | tuple[str, int]


@dataclass(eq=False)
class _Connection:
    """One connection of a client and the one to the server behind it."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    transaction: bytearray = field(default_factory=bytearray)
    losing: bool = False

    def end(self, *, reset: bool = False) -> None:
        """End both sides, politely or not."""
        if reset:
            one = self.client.get_extra_info("socket")
            with contextlib.suppress(OSError):
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.client.transport.abort()
        self.server.transport.abort()


class Proxy:
    """Listens on loopback (or on a socket ``at`` a path) and forwards to ``target``."""

    def __init__(self, target: Target, at: Path | None = None) -> None:
        self._target, self._at = target, at
        self._open: set[_Connection] = set()
        self._wanted: bytes | None = None
        self._refusing, self._pause = False, 0.0
        self.port = 0
        self.lost: list[bytes] = []
        """The transactions whose commit went through although their client was not told."""
        self.held = 0
        """How many pieces of data are being held."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._flows: asyncio.Event
        asyncio.run_coroutine_threadsafe(self._open_up(), self._loop).result(10)

    # --- what tests do to it -----------------------------------------------------------

    def cut(self) -> None:
        """End all connections and refuse new ones, until ``restore``."""
        self._do(self._cut)

    def vanish(self) -> None:
        """End all connections and listen no more, as a server that is down, until ``restore``."""
        self._do(self._vanish)

    def reset(self) -> None:
        """Reset the connections there are; new ones are made at once."""
        self._do(lambda: self._end_all(reset=True))

    def hold(self) -> None:
        """Let nothing pass, as a network that loses every packet, until ``restore``."""
        self._do(lambda: self._flows.clear())

    def delay(self, seconds: float) -> None:
        """Let everything pass so much later, until ``restore``."""

        def slow() -> None:
            self._pause = seconds

        self._do(slow)

    def restore(self) -> None:
        """Be a good network again; what was held passes now."""
        asyncio.run_coroutine_threadsafe(self._restore(), self._loop).result(10)

    def lose_commit(self, statement: bytes) -> None:
        """Lose the answer to the next commit of a transaction in which this was sent."""

        def want() -> None:
            self._wanted = statement

        self._do(want)

    def close(self) -> None:
        """End the proxy and all connections."""

        async def end() -> None:
            self._listener.close()
            self._end_all()
            self._flows.set()
            pumps = asyncio.all_tasks() - {asyncio.current_task()}
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    # --- in the loop -------------------------------------------------------------------

    def _do(self, action: Callable[[], None]) -> None:
        async def act() -> None:
            action()

        asyncio.run_coroutine_threadsafe(act(), self._loop).result(10)

    def _cut(self) -> None:
        self._refusing = True
        self._end_all()

    def _vanish(self) -> None:
        self._listener.close()
        self._end_all()

    async def _restore(self) -> None:
        self._refusing, self._pause = False, 0.0
        self._flows.set()
        if not self._listener.is_serving():
            await self._listen()

    def _end_all(self, *, reset: bool = False) -> None:
        for one in list(self._open):
            one.end(reset=reset)

    async def _open_up(self) -> None:
        self._flows = asyncio.Event()
        self._flows.set()
        await self._listen()

    async def _listen(self) -> None:
        if self._at is not None:
            self._listener: asyncio.Server
            self._listener = await asyncio.start_unix_server(self._accept, self._at)
            return
        self._listener = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self.port = int(self._listener.sockets[0].getsockname()[1])

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if self._refusing:
                raise ConnectionRefusedError
            back, server = await self._connected()
        except OSError:
            writer.transport.abort()
            return
        one = _Connection(writer, server)
        self._open.add(one)
        try:
            await asyncio.gather(self._forward(reader, one), self._backward(back, one))
        finally:
            self._open.discard(one)
            one.end()

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if isinstance(self._target, Path):
            return await asyncio.open_unix_connection(self._target)
        return await asyncio.open_connection(*self._target)

    async def _forward(self, reader: asyncio.StreamReader, one: _Connection) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(_BLOCK):
                await self._travel()
                self._watch(data, one)
                one.server.write(data)
                await one.server.drain()
        one.end()

    async def _backward(self, reader: asyncio.StreamReader, one: _Connection) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(_BLOCK):
                await self._travel()
                if one.losing:
                    # The server has answered, so the transaction is committed.
                    assert _COMMIT in data, data
                    self.lost.append(bytes(one.transaction))
                    break
                one.client.write(data)
                await one.client.drain()
        one.end()

    async def _travel(self) -> None:
        if self._pause:
            await asyncio.sleep(self._pause)
        self.held += 1
        try:
            await self._flows.wait()
        finally:
            self.held -= 1

    def _watch(self, data: bytes, one: _Connection) -> None:
        """Keep the transaction in mind; lose its commit if it is the one that is wanted."""
        if self._wanted is None:
            return
        one.transaction += data
        if _COMMIT not in data:
            return
        one.losing = self._wanted in one.transaction
        if one.losing:
            self._wanted = None
        else:
            one.transaction.clear()


@contextlib.contextmanager
def proxy(host: str) -> Iterator[tuple[Proxy, str]]:
    """Return a proxy for the PostgreSQL whose socket is in the folder ``host``, and its URL's host.

    Its folder is short: the path of a socket may have 107 bytes.
    """
    folder = Path(tempfile.mkdtemp(prefix="darkroom-proxy-"))
    made = Proxy(Path(host) / _SOCKET, folder / _SOCKET)
    try:
        yield made, quote(str(folder), safe="")
    finally:
        made.close()
        shutil.rmtree(folder, ignore_errors=True)
