"""Resolving names without letting slow name servers hold anything up.

``getaddrinfo`` knows the hosts file, search domains and containers' resolvers, but blocks and
cannot be stopped. So each lookup has a thread of its own, their number is bounded, and lookups of
one name at the same time are one. A caller that has no time left goes away; the thread follows
when the system's resolver gives up, which ``RES_OPTIONS`` brings forward.
"""

import asyncio
import os
import socket
import threading
import weakref
from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from typing import Final

from tasks_app.callbacks.networks import Address

Resolve = Callable[[str, int], Awaitable[list[Address]]]
Lookup = Callable[[str, int], list[Address]]

MOST: Final = 64
"""Lookups at the same time, those that nobody waits for any more included."""

PER_OWNER: Final = 16
"""Of these for one account: its silent name servers keep nobody else's names from being read."""

# Two tries of a second each for a name server, instead of two of five.
os.environ.setdefault("RES_OPTIONS", "timeout:1 attempts:2")


class Unresolved(OSError):
    """The name leads nowhere at the moment."""


def system_lookup(host: str, port: int) -> list[Address]:
    """Ask the system. Raises ``Unresolved``."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    except (OSError, UnicodeError) as error:
        raise Unresolved(str(error)) from error
    # What is dialled is judged: a scope (%eth0) would be lost, so it must not be there.
    texts = dict.fromkeys(str(address[0]) for *_, address in found)
    return [ip_address(text) for text in texts if "%" not in text]


class Resolver:
    """Resolves names for one event loop."""

    def __init__(self, lookup: Lookup = system_lookup) -> None:
        self._lookup = lookup
        self._going: dict[tuple[str, int], asyncio.Future[list[Address]]] = {}
        self._room = asyncio.Semaphore(MOST)
        # One stays as long as somebody waits for it or a lookup holds it.
        self._owners: weakref.WeakValueDictionary[int, asyncio.Semaphore] = (
            weakref.WeakValueDictionary()
        )

    async def __call__(self, host: str, port: int) -> list[Address]:
        """Return the addresses of a name. Raises ``Unresolved``."""
        return await self._found((host, port), asyncio.Semaphore(1))

    def on_behalf_of(self, owner_id: int) -> Resolve:
        """Return what resolves names for an account, which has a part of the room only."""

        async def resolve(host: str, port: int) -> list[Address]:
            own = self._owners.get(owner_id) or asyncio.Semaphore(PER_OWNER)
            self._owners[owner_id] = own
            return await self._found((host, port), own)

        return resolve

    async def _found(self, key: tuple[str, int], own: asyncio.Semaphore) -> list[Address]:
        if key not in self._going:
            await own.acquire()
            try:
                await self._room.acquire()
            except BaseException:
                own.release()
                raise
            if key in self._going:
                self._room.release()
                own.release()
            else:
                self._begin(key, own)
        # Whoever waits may go; the others still wait for the same answer.
        return await asyncio.shield(self._going[key])

    def _begin(self, key: tuple[str, int], own: asyncio.Semaphore) -> None:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[list[Address]] = loop.create_future()
        future.add_done_callback(lambda one: one.cancelled() or one.exception())
        self._going[key] = future

        def run() -> None:
            try:
                found: list[Address] | OSError = self._lookup(*key)
            except Exception as error:  # whatever it is, the place must be given back
                found = Unresolved(f"{type(error).__name__}: {error}")
            try:
                loop.call_soon_threadsafe(self._end, key, own, found)
            except RuntimeError:
                pass  # the loop has ended

        try:
            threading.Thread(target=run, name=f"resolve {key[0]}", daemon=True).start()
        except RuntimeError as error:  # no more threads: the place must be given back
            loop.call_soon(self._end, key, own, Unresolved(str(error)))

    def _end(
        self, key: tuple[str, int], own: asyncio.Semaphore, found: list[Address] | OSError
    ) -> None:
        self._room.release()
        own.release()
        future = self._going.pop(key)
        if isinstance(found, OSError):
            future.set_exception(found)
        else:
            future.set_result(found)
