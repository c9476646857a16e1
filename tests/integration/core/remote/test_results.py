"""Fetching what was made: links of upstreams are hostile input."""

import gzip
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from pytest_django import Settings

from tasks_app.core.remote import fetching
from tasks_app.models import Artifact, Attempt, Task
from tests import scenes
from tests.integration.core.remote.conftest import Hand, make_remote, state
from tests.processes import free_port
from tests.upstreams import fake
from tests.upstreams.fake import PICTURE, Answer, Fake, Seen
from tests.upstreams.replicate import Replicate


class Store(Fake):
    """Where results are, on another origin than the upstream."""

    def __init__(self) -> None:
        super().__init__()
        self.redirects: list[str] = []

    def name_of(self, seen: Seen) -> str:
        return "file"

    def answer(self, seen: Seen) -> Answer:
        if self.redirects:
            return Answer(302, b"", {"Location": self.redirects.pop(0)})
        return Answer(200, PICTURE)


@pytest.fixture
def store() -> Iterator[Store]:
    """Return a store of results."""
    made = Store()
    yield made
    made.stop()


def made_at(hand: Hand, upstream: Replicate, *links: Any) -> Attempt:
    """Let the upstream say that its result is there."""
    make_remote(upstream)
    upstream.scripts["a boat"] = [{"status": "succeeded", "output": list(links)}] * 5
    return hand.ask(hand.send())


def test_a_result_from_another_origin(hand: Hand, upstream: Replicate, store: Store) -> None:
    attempt = made_at(hand, upstream, f"{store.url}/x.png", f"{store.url}/y.png")
    assert state(attempt) == ("success", "")
    assert Artifact.objects.count() == 2
    for seen in store.seen:
        assert "authorization" not in seen.headers
        assert seen.headers["accept-encoding"] == "identity"


@pytest.mark.parametrize(
    "link",
    [
        "http://127.0.0.1:{port}/x.png",
        "http://localhost:{port}/x.png",
        "http://[::ffff:127.0.0.1]:{port}/x.png",
        "http://0x7f.1:{port}/x.png",
        "http://169.254.169.254/latest/meta-data",
        "http://[::1]:{port}/x.png",
    ],
)
def test_links_into_the_network(
    hand: Hand, upstream: Replicate, store: Store, settings: Settings, link: str
) -> None:
    settings.DARKROOM = settings.DARKROOM | {"fetch_allow": ()}
    attempt = made_at(hand, upstream, link.format(port=store.port))
    assert state(attempt) == ("failed", "result_unusable")
    assert store.seen == []
    assert upstream.count("create") == 1


def test_a_redirect_into_the_network(
    hand: Hand, upstream: Replicate, store: Store, settings: Settings
) -> None:
    """The upstream's own origin is trusted, and what it redirects to is judged anew."""
    settings.DARKROOM = settings.DARKROOM | {"fetch_allow": ()}
    upstream.faults["file"] = [fake.status(302, Location=f"{store.url}/secret")]
    make_remote(upstream)
    attempt = hand.ask(hand.send())
    assert state(attempt) == ("failed", "result_unusable")
    assert (upstream.count("file"), store.seen) == (1, [])


def test_redirects_are_followed_three_times(hand: Hand, upstream: Replicate, store: Store) -> None:
    store.redirects = ["/1", f"{store.url}/2", "3"]
    assert state(made_at(hand, upstream, f"{store.url}/x")) == ("success", "")
    store.redirects = ["/1", "/2", "/3", "/4"]
    upstream.scripts["again"] = [{"status": "succeeded", "output": f"{store.url}/x"}]
    assert state(hand.ask(hand.send("again"))) == ("failed", "result_unusable")


@pytest.mark.parametrize(
    "link",
    [
        "ftp://example.com/x.png",
        "file:///etc/passwd",
        "http://user:password@127.0.0.1/x.png",
        "http://127.0.0.1:99999/x.png",
        "http:///x.png",
        "https://" + "x" * 9_000,
        "",
        7,
        None,
        {"url": "http://127.0.0.1/x"},
    ],
)
def test_what_is_no_link(hand: Hand, upstream: Replicate, link: Any) -> None:
    assert state(made_at(hand, upstream, link)) == ("failed", "result_unusable")


def test_too_many_files(hand: Hand, upstream: Replicate, store: Store) -> None:
    attempt = made_at(hand, upstream, *[f"{store.url}/{n}.png" for n in range(17)])
    assert (state(attempt), store.seen) == (("failed", "result_unusable"), [])


