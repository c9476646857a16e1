"""A web process that is told to end takes requests for a while, and asks callers to move on."""

import asyncio
import signal
from types import SimpleNamespace
from typing import Any

from aigc_site.serving import Serving
from tests.unit.test_bodies import Headers, Proto


def site(environ: Any, start_response: Any) -> list[bytes]:
    start_response("200 OK", [("x", "y")])
    return [b"hello"]


async def _answer(one: Serving, path: str) -> tuple[Any, ...]:
    scope: Any = SimpleNamespace(
        method="GET",
        path=path,
        query_string="",
        http_version="1.1",
        scheme="http",
        server="127.0.0.1:8000",
        client="127.0.0.1:1234",
        authority=None,
        headers=Headers({}),
    )
    proto = Proto()
    await one.__rsgi__(scope, proto)
    return proto.answer


def test_after_sigterm_it_goes_on_says_so_and_ends() -> None:
    one = Serving(site, 1, drain_seconds=0.2)
    ended = asyncio.Event()

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, ended.set)  # as granian does
        one.__rsgi_init__(loop)
        assert await _answer(one, "/readyz") == (200, [("x", "y")], b"hello")
        for _ in range(2):
            signal.raise_signal(signal.SIGTERM)
            await asyncio.sleep(0)
        last = ("connection", "close")
        while (await _answer(one, "/"))[1] == [("x", "y")]:
            pass
        assert await _answer(one, "/") == (200, [("x", "y"), last], b"hello")
        assert (await _answer(one, "/readyz"))[:2] == (503, [("content-type", "text/plain"), last])
        await asyncio.wait_for(ended.wait(), 10)
        loop.remove_signal_handler(signal.SIGINT)
        loop.remove_signal_handler(signal.SIGTERM)

    asyncio.run(scenario())


def test_without_a_time_for_it_nothing_is_taken_from_granian() -> None:
    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        Serving(site, 1).__rsgi_init__(loop)
        assert not loop.remove_signal_handler(signal.SIGTERM)

    asyncio.run(scenario())
