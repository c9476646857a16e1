"""The programs of docs/samples against a real service, also one that fails in the middle."""

import hashlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tasks_app.core import credentials
from tasks_app.models import Artifact, Task
from tests.conftest import make_generator, make_user
from tests.processes import ROOT, Service, eventually, kill_group

SAMPLES = ROOT / "docs" / "samples"
LANGUAGES = ["python", "javascript"]


def command(language: str) -> list[str]:
    """Return how a sample is started. Without Node the test is skipped, but under CI it fails."""
    if language == "python":
        return [sys.executable, str(SAMPLES / "generate.py")]
    node = shutil.which("node")
    if node is None:
        reason = "THE JAVASCRIPT SAMPLE IS NOT TESTED: no node, which must be 18 or newer"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return [node, str(SAMPLES / "generate.mjs")]


@dataclass
class Asked:
    """A request that went through the proxy, and what was answered."""

    method: str
    path: str
    headers: dict[str, str]
    at: float
    status: int = 0
    received: dict[str, str] = field(default_factory=dict)


class Proxy:
    """Passes requests on, and spoils some: ``plan`` says how, per kind of request, in order."""

    def __init__(self) -> None:
        self.port = 0
        self.asked: list[Asked] = []
        self.plan: dict[str, list[str]] = {}
        self._lock = threading.Lock()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                proxy.handle(self)

            def do_POST(self) -> None:
                proxy.handle(self)

            def do_DELETE(self) -> None:
                proxy.handle(self)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def of(self, method: str, prefix: str) -> list[Asked]:
        return [one for one in self.asked if one.method == method and one.path.startswith(prefix)]

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        length = int(request.headers.get("Content-Length") or 0)
        body = request.rfile.read(length)
        headers = dict(request.headers.items())
        one = Asked(request.command, request.path, headers, time.monotonic())
        spoil = self._next(one)
        request.close_connection = True
        if spoil == "unavailable":
            one.status = 503
            request.send_response(503)
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        try:
            content = self._pass_on(one, body)
        except (OSError, HTTPException):
            return  # the service is away: so is its answer
        if spoil == "lost":
            return
        if spoil == "damaged":
            content = content[:-1] + bytes([content[-1] ^ 1])
        if spoil == "short":
            content = content[:-1]
        request.send_response(one.status)
        for name, value in one.received.items():
            if name not in ("content-length", "connection", "transfer-encoding"):
                request.send_header(name, value)
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        request.wfile.write(content)

    def _next(self, one: Asked) -> str:
        kind = "poll" if one.method == "GET" and one.path.startswith("/v1/tasks/") else one.method
        kind = "file" if one.path.startswith("/files/") else kind
        with self._lock:
            self.asked.append(one)
            waiting = self.plan.get(kind, [])
            return waiting.pop(0) if waiting else ""

    def _pass_on(self, one: Asked, body: bytes) -> bytes:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(one.method, one.path, body, one.headers)
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        one.status = answer.status
        one.received = {name.lower(): value for name, value in answer.getheaders()}
        return content


