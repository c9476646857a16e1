"""After a restart of the database everything goes on with the processes that there were."""

from collections.abc import Callable

import httpx

from tasks_app.core import credentials
from tests import scenes
from tests.conftest import make_generator, make_user
from tests.faults.servers import OwnServer
from tests.processes import Service, eventually

Services = Callable[..., Service]
WISH = {"generator": "sleeper", "params": {"prompt": "a picture"}}


def test_web_worker_and_ticker_reconnect(service: Services, own_database: OwnServer) -> None:
    """Of the web servers, one has connections that threads keep, one a pool that they share."""
    alice = make_user("alice")
    make_generator()
    key = credentials.create(alice, "test")[1]
    kept, shared = service(DARKROOM_LEASE="3"), service(DARKROOM_DB_POOL="2")
    processes = [kept.ticker(), *kept.workers(1), kept.web(), shared.web()]
    with kept.client(key) as one, shared.client(key) as other:
        for caller in (one, other):
            _finishes(caller)
        own_database.kill()
        for caller in (one, other):
            away = caller.post("/v1/tasks", json=WISH)
            assert away.status_code == 503, away.text
        own_database.start()
        scenes.reconnect()
        for caller in (one, other):
            eventually(lambda: caller.post("/v1/tasks", json=WISH).status_code == 202)  # noqa: B023
            # Every thread had a connection of its own: none may still be broken.
            answers = [caller.get("/v1/tasks?limit=1").status_code for _ in range(16)]
            assert answers == [200] * 16
            _finishes(caller)
    assert set(scenes.wait_for_the_end()) == {"success"}
    assert all(process.poll() is None for process in processes)


def _finishes(caller: httpx.Client) -> None:
    answer = caller.post("/v1/tasks", json=WISH)
    assert answer.status_code == 202, answer.text
    address = answer.headers["Location"]
    eventually(lambda: caller.get(address).json()["status"] == "success", within=30)
