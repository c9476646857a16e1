"""Name servers that never answer: whose time they take."""

import asyncio
import threading
from ipaddress import ip_address

import pytest

from tasks_app.callbacks.networks import Address
from tasks_app.callbacks.resolving import MOST, PER_OWNER, Resolver, Unresolved


def test_silent_name_servers_of_one_account_hold_up_nobody_else() -> None:
    over = threading.Event()
    begun: list[str] = []

    def lookup(host: str, port: int) -> list[Address]:
        begun.append(host)
        if host.endswith("silent.example"):
            over.wait(10)
        return [ip_address("1.1.1.1")]

    async def run() -> None:
        resolver = Resolver(lookup)
        mallory, bob = resolver.on_behalf_of(1), resolver.on_behalf_of(2)
        silent = [
            asyncio.ensure_future(mallory(f"n{number}.silent.example", 443))
            for number in range(2 * MOST)
        ]
        await asyncio.sleep(0)
        try:
            async with asyncio.timeout(2):
                assert await bob("shop.example", 443) == [ip_address("1.1.1.1")]
            assert len([host for host in begun if host != "shop.example"]) == PER_OWNER
            for one in silent[: MOST + PER_OWNER]:  # their attempts are over, their lookups are not
                one.cancel()
            async with asyncio.timeout(2):
                await bob("other.example", 443)
            assert len(begun) == PER_OWNER + 2
        finally:
            over.set()
        async with asyncio.timeout(5):  # every place is given back
            await asyncio.gather(*silent, return_exceptions=True)
            await mallory("last.example", 443)

    asyncio.run(run())


def test_a_look_up_that_gets_no_thread_gives_its_place_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_more(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def run() -> None:
        resolver = Resolver(lambda host, port: [ip_address("1.1.1.1")])
        with monkeypatch.context() as without:
            without.setattr(threading.Thread, "start", no_more)
            for _ in range(MOST):
                with pytest.raises(Unresolved):
                    await resolver("shop.example", 443)
        assert await resolver("shop.example", 443) == [ip_address("1.1.1.1")]

    async def in_time() -> None:
        async with asyncio.timeout(5):
            await run()

    asyncio.run(in_time())
