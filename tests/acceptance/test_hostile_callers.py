"""Callers who hold what they can: half a form, and a file that they never read."""

import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from tasks_app.core import credentials
from tasks_app.models import Artifact
from tasks_app.results import links, store
from tasks_app.results.links import Link
from tests.conftest import make_generator, make_user
from tests.integration.api.caller import finished
from tests.processes import Service

Make = Callable[..., Service]
HOSTILE = 64
PATIENT = 2.0
"""Seconds within which everybody else is answered."""


@pytest.fixture
def sockets() -> Iterator[Callable[[int, bytes], socket.socket]]:
    """Return a function that connects, sends and goes on holding the connection."""
    with ExitStack() as held:

        def hold(port: int, sent: bytes) -> socket.socket:
            one = held.enter_context(socket.socket())
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
            one.settimeout(30)
            one.connect(("127.0.0.1", port))
            one.sendall(sent)
            return one

        yield hold


def head(line: str, port: int, **headers: str) -> bytes:
    """Return the head of a request."""
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([f"{line} HTTP/1.1", f"Host: 127.0.0.1:{port}", *lines, "", ""]).encode()


def is_well(one: Service, key: str) -> None:
    """Check that everybody else is answered, and can log in."""
    for _ in range(8):
        begun = time.monotonic()
        with one.client(key) as client:
            client.timeout = httpx.Timeout(PATIENT)
            assert client.get("/healthz").status_code == 200
            assert client.get("/v1/tasks").status_code == 200
        assert time.monotonic() - begun < 2 * PATIENT
    with one.client() as browser:
        browser.timeout = httpx.Timeout(PATIENT)
        token = csrf_of(browser.get("/login"))
        form = {"username": "alice", "password": "alice-password", "csrfmiddlewaretoken": token}
        assert browser.post("/login", data=form).status_code == 302


def csrf_of(answer: httpx.Response) -> str:
    """Return the token that a form of a page has."""
    found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', answer.text)
    assert found is not None
    return found[1]


def test_half_sent_bodies_hold_no_thread(service: Make, sockets: Any) -> None:
    key = credentials.create(make_user("alice"), "test")[1]
    one = service()
    one.web()
    with one.client() as browser:
        browser.get("/login")
        cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    form = {"Cookie": cookie, "Content_Type": "application/x-www-form-urlencoded"}
    begun = time.monotonic()
    asked = [
        head("POST /login", one.port, **form, Content_Length="1000") + b"x",
        head("POST /login", one.port, **form, Transfer_Encoding="chunked") + b"1\r\nx\r\n",
        head("POST /v1/tasks", one.port, Authorization=f"Bearer {key}", Content_Length="9") + b"{",
    ]
    slow = [sockets(one.port, asked[number % len(asked)]) for number in range(HOSTILE)]
    is_well(one, key)
    assert time.monotonic() - begun < 10, "they were still held meanwhile"
    # And the forms end, with an answer.
    assert b" 408 " in slow[0].recv(1_000).splitlines()[0]
    assert b" 408 " in slow[1].recv(1_000).splitlines()[0]


def test_files_that_nobody_reads_hold_no_thread(
    service: Make, sockets: Any, open_slots: None
) -> None:
    user = make_user("alice")
    make_generator()
    key = credentials.create(user, "test")[1]
    artifact = Artifact.objects.get(task=finished(user))
    large = b"0123456789" * 800_000
    Path(store.storage().path(artifact.storage_key)).write_bytes(large)
    link = f"/files/{links.sign(Link(artifact.pk, False, False))}"
    one = service()
    one.web()
    for _ in range(HOSTILE // 2):
        sockets(one.port, head(f"GET {link}", one.port))
        sockets(one.port, head(f"GET {link}", one.port, Range="bytes=1-"))
    is_well(one, key)
    # Those who read get all of it, or the part that they want.
    with one.client() as client:
        whole = client.get(link)
        assert whole.content == large
        assert whole.headers["Content-Length"] == str(len(large))
        part = client.get(link, headers={"Range": "bytes=5000003-7000004"})
        assert (part.status_code, part.content) == (206, large[5_000_003:7_000_005])
        assert part.headers["Content-Range"] == f"bytes 5000003-7000004/{len(large)}"
        assert client.head(link).headers["Content-Length"] == str(len(large))
        assert client.head(link).content == b""


def test_uploads_are_refused_before_they_come(service: Make, sockets: Any) -> None:
    make_user("alice")
    one = service(DARKROOM_LOG_LEVEL="INFO")
    one.web()
    begun = time.monotonic()
    for path, length in (("/login", 150 * 2**20), ("/v1/tasks", 150 * 2**20)):
        asked = head(
            f"POST {path}",
            one.port,
            Content_Type="multipart/form-data; boundary=x",
            Content_Length=str(length),
        )
        connection = sockets(one.port, asked)
        assert b" 413 " in connection.recv(10_000).splitlines()[0]
    assert time.monotonic() - begun < 5
    with one.client() as browser:
        token = csrf_of(browser.get("/login"))
        fields = {"csrfmiddlewaretoken": token, "username": "alice", "password": "alice-password"}
        file = {"file": ("a.bin", b"x" * 1_000)}
        assert browser.post("/login", data=fields, files=file).status_code == 400
        assert browser.post("/login", data=fields | {"next": "x" * 70_000}).status_code == 413
        assert browser.post("/login", data=fields).status_code == 302