@dataclass
class World:
    """A service behind the proxy, and a user with a key."""

    service: Service
    proxy: Proxy
    key: str
    folder: Path

    def start(self, language: str, **environment: str) -> "subprocess.Popen[str]":
        params = {"prompt": "a red boat", "seconds": float(environment.pop("TAKES", "0"))}
        return subprocess.Popen(
            [*command(language), json.dumps(params), str(self.target)],
            env=os.environ
            | {
                "DARKROOM_URL": self.proxy.url,
                "DARKROOM_API_KEY": self.key,
                "GENERATOR": "sleeper",
                "SECONDS": "150",
                **environment,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @property
    def target(self) -> Path:
        return self.folder / "boat.png"

    def files(self) -> set[str]:
        return {path.name for path in self.folder.iterdir()}


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    one = Proxy()
    yield one
    one.stop()


@pytest.fixture
def world(service: Callable[..., Service], proxy: Proxy, tmp_path_factory: Any) -> World:
    make_generator()
    user = make_user("alice")
    one = service(DARKROOM_PUBLIC_URL=proxy.url)
    proxy.port = one.port
    one.web()
    key = credentials.create(user, "test")[1]
    return World(one, proxy, key, tmp_path_factory.mktemp("sample"))


def ended(sample: "subprocess.Popen[str]", status: int) -> str:
    """Wait for a sample, check its exit status; returns what it said."""
    try:
        out, said = sample.communicate(timeout=160)
    finally:
        sample.kill()
        sample.wait()
    assert (sample.returncode, out) == (status, ""), said
    return said


def the_file_is_right(world: World) -> None:
    artifact = Artifact.objects.get()
    content = world.target.read_bytes()
    assert hashlib.sha256(content).hexdigest() == artifact.sha256
    assert world.files() == {"boat.png"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_picture_is_submitted_once_polled_politely_and_downloaded(
    world: World, language: str
) -> None:
    proxy = world.proxy
    # The first submission arrives and its answer is lost; the second meets a service in trouble.
    proxy.plan = {
        "POST": ["lost", "unavailable"],
        "poll": ["", "lost", "unavailable"],
        "file": ["unavailable", "lost"],
    }
    sample = world.start(language, TAKES="3")
    eventually(lambda: len(proxy.of("GET", "/v1/tasks/")) >= 5, why="it polls while nobody works")
    world.service.workers(1)
    world.service.ticker()
    said = ended(sample, 0)
    the_file_is_right(world)
    assert Task.objects.count() == 1
    posts = proxy.of("POST", "/v1/tasks")
    assert [one.status for one in posts] == [202, 503, 200]
    assert len({one.headers["Idempotency-Key"] for one in posts}) == 1
    assert all(one.headers["Idempotency-Key"] for one in posts)
    polls = proxy.of("GET", "/v1/tasks/")
    assert {one.status for one in polls} == {200, 304, 503}
    assert not any(has_tag(one) for one in polls[:1])
    for before, after in itertools.pairwise(polls):
        if before.status == 200 and before is not polls[1]:  # the second one's answer was lost
            assert tag(after) == before.received["etag"]
        if before.status in (200, 304) and before is not polls[1]:
            # Not sooner than told, and with a tenth of a second for a coarse clock.
            assert after.at - before.at > int(before.received["retry-after"]) - 0.1
            assert after.at - before.at < int(before.received["retry-after"]) * 1.25 + 5
    files = [one for one in proxy.asked if one.path.startswith("/files/")]
    assert [one.status for one in files] == [503, 200, 200]
    assert not any("authorization" in map(str.lower, one.headers) for one in files)
    assert "again" in said


def tag(one: Asked) -> str:
    return next(v for name, v in one.headers.items() if name.lower() == "if-none-match")


def has_tag(one: Asked) -> bool:
    return any(name.lower() == "if-none-match" for name in one.headers)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_service_that_is_killed_and_started_again_is_waited_for(
    world: World, language: str
) -> None:
    web = world.service.child(world.service._children[0].pid)
    world.service.workers(1)
    world.service.ticker()
    sample = world.start(language, TAKES="10")
    eventually(lambda: world.proxy.of("GET", "/v1/tasks/"), why="it polls")
    kill_group(web)
    number = len(world.proxy.asked)
    eventually(lambda: len(world.proxy.asked) >= number + 2, why="it has noticed, and goes on")
    world.service.web()
    said = ended(sample, 0)
    the_file_is_right(world)
    assert Task.objects.count() == 1
    assert "again" in said


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("spoil", "word"), [("damaged", "SHA-256"), ("short", "bytes instead of")])
def test_a_file_that_is_not_the_promised_one_is_not_kept(
    world: World, language: str, spoil: str, word: str
) -> None:
    world.proxy.plan = {"file": [spoil]}
    world.service.workers(1)
    world.service.ticker()
    assert word in ended(world.start(language), 1)
    assert world.files() == set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_when_the_time_is_over_the_task_is_canceled(world: World, language: str) -> None:
    assert "not ready in time" in ended(world.start(language, SECONDS="2"), 2)
    assert Task.objects.get().error_code == "canceled"
    assert world.files() == set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_refusal_is_told_and_not_repeated(world: World, language: str) -> None:
    said = ended(world.start(language, GENERATOR="nope"), 1)
    assert "There is no such generator" in said
    assert len(world.proxy.of("POST", "/v1/tasks")) == 1
    assert not Task.objects.exists()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_failed_task_says_why(world: World, language: str) -> None:
    make_generator("broken", artist="not_a_picture")
    world.service.workers(1)
    world.service.ticker()
    said = ended(world.start(language, GENERATOR="broken"), 1)
    assert "result_unusable" in said


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("missing", "arguments", "said"),
    [
        ("DARKROOM_URL", ["{}", "x.png"], "DARKROOM_URL is not set"),
        ("DARKROOM_API_KEY", ["{}", "x.png"], "DARKROOM_API_KEY is not set"),
        ("", [], "Give parameters as JSON and a file"),
        ("", ["a red boat", "x.png"], "Give parameters as JSON and a file"),
        ("", ["{}", "x.png", "y.png"], "Give parameters as JSON and a file"),
    ],
)
def test_what_is_missing_is_said_in_one_sentence(
    language: str, missing: str, arguments: list[str], said: str
) -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "DARKROOM_URL": "http://127.0.0.1:1",
        "DARKROOM_API_KEY": "dk_x",
    }
    environment.pop(missing, None)
    done = subprocess.run(
        [*command(language), *arguments],
        env=environment,
        check=False,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
