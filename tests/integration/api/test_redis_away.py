"""Without Redis the API goes on; a Redis that does not answer costs one timeout, not one a step."""

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from tasks_app.core import credentials, queries
from tasks_app.gates import connection, figures
from tasks_app.gates.connection import client
from tasks_app.models import ApiKey, Generator, Task
from tests.integration.api.caller import Caller, problem
from tests.processes import free_port


class Silent:
    """A server that accepts connections and never says a word; it counts them."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._held: list[socket.socket] = []
        self.port = int(self._listener.getsockname()[1])
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()

    @property
    def asked(self) -> int:
        """How many connections were made."""
        return len(self._held)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        for one in (self._listener, *self._held):
            one.close()

    def _accept(self) -> None:
        while True:
            try:
                self._held.append(self._listener.accept()[0])
            except OSError:
                return


def point_at(port: int, monkeypatch: pytest.MonkeyPatch, settings: Settings) -> connection.Patience:
    """Make the process's client talk to another port; returns its patience."""
    monkeypatch.setattr(connection, "SOCKET_TIMEOUT", 0.2)
    settings.REDIS_URL = f"redis://127.0.0.1:{port}/0"
    other = connection.private_client()
    monkeypatch.setattr(client(), "connection_pool", other.connection_pool)
    patience = other.connection_pool.connection_kwargs["retry"]
    assert isinstance(patience, connection.Patience)
    return patience


@pytest.fixture
def silent() -> Iterator[Silent]:
    """Return a Redis that hangs."""
    server = Silent()
    yield server
    server.close()


def use_everything(caller: Caller, capture: DjangoCaptureOnCommitCallbacks) -> None:
    with capture(execute=True) as bells:
        submitted = caller.submit(Idempotency_Key="k")
    assert bells, "the bell is rung"
    assert submitted.status_code == 202, submitted.content
    path = submitted["Location"]
    assert caller.submit(Idempotency_Key="k").status_code == 200
    polled = caller.get(path)
    assert (polled.status_code, polled.json()["status"]) == (200, "pending")
    assert int(polled["Retry-After"]) >= 1
    assert caller.get(path, If_None_Match=polled["ETag"]).status_code == 304
    assert len(caller.get("/v1/tasks").json()["items"]) == 1
    for address in ("/v1/account", "/v1/generators", f"{path}/events"):
        assert caller.get(address).status_code == 200
    assert caller("DELETE", path).json()["error"]["code"] == "canceled"
    assert caller.get(path).json()["status"] == "failed"
    assert caller("POST", f"{path}/retry").status_code == 202


def test_a_redis_that_refuses_stops_nothing(
    as_alice: Caller,
    sleeper: Generator,
    monkeypatch: pytest.MonkeyPatch,
    settings: Settings,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    point_at(free_port(), monkeypatch, settings)
    use_everything(as_alice, django_capture_on_commit_callbacks)


def test_a_redis_that_hangs_is_asked_once_and_again_after_a_while(
    as_alice: Caller,
    sleeper: Generator,
    silent: Silent,
    monkeypatch: pytest.MonkeyPatch,
    settings: Settings,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    patience = point_at(silent.port, monkeypatch, settings)
    monkeypatch.setattr(connection, "PAUSE", 3_600.0)
    use_everything(as_alice, django_capture_on_commit_callbacks)
    assert silent.asked == 1
    patience._until = 0.0
    figures.clear_cache()
    as_alice.get("/v1/tasks")
    assert silent.asked == 2


def test_a_list_of_many_tasks_asks_a_hanging_redis_once(
    as_alice: Caller,
    sleeper: Generator,
    silent: Silent,
    monkeypatch: pytest.MonkeyPatch,
    settings: Settings,
) -> None:
    for _ in range(30):
        as_alice.submit()
    figures.clear_cache()
    point_at(silent.port, monkeypatch, settings)
    assert len(as_alice.get("/v1/tasks?limit=100").json()["items"]) == 30
    assert silent.asked == 1


def test_keys_are_checked_against_the_table_without_redis(
    as_alice: Caller,
    alice: Any,
    sleeper: Generator,
    monkeypatch: pytest.MonkeyPatch,
    settings: Settings,
) -> None:
    point_at(free_port(), monkeypatch, settings)
    assert as_alice.get("/v1/account").status_code == 200
    problem(Caller("dk_wrong").get("/v1/account"), 401)
    credentials.revoke(ApiKey.objects.get())
    problem(as_alice.get("/v1/account"), 401)


def test_after_an_outage_polls_come_from_snapshots_again(
    as_alice: Caller,
    sleeper: Generator,
    monkeypatch: pytest.MonkeyPatch,
    settings: Settings,
    django_assert_num_queries: Any,
) -> None:
    with monkeypatch.context() as outage:
        point_at(free_port(), outage, settings)
        path = as_alice.submit()["Location"]
        as_alice.get(path)
    as_alice.get(path)
    connection.forget_failures()  # as after ten seconds
    queries.clear_caches()
    with django_assert_num_queries(0):
        assert as_alice.get(path).status_code == 200
    assert Task.objects.count() == 1


def test_an_ending_told_while_redis_was_away_is_not_taken_back(
    as_alice: Caller, sleeper: Generator, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    """The snapshot of before lives on in Redis, as nobody could replace it."""
    path = as_alice.submit()["Location"]
    assert as_alice.get(path).json()["status"] == "pending"
    with monkeypatch.context() as away:
        point_at(free_port(), away, settings)
        assert as_alice("DELETE", path).json()["status"] == "failed"
    queries.clear_caches()  # another process than the one that told it
    assert as_alice.get(path).json()["status"] == "failed"
    connection.forget_failures()  # the answer has replaced the snapshot
    queries.clear_caches()
    assert as_alice.get(path).json()["status"] == "failed"


def test_an_ending_counts_although_redis_has_no_memory_for_it(
    as_alice: Caller, sleeper: Generator
) -> None:
    """It answers reads, so the snapshot of before is there and cannot be replaced."""
    path = as_alice.submit()["Location"]
    assert as_alice.get(path).json()["status"] == "pending"
    client().config_set("maxmemory", "1")
    try:
        assert as_alice("DELETE", path).json()["status"] == "failed"
        assert as_alice.get(path).json()["status"] == "failed"
    finally:
        client().config_set("maxmemory", "0")
    assert as_alice.get(path).json()["status"] == "failed"