def huge(handler: BaseHTTPRequestHandler, _do: Any) -> None:
    """Announce two gigabytes, and begin to send them."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(2 * 1024**3))
    handler.end_headers()
    _pour(handler)


def endless(handler: BaseHTTPRequestHandler, _do: Any) -> None:
    """Say nothing about the size, and never end."""
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    _pour(handler, chunked=True)


def _pour(handler: BaseHTTPRequestHandler, *, chunked: bool = False) -> None:
    handler.close_connection = True
    block = b"x" * 65_536
    for _ in range(2 * 1024**3 // len(block)):
        handler.wfile.write(b"10000\r\n" + block + b"\r\n" if chunked else block)


def bomb(handler: BaseHTTPRequestHandler, _do: Any) -> None:
    """A small answer that would become a large one."""
    content = gzip.compress(b"x" * 50_000_000)
    fake.say(handler, Answer(200, content, {"Content-Encoding": "gzip"}))


@pytest.mark.parametrize(
    "fault",
    [huge, endless, bomb, fake.saying(b"<html>no picture</html>"), fake.saying(PICTURE[:60]),
     fake.saying(b""), fake.status(418)],
)  # fmt: skip
def test_files_that_are_not_what_they_should_be(
    hand: Hand, upstream: Replicate, store: Store, settings: Settings, fault: fake.Fault
) -> None:
    settings.DARKROOM = settings.DARKROOM | {"max_artifact_bytes": 1_000_000}
    store.faults["file"] = [fault]
    assert state(made_at(hand, upstream, f"{store.url}/x.png")) == ("failed", "result_unusable")
    assert (upstream.count("create"), len(store.seen)) == (1, 1)


def test_a_hiccup_costs_nothing(hand: Hand, upstream: Replicate, store: Store) -> None:
    store.faults["file"] = [fake.status(503), fake.truncated]
    assert state(made_at(hand, upstream, f"{store.url}/x.png")) == ("success", "")


def test_a_link_that_has_ended_is_asked_for_anew(
    hand: Hand, upstream: Replicate, store: Store
) -> None:
    store.faults["file"] = [fake.status(403)]
    attempt = made_at(hand, upstream, f"{store.url}/x.png")
    assert (state(attempt), attempt.poll_failures) == (("running", ""), 1)
    attempt = hand.ask(attempt)
    assert (state(attempt), attempt.outcome) == (("success", ""), "success")


def test_results_that_stay_away(
    hand: Hand, upstream: Replicate, store: Store, settings: Settings
) -> None:
    settings.DARKROOM = settings.DARKROOM | {"poll_failing_seconds": 0.01}
    store.faults["file"] = [fake.status(404)] * 3
    attempt = made_at(hand, upstream, f"{store.url}/x.png")
    for _ in range(2):
        attempt = hand.ask(attempt)
    assert state(attempt) == ("failed", "result_unusable")
    assert Task.objects.get().error_detail == "The result is not there any more."


def test_a_file_that_drips(
    hand: Hand, upstream: Replicate, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "SECONDS", 0.7)
    store.faults["file"] = [fake.drip] * 3
    attempt = made_at(hand, upstream, f"{store.url}/x.png")
    assert (state(attempt), attempt.poll_failures) == (("running", ""), 1)


def test_nobody_is_there(hand: Hand, upstream: Replicate) -> None:
    attempt = made_at(hand, upstream, f"http://127.0.0.1:{free_port()}/x.png")
    assert (state(attempt), attempt.poll_failures) == (("running", ""), 1)


def test_a_lost_race_leaves_no_file(hand: Hand, upstream: Replicate, store: Store) -> None:
    arrived, go_on = threading.Event(), threading.Event()

    def slow(handler: BaseHTTPRequestHandler, do: Any) -> None:
        arrived.set()
        go_on.wait(20)
        fake.say(handler, do())

    store.faults["file"] = [slow]
    make_remote(upstream)
    upstream.scripts["a boat"] = [{"status": "succeeded", "output": f"{store.url}/x"}]
    attempt = hand.send()
    asking = threading.Thread(target=_ask, args=(hand, attempt))
    asking.start()
    assert arrived.wait(20)
    Task.objects.update(state="failed", error_code="canceled", finished_at="2100-01-01T00:00Z")
    go_on.set()
    asking.join()
    assert not Artifact.objects.exists()
    assert not scenes.has_its_files(attempt.task_id)
    assert scenes.outcomes_of(attempt.task_id) == ["revoked"]


def _ask(hand: Hand, attempt: Attempt) -> None:
    from django.db import connection

    hand.ask(attempt)
    connection.close()
