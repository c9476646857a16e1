"""Bodies: how long they may be, how long they may take, and how much is held of them."""

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from aigc_site import bodies, serving
from aigc_site.serving import Serving


class Headers(dict[str, str]):
    """The headers of a request."""

    def get_all(self, name: str) -> list[str]:
        """Return all of one name."""
        return [self[name]]


class Proto:
    """A caller who sends these pieces, then nothing for ever if told so."""

    def __init__(self, *pieces: bytes, endless: bool = False) -> None:
        self._pieces, self._endless = pieces, endless
        self.answer: tuple[Any, ...] = ()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece
        if self._endless:
            await asyncio.Event().wait()

    def response_bytes(self, *answer: Any) -> None:
        """Take the answer."""
        self.answer = answer

    def response_empty(self, *answer: Any) -> None:
        """Take the answer."""
        self.answer = answer


def site(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    """Answer with what was sent, or with the status that it was refused with."""
    body = environ["wsgi.input"].read()
    assert len(body) == int(environ["CONTENT_LENGTH"])
    start_response(f"{environ.get(bodies.REFUSED, 200)} Word", [])
    return [body]


def ask(proto: Proto, path: str = "/login", **headers: str) -> tuple[Any, ...]:
    """Send a request to the site; returns the answer."""
    scope = SimpleNamespace(
        method="POST",
        path=path,
        query_string="",
        http_version="1.1",
        scheme="http",
        server="127.0.0.1:80",
        client="[::1]:9",
        authority=None,
        headers=Headers({name.replace("_", "-"): value for name, value in headers.items()}),
    )
    one = Serving(site, 1)
    asyncio.run(one.__rsgi__(scope, proto))
    assert one._held == 0
    return proto.answer


def test_a_body_comes_whole() -> None:
    assert ask(Proto(b"ab", b"c"), content_length="3") == (200, [], b"abc")
    assert ask(Proto(b"ab", b"c"), transfer_encoding="chunked") == (200, [], b"abc")
    assert ask(Proto()) == (200, [], b"")


@pytest.mark.parametrize("headers", [{"content_length": "9"}, {"transfer_encoding": "chunked"}])
def test_a_body_that_does_not_come_is_408(
    headers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "SMALL_SECONDS", 0.01)
    assert ask(Proto(b"x", endless=True), **headers) == (408, [], b"")


def test_a_body_that_broke_off_reaches_nobody() -> None:
    assert ask(Proto(b"ab"), content_length="3") == (400, [])


def test_a_body_that_says_that_it_is_long_is_not_read() -> None:
    long = str(150 * 2**20)
    for path in ("/login", "/v1/tasks", "/admin/"):
        assert ask(Proto(endless=True), path, content_length=long)[0] == 413


@pytest.mark.parametrize(
    ("path", "size", "status"),
    [
        ("/login", bodies.FORM, 200),
        ("/login", bodies.FORM + 1, 413),
        ("/admin/tasks_app/generator/1/change/", bodies.FORM + 1, 200),
        ("/v1/tasks", 4 * 2**20, 200),
        ("/v1/tasks", 4 * 2**20 + 1, 413),
        ("/v1x", 2**20, 413),
    ],
)
def test_each_address_has_its_limit(path: str, size: int, status: int) -> None:
    pieces = [b"x" * 60_000] * (size // 60_000) + [b"x" * (size % 60_000)]
    assert ask(Proto(*pieces), path, content_length=str(size))[0] == status
    assert ask(Proto(*pieces), path, transfer_encoding="chunked")[0] == status


def test_a_body_without_an_end_is_413() -> None:
    endless = [b"x" * 60_000] * 20
    assert ask(Proto(*endless, endless=True), transfer_encoding="chunked")[0] == 413


def test_a_body_in_too_many_pieces_is_413() -> None:
    crumbs = [b"x"] * (serving.MOST_PIECES + 1)
    assert ask(Proto(*crumbs, endless=True), "/v1/tasks", transfer_encoding="chunked")[0] == 413


def test_when_much_is_held_only_small_bodies_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "MOST_HELD", 0)
    assert ask(Proto(b"x" * 60_000), "/v1/tasks", content_length="60000")[0] == 200
    two = Proto(b"x" * 60_000, b"x" * 60_000)
    assert ask(two, "/v1/tasks", content_length="120000")[0] == 503


def test_a_name_with_an_underscore_is_not_the_name_with_a_dash() -> None:
    scope = SimpleNamespace(
        method="GET",
        path="/caf\u00e9",
        query_string="a=%00",
        http_version="1.1",
        scheme="http",
        server="[::1]:80",
        client="127.0.0.1:9",
        authority="here",
        headers=Headers({"x_real_ip": "10.0.0.1", "content-type": "a/b", "x-real-ip": "10.0.0.2"}),
    )
    seen = serving.environ_of(scope, b"")
    assert seen["HTTP_X_REAL_IP"] == "10.0.0.2"
    assert seen["CONTENT_TYPE"] == "a/b"
    assert seen["HTTP_HOST"] == "here"
    assert seen["PATH_INFO"] == "/caf\u00c3\u00a9"
    assert (seen["SERVER_NAME"], seen["SERVER_PORT"]) == ("::1", "80")
    assert seen["REMOTE_ADDR"] == "127.0.0.1"


def test_another_server_is_told_of_the_limit_too() -> None:
    seen: dict[str, Any] = {}

    def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        seen.update(environ)
        return []

    long = {"CONTENT_LENGTH": str(bodies.FORM + 1), "PATH_INFO": "/login"}
    list(bodies.measured(application)(dict(long), None))
    assert (seen[bodies.REFUSED], seen["CONTENT_LENGTH"]) == (413, "0")
    seen.clear()
    list(bodies.measured(application)(long | {"PATH_INFO": "/v1/tasks"}, None))
    assert bodies.REFUSED not in seen
