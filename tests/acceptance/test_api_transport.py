"""What only a real server and real sockets show."""

import http.client
import json
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from django.conf import settings

from tasks_app.core import credentials
from tasks_app.models import Task
from tests.conftest import make_generator, make_user
from tests.processes import Service, eventually, free_port

Make = Callable[..., Service]
BODY = {"generator": "sleeper", "params": {"prompt": "over the wire"}}


def alice() -> tuple[Any, str]:
    user = make_user("alice")
    return user, credentials.create(user, "test")[1]


def in_pieces(raw: bytes) -> Iterator[bytes]:
    """Yield a body piece by piece: sent without a length, in chunks."""
    for start in range(0, len(raw), 65_521):
        yield raw[start : start + 65_521]


def test_bodies_of_any_transport_are_read_and_bounded(service: Make) -> None:
    make_generator()
    _, key = alice()
    one = service()
    one.web()
    kind = {"Content-Type": "application/json"}
    with one.client(key) as client:
        chunked = client.post(
            "/v1/tasks", content=in_pieces(json.dumps(BODY).encode()), headers=kind
        )
        assert chunked.status_code == 202, chunked.text
        long = json.dumps(BODY | {"params": {"prompt": "x" * 2_000_000}}).encode()
        for content in (long, in_pieces(long)):
            answer = client.post("/v1/tasks", content=content, headers=kind)
            assert answer.status_code == 422
            assert [e["pointer"] for e in answer.json()["errors"]] == ["/params/prompt"]
        empty = client.post("/v1/tasks", content=iter(()), headers=kind)
        assert empty.status_code in (400, 422)
        for content in (long * 3, in_pieces(long * 3)):
            answer = client.post("/v1/tasks", content=content, headers=kind)
            assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
        # The connection, or a new one, goes on.
        path = chunked.headers["Location"]
        get, head = client.get(path), client.head(path)
        assert head.status_code == get.status_code == 200
        assert head.headers["ETag"] == get.headers["ETag"]
        assert head.content == b""
        for method in ("POST", "PUT", "PATCH"):
            answer = client.request(method, path, json={})
            assert (answer.status_code, answer.headers["Content-Type"]) == (
                405,
                "application/problem+json",
            )
            assert set(answer.headers["Allow"].split(", ")) == {"GET", "HEAD", "DELETE", "OPTIONS"}
    # What is refused half read leaves the connection in order.
    connection = http.client.HTTPConnection("127.0.0.1", one.port, timeout=30)
    connection.connect()
    kept = connection.sock
    for content in (json.dumps(BODY).encode() + b" " * (6 * 2**20), b"{"):
        connection.request("POST", "/v1/tasks", content, {**kind, "Authorization": f"Bearer {key}"})
        refused = connection.getresponse()
        assert refused.status in (413, 400)
        refused.read()
        assert connection.sock is kept
    connection.close()
    odd = [
        b"GET /v1/tasks HTTP/1.1\r\nAuthorization: Bearer \xff\xfe",
        b"GET /v1/%ff%00 HTTP/1.1\r\nX-Request-Id: \xe5\xa4",
        b"POST /v1/tasks HTTP/1.1\r\nIdempotency-Key: cl\xe9\r\nContent-Length: 0",
        b"GET /v1/tasks?ids=%ff&cursor=%00 HTTP/1.1\r\nCookie: darkroom_session=\xff",
        b"BREW /v1/tasks HTTP/1.1\r\nAccept: text/html",
    ]
    for request in odd:
        status, content_type = raw_answer(one.port, request)
        assert 400 <= status < 500, request
        assert content_type == "application/problem+json", request
    assert Task.objects.count() == 1


def raw_answer(port: int, request: bytes) -> tuple[int, str]:
    """Send a request byte by byte as it is; returns status and content type."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(request + b"\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    head = answer.partition(b"\r\n\r\n")[0].decode("latin-1").splitlines()
    headers = dict(line.lower().split(": ", 1) for line in head[1:])
    return int(head[0].split()[1]), headers.get("content-type", "")


@pytest.mark.parametrize("how", ["refuses", "hangs"])
def test_without_redis_a_server_still_takes_shows_and_cancels_tasks(
    service: Make, how: str
) -> None:
    make_generator()
    _, key = alice()
    port = free_port()
    listener = socket.create_server(("127.0.0.1", port), backlog=64) if how == "hangs" else None
    one = service(REDIS_URL=f"redis://127.0.0.1:{port}/0")
    one.start("web", "--port", str(one.port), "--workers", "1")
    eventually(lambda: answers(one), why="the web server is ready")
    begun = time.monotonic()
    with one.client(key) as client:
        for _ in range(5):
            submitted = client.post("/v1/tasks", json=BODY)
            assert submitted.status_code == 202
            path = submitted.headers["Location"]
            assert client.get(path).json()["status"] == "pending"
            assert client.get("/v1/tasks").status_code == 200
            assert client.delete(path).json()["status"] == "failed"
    # One timeout a step would be 40 s at the least; one at a time, with pauses, a few seconds.
    assert time.monotonic() - begun < 20
    if listener is not None:
        listener.close()


def answers(one: Service) -> bool:
    try:
        return httpx.get(f"{one.url}/healthz", timeout=10, trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


def test_without_postgres_a_server_says_503_and_when_to_come_back(service: Make) -> None:
    one = service(DATABASE_URL=f"postgresql://nobody:hunter2@127.0.0.1:{free_port()}/none")
    one.start("web", "--port", str(one.port))
    eventually(lambda: answers(one), why="the web server answers")
    identity = "0198e0aa-0000-7000-8000-00000000abcd"
    cookie = {"Cookie": f"{settings.SESSION_COOKIE_NAME}={'x' * 32}"}
    for headers in ({"Authorization": f"Bearer dk_01234567_{'x' * 43}"}, cookie):
        with one.client() as client:
            client.headers.update(headers)
            for answer in (
                client.post("/v1/tasks", json=BODY),
                client.get("/v1/tasks"),
                client.get(f"/v1/tasks/{identity}"),
                client.delete(f"/v1/tasks/{identity}"),
                client.get("/v1/account"),
                client.get("/readyz"),
            ):
                assert answer.status_code == 503, answer.text
                assert "hunter2" not in answer.text
                if not answer.url.path.endswith("/readyz"):
                    assert answer.headers["Content-Type"] == "application/problem+json"
                    assert int(answer.headers["Retry-After"]) >= 1
            assert client.get("/healthz").status_code == 200
